# shellcheck shell=sh
# Runs in the virtual machine: the rate of a link changes under load. Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

echo "== rates"
tell up family.toml --dev near
in_rx traffic receive 24 voice=5001:0 video=5002:0 http=5003:0 bulk=5004:0 >/tmp/rx &
receiver=$!
sleep 0.5
in_tx traffic send rates.csv 10.9.0.2 voice=5001:46 video=5002:34 http=5003:10 bulk=5004:1 >/tmp/tx &
sender=$!
sleep 0.3
rate() {
    tell set --dev near --rate "$1"
    cat /tmp/said
}
rate "3 Mbit/s"
rate "3010 kbit/s"
for _ in $(seq 6); do
    rate "2 Mbit/s"
    sleep 0.03
    rate "5 Mbit/s"
    sleep 0.05
done
rate "1 kbit/s"
rate "3 Mbit/s"
echo "== fallen"
link status --dev near --json
link status --dev near
echo "== risen"
rate "10 Mbit/s"
wait $sender
wait $receiver
cat /tmp/tx /tmp/rx
link status --dev near --json
tell down --dev near
as_found
