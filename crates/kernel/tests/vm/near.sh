# shellcheck shell=sh
# Runs in the virtual machine, on processors in several packages of several cores of two threads: where threads start
# while nothing else runs; then two reservations beside more tasks than processors.
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
kernel-cpu down
judge_kernel
