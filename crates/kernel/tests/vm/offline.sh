# shellcheck shell=sh
# Runs in the virtual machine, on two processors: the second one goes offline while tasks compute there, and stays so.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh

start_scheduler bebs-credit 0
taskset 1 tasks hog 1 5 >/dev/null &
taskset 2 tasks hog 2 5 >/dev/null &
sleep 1
echo 0 >/sys/devices/system/cpu/cpu1/online
sleep 1
before=$(kicks 0)
sleep 1
echo "kicks a_second $(($(kicks 0) - before))"
wait
judge_kernel
