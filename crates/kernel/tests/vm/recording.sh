# shellcheck shell=sh
# For scripts that have sourced checks.sh.

# record_reserved POLICY TIME [WORK]: records the CPUs to /tmp/run.csv for so long, while two periodic tasks hold
# reservations until /tmp/over exists: jobs of WORK us, by default 2000, beside 4 ms every 10 ms, and three times as much
# beside 10 ms every 40 ms. The PIDs are in `recorder`, `one` and `two`.
record_reserved() {
    rm -f /tmp/over /tmp/recorded
    # The kernel does not preempt the copy of a huge page, 0.8 ms in the emulator.
    echo never >/sys/kernel/mm/transparent_hugepage/enabled
    work=${3:-2000}
    # Before other tasks compute: the verifier needs some time.
    laxity cpu up --policy "$1" --record /tmp/run.csv --duration "$2" >/tmp/recorded 2>&1 &
    # shellcheck disable=SC2034 # for the script
    recorder=$!
    wait_for grep -q recorded /tmp/recorded
    tasks periodic 10000 "$work" 1000 /tmp/over >/tmp/one &
    one=$!
    tasks periodic 40000 $((3 * work)) 1000 /tmp/over >/tmp/two &
    two=$!
    laxity cpu reserve $one --runtime 4ms --period 10ms
    laxity cpu reserve $two --runtime 10ms --period 40ms
}
