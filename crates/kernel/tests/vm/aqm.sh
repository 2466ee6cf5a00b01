# shellcheck shell=sh
# Runs in the virtual machine: 16 downloads over 20 ms beside voice and a ping, without and with flow queues
# and an AQM, with and without ECN; a flood of flows; marked packets with wrong checksums; a command that is
# killed. Prints what there is to judge.
set -eu
# shellcheck disable=SC2034 # for wire.sh: the link is the bottleneck
rate=
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh
tc -n rx qdisc add dev far root netem delay 20ms limit 10000
sed '/^flows\|^aqm/d' aqm.toml >fifo.toml

# Packets that arrived with "congestion experienced".
marked() { in_rx awk '/^IpExt/ { if (n++) print $i; else for (i = 1; $i != "InCEPkts"; i++); }' /proc/net/netstat; }
# iperf3's value of a name over all connections: received bits, retransmitted segments.
sum_of() { awk -v name="\"$1\":" '/"sum_sent"/ { found = 1 } found && $1 == name { print int($2); exit }' /tmp/iperf3; }

# downloads NAME SCENARIO ECN
downloads() {
    echo "== $1"
    for side in in_tx in_rx; do $side sh -c "echo $3 >/proc/sys/net/ipv4/tcp_ecn"; done
    tell up "$2" --dev near
    before_marks=$(marked)
    in_rx iperf3 --server --one-off >/dev/null &
    server=$!
    in_rx traffic receive 6 voice=5001:10000 >/tmp/rx &
    receiver=$!
    sleep 0.5
    in_tx iperf3 --client 10.9.0.2 --parallel 16 --time 5 --json >/tmp/iperf3 &
    client=$!
    sleep 1.5
    in_tx traffic send calls.csv 10.9.0.2 voice=5001:46 >/tmp/tx &
    in_tx ping -q -c 15 -i 0.2 10.9.0.2 | sed -n 's,.*min/avg/max = \([0-9]*\).[0-9]*/\([0-9]*\).[0-9]*/\([0-9]*\).*,ping least \1 mean \2 longest \3,p'
    wait $client $receiver $server
    cat /tmp/tx /tmp/rx
    echo "iperf3 bit/s $(sum_of bits_per_second) retransmits $(sum_of retransmits) marked $(($(marked) - before_marks))"
    tc -n tx -s qdisc show dev near | sed -n 's/.*Sent \([0-9]*\) bytes \([0-9]*\) pkt (dropped \([0-9]*\),.*/tc bytes \1 packets \2 dropped \3/p; s/.*backlog \([0-9]*\)b \([0-9]*\)p.*/backlog bytes \1 packets \2/p'
    link status --dev near --json
    tell down --dev near
    as_found
}

downloads "one queue" fifo.toml 0
downloads "flow queues and CoDel" aqm.toml 0
downloads "with ECN" aqm.toml 1

echo "== flood"
ip -n tx address add 10.9.0.3/24 dev near
tell up aqm.toml --dev near
in_rx iperf3 --server --one-off >/dev/null &
server=$!
sleep 0.5
flows=$(awk 'BEGIN { for (i = 0; i < 400; i++) printf " f%d=%d:0", i, 6000 + i }')
# shellcheck disable=SC2086 # one argument a flow
in_tx traffic send flood.csv 10.9.0.2 $flows >/dev/null &
in_tx iperf3 --client 10.9.0.2 --bind 10.9.0.3 --time 4 --json >/tmp/iperf3
wait $server
echo "iperf3 bit/s $(sum_of bits_per_second)"
link status --dev near --json
tell down --dev near
ip -n tx address del 10.9.0.3/24 dev near

echo "== wrong checksums"
# The interface in front changes a bit of each packet, often one of the IP header.
sed '/^flows/d' aqm.toml >queue.toml
tell up queue.toml --dev near
ip -n tx link add link near name front type macvlan mode private
ip -n tx link set front up
tc -n tx qdisc add dev front root netem corrupt 100%
ip -n tx route add 10.9.0.9 dev front
ip -n tx neigh add 10.9.0.9 lladdr "$mac" dev front
# tcpdump asks for its user.
mkdir -p /etc
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
in_rx tcpdump -Z root -i far -n -v -l --immediate-mode ip >/tmp/dump 2>/dev/null &
dump=$!
sleep 0.5
in_tx traffic flood 10.9.0.9:9 0 60 40000 1 20 500 2 >/dev/null
sleep 1
kill $dump
awk '/[(]tos / { all++; wrong += /bad cksum/; marked += /,CE/; both += /,CE/ && /bad cksum/ }
    END { print "received " all + 0 " wrong " wrong + 0 " marked " marked + 0 " both " both + 0 }' /tmp/dump
link status --dev near --json
tell down --dev near
ip -n tx link del front
as_found

echo "== killed"
# The program that marks goes with its pin, and with the interface.
pinned() { ls -d /sys/fs/bpf/laxity/*/"$1"; }
link up aqm.toml --dev near
tc -n tx qdisc del dev near root
for pin in about changes counts earlier mark qdisc stalls state wanted; do pinned $pin >/dev/null || echo "no $pin"; done
rm "$(pinned mark)" "$(pinned state)"
tell up aqm.toml --dev near
tell down --dev near
as_found
echo "pins $(pins)"
judge_kernel
