# shellcheck shell=sh
# Runs in the virtual machine: a concave and a convex service curve on a link whose wire is never idle.
# Every 60 ms the convex flow sends a packet, and 12.99 ms later it comes back with a backlog together
# with a burst of the concave one, where HFSC makes the burst late (hfsc.sh).
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=vm/guest/wire.sh
. ./wire.sh

# Best effort at 12 Mbit/s, and voice every 5 ms.
awk 'BEGIN {
    print "time_ns,bytes,flow"
    for (at = 0; at < 2000000000; at += 1000000) {
        print at ",1500,bulk"
        if (at % 5000000 == 0) print at ",200,voice"
        if (at % 60000000 == 0) print at ",1500,convex"
        if (at % 60000000 == 12000000) {
            back = at + 990000
            for (i = 0; i < 2; i++) print back ",1500,convex"
            for (i = 0; i < 10; i++) print back ",1250,concave"
            for (i = 0; i < 8; i++) print back ",1500,convex"
        }
    }
}' >trace.csv

echo "== slack"
in_tx kernel-link up curves.toml near slack 2>&1 || true
in_tx kernel-link up curves.toml near 2>/dev/null
# From when it begins to wait a burst of 12,500 B takes its curve 22 ms, a backlog of 15,000 B 42 ms.
in_rx traffic receive 4 concave=5001:22000 convex=5002:42000 voice=5003:20000 bulk=5004:0 >/tmp/rx &
sleep 0.5
in_tx traffic send trace.csv 10.9.0.2 concave=5001:46 convex=5002:34 voice=5003:40 bulk=5004:1 >/tmp/tx
wait
echo "== exact"
cat /tmp/tx /tmp/rx
in_tx kernel-link status near
in_tx kernel-link down near
judge_kernel
