# shellcheck shell=sh
# Runs in the virtual machine: a link between two network namespaces, an emulated wire of the
# link's rate behind it, and traces sent over it. Prints what receivers and qdisc counted.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# shellcheck source=vm/guest/wire.sh
. ./wire.sh

before=$(ip -n tx -d link show near; tc -n tx qdisc show dev near)

# live POLICY TRACE SECONDS [EXCESS]: what came through, with so much done about voice that lies.
live() {
    echo "== $1 $2${4:+ $4}"
    sed "/name = \"voice\"/a excess = \"${4:-delay}\"" family.toml >scenario.toml
    in_tx kernel-link up scenario.toml near "$1" 2>/dev/null
    in_rx traffic receive "$3" voice=5001:10000 video=5002:100000 http=5003:0 bulk=5004:0 >/tmp/rx &
    sleep 0.5
    in_tx traffic send "$2" 10.9.0.2 voice=5001:46 video=5002:34 http=5003:10 bulk=5004:1
    wait
    cat /tmp/rx
    in_tx kernel-link status near
    in_tx kernel-link down near
}

for policy in background exact slack; do live "$policy" mixed.csv 4; done
live exact liar.csv 7
live exact liar.csv 3 demote
live exact liar.csv 3 drop
live exact flood.csv 5

echo "== refusals"
in_tx kernel-link up tight.toml near 2>&1 && echo "let in"
tc -n tx qdisc add dev near root handle 7: pfifo
in_tx kernel-link up family.toml near 2>&1 | tail -1 || true
tc -n tx qdisc del dev near root
in_tx kernel-link up family.toml near 2>/dev/null
in_tx kernel-link up family.toml near 2>&1 | tail -1 || true
# The name of the discipline is no way around: it serves the interface it was made for.
kind=$(tc -n tx qdisc show dev near | awk '{ print $2 }')
tc -n rx qdisc add dev far root handle 1ac5: "$kind" 2>/dev/null && echo "stolen"
stat -c '%a %u' /sys/fs/bpf/laxity /sys/fs/bpf/laxity/*
echo "== flushed"
in_tx traffic flood 10.9.0.2:5004 1 1400 50 1 0 0 >/dev/null
ip -n tx link set near down
ip -n tx link set near up
in_tx kernel-link status near | grep flushed || true
in_tx kernel-link down near
after=$(ip -n tx -d link show near; tc -n tx qdisc show dev near)
[ "$before" = "$after" ] && echo "as found"
judge_kernel
