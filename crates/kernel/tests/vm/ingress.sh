# shellcheck shell=sh
# Runs in the virtual machine: links of both directions of a router's interface `near`, between the provider
# `far` and a house behind it. Prints what there is to judge.
set -eu
# shellcheck disable=SC2034 # read by wire.sh
rate=
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh
in_house() { nsenter --net=/run/netns/house "$@"; }
found() {
    ip -n tx -d link show near
    ip -n tx link show | grep ifb || true
    tc -n tx qdisc show dev near
    tc -n tx filter show dev near ingress
    echo "pins $(pins)"
}
# The verifier takes most of the time of `up`.
ingress_up() { tell up --ingress family.toml --dev near --policy background; }

add_house
in_house ping -c 1 -W 5 10.9.0.2 >/dev/null
clear=$(found)
# A filter of somebody else, which counts.
tc -n tx qdisc add dev near clsact
tc -n tx filter add dev near ingress pref 10 matchall action gact continue
filters() { tc -n tx filter show dev near ingress | sed -n 's/.*\(pref [0-9]* matchall\) chain 0 $/\1/p'; }
counted() { tc -n tx -s filter show dev near ingress | awk '/Sent/ { print $4; exit }'; }
before=$(found)

echo "== shaped"
mkfifo /tmp/rates
nsenter --net=/run/netns/tx laxity link up more.toml --ingress family.toml --dev near \
    --rate-from "cat /tmp/rates" 2>/tmp/followed &
follower=$!
exec 3>/tmp/rates
for _ in 1 2 3; do
    sleep 6
    ! grep -q 'come first' /tmp/followed || break
done
filters
first=$(counted)
flows="voice=5001:10000 video=5002:100000 bulk=5004:0"
for receiver in house rx; do
    # shellcheck disable=SC2086 # several words
    nsenter --net=/run/netns/$receiver traffic receive 3 $flows >/tmp/got.$receiver &
    receivers="${receivers:-} $!"
done
sleep 0.5
nsenter --net=/run/netns/rx traffic send load.csv 192.168.1.2 voice=5001:46 video=5002:34 bulk=5004:1 >/tmp/sent.house &
in_house traffic send calls.csv 10.9.0.2 voice=5001:46 video=5002:34 >/tmp/sent.rx
# shellcheck disable=SC2086 # several numbers
wait $receivers
echo "counted $(($(counted) - first))"
echo "== house"
cat /tmp/sent.house /tmp/got.house
echo "== provider"
cat /tmp/sent.rx /tmp/got.rx
echo "== status"
link status --dev near --json
tell status --dev ifb-near
grep '^ifb' /tmp/out

echo "== rates"
rates() { link status --dev near --json | sed -n 's/.*"rate_bit_s": \([0-9]*\),$/\1/p' | tr '\n' ' '; }
echo garbage >&3
echo 6000 7000 >&3
wait_for grep -q 'ifb-near runs at 7 Mbit/s' /tmp/followed
echo "followed $(rates)"
kill $follower
wait $follower || true
exec 3>&-
echo "returned $(rates)"
tell set --dev near --rate "5 Mbit/s" --ingress-rate "8 Mbit/s"
echo "set $(rates)"
tell set family.toml --ingress more.toml --dev near
# A change of an empty queue takes effect with the next packet: one for each direction.
in_house ping -c 1 -W 5 10.9.0.2 >/dev/null
echo "set $(rates)"

echo "== refused"
tell up more.toml --ingress family.toml --dev near
ingress_up
tell up --ingress family.toml --dev ifb-near --policy background
tell down --dev near
as_found
tell down --dev near
tell set --ingress-rate "8 Mbit/s" --dev near
ip -n tx link add ifb-near type ifb
tell up more.toml --ingress family.toml --dev near --policy background
tell down --dev near
ip -n tx link show ifb-near | grep -o '^[0-9]*: ifb-near'
ip -n tx link del ifb-near
tell up more.toml --ingress tight.toml --dev near
chmod 755 /
code=0
in_tx /usr/local/bin/setpriv --reuid 1000 --regid 1000 --clear-groups \
    laxity link up --ingress family.toml --dev near 2>/tmp/said || code=$?
echo "stranger $code $(tail -n 1 /tmp/said)"
as_found
tc -n tx qdisc del dev near clsact
before=$clear
as_found

echo "== taken away"
ingress_up
# A filter that comes to a clsact of ours keeps it.
tc -n tx filter add dev near egress pref 10 matchall action gact continue
ip -n tx link del ifb-near
tell down --dev near
tc -n tx filter show dev near egress | grep -o 'pref 10 matchall chain 0 $'
tc -n tx qdisc del dev near clsact
as_found
ingress_up
tc -n tx qdisc del dev near clsact
link status --dev ifb-near | grep -o 'removed.*,'
tell down --dev ifb-near
as_found

echo "== killed while coming up"
clock() { awk '{ print $1 * 1000 }' /proc/uptime; }
began=$(clock)
ingress_up
whole=$(($(clock) - began))
link down --dev near
for earlier in 10 16 $((whole / 2)); do
    nsenter --net=/run/netns/tx laxity link up --ingress family.toml --dev near --policy background 2>/dev/null &
    sleep "$(awk "BEGIN { print ($whole - $earlier) / 1000 }")"
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    ifb=$(ip -n tx link show | grep -c ifb- || true)
    clsact=$(tc -n tx qdisc show dev near | grep -c clsact || true)
    filter=$(tc -n tx filter show dev near ingress | grep -c mirred || true)
    echo "$earlier ms earlier: $(pins) pins, $ifb ifb, $clsact clsact, $filter filter"
    link down --dev near || true
    as_found
done

echo "== tunnel"
# Its packets have no Ethernet header.
modprobe ipip
for side in "tx 1 2" "rx 2 1"; do
    # shellcheck disable=SC2086 # several words
    set -- $side
    ip -n "$1" link add t0 type ipip local "10.9.0.$2" remote "10.9.0.$3"
    ip -n "$1" address add "10.6.0.$2/24" dev t0
    ip -n "$1" link set t0 up
done
tell up --ingress family.toml --dev t0 --policy background
in_rx ping -c 5 -i 0.1 10.6.0.1 | grep -o '[0-9]* packets received'
link status --dev t0 --json
tell down --dev t0

echo "== cards"
# GRO joins what cards receive; its packets are counted once each.
modprobe virtio_net
for card in 0 1; do
    case $card in 0) to=tx ;; *) to=rx ;; esac
    # GRO holds what came for up to 5 ms, so that it joins packets however slowly the emulator runs the sender.
    echo 5000000 >/sys/class/net/eth$card/gro_flush_timeout
    echo 20 >/sys/class/net/eth$card/napi_defer_hard_irqs
    ip link set eth$card netns $to name card mtu 1500
    ip -n $to address add 10.7.0.$((card + 1))/24 dev card
    ip -n $to link set card up
done
# shellcheck disable=SC2016 # awk's own variables
received() { in_tx awk '/^Ip: [0-9]/ { print $4 }' /proc/net/snmp; }
transfer() {
    # It ends when its input does.
    in_tx sh -c 'sleep 2 | nc -l -p 6000 >/dev/null' &
    listener=$!
    sleep 0.3
    first=$(received)
    in_rx sh -c 'dd if=/dev/zero bs=64k count=40 2>/dev/null | nc 10.7.0.1 6000'
    wait $listener
    echo $(($(received) - first))
}
# The fewest packets of three transfers: how many GRO joins depends on how fast the emulator runs the sender.
fewest() {
    few=$(transfer)
    for _ in 2 3; do
        more=$(transfer)
        [ "$more" -gt "$few" ] || few=$more
    done
    echo "$few"
}
wait_for in_rx ping -c 1 -W 1 10.7.0.1
echo "before $(fewest)"
sed -e 's/10 Mbit/50 Mbit/' more.toml >fast.toml
tell up --ingress fast.toml --dev card --policy background
echo "during $(transfer)"
link status --dev card --json
tell down --dev card
echo "after $(fewest)"

echo "== interface gone"
tell up --ingress fast.toml --dev card --policy background
ip -n tx link set card netns house
ip -n tx link show | grep -c ifb- || true
tell down --dev card
sleep 0.5
echo "pins $(pins) ifb $(ip -n tx link show | grep -c ifb- || true) programs $(kernel-link profile | wc -l)"
judge_kernel
