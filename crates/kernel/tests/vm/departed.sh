# shellcheck shell=sh
# Runs in the virtual machine, on one processor: a thousand processes come and go beside a reservation, then a task
# answers beside two that compute.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
start_scheduler "$1" 0

echo "== during"
kernel-cpu run 3000 10000 tasks periodic 10000 2000 600 >/tmp/periodic &
sleep 1.5
tasks hog 1 3 >/dev/null &
tasks forks 1000
wait
cat /tmp/periodic

echo "== after"
kernel-cpu status | grep '^cpu'
tasks hog 2 4 >/dev/null &
sleep 0.3
tasks respond 4000 100 600 3000000
wait
kernel-cpu down
judge_kernel
