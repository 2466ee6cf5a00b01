# shellcheck shell=sh
# Each queueing discipline on an interface of its own, judged by `laxity check --tc`.
set -eu
judge() { # NAME, then the qdisc of the root
    name=$1
    shift
    ip link add v0 numtxqueues 4 numrxqueues 4 type veth peer name v1 numtxqueues 4 numrxqueues 4
    ip link set v0 up
    ip link set v1 up
    tc qdisc add dev v0 root handle 1: "$@"
    if [ "$name" = hfsc ]; then
        tc class add dev v0 parent 1: classid 1:10 hfsc rt m1 4mbit d 10ms m2 1mbit ls m2 1mbit
        tc class add dev v0 parent 1: classid 1:20 hfsc ls m2 9mbit
    elif [ "$name" = htb ]; then
        tc class add dev v0 parent 1: classid 1:1 htb rate 50mbit burst 30k
        tc class add dev v0 parent 1:1 classid 1:10 htb rate 10mbit prio 0 burst 20k
        tc class add dev v0 parent 1:1 classid 1:20 htb rate 20mbit prio 1 burst 40k
    elif [ "$name" = drr ]; then
        tc class add dev v0 parent 1: classid 1:1 drr quantum 3000
        tc class add dev v0 parent 1: classid 1:2 drr quantum 6000
        tc filter add dev v0 parent 1: protocol all prio 1 matchall classid 1:2
    elif [ "$name" = qfq ]; then
        tc class add dev v0 parent 1: classid 1:1 qfq weight 10
    elif [ "$name" = prio ]; then
        tc qdisc add dev v0 parent 1:1 handle 10: tbf rate 2mbit burst 4k latency 50ms
    elif [ "$name" = mqprio ]; then
        tc qdisc replace dev v0 parent 1:1 handle 11: cbs idleslope 20000 sendslope -80000 \
            hicredit 303 locredit -1211 offload 0
    fi
    echo "== $name"
    status=0
    laxity check --tc v0 --link-rate '100 Mbit/s' >/tmp/out 2>&1 || status=$?
    cat /tmp/out
    echo "status $status"
    ip link del v0
}
map='map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2'
judge hfsc hfsc default 20
judge htb htb default 20
judge prio prio
judge tbf tbf rate 10mbit burst 10kb latency 30ms peakrate 12mbit minburst 1540
judge drr drr
judge ets ets bands 3 strict 1 quanta 3000 6000
judge qfq qfq
judge fq fq maxrate 20mbit
judge fq_codel fq_codel
judge cake cake bandwidth 10mbit
# shellcheck disable=SC2086
judge mqprio mqprio num_tc 3 $map hw 0
# shellcheck disable=SC2086
judge taprio taprio num_tc 3 $map base-time 0 sched-entry S 01 300000 sched-entry S 02 300000 \
    sched-entry S 04 400000 clockid CLOCK_TAI
