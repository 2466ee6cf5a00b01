# shellcheck shell=sh
# Runs in the virtual machine, on several processors: two reservations beside computing tasks and
# new processes. Their time is cut between the processors, so it shows order and misses only; what
# takes 8 ms of a processor may take 40 ms of its time, so reservations are ample.
set -eu
# shellcheck source=crates/kernel/tests/vm/judge.sh
. ./judge.sh
sleep 2
kernel-cpu up
tasks hog 6 60 &
hogs=$!
kernel-cpu run 30000 100000 tasks periodic 100000 8000 25 >/tmp/first &
first=$!
kernel-cpu run 30000 100000 tasks periodic 100000 8000 25 >/tmp/second &
second=$!
tasks forks 100
wait $first
wait $second
kill $hogs
wait $hogs || true
cat /tmp/first /tmp/second
kernel-cpu status
kernel-cpu down
cat /sys/kernel/sched_ext/state
judge_kernel
