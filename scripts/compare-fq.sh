#!/usr/bin/env bash
# The media server beside the kernel's fq with SO_MAX_PACING_RATE: the same streams between two
# network namespaces of the virtual machine, in time that counts instructions. Prints, for each,
# processor time a packet and how evenly packets of a stream came.
#
#   usage: compare-fq.sh [STREAMS GAP_US SECONDS]...   (default: several rows, about a minute)
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
virtual_machine need
get_needs
fetch_machine packets || exit "$lacks"
cargo build --release --locked -p laxity-media --example fq_baseline
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/rows.sh" <<'EOF'
ip netns add peer
ip link add near type veth peer name far netns peer
ip address add 10.0.0.1/24 dev near; ip link set near up
ip -n peer address add 10.0.0.2/24 dev far; ip -n peer link set far up
ping -c 1 10.0.0.2 >/dev/null
# What the kernel does after its start is over by then.
sleep 8
row() {
    ip netns exec peer chrt -i 0 fq_baseline receive 10.0.0.2:5004 "$2" "$3" $(($4 + 2)) >/tmp/received &
    sleep 0.5
    fq_baseline "$1" 10.0.0.2:5004 "$2" "$3" "$4" >/tmp/sent
    wait $!
    echo "$1 $2 $3 $(cat /tmp/sent) $(cat /tmp/received)"
}
while [ $# -gt 0 ]; do
    row nothing "$1" "$2" "$3"
    row laxity "$1" "$2" "$3"
    row precise "$1" "$2" "$3"
    tc qdisc add dev near root fq limit 1000000 flow_limit 1000
    row fq "$1" "$2" "$3"
    tc qdisc show dev near; tc -s qdisc show dev near | grep -o 'dropped [0-9]*'
    tc qdisc del dev near root
    shift 3
done
EOF
[ $# -gt 0 ] || set -- 20 10000 5 100 10000 3 200 10000 3
vm/run --deterministic --for packets --timeout 900 --file "$work/rows.sh" \
    --with chrt --with "${CARGO_TARGET_DIR:-target}/release/examples/fq_baseline" -- sh rows.sh "$@"
