# shellcheck shell=sh
# Runs in the virtual machine: what a packet costs under each discipline, one at a time over a fast
# link, and in bursts that wait for a slow one. Prints `cost DISCIPLINE BACKLOG NS`; an instruction
# takes 2 ns. UDP packets of 200 B over a dummy interface, the median of five rounds after the first.
set -eu
sed -e 's/20 Mbit/1 Gbit/' -e 's/800 kB/2 MB/' cost.toml >fast.toml
# The same with flow queues and CoDel in the best-effort class.
for name in fast cost; do
    sed '/^name = "http"/a flows = { by = "host-and-flow" }\naqm = "codel"' $name.toml >$name-queues.toml
done
ip link add near type dummy
ip address add 10.9.0.1/24 dev near
ip link set near up
ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev near
echo 8000000 >/proc/sys/net/core/wmem_default
sysctl -q -w kernel.sched_rt_runtime_us=-1 2>/dev/null || true
sleep 5

# Of the last five rounds.
median() { tail -n 5 | sort -n | sed -n 3p; }
fast() { echo "cost $1 1 $(traffic flood 10.9.0.2:5001 "$2" 200 1500 6 0 0 | median)"; }
slow() {
    for backlog in 30 300; do
        # 80 us a packet.
        echo "cost $1 $backlog $(traffic flood 10.9.0.2:5001 "$2" 200 600 6 $backlog \
            $((backlog * 90)) | median)"
    done
}
away() { tc qdisc del dev near root; }
shaped() {
    case $1 in
        htb | htb+fq_codel)
            tc qdisc add dev near root handle 1: htb default 20
            tc class add dev near parent 1: classid 1:1 htb rate "$2" ceil "$2"
            for id in 10 20; do
                tc class add dev near parent 1:1 classid 1:$id htb rate 1mbit ceil "$2"
                [ "$1" = htb ] || tc qdisc add dev near parent 1:$id fq_codel
            done
            ;;
        hfsc)
            tc qdisc add dev near root handle 1: hfsc default 20
            tc class add dev near parent 1: classid 1:1 hfsc ls m2 "$2" ul m2 "$2"
            tc class add dev near parent 1:1 classid 1:10 hfsc sc m2 1mbit
            tc class add dev near parent 1:1 classid 1:20 hfsc sc m2 1mbit
            ;;
        tbf) tc qdisc add dev near root tbf rate "$2" burst 1520 limit 4000000 ;;
        cake) tc qdisc add dev near root cake bandwidth "$2" ;;
    esac
}

fast none 0
for kind in pfifo prio fq fq_codel; do
    tc qdisc add dev near root "$kind"
    fast "$kind" 0
    away
done
for kind in tbf htb htb+fq_codel hfsc cake; do
    shaped "$kind" 1gbit && fast "$kind" 0 && away
    shaped "$kind" 20mbit && slow "$kind" 0 && away
done
# ours NAME SCENARIO POLICY DSCP
ours() {
    kernel-link up "fast$2.toml" near "$3" 2>/dev/null
    fast "$1" "$4"
    kernel-link down near
    kernel-link up "cost$2.toml" near "$3" 2>/dev/null
    slow "$1" "$4"
    kernel-link down near
}
for policy in "$@"; do
    ours "laxity-$policy/voice" "" "$policy" 46
    ours "laxity-$policy/http" "" "$policy" 10
    ours "laxity-$policy/http+queues" -queues "$policy" 10
done
