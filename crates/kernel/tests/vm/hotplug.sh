# shellcheck shell=sh
# Runs in the virtual machine, on several processors: all but the first go and come back while tasks
# compute, start, end and change, and while policies change. One reservation is on the processor that
# stays, with a long period, as tasks of the kernel's real-time class go first, and the kernel itself
# when it stops all processors; three are on the last one, of tasks that work, sleep, and have not run
# since.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
last=$1
mask=$(printf '%x' $((1 << last)))

processor() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }
# Some of them, one after the other.
processors() {
    state=$1
    shift
    for k in "$@"; do processor "$k" "$state"; done
    echo "processors $(cat /sys/devices/system/cpu/online)"
}
reservations() { kernel-cpu status | grep '^reservation' | cut -d ' ' -f 4-12 || true; }

sleep 2
kernel-cpu up
tasks hog 3 100 &
hogs=$!
sleep 0.2
# Other work comes first.
for task in /proc/"$hogs"/task/*; do renice -n 19 -p "${task##*/}"; done
taskset 1 kernel-cpu run 300000 500000 tasks periodic 500000 8000 30 >/tmp/stays &
stays=$!
taskset "$mask" tasks periodic 100000 8000 60 >/tmp/works &
works=$!
taskset "$mask" sh -c 'while sleep 0.3; do :; done' &
naps=$!
taskset "$mask" sleep 1000 &
sleeps=$!
for pid in $works $naps $sleeps; do kernel-cpu reserve "$pid" 20000 100000; done
reservations
churn 300 7 /tmp/enough 6 >/tmp/churn &
churn=$!
for round in 1 2; do
    processors 0 $(seq "$last" -1 1)
    if [ "$round" = 1 ]; then
        reservations
        kernel-cpu reserve $sleeps 20000 100000 2>&1 || true
    fi
    kernel-cpu up berate
    processors 1 $(seq 1 "$last")
    kernel-cpu up bebs-credit
    # At once again, before anybody has come back.
    processors 0 "$last"
    processors 1 "$last"
done
kernel-cpu reserve $sleeps 20000 100000
reservations
tasks forks 30
wait $stays
wait $works
: >/tmp/enough
wait $churn
kill $hogs $naps $sleeps || true
wait $hogs || true
taskset "$mask" tasks hog 2 2 >/dev/null &
hogs=$!
sleep 0.5
before=$(kicks "$last")
sleep 1
echo "kicks a_second $(($(kicks "$last") - before))"
wait $hogs
cat /tmp/stays /tmp/works /tmp/churn
kernel-cpu status | grep -v '^task'
kernel-cpu down
cat /sys/kernel/sched_ext/state
judge_kernel
