# shellcheck shell=sh
# Trees of the kernel's disciplines in the folder `trees`, each with a packet trace: what tc says of them, and
# the delays of their packets.
# shellcheck disable=SC2034 # read by wire.sh
rate=''
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
cat >show <<'END'
qdisc show dev near
class show dev near
qdisc del dev near root
END
number=1
while [ -f "trees/$number.tc" ]; do
    echo "== $number"
    tc -n tx -batch "trees/$number.tc" || echo "no tree"
    read -r senders <"trees/$number.send"
    read -r receivers <"trees/$number.collect"
    # shellcheck disable=SC2086 # words
    in_rx chrt -f 20 traffic collect 300 $receivers >/tmp/got &
    # shellcheck disable=SC2086
    in_tx traffic send "trees/$number.csv" 10.9.0.2 $senders
    wait $!
    cat /tmp/got
    tc -n tx -s -d -batch show
    number=$((number + 1))
done
