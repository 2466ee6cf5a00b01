# shellcheck shell=sh
# Runs in the virtual machine, on several processors, under a policy: reservations until there is no
# room; control groups with a processor and a limit; twice as many tasks on one that may then go
# elsewhere; one that has nothing to do any more beside one on which two take turns; two reservations
# beside computing tasks and new processes; one whose affinity changes. Time is cut between the
# processors, so this shows order and misses only.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
sleep 2
kernel-cpu up "$1"
# On each processor there is room for one of 60 %, and beside it for one of 30.
for processor in $(seq "$(nproc)"); do
    kernel-cpu run 6000 10000 sleep 600 &
    eval "holder_$processor=$!"
    left=100
    while [ "$(kernel-cpu status | grep -c '^reservation')" -lt "$processor" ] && [ $left -gt 0 ]; do
        left=$((left - 1))
    done
done
echo "held $(kernel-cpu status | sed -n 's/^reservation .* cpu \([0-9]*\) 6 ms .*/\1/p' | sort | tr '\n' ' ')"
with_status kernel-cpu run 6000 10000 sleep 0
with_status kernel-cpu run 3000 10000 sleep 0
for processor in $(seq "$(nproc)"); do eval "kill \$holder_$processor; wait \$holder_$processor || true"; done
# A control group of the second processor, with a fifth of it; then without a limit.
groups=/sys/fs/cgroup
echo "+cpu +cpuset" >$groups/cgroup.subtree_control
mkdir $groups/narrow
echo 1 >$groups/narrow/cpuset.cpus
echo "20000 100000" >$groups/narrow/cpu.max
sh -c "echo 0 >$groups/narrow/cgroup.procs; exec kernel-cpu run 2000 10000 sleep 600" &
sleeper=$!
left=100
until kernel-cpu status | grep '^reservation' >/tmp/reservation || [ $left = 0 ]; do left=$((left - 1)); done
sed -n 's/^reservation pid [0-9]* \(cpu .* every 10 ms\).*/narrow \1/p' /tmp/reservation
narrow() { sh -c "echo 0 >$groups/narrow/cgroup.procs; exec $*"; }
with_status narrow kernel-cpu run 2100 10000 true
echo max >$groups/narrow/cpu.max
with_status narrow kernel-cpu run 8000 10000 true
kill $sleeper
wait $sleeper || true
# A mask of processors for all threads of a process.
allow() { for task in /proc/"$2"/task/*; do taskset -p "$1" "${task##*/}" >/dev/null; done; }
taskset 1 tasks hog $(($(nproc) * 2)) 5 >/tmp/all &
all=$!
sleep 1
allow f $all
wait $all
echo "all $(cat /tmp/all)"
taskset 2 tasks hog 1 3 >/tmp/short &
taskset 1 tasks hog 2 7 >/tmp/long &
long=$!
sleep 1
allow 3 $long
wait $long
echo "two $(cat /tmp/long)"
tasks hog 6 60 &
hogs=$!
kernel-cpu run 10000 20000 tasks periodic 20000 8000 150 >/tmp/first &
first=$!
kernel-cpu run 10000 20000 tasks periodic 20000 8000 150 >/tmp/second &
second=$!
tasks forks 100
wait $first
wait $second
kill $hogs
wait $hogs || true
taskset 2 kernel-cpu run 20000 100000 tasks periodic 100000 8000 40 >/tmp/moved &
moved=$!
sleep 2
kernel-cpu status | grep '^reservation' || echo "none held"
allow 1 $moved
sleep 0.5
kernel-cpu status | grep '^reservation' || echo "none left"
wait $moved
echo "moved $(cat /tmp/moved)"
cat /tmp/first /tmp/second
kernel-cpu status
kernel-cpu down
cat /sys/kernel/sched_ext/state
judge_kernel
