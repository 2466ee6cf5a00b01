# shellcheck shell=sh
# Runs in the virtual machine: jobs, one after the other, over one wire of 10 Mbit/s between two
# network namespaces. A job is a line `LABEL;DISCIPLINE;TRACE;SECONDS;WORDS...`; the words are those
# of HFSC's four classes. Prints what sender and receivers counted, and leaves in /out when each
# packet was sent over Laxity.
set -eu
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
echo 8000000 >/proc/sys/net/core/rmem_default

put() { tc -n tx qdisc add dev near "$@"; }
class() { tc -n tx class add dev near "$@"; }
# Classes by code point, as our scenario has it; all others go to the last.
by_code_point() {
    for rule in "0xb8 $2" "0x88 $3" "0x28 $4" "0x04 $5"; do
        tc -n tx filter add dev near parent "$1" protocol ip u32 \
            match ip dsfield "${rule% *}" 0xfc flowid "${rule#* }"
    done
}
# The link's rate for disciplines that have none, with the least burst that lets a packet through.
paced() { put root handle 1: tbf rate 10mbit burst 1520 limit 4000000; }
leaves() { for id in 10 20 30 40; do put parent "1:$id" pfifo limit 2000; done; }

up() {
    discipline=$1
    case $discipline in
        laxity-curves-*) in_tx kernel-link up curves.toml near "${discipline#laxity-curves-}" 2>/dev/null ;;
        laxity-*) in_tx kernel-link up family.toml near "${discipline#laxity-}" 2>/dev/null ;;
        fifo) paced ;;
        prio)
            paced
            put parent 1:1 handle 2: prio bands 4
            by_code_point 2: 2:1 2:2 2:3 2:3
            for band in 1 2 3 4; do put parent "2:$band" pfifo limit 2000; done
            ;;
        fq_codel) paced && put parent 1:1 fq_codel ;;
        # It passes packets with a launch time set by the sender.
        etf) paced && put parent 1:1 etf clockid CLOCK_TAI delta 200000 ;;
        cake) put root cake bandwidth 10mbit diffserv4 raw ;;
        htb)
            put root handle 1: htb default 40
            class parent 1: classid 1:1 htb rate 10mbit burst 1520 cburst 1520
            class parent 1:1 classid 1:10 htb rate 42000bps ceil 10mbit prio 0
            class parent 1:1 classid 1:20 htb rate 640000bps ceil 10mbit prio 1
            class parent 1:1 classid 1:30 htb rate 284000bps ceil 10mbit prio 2 quantum 1514
            class parent 1:1 classid 1:40 htb rate 284000bps ceil 10mbit prio 2 quantum 1514
            leaves
            by_code_point 1: 1:10 1:20 1:30 1:40
            ;;
        hfsc*)
            put root handle 1: hfsc default 40
            class parent 1: classid 1:1 hfsc ls m2 10mbit ul m2 10mbit
            # shellcheck disable=SC2086 # words
            {
                class parent 1:1 classid 1:10 hfsc $2
                class parent 1:1 classid 1:20 hfsc $3
                class parent 1:1 classid 1:30 hfsc $4
                class parent 1:1 classid 1:40 hfsc $5
            }
            leaves
            by_code_point 1: 1:10 1:20 1:30 1:40
            ;;
        *) echo "no discipline $discipline" >&2 && return 1 ;;
    esac
}
down() {
    case $1 in
        laxity-*) in_tx kernel-link down near ;;
        *) tc -n tx qdisc del dev near root ;;
    esac
}

while IFS=';' read -r label discipline trace seconds voice video http bulk; do
    log=''
    case $discipline in laxity-*) log="/out/$label.sent" ;; esac
    if ! up "$discipline" "$voice" "$video" "$http" "$bulk" 2>/tmp/why; then
        echo "== $label"
        sed 's/^/refused /' /tmp/why
        tc -n tx qdisc del dev near root 2>/dev/null || true
        continue
    fi
    # Ahead of the sender, or its bursts would count as delay.
    in_rx chrt -f 10 traffic receive $((seconds + 2)) \
        voice=5001:10000 video=5002:100000 http=5003:0 bulk=5004:0 >/tmp/rx &
    sleep 0.3
    in_tx traffic send "$trace" 10.9.0.2 voice=5001:46 video=5002:34 http=5003:10 bulk=5004:1 \
        ${log:+"$log"} >/tmp/tx
    wait
    echo "== $label"
    cat /tmp/tx /tmp/rx
    case $discipline in laxity-*) in_tx kernel-link status near ;; esac
    down "$discipline"
done <"$1"
dmesg | grep -i -e 'bug:' -e 'warning:' -e 'rcu.*stall' || true
