# shellcheck shell=sh
# Runs in the virtual machine, on two processors, under each policy named: records both CPUs while two reservations
# hold, one of which changes, beside best effort; `laxity validate` judges the record, also with one budget changed.
# The last record has a gap. The emulator runs the processors in turns of at most 1 ms, and one out of turn executes
# nothing while its clock runs on. Jobs of 2 ms have been charged 7 ms, so these need a quarter of their budgets at most.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=crates/kernel/tests/vm/recording.sh
. ./recording.sh

# record_and_stop FILE: a recorder that stands still.
record_and_stop() {
    rm /tmp/recorded
    laxity cpu up --policy bebs --record "$1" --duration 5min >/tmp/recorded 2>&1 &
    recorder=$!
    wait_for grep -q recorded /tmp/recorded
    kill -STOP $recorder
}

for policy; do
    record_reserved "$policy" 4s 800
    tasks hog 3 1 >/dev/null &
    tasks respond 4000 100 50 >/dev/null &
    sleep 1
    laxity cpu release $one
    laxity cpu reserve $one --runtime 5ms --period 10ms
    echo "== recorded under $policy"
    with_status wait $recorder
    : >/tmp/over
    wait
    echo "== judged under $policy"
    with_status laxity validate --tolerance 4ms /tmp/run.csv
    echo "== changed under $policy"
    awk -F , -v OFS=, '$1 == "server" && $4 == "wake" && $7 == "ready" && $8 == "hard" && n++ > 50 && !done {
        done = 1
        $11 += 9000000
    }
    { print }' /tmp/run.csv >/tmp/changed.csv
    with_status laxity validate --tolerance 4ms /tmp/changed.csv
    laxity cpu down
done
# The recorder stands still while more happens than it has place for: a byte goes to and fro 15,000 times, with some
# ten events each, and 75,000 have place.
record_and_stop /tmp/gap.csv
tasks pass 15000 >/dev/null
kill -TERM $recorder
kill -CONT $recorder
echo "== recorded with a gap"
with_status wait $recorder
cat /tmp/recorded
echo "== judged with a gap"
with_status laxity validate --tolerance 4ms /tmp/gap.csv
laxity cpu down
# While a record is still being written.
record_and_stop /tmp/first.csv
laxity cpu down
echo "== second record"
with_status laxity cpu up --policy bebs --record /tmp/second.csv --duration 1s
cat /sys/kernel/sched_ext/state
kill -KILL $recorder
wait $recorder || true
judge_kernel
