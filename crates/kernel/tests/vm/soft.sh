# shellcheck shell=sh
# Runs in the virtual machine, on one processor: how long timers that call as soft interrupts are left
# undone, beside packets that the kernel sends by timers and soft interrupts, too.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
sleep 2
tc qdisc add dev lo root netem delay 120us 80us limit 10000
# ksoftirqd waits longer than other threads.
soft=$(grep -l ksoftirqd/0 /proc/[0-9]*/comm)
soft=${soft#/proc/}
renice -n 19 -p "${soft%/comm}"
traced=/sys/kernel/tracing
echo 0 >$traced/tracing_on
echo 32768 >$traced/buffer_size_kb
echo 'vec == 8' >$traced/events/irq/filter
echo 1 >$traced/events/irq/softirq_raise/enable
echo 1 >$traced/events/irq/softirq_entry/enable
echo 1 >$traced/events/sched/sched_switch/enable

echo "== timers"
kernel-cpu up bebs-credit
kernel-cpu run 6300 10000 tasks periodic 10000 6000 400 >/tmp/periodic &
kernel-cpu run 1000 10000 tasks hog 1 4 >/dev/null &
sleep 0.5
tasks hog 3 4 >/dev/null &
tasks respond 4000 100 10000 4000000 >/dev/null &
for burst in 3 5 8; do
    tasks packets $burst 4 &
done
sleep 0.5
echo >$traced/trace
echo 1 >$traced/tracing_on
sleep 3
echo 0 >$traced/tracing_on
wait
sed 's/^/periodic /' /tmp/periodic
# How long the CPU executes tasks while timers wait, in us: from the first switch after the first request. Before that
# the kernel may execute other soft interrupts, or a section in which it has disabled them; packets of a burst take it
# up to 3.4 ms.
awk '$4 ~ /^[0-9.]+:$/ {
    at = $4 * 1000000
    if ($5 == "softirq_raise:") asked = 1
    if ($5 == "sched_switch:" && asked && !since) since = at
    if ($5 == "softirq_entry:" && asked) {
        calls++
        waited = since ? at - since : 0
        if (waited > worst) worst = waited
        late += waited > 100
        asked = since = 0
    }
}
END { printf "timers calls %d late %d worst_us %d\n", calls, late, worst }' $traced/trace
kernel-cpu down
judge_kernel
