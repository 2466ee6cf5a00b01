# shellcheck shell=sh
# Runs in the virtual machine, on one processor: the scheduler infers run state without run hooks. First beside
# a task of a real-time class, then where nothing is promised and tasks wait in the kernel's own queue.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
start_scheduler "$1" "$2"
# What a held task computed counts, since Linux 7.3 reports less execution than it had. All of a second:
tasks rounds 1 | sed 's/^/all /'

# Three milliseconds in ten belong to a class above, which comes whenever it wants: what is reserved loses none
# of it, and none of that time counts as used.
echo "== above"
chrt -f 50 tasks periodic 7000 2100 500 >/dev/null &
kernel-cpu run 2600 10000 tasks periodic 10000 2000 300 >/tmp/periodic &
kernel-cpu run 2000 10000 tasks rounds 3 >/tmp/held &
sleep 0.3
tasks hog 2 2 >/dev/null &
tasks respond 4000 100 10000 2000000 >/dev/null &
wait
sed 's/^/periodic /' /tmp/periodic
sed 's/^/held /' /tmp/held

# The same while no other task wakes or blocks, which would cause a decision.
echo "== alone"
chrt -f 50 tasks periodic 7000 2100 500 >/dev/null &
kernel-cpu run 2000 10000 tasks rounds 3 >/tmp/held &
tasks hog 1 4 >/dev/null &
wait
sed 's/^/held /' /tmp/held

# No task makes up for periods lost to a higher class at the expense of others.
echo "== lost"
kernel-cpu run 1300 10000 tasks respond 10000 1000 10000 8000000 >/tmp/respond &
# It has begun when the other one takes nearly all.
sleep 1.5
kernel-cpu run 8000 10000 tasks hog 1 9 >/tmp/held &
sleep 2
chrt -f 50 tasks hog 1 2 >/dev/null
sleep 0.5
kernel-cpu status | grep ^reservation
wait
sed 's/^/respond /' /tmp/respond

# Ends of budgets are asked for by the timer, sleeps found out.
sleep 2
echo "== below"
tasks hog 2 4 >/tmp/hogs &
sleep 0.5
tasks pass 200000 >/dev/null 2>&1 &
pass=$!
for gap in 3100 4700 7300; do
    tasks respond $gap 100 100000 2500000 >/tmp/respond-$gap &
done
sleep 3
for gap in 3100 4700 7300; do sed "s/^/respond-$gap /" /tmp/respond-$gap; done
wait_for [ -s /tmp/hogs ]
sed 's/^/hogs /' /tmp/hogs
kill $pass
kernel-cpu status | grep ^policy
kernel-cpu down
judge_kernel
