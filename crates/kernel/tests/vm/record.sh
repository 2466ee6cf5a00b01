# shellcheck shell=sh
# Records events and decisions of the scheduler of one processor from its start on: tasks that
# compute, sleep and answer, start others and end, with other weights of their own and of their
# group, and two reservations.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
policy=$1
# As on kernels that have to tell, where it is 1.
export LAXITY_CPU_RUN_HOOKS="$2"

groups=/sys/fs/cgroup
echo +cpu >$groups/cgroup.subtree_control
mkdir $groups/one

kernel-cpu up-recorded "$policy" 6000
kernel-cpu recorded /tmp/events >/tmp/lost &
kernel-cpu run 3000 10000 tasks periodic 10000 2000 300 >/tmp/first &
kernel-cpu run 9000 40000 tasks periodic 40000 8000 60 >/tmp/second &
# Longer than the record, since its weight is changed.
tasks respond 4000 100 100000 >/dev/null &
answers=$!
sleep 1.5
# Tasks that come are to meet reservations, which come later where the start takes longer.
both_are_reserved() { [ "$(kernel-cpu status | grep -c '^reservation')" -eq 2 ]; }
wait_for both_are_reserved
sh -c "echo 0 >$groups/one/cgroup.procs; exec tasks hog 1 3" >/dev/null &
nice -n 7 tasks hog 1 3 >/dev/null &
tasks forks 40 >/dev/null
renice -n 3 $answers >/dev/null
# While it runs; it counts when the task next waits its turn.
echo 175 >$groups/one/cpu.weight
# Those that come while reservations are there.
for many in 1 2 3 4 5 6 7 8; do sleep 0.1$many; done
for many in 1 2 3; do sleep 0.2$many; done
for many in 3 5 7; do sleep 0.0$many; done
for many in 1 2 3 4 5 6 7 8 9; do sleep 0.02$many; done
kill $answers
wait
echo "== $policy"
cat /tmp/lost /tmp/first /tmp/second
kernel-cpu status | grep '^policy\|^cpu'
kernel-cpu down
judge_kernel
echo "== events"
cat /tmp/events
