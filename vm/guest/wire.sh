# shellcheck shell=sh
# Sourced by scripts in the virtual machine: a link between two network namespaces and an
# emulated wire of 10 Mbit/s behind it, or of what `rate` says; none when that is empty.
in_tx() { nsenter --net=/run/netns/tx "$@"; }
in_rx() { nsenter --net=/run/netns/rx "$@"; }

ip netns add tx
ip netns add rx
ip link add near netns tx type veth peer name far netns rx
ip -n tx address add 10.9.0.1/24 dev near
ip -n rx address add 10.9.0.2/24 dev far
ip -n tx link set near up
ip -n rx link set far up
if [ -n "${rate=10mbit}" ]; then
    ip -n rx link add wire type ifb
    ip -n rx link set wire up
    tc -n rx qdisc add dev wire root netem rate "$rate" limit 10000
    tc -n rx qdisc add dev far ingress
    tc -n rx filter add dev far parent ffff: matchall action mirred egress redirect dev wire
fi
mac=$(ip -n rx link show far | awk '/ether/ { print $2 }')
ip -n tx neigh add 10.9.0.2 lladdr "$mac" dev near
# Enough for a flood to reach the qdisc.
echo 8000000 >/proc/sys/net/core/wmem_default
# Until the kernel's own questions about the interfaces have been asked.
sleep 3
