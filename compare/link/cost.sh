# shellcheck shell=sh
# Runs in the virtual machine: what a packet costs under each discipline, one at a time over a fast
# link, and in bursts that wait for a slow one. Prints `cost DISCIPLINE BACKLOG NS`; an instruction
# takes 2 ns. UDP packets of 200 B over a dummy interface, the median of five rounds after the first.
set -eu
sed -e 's/20 Mbit/1 Gbit/' -e 's/800 kB/2 MB/' cost.toml >fast.toml
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
        htb)
            tc qdisc add dev near root handle 1: htb default 20
            tc class add dev near parent 1: classid 1:1 htb rate "$2" ceil "$2"
            for id in 10 20; do
                tc class add dev near parent 1:1 classid 1:$id htb rate 1mbit ceil "$2"
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
for kind in tbf htb hfsc cake; do
    shaped "$kind" 1gbit && fast "$kind" 0 && away
    shaped "$kind" 20mbit && slow "$kind" 0 && away
done
for policy in "$@"; do
    for kind in voice:46 http:10; do
        kernel-link up fast.toml near "$policy" 2>/dev/null
        fast "laxity-$policy/${kind%:*}" "${kind#*:}"
        kernel-link down near
        kernel-link up cost.toml near "$policy" 2>/dev/null
        slow "laxity-$policy/${kind%:*}" "${kind#*:}"
        kernel-link down near
    done
done
