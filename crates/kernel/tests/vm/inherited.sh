# shellcheck shell=sh
# Runs in the virtual machine, on one processor: a real-time class that is lent to a task, and given back while
# that runs; and tasks that wake together.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
start_scheduler "$1" "$2"

# A reserved task has a lock for which one of a real-time class waits, again and again.
echo "== reserved"
kernel-cpu run 4000 10000 tasks lend 500 2500 4000 >/tmp/lend &
sleep 0.5
tasks hog 2 4 >/dev/null &
sleep 2
kernel-cpu status | grep ^reservation || echo "reservation gone"
wait
cat /tmp/lend

# One of best effort has, and goes on by itself, while one that is reserved has waited since.
sleep 1
echo "== beside"
tasks lend 500 300 4000 >/tmp/lend &
kernel-cpu run 3000 10000 tasks periodic 10000 2000 200 | sed 's/^/periodic /'
wait
cat /tmp/lend

echo "== alone"
tasks lend 500 300 4000

# The one of short jobs has the nearer deadline, also when both wake before anybody has run.
sleep 2
echo "== together"
tasks together 20000 9000 200 | sed 's/^/long /' &
tasks together 20000 300 200 | sed 's/^/short /'
wait
kernel-cpu down
judge_kernel
