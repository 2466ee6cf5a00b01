# shellcheck shell=sh
# shellcheck disable=SC2154 # params assigns them
# Runs in the virtual machine: one scheduler on one access link under load.
#
#   client `cl` -- router `rt` -- provider `isp` -- server `sv`
#
# `delay` and `line` emulate the Internet and the provider's line; the scheduler shapes to 95 % of
# the line at the router, upwards on `wan`, downwards on the ifb `dn` behind it. Leaves in /out what
# each program measured.
#
#   usage: vm.sh SCHEDULER, beside `params`, traces and scenarios
set -eu
scheduler=$1
# shellcheck source=/dev/null
. ./params

in_ns() {
    name=$1
    shift
    nsenter --net="/run/netns/$name" "$@"
}
rt() { tc -n rt "$@"; }
mac() { ip -n "$1" link show "$2" | awk '/ether/ { print $2 }'; }
# cable NS DEVICE ADDRESS NS DEVICE ADDRESS
cable() {
    ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
    ip -n "$1" address add "$3/24" dev "$2"
    ip -n "$4" address add "$6/24" dev "$5"
    for end in "$1 $2" "$4 $5"; do
        # shellcheck disable=SC2086 # two words
        set_up $end
    done
    ip -n "$1" neigh add "$6" lladdr "$(mac "$4" "$5")" dev "$2"
    ip -n "$4" neigh add "$3" lladdr "$(mac "$1" "$2")" dev "$5"
}
set_up() { ip -n "$1" link set "$2" mtu "$mtu" gso_max_segs 1 up; }
# inbound NS DEVICE IFB: what comes in on DEVICE goes through IFB.
inbound() {
    ip -n "$1" link add "$3" type ifb
    ip -n "$1" link set "$3" up
    tc -n "$1" qdisc add dev "$2" ingress
    tc -n "$1" filter add dev "$2" parent ffff: matchall action mirred egress redirect dev "$3"
}

for name in cl rt isp sv; do
    ip netns add "$name"
    ip -n "$name" link set lo up
    in_ns "$name" sh -c "echo 1 >/proc/sys/net/ipv4/ip_forward
        echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save; echo $ecn >/proc/sys/net/ipv4/tcp_ecn"
done
cable cl eth0 10.1.0.2 rt lan 10.1.0.1
cable rt wan 10.2.0.1 isp home 10.2.0.2
cable isp net 10.3.0.1 sv eth0 10.3.0.2
ip -n cl route add default via 10.1.0.1
ip -n rt route add default via 10.2.0.2
ip -n isp route add 10.1.0.0/24 via 10.2.0.1
ip -n sv route add default via 10.3.0.1

tc -n sv qdisc add dev eth0 root netem delay "$delay" limit 20000
tc -n isp qdisc add dev net root netem delay "$delay" limit 20000
tc -n isp qdisc add dev home root netem rate "$line_down" limit 256
inbound isp home line
tc -n isp qdisc add dev line root netem rate "$line_up" limit 256

# real_time DEVICE PARENT VOICE MEETING GAME [OTHER]: the classes of the three, by UDP port.
real_time() {
    for rule in "5001 $3" "5002 $4" "5003 $5"; do
        rt filter add dev "$1" parent "$2" protocol ip prio 1 u32 match ip protocol 17 0xff \
            match ip dport "${rule% *}" 0xffff flowid "${rule#* }"
    done
}
# shape DEVICE RATE DIRECTION
shape() {
    case $scheduler in
        fifo) ;;
        fq_codel)
            rt qdisc add dev "$1" root handle 1: htb default 10
            rt class add dev "$1" parent 1: classid 1:10 htb rate "$2" burst "$burst" cburst "$burst" quantum "$((mtu + 14))"
            rt qdisc add dev "$1" parent 1:10 fq_codel quantum 300
            ;;
        cake | cake-rtt)
            rtt=$cake_rtt
            [ "$scheduler" = cake-rtt ] || rtt=100ms
            if [ "$3" = up ]; then direction=dual-srchost; else direction="dual-dsthost ingress"; fi
            # shellcheck disable=SC2086 # words
            rt qdisc add dev "$1" root cake bandwidth "$2" diffserv4 $direction nonat rtt "$rtt" raw
            ;;
        hfsc)
            rt qdisc add dev "$1" root handle 1: hfsc default 30
            rt class add dev "$1" parent 1: classid 1:1 hfsc ls m2 "$2" ul m2 "$2"
            if [ "$3" = up ]; then curves=$hfsc_up; else curves=$hfsc_down; fi
            id=11
            for curve in $curves; do
                IFS=/ read -r umax dmax rate <<EOT
$curve
EOT
                rt class add dev "$1" parent 1:1 classid "1:$id" hfsc rt umax "$umax" dmax "$dmax" rate "$rate"
                rt qdisc add dev "$1" parent "1:$id" pfifo limit 1000
                id=$((id + 1))
            done
            if [ "$3" = up ]; then shares=$share_up; else shares=$share_down; fi
            rt class add dev "$1" parent 1:1 classid 1:30 hfsc ls m2 "${shares% *}"
            rt class add dev "$1" parent 1:1 classid 1:40 hfsc ls m2 "${shares#* }"
            rt qdisc add dev "$1" parent 1:30 fq_codel
            rt qdisc add dev "$1" parent 1:40 fq_codel
            real_time "$1" 1: 1:11 1:12 1:13
            rt filter add dev "$1" parent 1: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 1:40
            ;;
        # A FIFO for each class instead of flow queues with an AQM.
        laxity-*-fifo)
            policy=${scheduler#laxity-}
            in_ns rt kernel-link up "$3-fifo.toml" "$1" "${policy%-fifo}"
            ;;
        # Downwards real time goes first: what best effort borrows of its time would hide the queue at the
        # provider from the AQM.
        laxity-*)
            policy=${scheduler#laxity-}
            [ "$3" = up ] || policy=background
            in_ns rt kernel-link up "$3.toml" "$1" "$policy"
            ;;
        *)
            echo "no scheduler $scheduler" >&2
            return 1
            ;;
    esac
}
[ "$scheduler" = fifo ] || inbound rt wan dn
shape wan "$shape_up" up
shape dn "$shape_down" down

# Servers.
for port in 1 2 3 4 5 6 7 8; do in_ns sv iperf3 -s -p "520$port" -1 >/dev/null & done
in_ns sv irtt server >/dev/null 2>&1 &
in_ns sv internet-load serve 8000 &
serving=$!
mkdir -p /etc
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
sleep 2

total=$((warm + seconds))
# A client whose server's last word is lost must not wait for ever.
most=$((total + 10))
# bulk PORT TOS NAME [OPTION]...
bulk() {
    port=$1 tos=$2 name=$3
    [ "$load" = marks ] || tos=0
    shift 3
    in_ns cl timeout "$most" iperf3 -c 10.3.0.2 -p "$port" -S "$tos" -O "$warm" -t "$seconds" --json "$@" >"/out/$name.json" 2>&1 &
    clients="$clients $!"
}
clients=''
if [ "$load" = hosts ]; then
    # The second address of `cl` is the second host.
    ip -n cl address add 10.1.0.3/24 dev eth0
    ip -n rt neigh add 10.1.0.3 lladdr "$(mac cl eth0)" dev lan
    bulk 5201 0 down-BE -R -B 10.1.0.2
    bulk 5202 0 down-CS1 -R -B 10.1.0.3 -P 16
    bulk 5203 0 up-BE -B 10.1.0.2
    bulk 5204 0 up-CS1 -B 10.1.0.3 -P 16
    # shellcheck disable=SC2086 # words
    wait $clients || true
    gzip -9 /out/*.json
    exit
fi
bulk 5201 0 down-BE -R
bulk 5202 32 down-CS1 -R
bulk 5203 160 down-CS5 -R
bulk 5204 184 down-EF -R
bulk 5205 0 up-BE
bulk 5206 32 up-CS1
bulk 5207 160 up-CS5
bulk 5208 184 up-EF
# Without marks only whether flows of one kind get equal parts is measured.
if [ "$load" = plain ]; then
    # shellcheck disable=SC2086 # words
    wait $clients || true
    gzip -9 /out/*.json
    exit
fi
in_ns cl timeout "$most" internet-load fetch 10.3.0.2:8000 "$warm" "$total" "$seed" >/out/pages &
clients="$clients $!"

# send WHICH: real time both ways, and who receives it.
udp_flows="voice=5001:46 meeting=5002:34 game=5003:32"
send() {
    # shellcheck disable=SC2086 # words
    in_ns cl chrt -f 10 traffic send "up-$1.csv" 10.3.0.2 $udp_flows >"/tmp/tx-up-$1" &
    up=$!
    # shellcheck disable=SC2086 # words
    in_ns sv chrt -f 10 traffic send "down-$1.csv" 10.1.0.2 $udp_flows >"/tmp/tx-down-$1"
    wait "$up"
}
# receive SECONDS WHICH: deadlines of the path on the way up.
receive() {
    # shellcheck disable=SC2086 # words
    in_ns sv chrt -f 11 traffic receive "$1" $limits_up >"/tmp/rx-up-$2" &
    up=$!
    in_ns cl chrt -f 11 traffic receive "$1" voice=5001:0 meeting=5002:0 game=5003:0 >"/tmp/rx-down-$2"
    wait "$up"
}
receive "$warm" warm &
send warm
wait $!
# Until none of them is on its way, or it would be taken for one of the next.
sleep 0.4
# capture DEVICE in|out
capture() {
    in_ns rt chrt -f 12 tcpdump -i "$1" -Q "$2" -Z root -s 64 -B 4096 -w "/tmp/$1.pcap" \
        'udp and dst portrange 5001-5003' 2>/dev/null &
    captures="$captures $!"
}
captures=''
capture wan in
capture lan out
receive "$((seconds + 1))" main &
receiving=$!
sleep 0.05
in_ns cl timeout "$most" irtt client -i 20ms -l 172 -d "${seconds}s" -Q -o /out/irtt.json 10.3.0.2 >/out/irtt.log 2>&1 &
clients="$clients $!"
send main
wait "$receiving"
# By name: $captures are the shells that wait for tcpdump, which writes the last packets when it ends.
killall tcpdump
# shellcheck disable=SC2086 # words
wait $clients $captures || true
kill "$serving"
cat /tmp/tx-up-main /tmp/rx-up-main | sed 's/^/up /'
sed 's/^/down /' /tmp/tx-down-main
# shellcheck disable=SC2086 # words
internet-load late /tmp/wan.pcap /tmp/lan.pcap $judged $deadlines
case $scheduler in
    laxity-*) for device in wan dn; do in_ns rt kernel-link status "$device" | sed "s/^/status $device /"; done ;;
    *) for device in wan dn; do rt -s qdisc show dev "$device" 2>/dev/null | sed "s/^/status $device /"; done ;;
esac
dmesg | grep -i -e 'bug:' -e 'warning:' -e 'rcu.*stall' | sed 's/^/kernel /' || true
killall -q irtt iperf3 || true
gzip -9 /out/*.json
