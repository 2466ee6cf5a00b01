# shellcheck shell=sh
# Runs in the virtual machine, on one processor: tasks under the kernel's own scheduler and under
# laxity's, reservations, loaders that are killed.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
sleep 2

# beside COMMAND...: runs it beside three tasks that compute for as long as it takes.
beside() {
    tasks hog 3 60 &
    hogs=$!
    sleep 0.3
    "$@"
    kill $hogs
    wait $hogs || true
}
# for_a_while SECONDS COMMAND...: prints its output beside three tasks that compute for that time.
for_a_while() {
    tasks hog 3 "$1" >/tmp/hogs &
    shift
    sleep 0.3
    "$@"
    wait
    cat /tmp/hogs
}
# watched INTERVALS [COMMAND...]: what is late is measured between calls of `look`, one more than intervals. While
# programs are loaded, to reserve, the kernel zeroes memory without preemption.
mkfifo /tmp/looks /tmp/output
watched() {
    intervals=$1
    shift
    "$@" kernel-cpu steady "$intervals" </tmp/looks >/tmp/steady &
    watch=$!
    exec 9>/tmp/looks
}
look() { echo >&9; }
# loaded ANSWERS COMMAND...: response times of best effort beside a periodic task.
loaded() {
    answers=$1
    shift
    "$@" /tmp/never >/tmp/output &
    periodic=$!
    {
        # It has begun, with its reservation.
        read -r _
        [ -z "${watch:-}" ] || look
        cat
    } </tmp/output >/tmp/periodic &
    reader=$!
    sleep 0.3
    tasks respond 4000 100 "$answers" >/tmp/respond
    wait $periodic
    wait $reader
    [ -z "${watch:-}" ] || look
    sed 's/^/respond /' /tmp/respond
    sed 's/^/periodic /' /tmp/periodic
}
echo "== eevdf below fifo"
beside loaded 60 chrt -f 50 tasks periodic 10000 6000 100
echo "== eevdf"
beside loaded 60 tasks periodic 10000 6000 100

# As printed, BEBS keeps tasks that answer waiting for long.
for policy in bebs:10 bebs-credit:100; do
    answers=${policy#*:} policy=${policy%:*}
    echo "== $policy"
    kernel-cpu up "$policy"
    cat /sys/kernel/sched_ext/root/ops
    watched 1
    beside loaded "$answers" kernel-cpu run 6300 10000 tasks periodic 10000 6000 100
    wait $watch
    cat /tmp/steady
    watch=''
    echo "alone $(kernel-cpu status | grep -c reservation)"
    kernel-cpu status
    kernel-cpu down
    cat /sys/kernel/sched_ext/state
done

echo "== steady"
# Nine intervals in which nothing starts or ends, with a reserved task that would take all.
for policy in bebs bebs-credit berate; do
    kernel-cpu up $policy
    # Reserved: it needs more than its share of what the others leave, and would see several intervals at once.
    watched 9 kernel-cpu run 4000 20000
    kernel-cpu run 6300 10000 tasks periodic 10000 6000 10000 >/dev/null &
    hard=$!
    kernel-cpu run 1000 10000 tasks hog 1 60 >/dev/null &
    held=$!
    left=100
    while [ "$(kernel-cpu status | grep -c '^reservation')" -lt 3 ] && [ $left -gt 0 ]; do
        left=$((left - 1))
    done
    tasks hog 3 60 >/dev/null &
    hogs=$!
    tasks respond 4000 100 10000 >/dev/null &
    answers=$!
    sleep 1
    look
    for _ in 1 2 3 4 5 6 7 8 9; do
        sleep 0.25
        look
    done
    wait $watch
    sed "s/^/$policy /" /tmp/steady
    kill $hard $held $hogs $answers
    wait $hard $held $hogs $answers || true
    kernel-cpu down
done

# A real-time task that would take all, where the kernel has a deadline server for sched_ext.
server=/sys/kernel/debug/sched/ext_server/cpu0
sized() { echo "server $(cat $server/runtime) $(cat $server/period)"; }
if [ -d $server ]; then
    echo "== beside a real-time class"
    for policy in bebs bebs-credit berate; do
        kernel-cpu up $policy >/dev/null
        kernel-cpu run 4000 20000 tasks periodic 20000 3000 75 >/tmp/periodic &
        periodic=$!
        until kernel-cpu status >/tmp/status && grep -q ^reservation /tmp/status; do :; done
        tasks hog 2 60 >/dev/null &
        hogs=$!
        echo "$policy $(sized)"
        chrt -f 50 tasks hog 1 1 | sed "s/^/$policy fifo /"
        wait $periodic
        sed "s/^/$policy /" /tmp/periodic
        kill $hogs
        wait $hogs || true
        # Each job needs more than its budget, and nothing else is there to run.
        kernel-cpu run 4000 20000 tasks periodic 20000 5000 75 >/tmp/beyond &
        beyond=$!
        until kernel-cpu status >/tmp/status && grep -q ^reservation /tmp/status; do :; done
        chrt -f 50 tasks hog 1 1 | sed "s/^/$policy fifo alone /"
        wait $beyond
        sed "s/^/$policy beyond /" /tmp/beyond
        kernel-cpu down
        sized
    done
fi
kernel-cpu up
echo "== held to its budget"
tasks rounds 1 | sed 's/^/all /'
for_a_while 2 kernel-cpu run 2000 10000 tasks rounds 1 | sed -n '1s/^/held /p'

echo "== reservations"
kernel-cpu run 4500 10000 sleep 60 &
holder=$!
sleep 0.5
kernel-cpu run 6000 10000 sleep 9 2>&1 || true
kernel-cpu run 20000 10000 sleep 9 2>&1 || true
kernel-cpu reserve 99999 1000 10000 2>&1 || true
kernel-cpu release $holder
kernel-cpu release $holder 2>&1 || true
kernel-cpu status | grep reservation || echo "released"
kernel-cpu reserve $holder 4500 10000
kernel-cpu status | grep -o 'reservation .* every 10 ms'
# Fifty at once, in one reservation: they share it, and leave it.
kernel-cpu run 3000 10000 tasks forks 50
kill $holder
wait $holder || true
kernel-cpu status | grep reservation || echo "all ended"

echo "== inherited"
# They take turns; a task that would wait half a minute for its turn is refused.
kernel-cpu run 1000000 10000000 sh -c 'for i in 1 2 3 4; do sleep 2 & done; touch /tmp/four; wait' &
family=$!
while [ ! -e /tmp/four ]; do sleep 0.1; done
kernel-cpu status | grep reservation
wait $family

echo "== at once"
# Half of the CPU each, which is more than the 95 % that there are.
for number in 1 2; do
    with_status kernel-cpu run 5000 10000 sleep 3 >/tmp/at-$number &
done
wait
cat /tmp/at-1 /tmp/at-2

echo "== groups"
# A very light group with a heavy one in it, beside a heavier one.
groups=/sys/fs/cgroup
echo +cpu >$groups/cgroup.subtree_control
mkdir $groups/light $groups/other
echo +cpu >$groups/light/cgroup.subtree_control
mkdir $groups/light/heavy
echo 10 >$groups/light/cpu.weight
echo 200 >$groups/light/heavy/cpu.weight
echo 300 >$groups/other/cpu.weight
# within GROUP COMMAND...
within() {
    group=$1
    shift
    sh -c "echo 0 >$groups/$group/cgroup.procs; exec $*"
}
within light/heavy tasks hog 1 2 >/tmp/within &
within other tasks hog 1 2 >/tmp/other &
wait
sed 's/^/within /' /tmp/within
sed 's/^/other /' /tmp/other

echo "== nice"
# Weights of 20 and 5.
tasks hog 1 2 >/tmp/usual &
nice -n 15 tasks hog 1 2 >/tmp/nice &
wait
sed 's/^/usual /' /tmp/usual
sed 's/^/nice /' /tmp/nice

echo "== forks"
for_a_while 1 tasks forks 400
kernel-cpu status
kernel-cpu down

echo "== killed loaders"
for after in 0.02 0.3 2; do
    kernel-cpu up >/dev/null 2>&1 &
    sleep $after
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    # Until the kernel has freed objects without references.
    sleep 0.5
    echo "after $after: $(cat /sys/kernel/sched_ext/state) $([ ! -e /sys/fs/bpf/laxity_cpu/scheduler ] || echo scheduler)"
    kernel-cpu down 2>/dev/null || true
done
kernel-cpu up
kernel-cpu up 2>&1 || true
cat /sys/kernel/sched_ext/state
kernel-cpu down
kernel-cpu down 2>&1 || true
kernel-cpu status 2>&1 || true
cat /sys/kernel/sched_ext/state
judge_kernel
