# shellcheck shell=sh
# Runs in the virtual machine: records the scheduler of one processor while a task that sleeps gets a reservation and
# loses it, twice, beside one that computes.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
kernel-cpu up-recorded bebs 12000
kernel-cpu recorded /tmp/events >/tmp/lost &
recorder=$!
tasks hog 1 10 >/dev/null &
sleep 60 &
asleep=$!
sleep 1
for _ in 1 2; do
    kernel-cpu reserve $asleep 10000 20000
    kernel-cpu release $asleep
done
wait $recorder
kill $asleep
echo "== recorded"
cat /tmp/lost
kernel-cpu down
judge_kernel
echo "== events"
cat /tmp/events
