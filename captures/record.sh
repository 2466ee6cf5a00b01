#!/bin/bash
# Records the captures of this folder from traffic between network namespaces of its own.
#
#   usage: record.sh [folder]        (root; default: the folder of this script; about 17 s)
#
# Needs, as Debian packages: iproute2 nftables ethtool tcpdump ffmpeg iperf3 dnsmasq-base
# bind9-dnsutils curl python3 iputils-ping. Nothing leaves the namespaces, and they are gone when
# the script ends.
#
#   server 10.71.1.1 ---- 10.71.1.2 router 10.71.2.2 --TBF 10 Mbit/s--> 10.71.2.1 client
#                         ^ access-link.pcap                            ^ cooked-*.pcap
#   server 10.71.3.1 -------------------- tun, raw IP ------------------- 10.71.3.2 client
#                                         ^ tunnel-raw.pcap
set -euo pipefail

out=$(realpath "${1:-$(dirname "$0")}")
seconds=15
srv=lx-$$-srv rtr=lx-$$-rtr cli=lx-$$-cli
work=$(mktemp -d)
pids=() dumps=()

cleanup() {
    trap - EXIT
    for pid in "${pids[@]}" "${dumps[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for ns in $srv $rtr $cli; do ip netns del "$ns" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Runs a command in a namespace, in the background, for at most 60 s.
background() {
    local ns=$1
    shift
    ip netns exec "$ns" timeout 60 "$@" >>"$work/log" 2>&1 &
    pids+=($!)
}
in_ns() { ip netns exec "$@"; }

# --- the link ------------------------------------------------------------------------------
for ns in $srv $rtr $cli; do
    ip netns add "$ns"
    in_ns "$ns" ip link set lo up
done
ip link add eth0 netns $srv type veth peer name wan0 netns $rtr
ip link add lan0 netns $rtr type veth peer name eth0 netns $cli
in_ns $srv ip addr add 10.71.1.1/24 dev eth0
in_ns $srv ip addr add fd71:1::1/64 dev eth0 nodad
in_ns $rtr ip addr add 10.71.1.2/24 dev wan0
in_ns $rtr ip addr add fd71:1::2/64 dev wan0 nodad
in_ns $rtr ip addr add 10.71.2.2/24 dev lan0
in_ns $rtr ip addr add fd71:2::2/64 dev lan0 nodad
in_ns $cli ip addr add 10.71.2.1/24 dev eth0
in_ns $cli ip addr add fd71:2::1/64 dev eth0 nodad
# Packets as they are on a wire: no segmentation or checksums left to a network card.
for at in "$srv eth0" "$rtr wan0" "$rtr lan0" "$cli eth0"; do
    read -r ns dev <<<"$at"
    in_ns "$ns" ethtool -K "$dev" tso off gso off gro off tx off rx off >/dev/null 2>&1 || true
    in_ns "$ns" ip link set "$dev" up
done
in_ns $srv ip route add default via 10.71.1.2
in_ns $srv ip -6 route add default via fd71:1::2
in_ns $cli ip route add default via 10.71.2.2
in_ns $cli ip -6 route add default via fd71:2::2
in_ns $rtr sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
in_ns $rtr tc qdisc add dev lan0 root tbf rate 10mbit burst 3028 limit 250000

# --- a tunnel: a process that carries packets between two tun devices ------------------------
cat >"$work/tunnel.py" <<'PY'
import ctypes, fcntl, os, select, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def tun(ns):
    with open(f"/run/netns/{ns}") as f:
        if libc.setns(f.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))
    return fd
a, b = tun(sys.argv[1]), tun(sys.argv[2])
while True:
    for fd in select.select([a, b], [], [])[0]:
        packet = os.read(fd, 65536)
        try:
            os.write(b if fd == a else a, packet)
        except OSError:
            pass  # The other end is not up yet.
PY
background $srv python3 "$work/tunnel.py" $srv $cli
for _ in $(seq 50); do
    in_ns $cli ip link show tun0 >/dev/null 2>&1 && break
    sleep 0.1
done
in_ns $srv ip addr add 10.71.3.1/24 dev tun0
in_ns $cli ip addr add 10.71.3.2/24 dev tun0
in_ns $srv ip link set tun0 up
in_ns $cli ip link set tun0 up

# --- servers ---------------------------------------------------------------------------------
mkdir "$work/www"
for size in 4 30 120 400; do head -c ${size}k /dev/urandom >"$work/www/$size"; done
background $srv python3 -m http.server --directory "$work/www" 80
background $srv iperf3 -s -p 5201
background $srv dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts \
    --user=root --pid-file= --address=/laxity.test/10.71.1.1 --txt-record=big.laxity.test,"$(printf 'x%.0s' {1..200})"
# ffmpeg's option for the code point does nothing over IPv6.
in_ns $srv nft -f - <<'NFT'
table ip6 mark_voice {
    chain output {
        type filter hook output priority mangle;
        udp dport 5008-5009 ip6 dscp set ef
    }
}
NFT
cat >"$work/sink.py" <<'PY'
import select, socket
ports = [n + k for n in (5004, 5006, 5008, 5010, 5012, 5014) for k in (0, 1)]
sockets = []
for port in ports:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(("::", port))
    sockets.append(s)
while True:
    for s in select.select(sockets, [], [])[0]:
        s.recv(65536)
PY
background $cli python3 "$work/sink.py"
sleep 1

# --- traffic ---------------------------------------------------------------------------------
# Code points as the operating system takes them here: ffmpeg's option is the whole octet's top
# six bits, 46 is EF and 34 is AF41.
call() { # port, host, seed: a call, Opus at 32 kbit/s in packets of 20 ms
    background $srv ffmpeg -nostdin -loglevel error -re -f lavfi \
        -i "anoisesrc=color=pink:seed=$3:amplitude=0.3:sample_rate=48000,tremolo=f=0.7:d=0.9" \
        -c:a libopus -b:a 32k -frame_duration 20 -application voip -t $((seconds + 3)) \
        -f rtp "rtp://$2:$1?dscp=46&rtcpport=$(($1 + 1))"
}
video() { # port, bits per second, frames per second
    background $srv ffmpeg -nostdin -loglevel error -re -f lavfi \
        -i "testsrc2=size=640x360:rate=$3,noise=alls=12:allf=t" \
        -c:v libx264 -preset ultrafast -tune zerolatency -threads 1 -g $(($3 * 2)) \
        -b:v "$2" -maxrate "$2" -bufsize $(($2 / 4)) -t $((seconds + 3)) \
        -f rtp "rtp://10.71.2.1:$1?dscp=34&rtcpport=$(($1 + 1))&pkt_size=1200"
}
browse() { # pages one after the other, with pauses
    while :; do
        for size in 4 30 120 4 400; do
            curl -s -m 5 -o /dev/null "http://10.71.1.1/$size" || true
            sleep 0.4
        done
    done
}
resolve() {
    local n=0
    while :; do
        n=$((n + 1))
        dig +short +tries=1 +time=1 @10.71.1.1 "host$n.laxity.test" || true
        dig +short +tries=1 +time=1 @10.71.1.1 TXT big.laxity.test || true
        sleep 0.2
    done
}
export -f browse resolve

# Interrupted after its time, tcpdump ends its file properly.
dump() { # namespace, seconds, tcpdump's arguments
    local ns=$1 time=$2
    shift 2
    in_ns "$ns" timeout -s INT "$time" tcpdump -Z root -s 96 -n --time-stamp-precision=nano \
        "$@" >>"$work/log" 2>&1 &
    dumps+=($!)
}

# Only what goes from the server to the client, before it meets the queue of the slow link.
dump $rtr $seconds -i wan0 -Q in -B 8192 -w "$work/access-link.pcap" 'ip or ip6'
sleep 0.5
call 5004 10.71.2.1 1
call 5006 10.71.2.1 2
call 5008 "[fd71:2::1]" 3
video 5010 2000000 25
video 5012 1500000 30
background $cli bash -c browse
background $cli bash -c resolve
sleep 2
background $cli iperf3 -c 10.71.1.1 -p 5201 -R -P 2 -t $((seconds - 4))

sleep 3
dump $cli 10 -i any -y LINUX_SLL -c 300 -w "$work/cooked-sll.pcap" 'ip or ip6'
dump $cli 10 -i any -y LINUX_SLL2 -c 300 -w "$work/cooked-sll2.pcap" 'ip or ip6'
dump $cli 6 -i tun0 -c 120 -w "$work/tunnel-raw.pcap" 'ip'
sleep 0.5
in_ns $cli ping -q -c 5 -i 0.2 -Q 0xb8 10.71.3.1 >/dev/null
in_ns $cli dig +short +tries=1 @10.71.3.1 tunnel.laxity.test >/dev/null
# A datagram of three fragments each way.
in_ns $cli ping -q -c 2 -i 0.2 -s 4000 10.71.3.1 >/dev/null
in_ns $cli curl -s -m 5 -o /dev/null http://10.71.3.1/120

for pid in "${dumps[@]}"; do wait "$pid" || true; done
for file in access-link cooked-sll cooked-sll2 tunnel-raw; do
    [ -s "$work/$file.pcap" ] || { cat "$work/log" >&2; echo "no $file" >&2; exit 1; }
    cp "$work/$file.pcap" "$out/$file.pcap"
    chmod 644 "$out/$file.pcap"
done
grep -E 'packets|dropped' "$work/log" || true
