# shellcheck shell=sh
# Experiment 1 of the paper on BeRate, recorded from the scheduler's first moment on: frames that need half of the
# CPU beside a task that computes, and whatever else runs on a machine.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
kernel-cpu up-recorded bebs 14000
kernel-cpu recorded /tmp/events >/tmp/lost &
sleep 4
tasks hog 1 60 >/dev/null &
hog=$!
sleep 0.5
tasks frames 40000 20000 1 100 >/tmp/frames &
frames=$!
wait $frames
kill $hog
wait
echo "== run"
cat /tmp/lost /tmp/frames
echo "frames pid $frames"
kernel-cpu down
judge_kernel
echo "== events"
cat /tmp/events
