# shellcheck shell=sh
# Read by scripts that try `laxity link`: how it is called, and what is to be seen of it.
link() { in_tx laxity link "$@" 2>/tmp/said; }
# Says how a command ended, and the last thing it said.
tell() {
    code=0
    link "$@" >/tmp/out || code=$?
    echo "$1 $code $(tail -n 1 /tmp/said)"
}
found() { ip -n tx -d link show near; tc -n tx qdisc show dev near; }
# Whether the interface is as it was at the beginning.
as_found() {
    if [ "$before" = "$(found)" ]; then echo "as found"; else found; fi
}
pins() { find /sys/fs/bpf -mindepth 2 -maxdepth 2 | wc -l; }
ip -n tx link set lo up
before=$(found)
