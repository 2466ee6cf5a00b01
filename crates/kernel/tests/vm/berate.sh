# shellcheck shell=sh
# Runs in the virtual machine, on one processor: frames beside a task that computes, under the
# kernel's own scheduler and under BeRate; then policies that change while tasks run.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
sleep 2

# frames NAME: half of the processor for frames, the other half for a CPU-bound task.
frames() {
    tasks hog 1 3 >/tmp/hog &
    hog=$!
    sleep 0.2
    tasks frames 40000 20000 1 64 | sed "s/^/$1 /"
    wait $hog
    sed "s/^/$1 /" /tmp/hog
}
echo "== frames"
frames eevdf
kernel-cpu up berate
frames berate
tasks hog 1 4 &
tasks frames 40000 12000 1 90 >/tmp/frames &
pid=$!
sleep 1
kernel-cpu status | sed -n "s/^task $pid /inferred /p"
wait

echo "== change"
# Reserved, on a grid, from before the first change until after the last.
kernel-cpu run 3300 10000 tasks periodic 10000 3000 3000 /tmp/over >/tmp/periodic &
reserved=$!
tasks hog 3 9 >/tmp/hogs &
hogs=$!
sleep 0.4
for policy in bebs-credit berate bebs bebs-credit; do
    kernel-cpu up $policy
    tasks forks 20
    sleep 0.1
done
kernel-cpu up bebs-credit 2>&1 || true
# Options, in us.
kernel-cpu up bebs-credit slice=5000 wakeup-granularity=0
kernel-cpu status | sed -n 's/^options /options: /p'
kernel-cpu up bebs-credit slice=5000 wakeup-granularity=0 2>&1 || true
kernel-cpu up bebs-credit min-budget=400000 2>&1 || true
kernel-cpu status | grep -o 'reservation .* every 10 ms'
: >/tmp/over
wait $reserved
wait $hogs
sed -n 's/^jobs/periodic jobs/p' /tmp/periodic
cat /tmp/hogs
kernel-cpu status | grep -v '^task'
kernel-cpu down
cat /sys/kernel/sched_ext/state
judge_kernel
