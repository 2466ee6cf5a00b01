# shellcheck shell=sh
# Runs in the virtual machine: iperf3 takes what voice and video leave. Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

# The rate that the far end received, in bit/s.
measured() { awk '/"sum_received"/ { found = 1 } found && /bits_per_second/ { print int($2); exit }'; }

tell up more.toml --dev near
in_rx iperf3 --server --one-off >/dev/null &
in_rx traffic receive 6 voice=5001:12000 video=5002:90000 >/tmp/rx &
receiver=$!
sleep 0.5
in_tx iperf3 --client 10.9.0.2 --time 4 --json >/tmp/iperf3 &
client=$!
sleep 1
in_tx traffic send calls.csv 10.9.0.2 voice=5001:46 video=5002:34 >/tmp/tx
wait $client
wait $receiver
cat /tmp/tx /tmp/rx
echo "iperf3 $(measured </tmp/iperf3)"
link status --dev near --json
tell down --dev near
as_found
