# shellcheck shell=sh
# Read by scripts that try `laxity link`: how it is called, and what is to be seen of it.
link() { in_tx laxity link "$@" 2>/tmp/said; }
# Says how a command ended, and the last thing it said.
tell() {
    code=0
    link "$@" >/tmp/out || code=$?
    echo "$1 $code $(tail -n 1 /tmp/said)"
}
found() { ip -n tx -d link show near; tc -n tx qdisc show dev near; }
# Whether the interface is as it was at the beginning.
as_found() {
    if [ "$before" = "$(found)" ]; then echo "as found"; else found; fi
}
pins() { find /sys/fs/bpf -mindepth 2 -maxdepth 2 | wc -l; }
# A house at 192.168.1.2, on `home`, behind the router `tx`.
add_house() {
    ip netns add house
    ip link add inside netns tx type veth peer name home netns house
    ip -n tx address add 192.168.1.1/24 dev inside
    ip -n house address add 192.168.1.2/24 dev home
    ip -n tx link set inside up
    ip -n house link set home up
    ip -n house route add default via 192.168.1.1
    ip -n rx route add 192.168.1.0/24 via 10.9.0.1
    in_tx sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}
ip -n tx link set lo up
before=$(found)
