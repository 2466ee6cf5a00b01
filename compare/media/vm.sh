# shellcheck shell=sh
# Runs in the virtual machine: rows of streams between two network namespaces, sent by nothing, by the media
# server, by the server without a quantum, and by sockets under fq.
#
#   usage: vm.sh [STREAMS GAP_US SECONDS]...
set -eu
ip netns add peer
ip link add near type veth peer name far netns peer
ip address add 10.0.0.1/24 dev near
ip link set near up
ip -n peer address add 10.0.0.2/24 dev far
ip -n peer link set far up
ping -c 1 10.0.0.2 >/dev/null
# The kernel's work after its start is over by then.
sleep 8
row() {
    ip netns exec peer chrt -i 0 laxity-compare-media receive 10.0.0.2:5004 "$2" "$3" $(($4 + 2)) \
        >/tmp/received &
    sleep 0.5
    laxity-compare-media "$1" 10.0.0.2:5004 "$2" "$3" "$4" >/tmp/sent
    wait $!
    echo "$1 $2 $3 $(cat /tmp/sent) $(cat /tmp/received)"
}
while [ $# -gt 0 ]; do
    row nothing "$1" "$2" "$3"
    row laxity "$1" "$2" "$3"
    row precise "$1" "$2" "$3"
    tc qdisc add dev near root fq limit 1000000 flow_limit 1000
    row fq "$1" "$2" "$3"
    tc qdisc show dev near
    tc -s qdisc show dev near | grep -o 'dropped [0-9]*'
    tc qdisc del dev near root
    shift 3
done
