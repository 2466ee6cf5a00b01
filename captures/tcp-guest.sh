# shellcheck shell=sh
# Runs in the virtual machine: downloads over one queue, whose segments are captured before it and behind it.
#
#   server `sv` -- router `rt` with the queue on `wan` -- client `cl`
#
# netem delays by 20 ms what both ends send. Prints a line of linux-tcp.csv for each run.
#
#   usage: tcp-guest.sh QUEUE RUNS
set -eu
queue=$1 runs=$2
rate=19mbit

in_ns() {
    name=$1
    shift
    nsenter --net="/run/netns/$name" "$@"
}
mac() { ip -n "$1" link show "$2" | awk '/ether/ { print $2 }'; }
# cable NS DEVICE ADDRESS NS DEVICE ADDRESS
cable() {
    ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
    ip -n "$1" address add "$3/24" dev "$2"
    ip -n "$4" address add "$6/24" dev "$5"
    ip -n "$1" link set "$2" gso_max_segs 1 up
    ip -n "$4" link set "$5" gso_max_segs 1 up
    ip -n "$1" neigh add "$6" lladdr "$(mac "$4" "$5")" dev "$2"
    ip -n "$4" neigh add "$3" lladdr "$(mac "$1" "$2")" dev "$5"
}

for name in cl rt sv; do
    ip netns add "$name"
    ip -n "$name" link set lo up
    in_ns "$name" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward
        echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save; echo 0 >/proc/sys/net/ipv4/tcp_ecn'
done
cable sv eth0 10.1.0.2 rt lan 10.1.0.1
cable rt wan 10.2.0.1 cl eth0 10.2.0.2
ip -n sv route add default via 10.1.0.1
ip -n cl route add default via 10.2.0.1
tc -n sv qdisc add dev eth0 root netem delay 20ms limit 20000
tc -n cl qdisc add dev eth0 root netem delay 20ms limit 20000

case $queue in
    fifo | fq_codel)
        tc -n rt qdisc add dev wan root handle 1: htb default 10
        tc -n rt class add dev wan parent 1: classid 1:10 htb rate $rate burst 1600 cburst 1600 quantum 1514
        if [ "$queue" = fifo ]; then leaf="pfifo limit 1000"; else leaf=fq_codel; fi
        # shellcheck disable=SC2086 # words
        tc -n rt qdisc add dev wan parent 1:10 $leaf
        ;;
    exact) in_ns rt kernel-link up linux-tcp.toml wan exact ;;
    *)
        echo "no queue $queue" >&2
        exit 2
        ;;
esac

mkdir -p /etc
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
awk 'BEGIN {
    print "time_ns,bytes,flow"
    for (ms = 0; ms < 18000; ms += 20) {
        printf "%d000000,214,voice\n", ms
        if (ms % 40 == 0) for (i = 0; i < 9; i++) printf "%d000000,1200,video\n", ms
    }
}' >/tmp/real-time.csv
sleep 2

# download FLOWS RUN
download() {
    rm -f /tmp/*.pcap
    captures=''
    for side in 'rt lan' 'cl eth0'; do
        in_ns "${side% *}" chrt -f 12 tcpdump -i "${side#* }" -Q in -Z root -s 64 -B 8192 -w "/tmp/${side% *}.pcap" \
            'tcp src portrange 5201-5208' 2>/dev/null &
        captures="$captures $!"
    done
    clients='' senders=''
    for port in $(seq 5201 $((5200 + $1))); do in_ns sv iperf3 -s -p "$port" -1 >/dev/null & done
    sleep 0.5
    if [ "$queue" = exact ]; then
        in_ns sv chrt -f 10 traffic send /tmp/real-time.csv 10.2.0.2 voice=5001:46 video=5002:34 >/dev/null &
        senders=$!
    fi
    for port in $(seq 5201 $((5200 + $1))); do
        in_ns cl timeout 30 iperf3 -c 10.1.0.2 -p "$port" -R -t 17 >/dev/null 2>&1 &
        clients="$clients $!"
        # The starts of eight spread over a round trip, differently in each run.
        sleep "0.00$((1 + (port * 3 + $2 * 5) % 9))"
    done
    # shellcheck disable=SC2086 # words
    wait $clients $senders || true
    sleep 0.5
    # By name: $captures are the shells that wait for tcpdump, which writes the last packets when it ends.
    killall tcpdump
    # shellcheck disable=SC2086 # words
    wait $captures || true
    echo "$queue,$1,$2,$(internet-load queueing /tmp/rt.pcap /tmp/cl.pcap 4000 16000)"
}
for flows in 1 8; do
    for run in $(seq "$runs"); do download "$flows" "$run"; done
done
if [ "$queue" = exact ]; then in_ns rt kernel-link status wan >&2; else tc -n rt -s qdisc show dev wan >&2; fi
dmesg | grep -i -e 'bug:' -e 'warning:' -e 'rcu.*stall' | sed 's/^/kernel /' >&2 || true
