# shellcheck shell=sh
# Runs in the virtual machine: what happens to a link when commands are killed while they set it up, and when its
# interface goes down under traffic. Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

echo "== killed while coming up"
# Its undisturbed duration once the first one, which takes a second longer, has filled the kernel's caches. The command
# itself is killed, not a shell around it.
clock() { awk '{ print $1 * 1000 }' /proc/uptime; }
link up family.toml --dev near --policy shifted-line
link down --dev near
began=$(clock)
link up family.toml --dev near --policy shifted-line
whole=$(($(clock) - began))
link down --dev near
for earlier in $whole 24 22 20 18 0; do
    nsenter --net=/run/netns/tx laxity link up family.toml --dev near --policy shifted-line 2>/dev/null &
    sleep "$(awk "BEGIN { print ($whole - $earlier) / 1000 }")"
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    pinned=$(find /sys/fs/bpf -mindepth 3 | wc -l)
    segments=$(ip -n tx -d link show near | sed -n 's/.*gso_max_segs \([0-9]*\).*/\1/p')
    kind=$(tc -n tx qdisc show dev near | cut -c 1-12)
    echo "$earlier ms earlier: $pinned pins, $segments segments, $kind"
    link down --dev near || true
    as_found
done

echo "== link down and up under traffic"
device() { ip -n tx -s link show near | awk '/TX:/ { getline; print $4 }'; }
# Datagrams that went as far as the interface.
# shellcheck disable=SC2016 # awk's own variables
udp() { in_tx awk '/^Udp: [0-9]/ { print $5 + $7 }' /proc/net/snmp; }
tell up family.toml --dev near --policy shifted-line
sent=$(udp) lost=$(device)
in_tx traffic flood 10.9.0.2:5004 1 1400 400 1 5 3000 >/dev/null &
flood=$!
sleep 0.2
ip -n tx link set near down
sleep 0.1
ip -n tx link set near up
ip -n tx neigh replace 10.9.0.2 lladdr "$mac" dev near
wait $flood
sleep 2
echo "given $(($(udp) - sent)) device $(($(device) - lost))"
link status --dev near --json
tell down --dev near

echo "== two interfaces"
ip -n tx link add second type dummy
ip -n tx link set second up
ip -n tx address add 10.10.0.1/24 dev second
ip -n tx neigh add 10.10.0.2 lladdr "$mac" dev second
tell up family.toml --dev near --policy shifted-line
tell up more.toml --dev second --policy background
for to in 10.9.0.2 10.10.0.2; do
    in_tx traffic send pair.csv $to voice=5001:46 video=5002:34 http=5003:10 >/tmp/tx.$to &
    senders="${senders:-} $!"
done
# shellcheck disable=SC2086 # several numbers
wait $senders
sleep 0.5
cat /tmp/tx.*
link status --json
tell down --dev second
tell status --dev near
tell status --dev second

echo "== kernel"
judge_kernel
