# shellcheck shell=sh
# Runs in the virtual machine, on processors in several packages of several cores of two threads: where threads start
# while nothing else runs; then two reservations beside more tasks than processors; then from where an idle processor
# steals.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
    echo "cpu ${cpu##*cpu} core $(cat "$cpu/topology/thread_siblings_list") cache $(cat "$cpu"/cache/index3/shared_cpu_list)"
done
kernel-cpu up bebs-credit
sleep 1
echo "places$(tasks places 60)"
# The emulator runs the processors in turns of at most 1 ms, so a job of 1 ms can take 8 times as long.
for name in first second; do kernel-cpu run 20000 40000 tasks periodic 40000 1000 50 >/tmp/$name & done
both() { [ "$(kernel-cpu status | grep -c '^reservation')" = 2 ]; }
wait_for both
kernel-cpu status | grep '^reservation' | sed 's/^.* cpu/held cpu/'
tasks hog 20 3 >/dev/null
wait
cat /tmp/first /tmp/second
# Processors 0 and 6 have two tasks each that may run on 5, too, which shares its cache with 6; its own task ends.
allow() { for task in /proc/"$2"/task/*; do taskset -p "$1" "${task##*/}" >/dev/null; done; }
on_5() { for task in /proc/"$1"/task/[0-9]*; do cut -d ' ' -f 39 "$task/stat"; done | grep -c '^5$' || true; }
rounds=0 far=0 near=0
while [ $rounds -lt 3 ]; do
    taskset 20 tasks hog 1 1 >/dev/null & own=$!
    # Less than a second before that ends, or the turn between processors comes first.
    sleep 0.6
    taskset 1 tasks hog 2 1 >/dev/null & away=$!
    taskset 40 tasks hog 2 1 >/dev/null & beside=$!
    sleep 0.2
    allow 21 $away
    allow 60 $beside
    wait $own
    sleep 0.2
    far=$((far + $(on_5 $away))) near=$((near + $(on_5 $beside)))
    wait $away $beside
    rounds=$((rounds + 1))
done
echo "stolen near $near far $far"
kernel-cpu down
judge_kernel
