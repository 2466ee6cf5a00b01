# shellcheck shell=sh
# Runs in the virtual machine: scenarios change under load, and TCP fills what real time leaves.
# Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

tell up family.toml --dev near

echo "== changed under load"
in_rx traffic receive 12 voice=5001:0 video=5002:0 http=5003:0 bulk=5004:0 >/tmp/rx &
receiver=$!
sleep 0.5
in_tx traffic send load.csv 10.9.0.2 voice=5001:46 video=5002:34 http=5003:10 bulk=5004:1 >/tmp/tx &
sender=$!
changed=0
change_to() {
    if link set "$1" --dev near; then changed=$((changed + 1)); else cat /tmp/said; fi
}
for i in $(seq 50); do
    change_to more.toml
    [ "$i" != 20 ] || tell set tight.toml --dev near
    change_to family.toml
done
kill -0 $sender 2>/dev/null && echo "under load to the end"
wait $sender
wait $receiver
echo "changed $changed"
cat /tmp/tx /tmp/rx
link status --dev near --json
tc -n tx -s qdisc show dev near | grep -o 'dropped [0-9]*'

tell down --dev near
as_found

echo "== another rate"
# A deadline that is shorter than a packet takes at the rate before.
sed -e 's/200 kbit/10 Mbit/' -e 's/300 ms/4 ms/' slow.toml >quick.toml
# One that waiting packets of 1400 B would break.
sed -e 's/4 ms/1200 us/' -e 's/1400 B/400 B/' quick.toml >short.toml
tell up slow.toml --dev near
in_tx traffic send rates.csv 10.9.0.2 voice=5001:46 bulk=5004:1 >/tmp/tx &
sender=$!
sleep 0.3
for i in $(seq 8); do
    tell set quick.toml --dev near
    sleep 0.05
    tell set slow.toml --dev near
    sleep 0.15
done
tell set short.toml --dev near
wait $sender
cat /tmp/tx
link status --dev near --json
tell down --dev near

echo "== TCP beside real time"
# Its connection is older than the link; its data come when the wire behind the link is empty, which
# is as fast as the link and would never get rid of a backlog.
in_rx sh -c 'sleep 60 | nc -l -p 6000 >/dev/null' &
sleep 0.2
in_tx sh -c '{ while [ ! -e /tmp/ready ]; do sleep 0.1; done; exec dd if=/dev/zero bs=64k count=300 2>/dev/null; } | nc 10.9.0.2 6000' &
sleep 0.3
tell up more.toml --dev near
touch /tmp/ready
sleep 1
# Before nc and the command in the kernel's queue: the delay of a packet ends when the receiver has run.
in_rx chrt -f 60 traffic receive 3 voice=5001:12000 video=5002:90000 >/tmp/rx &
receiver=$!
sleep 0.5
in_tx chrt -f 50 traffic send calls.csv 10.9.0.2 voice=5001:46 video=5002:34 >/tmp/tx &
sleep 1
tell set family.toml --dev near
tell set more.toml --dev near
wait $receiver
cat /tmp/tx /tmp/rx
link status --dev near --json
pidof nc >/dev/null && echo "TCP is still at it"
