# shellcheck shell=sh
# Runs in the virtual machine: what docs/how-to/router.md, robot.md and studio.md describe, on their
# scenarios. Prints what there is to judge.
set -eu
# The link's own rate is all that there is to see here.
# shellcheck disable=SC2034 # read by wire.sh
rate=
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh
echo 8000000 >/proc/sys/net/core/rmem_default
# One processor does it all here, and must not be kept by a connection for longer than bursts last.
in_tx sh -c 'echo 4096 16384 32768 >/proc/sys/net/ipv4/tcp_wmem'

# bulk PORT FROM: a connection that has always something to send, from a namespace to the far end.
bulk() {
    in_rx sh -c "sleep 60 | nc -l -p $1 >/dev/null" &
    sleep 0.1
    nsenter --net="/run/netns/$2" sh -c \
        "while dd if=/dev/zero bs=64k count=1 2>/dev/null; do :; done | nc 10.9.0.2 $1" &
    sleep 0.2
}

# page NAME SECONDS PORT FROM FLOW=PORT:DSCP:DEADLINE_US...: the trace NAME.csv over the link, beside
# a connection to PORT.
page() {
    name=$1 seconds=$2 port=$3 from=$4 send='' receive=''
    shift 4
    for flow in "$@"; do
        send="$send ${flow%:*}"
        numbers=${flow#*=}
        receive="$receive ${flow%%=*}=${numbers%%:*}:${flow##*:}"
    done
    # shellcheck disable=SC2086 # several words
    in_rx chrt -f 60 traffic receive "$seconds" $receive >/tmp/rx &
    receiver=$!
    bulk "$port" "$from"
    # shellcheck disable=SC2086 # several words
    nsenter --net="/run/netns/$from" chrt -f 50 traffic send "$name.csv" 10.9.0.2 $send >/tmp/tx
    wait $receiver
    cat /tmp/tx /tmp/rx
    link status --dev near --json
    # shellcheck disable=SC2046 # several numbers
    kill -9 $(pidof nc)
}

echo "== router"
# The house behind a router, whose link is the way out.
add_house
# As GRO off where packets come in.
ip -n house link set home gso_max_segs 1
tell up home-router.toml --dev near
page router 1.6 443 house voice=5001:46:10000 meeting=5002:34:40000 game=27015:0:15000 dns=53:0:0 \
    backup=5004:1:0
tell down --dev near

echo "== robot"
tell up robot.toml --dev near
page robot 1.4 9092 tx drives=5001:46:1000 state=5002:40:2000 scanner=5003:26:8000 \
    camera=5004:34:33000
tell down --dev near

echo "== studio"
tc -n tx qdisc add dev near clsact
for protocol in arp 0x88f7; do
    tc -n tx filter add dev near egress protocol $protocol matchall action skbedit priority 7
done
tell up studio.toml --dev near
in_tx arping -c 5 -I near 10.9.0.2 >/dev/null
page studio 1.1 445 tx clock=319:0:100 audio=5001:34:250 monitor=5002:26:8000 \
    intercom=5003:46:5000 control=5004:16:0
tell down --dev near
tc -n tx filter show dev near egress | grep -c skbedit
