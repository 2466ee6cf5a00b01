# shellcheck shell=sh
# Runs in the virtual machine, on one processor: programs of users reserve for themselves through
# the server, which is killed and started again. PYTHON ITS_HOME
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=crates/kernel/tests/vm/recording.sh
. ./recording.sh

# Users may look for their programs, and not write where only root does.
chmod 755 / /run
# as USER COMMAND...: without any privilege.
as() { $setpriv --reuid "$@"; }
setpriv="setpriv --regid 1000 --clear-groups"
held_by() { laxity cpu status --json | grep -q "\"user\": $1,"; }
not_held_by() { ! held_by "$1"; }
start_server() {
    laxity cpu serve --share 40% --mode 0666 --listen 127.0.0.1:9402 2>>/tmp/server &
    server=$!
    wait_for grep -q "up to 40" /tmp/server
}
# periodic_begins, periodic_ends: one that is reserved, from when it runs.
periodic_begins() {
    laxity cpu run --runtime 3ms --period 10ms -- tasks periodic 10000 2000 1000 /tmp/over >/tmp/begun &
    periodic=$!
    wait_for grep -q begun /tmp/begun
}
periodic_ends() {
    : >/tmp/over
    wait $periodic
    rm /tmp/over /tmp/begun
}
# Work as one that computes, and three that do nothing else.
beside() {
    tasks hog 3 60 &
    hogs=$!
    with_status "$@"
    kill $hogs
    wait $hogs || true
}

echo "== none is up"
laxity cpu serve --share 40% --mode 0666 2>/tmp/early &
server=$!
wait_for grep -q "not up" /tmp/early
with_status as 1000 laxity cpu run --runtime 4ms --period 20ms -- true

echo "== privileges"
with_status as 1000 laxity cpu up
with_status setpriv --bounding-set -bpf,-sys_admin laxity cpu up
cat /sys/kernel/sched_ext/state
with_status setpriv --bounding-set -all,+bpf,+perfmon,+sys_admin laxity cpu up
for what in up down status; do with_status as 1000 laxity cpu $what; done
cat /sys/kernel/sched_ext/state
echo "== without"
with_status as 1000 env LAXITY_CPU_SOCKET=/tmp/unheard periodic-c 50
# The one that was there before the scheduler serves.
with_status as 1000 laxity cpu run --runtime 1ms --period 20ms -- true
kill $server
wait $server

start_server
echo "== c"
beside as 1000 periodic-c 50
echo "== rust"
beside as 1001 periodic 50
echo "== python"
beside as 1002 env PYTHONHOME="$2" "$1" -S periodic.py 50

echo "== reserve"
# Children of a reserved task share its reservation only with --inherit.
for inherit in '' --inherit; do
    sh -c 'until [ -e /tmp/go ]; do sleep 0.1; done; sleep 600 & echo $! >/tmp/child; wait' &
    parent=$!
    with_status laxity cpu reserve $parent --runtime 2ms --period 20ms $inherit
    : >/tmp/go
    wait_for test -s /tmp/child
    with_status query-c $parent
    with_status query-c "$(cat /tmp/child)"
    with_status laxity cpu release $parent
    kill $parent "$(cat /tmp/child)"
    wait $parent || true
    rm /tmp/go /tmp/child
done

echo "== top"
periodic_begins
tasks respond 4000 100 200 >/dev/null
beside sh -c 'laxity top --interval 500ms --count 2 | cat'
periodic_ends

echo "== trace"
with_status as 1000 laxity cpu record /tmp/none.json --duration 1ms
periodic_begins
beside laxity cpu record /tmp/trace.json --duration 400ms
periodic_ends
echo "== events"
cat /tmp/trace.json

echo "== cut short"
record() {
    laxity cpu record "$1" --duration 1min 2>&1 &
    recorder=$!
    sleep 1
}
record /tmp/cut.json
kill $recorder
with_status wait $recorder
tail -n 1 /tmp/cut.json

echo "== hidden"
# Its own /sys has no /sys/fs/bpf.
ip netns add other
with_status ip netns exec other ls /sys/fs/bpf
with_status ip netns exec other laxity cpu status

echo "== suspended"
# Granted reservations are kept while the server does not run.
$setpriv --reuid 1003 laxity cpu run --runtime 5ms --period 20ms -- tasks periodic 20000 4000 50 >/tmp/kept &
kept=$!
wait_for held_by 1003
kill -STOP $server
tasks hog 3 60 &
hogs=$!
wait $kept
cat /tmp/kept
wait_for not_held_by 1003
kill -CONT $server
kill $hogs
wait $hogs || true

echo "== share"
$setpriv --reuid 1000 laxity cpu run --runtime 6500us --period 20ms -- sleep 600 &
holder=$!
wait_for held_by 1000
with_status as 1000 laxity cpu run --runtime 6500us --period 20ms -- true
with_status as 1001 laxity cpu run --runtime 6500us --period 20ms -- echo another
with_status as 1001 laxity cpu release $holder
with_status as 1001 laxity cpu reserve $holder --runtime 1ms --period 20ms
with_status as 1001 laxity cpu reserve 1 --runtime 1ms --period 20ms

echo "== room"
laxity cpu run --runtime 60ms --period 100ms -- sleep 600 &
roots=$!
wait_for held_by 0
with_status as 1001 laxity cpu run --runtime 6500us --period 20ms -- true
kill $roots
wait $roots || true

echo "== killed"
kill -9 $server
wait $server || true
cat /sys/kernel/sched_ext/state
rm /tmp/server
start_server
with_status as 1000 laxity cpu run --runtime 6500us --period 20ms -- true
wget -q -O - http://127.0.0.1:9402/metrics | grep -e '^laxity_cpu_up' -e runtime_seconds.task -e _requests_total.
echo "== ended"
kill $holder
wait $holder || true
wait_for not_held_by 1000
with_status as 1000 periodic-c 1
echo "== children"
$setpriv --reuid 1000 laxity cpu run --runtime 2ms --period 20ms -- sh -c 'sleep 600 & echo $! >/tmp/child; wait' &
parent=$!
wait_for test -s /tmp/child
kill $parent
wait $parent || true
with_status as 1000 query-c "$(cat /tmp/child)"
with_status as 1000 laxity cpu release "$(cat /tmp/child)"
wait_for not_held_by 1000
kill "$(cat /tmp/child)"

echo "== overheads"
# Jobs that execute for the whole of their runtime.
exactly() { laxity cpu run --runtime 2ms --period 10ms -- tasks periodic 10000 2000 100; }
exactly | sed 's/^/without /'
with_status laxity cpu up --overhead switch=50us --overhead release=25us
exactly | sed 's/^/with /'
laxity cpu run --runtime 3ms --period 10ms -- sleep 600 &
roots=$!
wait_for held_by 0
laxity cpu status
with_status as 1001 laxity cpu run --runtime 4ms --period 10ms -- true
with_status laxity cpu run --runtime 6400us --period 10ms -- true
with_status laxity cpu up --policy bebs
laxity cpu status --json | grep -e per_job_ns -e overhead_ns -e runtime_ns -e '"reserved"'
with_status laxity cpu up --overhead switch=0us
laxity cpu status --json | grep -e per_job_ns -e overhead_ns
kill $roots
wait $roots || true
laxity cpu measure

echo "== scheduler removed"
record /tmp/gone.json
laxity cpu down
with_status wait $recorder
tail -n 1 /tmp/gone.json
echo "== another scheduler"
with_status as 1000 laxity cpu run --runtime 4ms --period 20ms -- true
laxity cpu up --policy berate
with_status as 1000 laxity cpu run --runtime 4ms --period 20ms -- true

echo "== stopped"
kill $server
with_status wait $server
ls /run/laxity
with_status as 1000 laxity cpu run --runtime 4ms --period 20ms -- true
laxity cpu down
cat /sys/kernel/sched_ext/state

echo "== recorded"
record_reserved bebs-credit 7s
tasks hog 2 1 >/dev/null &
tasks respond 4000 100 100 >/dev/null &
with_status wait $recorder
: >/tmp/over
wait
cat /tmp/recorded
echo "== judged"
# What the kernel does not preempt may take the emulator more than the 200 us tolerated otherwise: of 18 records begun at
# as many instants one has a switch of 204 us.
judge() { with_status laxity validate --tolerance 500us "$1"; }
judge /tmp/run.csv
# changed CONDITION CHANGE: the same with the first such line changed.
changed() {
    awk -F , -v OFS=, -v CONVFMT=%d "!done && ($1) { done = 1; $2 } { print }" /tmp/run.csv >/tmp/changed.csv
    judge /tmp/changed.csv
}
server=$(awk -F , '$1 == "server" && $8 == "hard" && $7 == "ready" { print $5 "." $6 }' /tmp/run.csv | tail -n 1)
echo "== another server"
# No server has this number: one that exists may be ready, with a later deadline.
# shellcheck disable=SC2016 # awk's own variables
changed "\$1 == \"slice\" && \$6 == \"$server\" && \$3 - \$2 > 1500000" '$6 = "0.99999"'
echo "== another time"
# shellcheck disable=SC2016 # awk's own variables
changed "\$1 == \"slice\" && \$6 == \"$server\" && \$3 - \$2 > 1500000" '$2 -= 3000000; $3 -= 3000000'
# The first jobs start the program, which may need more than it reserved.
# shellcheck disable=SC2016 # awk's own variables
woken='$1 == "server" && $4 == "wake" && $7 == "ready" && $8 == "hard" && n++ > 50'
echo "== another deadline"
# shellcheck disable=SC2016 # awk's own variables
changed "$woken" '$11 += 5000000'
echo "== another budget"
# shellcheck disable=SC2016 # awk's own variables
changed "$woken" '$10 = 500000'
laxity cpu down
cat /sys/kernel/sched_ext/state
judge_kernel
