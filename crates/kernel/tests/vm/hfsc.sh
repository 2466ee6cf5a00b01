# shellcheck shell=sh
# Runs in the virtual machine: two classes of HFSC below a shaper of 10 Mbit/s. The convex one sends a
# packet and comes back with a backlog, together with a burst of the concave one, before (12.99 ms) and
# after (13.5 ms) its curve has reached what it has sent.
set -eu
# No emulated wire: the shaper alone decides when a packet goes.
rate=
# shellcheck source=vm/guest/wire.sh
. ./wire.sh

# trace NS: the arrivals for a return at this time.
trace() {
    echo time_ns,bytes,flow
    echo 0,1500,convex
    for _ in 1 2; do echo "$1,1500,convex"; done
    for _ in 1 2 3 4 5 6 7 8 9 10; do echo "$1,1250,concave"; done
    for _ in 1 2 3 4 5 6 7 8; do echo "$1,1500,convex"; done
}

for back in 12990000 13500000; do
    tc -n tx qdisc add dev near root handle 1: tbf rate 10mbit burst 1600 limit 4000000
    tc -n tx qdisc add dev near parent 1:1 handle 2: hfsc default 10
    tc -n tx class add dev near parent 2: classid 2:10 hfsc rt m1 0 d 10ms m2 4mbit
    tc -n tx class add dev near parent 2: classid 2:20 hfsc rt m1 10mbit d 10ms m2 4mbit
    for id in 10 20; do tc -n tx qdisc add dev near parent "2:$id" pfifo limit 100; done
    tc -n tx filter add dev near parent 2: protocol ip u32 match ip dsfield 0xb8 0xfc flowid 2:20
    trace "$back" >trace.csv
    in_rx traffic receive 2 convex=5001:0 concave=5002:0 >/tmp/rx &
    sleep 0.3
    in_tx traffic send trace.csv 10.9.0.2 convex=5001:0 concave=5002:46 >/tmp/tx
    wait
    echo "== $back"
    cat /tmp/tx /tmp/rx
    tc -n tx qdisc del dev near root
done
