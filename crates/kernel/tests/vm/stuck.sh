# shellcheck shell=sh
# Runs in the virtual machine, on one processor: a task that the scheduler has lost, and a scheduler
# that is taken away by hand.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
sleep 2
state=/sys/kernel/sched_ext/state
# The user time of a task, in ticks of 10 ms.
had() { cut -d ' ' -f 14 "/proc/$1/stat"; }
# Until the kernel's own scheduler runs the tasks, or a minute has passed.
given_back() {
    seconds=0
    while [ "$(cat $state)" != disabled ] && [ $seconds -lt 60 ]; do
        sleep 1
        seconds=$((seconds + 1))
    done
    echo "given back after $seconds s"
}

echo "== stuck"
kernel-cpu up
sh -c 'while :; do :; done' &
lost=$!
sleep 0.2
kernel-cpu lose $lost
before=$(had $lost)
sleep 5
echo "lost $(($(had $lost) - before))"
given_back
before=$(had $lost)
sleep 1
echo "found $(($(had $lost) - before))"
kill $lost
with_status kernel-cpu status
with_status kernel-cpu run 1000 10000 true
kernel-cpu up
with_status kernel-cpu run 1000 10000 true
cat $state

echo "== taken away"
echo S >/proc/sysrq-trigger
given_back
with_status kernel-cpu status
kernel-cpu down
with_status kernel-cpu status
cat $state
echo "== kernel"
judge_kernel
