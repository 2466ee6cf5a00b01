# shellcheck shell=sh
# Runs in the virtual machine: ten packets for each kind of rule, over IPv4, IPv6 and VLANs, and
# what the qdisc counted for each class; then packets of many segments.
set -eu
ip link add near type dummy
ip link set near address 02:00:00:00:00:01 up
ip address add 10.9.0.1/24 dev near
ip -6 address add fd00:1::1/64 dev near nodad
ip link add link near name near.5 type vlan id 5
ip link add link near.5 name near.5.6 type vlan id 6
ip link set near.5 up
ip link set near.5.6 up
ip address add 10.9.5.1/24 dev near.5
ip -6 address add fd00:5::1/64 dev near.5 nodad
ip address add 10.9.6.1/24 dev near.5.6
ip route add 10.8.0.0/16 dev near
ip -6 route add fd00:2::/64 dev near
mac=02:00:00:00:00:02
for to in 10.9.0.2 10.8.1.2 fd00:1::2 fd00:2::2; do ip neigh add "$to" lladdr $mac dev near; done
for to in 10.9.5.2 fd00:5::2; do ip neigh add "$to" lladdr $mac dev near.5; done
ip neigh add 10.9.6.2 lladdr $mac dev near.5.6
tc qdisc add dev near clsact
tc filter add dev near egress protocol ip pref 1 flower ip_proto udp dst_port 7000 \
    action skbedit mark 7
tc filter add dev near egress protocol ip pref 2 flower ip_proto udp dst_port 7001 \
    action skbedit priority 5
# Until the kernel's own questions about the interfaces have been asked.
sleep 3
counts() { kernel-link status near | awk '$2 == "packets" { print $1, $3 }'; }
# since FILE: what the classes have counted since the counts in FILE.
since() {
    counts | awk 'NR == FNR { before[$1] = $2; next } $2 > before[$1] { print $1, $2 - before[$1] }' "$1" - | tr '\n' ' '
}
# ten NAME ADDRESS:PORT [DSCP]
ten() {
    counts >/tmp/before
    traffic flood "$2" "${3:-0}" 100 10 1 0 0 >/dev/null
    echo "$1: $(since /tmp/before)"
}
# One link for all of them: the verifier takes ten times as long as the packets.
kernel-link up rules.toml near 2>/dev/null
ten mark 10.9.0.2:7000
ten priority 10.9.0.2:7001
ten dscp 10.9.0.2:5000 18
ten dscp6 '[fd00:1::2]:5000' 18
ten ports 10.9.0.2:6003
ten ports6 '[fd00:1::2]:6009'
ten beyond 10.9.0.2:6010
ten six '[fd00:2::2]:5000'
ten prefix 10.8.1.2:5000
ten vlan 10.9.5.2:6000
ten vlan6 '[fd00:5::2]:6000'
ten stacked 10.9.6.2:6000
ten stacked-dscp 10.9.6.2:5000 18
counts >/tmp/before
ping -c 10 -i 0.01 -W 1 10.9.0.2 >/dev/null 2>&1 || true
echo "ping: $(since /tmp/before)"
echo "segments: $(ip -d link show near | grep -o 'gso_max_segs [0-9]*')"
kernel-link down near
echo "segments: $(ip -d link show near | grep -o 'gso_max_segs [0-9]*')"
