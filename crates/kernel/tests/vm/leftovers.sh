# shellcheck shell=sh
# Runs in the virtual machine, in real time: what is left of a link when commands are killed, when parts of it are
# missing, when other users or other programs change it, and when its namespace goes away. Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

echo "== cut short"
pinned() { ls -d /sys/fs/bpf/laxity/*/"$1"; }
# Of a `down`: the record goes last.
link up family.toml --dev near --policy shifted-line
tc -n tx qdisc del dev near root
for pin in changes counts earlier qdisc stalls state wanted; do rm "$(pinned $pin)"; done
tell down --dev near
as_found
# Of an `up`: nothing is changed before all is pinned.
link up family.toml --dev near --policy shifted-line
tc -n tx qdisc del dev near root
ip -n tx link set near gso_max_segs 65535
rm "$(pinned about)" "$(pinned wanted)"
tell up family.toml --dev near --policy shifted-line
tell down --dev near
as_found

echo "== up"
tell up family.toml --dev near --policy shifted-line
tell up family.toml --dev near --policy shifted-line
tell status --dev near
tell up tight.toml --dev near
stat -c '%a %u' /sys/fs/bpf/laxity /sys/fs/bpf/laxity/*

echo "== killed while changing"
for after in 0.01 0.03 0.05; do
    nsenter --net=/run/netns/tx laxity link set more.toml --dev near --policy shifted-line 2>/dev/null &
    sleep $after
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    tell set family.toml --dev near --policy shifted-line
done

tell down --dev near
as_found

echo "== metrics"
link up family.toml --dev near --policy shifted-line
nsenter --net=/run/netns/tx laxity link export --listen 127.0.0.1:9401 2>/dev/null &
exporter=$!
wait_for in_tx wget -qO- http://127.0.0.1:9401/metrics
in_tx wget -qO- http://127.0.0.1:9401/metrics | grep -e '_attached' -e 'outcome="sent"' -e '_count'
in_tx wget -qO- http://127.0.0.1:9401/status | grep '"device"'
kill $exporter
link watch --interval 100ms --count 2

echo "== changed from the page"
nsenter --net=/run/netns/tx laxity web --listen 127.0.0.1:9406 2>/tmp/page &
page=$!
wait_for grep -q "open http" /tmp/page
secret=$(sed -n 's/.*#\([^;]*\);.*/\1/p' /tmp/page)
ask() {
    in_tx wget -qO- --header "Laxity-Token: $secret" --header "Origin: http://127.0.0.1:9406" --post-data "$2" \
        "http://127.0.0.1:9406$1" || echo "refused"
}
# change JSON: checks a change, confirms it, and prints the answer.
change() {
    digest=$(ask /check "$1" | sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p')
    ask /apply "{\"digest\": \"$digest\", \"change\": $1}"
    echo
}
change '{"device": "near", "rate": "9 Mbit/s"}'
link status --dev near --json | grep -m 1 rate
# Not confirmed, so not made.
ask /apply '{"digest": "0", "change": {"device": "near", "rate": "8 Mbit/s"}}'
kill $page
wait $page || true
# A change that is refused leaves the one that waits for the next packet.
tell set family.toml --dev near --policy exact
link status --dev near --json | grep -m 1 rate

echo "== strangers"
# The first folder of this machine is root's alone.
chmod 755 /
# By its path, or it would be busybox's own.
stranger() { /usr/local/bin/setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
for act in "status --dev near" "set more.toml --dev near --policy shifted-line" "down --dev near" "up more.toml --dev near"; do
    code=0
    # shellcheck disable=SC2086 # several words
    in_tx /usr/local/bin/setpriv --reuid 1000 --regid 1000 --clear-groups laxity link $act >/tmp/out 2>/tmp/said || code=$?
    echo "${act%% *} $code $(tail -n 1 /tmp/said)"
done
stranger ls /sys/fs >/dev/null && echo "they are there"
stranger ls /sys/fs/bpf/laxity >/dev/null 2>&1 && echo "they look inside"
echo "through ip netns exec"
ip netns exec tx laxity link set more.toml --dev near --policy shifted-line 2>/dev/null && echo "it is found"
tell down --dev near

echo "== replaced"
for kind in "pfifo limit 77" "fq_codel limit 777 target 7ms" "cake bandwidth 7Mbit"; do
    # shellcheck disable=SC2086 # several words
    tc -n tx qdisc add dev near root handle 7: $kind
    there=$(tc -n tx qdisc show dev near)
    tell up family.toml --dev near --policy shifted-line
    tell up family.toml --dev near --replace --policy shifted-line
    tell down --dev near
    [ "$there" != "$(tc -n tx qdisc show dev near)" ] || echo "as it was"
    tc -n tx qdisc del dev near root
done
tc -n tx qdisc add dev near root handle 7: prio
tell up family.toml --dev near --replace --policy shifted-line
tc -n tx qdisc del dev near root
as_found

echo "== another program removes the qdisc"
tell up family.toml --dev near --policy shifted-line
tc -n tx qdisc del dev near root
tell status --dev near
tell up family.toml --dev near --policy shifted-line
tell down --dev near
tell down --dev near
as_found

programs() { kernel-link profile | wc -l; }
# has COMMAND NUMBER: prints that much.
has() { [ "$($1)" = "$2" ]; }

echo "== namespace deleted under traffic"
tell up family.toml --dev near --policy shifted-line
nsenter --net=/run/netns/tx traffic flood 10.9.0.2:5004 1 1400 4000 1 5 1000 >/dev/null &
flood=$!
sleep 0.3
ip netns delete tx
kill -9 $flood
wait $flood || true
# The kernel removes its interfaces behind the command, and with `near` the other end.
wait_for sh -c '! ip -n rx link show far'
echo "pins $(pins)"
# The other end of its link went with it.
ip -n rx link add third type dummy
in_rx laxity link up family.toml --dev third --policy shifted-line 2>/dev/null
echo "pins $(pins)"
in_rx laxity link down --dev third
# Programs go with the last grace period of RCU.
wait_for has programs 0
echo "pins $(pins) programs $(programs)"
judge_kernel
