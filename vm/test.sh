#!/usr/bin/env bash
# Whether the virtual machine keeps what vm/README.md promises. Five short lives of it, two at a
# time; skipped, with the reason, where it cannot be had.
set -euo pipefail
# shellcheck source=vm/common.sh
. "$(dirname "$0")/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kernel=$("$vm/fetch") || {
    [ $? = "$lacks" ] || exit 1
    skip "the virtual machine cannot be had here, for the reason above"
    exit 0
}

failures=0
# check WHAT COMMAND...: one line for each promise.
check() {
    local what=$1
    shift
    if "$@" >"$work/check" 2>&1; then
        say "vm: $what"
    else
        failures=$((failures + 1))
        say "vm: NOT $what"
        tell "failed: $*"
        tail -n 20 "$work/check" | quoted
    fi
}

# live NAME OPTION... -- COMMAND...: runs it, keeps its outputs and status under NAME.
live() {
    local name=$1 status=0
    shift
    # Long, for a machine under load; what hangs on purpose says so.
    "$vm/run" --timeout 300 --console "$work/$name.console" --out "$work/$name" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || status=$?
    echo "$status" >"$work/$name.status"
}
status_is() { [ "$(cat "$work/$1.status")" = "$2" ] || { cat "$work/$1".{err,status}; false; }; }
says() { grep -q -e "$2" "$work/$1" || { cat -v "$work/$1"; false; }; }

# The first life: what the kernel has, what goes in, what comes out.
cat >"$work/first.sh" <<'EOF'
echo "btf $(wc -c </sys/kernel/btf/vmlinux)"
echo "qdisc_ops $(grep -c bpf_qdisc_init_prologue /sys/kernel/btf/vmlinux)"
echo "sched_ext $(cat /sys/kernel/sched_ext/state)"
echo "processors $(nproc) memory $(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo)"
ip link add near type veth peer name far
ip link set near up
attach() {
    tc qdisc add dev near root handle 1: "$@" && tc qdisc show dev near
    tc qdisc del dev near root
}
attach fq maxrate 1mbit
attach htb
attach cake bandwidth 10mbit
attach netem delay 10ms
attach hfsc
attach prio
attach tbf rate 1mbit burst 2000 latency 1s
attach etf clockid CLOCK_TAI delta 200000
xz -dc /job/note.xz | tr a-z A-Z | xz >/out/note.xz
awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >/tmp/escapes
printf "$(cat /tmp/escapes)" >/out/bytes
cat /out/bytes
echo "to standard error" >&2
exit 37
EOF
echo "brought along" | xz >"$work/note.xz"

# The same life twice: clocks, random numbers, packets that wait, a kernel log with its times.
cat >"$work/twin.sh" <<'EOF'
date; cat /proc/uptime; od -N 16 -t x1 /dev/urandom
ip netns add peer
ip link add near type veth peer name far netns peer
ip address add 10.0.0.1/24 dev near; ip link set near up
ip -n peer address add 10.0.0.2/24 dev far; ip -n peer link set far up
tc qdisc add dev near root netem delay 5ms 1ms
ping -c 5 -i 0.2 10.0.0.2
tc -s qdisc show dev near
cat /proc/uptime; dmesg >/out/log
EOF

mark=laxity.test=$$-$(od -A n -N 8 -t x8 /dev/urandom | tr -d ' ')
live first --smp 2 --mem 512 --with xz --file "$work/note.xz" --file "$work/first.sh" -- sh first.sh &
live hang --timeout 10 --append "$mark" -- sleep 1000 &
wait
live twin-1 --deterministic --file "$work/twin.sh" -- sh twin.sh &
live twin-2 --deterministic --file "$work/twin.sh" -- sh twin.sh &
wait
live crash -- sh -c 'echo started; stty -F /dev/ttyS1 raw; echo c >/proc/sysrq-trigger'

has_option() { grep -x "$1=y" "$kernel/config"; }
# The one for BPF qdiscs, and that below, fail when the list names 6.16.3.
check "its kernel is built for sched_ext" has_option CONFIG_SCHED_CLASS_EXT
check "its kernel is built for BPF qdiscs" has_option CONFIG_NET_SCH_BPF
check "its kernel has type information" says first.out '^btf [1-9][0-9]\{5,\}$'
check "its kernel lets a BPF program be a qdisc" says first.out '^qdisc_ops [1-9]'
check "its kernel waits for a BPF scheduler" says first.out '^sched_ext disabled$'
# Fails when the module is not in vm/modules, or when /sbin/modprobe is not in the image.
for qdisc in fq htb cake netem hfsc prio tbf etf; do
    check "tc attaches $qdisc" says first.out "^qdisc $qdisc 1: "
done
# Fails when run does not pass --smp and --mem on.
check "it has the processors and the memory asked for" says first.out '^processors 2 memory 4[0-9][0-9]$'

# Fails when init or run loses the status.
check "a command that fails returns its status" status_is first 37
# Fails when add_program leaves the libraries out.
note_is() { [ "$(xz -dc "$work/first/note.xz")" = "BROUGHT ALONG" ]; }
check "programs and files go in, files come out" note_is
bytes() { awk 'BEGIN { for (i = 0; i < 256; i++) printf "%02x", i }'; }
bytes_are() { [ "$(tail -c 256 "$work/$1" | od -A n -v -t x1 | tr -d ' \n')" = "$(bytes)" ]; }
# Fails when the ports are not set to raw.
check "bytes of every value come through the port of files" bytes_are first/bytes
check "bytes of every value come through standard output" bytes_are first.out
check "standard error comes by itself" says first.err '^to standard error$'

same() {
    local part
    status_is twin-1 0 && status_is twin-2 0 && [ -s "$work/twin-1/log" ] &&
        says twin-1.out ' 5 packets received' || return 1
    for part in .out .err .console /log; do cmp "$work/twin-1$part" "$work/twin-2$part"; done
}
# Fails when run leaves out -icount, -seed or -rtc.
check "two deterministic runs, side by side, give the same bytes" same

# Fails when run leaves out timeout.
check "a command that hangs ends with status 124" status_is hang 124
check "its end is explained" says hang.err 'more than 10 s'
gone() { ! grep -l -a -s -e "$mark" /proc/[0-9]*/cmdline; }
check "nothing of it runs on" gone
# Fails when panic=-1 or -no-reboot is left out, or run takes the end of QEMU for success.
check "a machine that crashes ends with status 125" status_is crash 125
check "the end of its console is shown" says crash.err 'Kernel panic - not syncing: sysrq'
check "what was printed before is not lost" says crash.out '^started$'

# Fails when touch, umask or --reproducible is left out.
made_twice() {
    (umask 077 && "$vm/image" --kernel "$kernel" -o "$work/1" --with xz -- true)
    sleep 1.1
    "$vm/image" --kernel "$kernel" -o "$work/2" --with xz -- true
    cmp "$work/1" "$work/2"
}
check "an image made twice has the same bytes" made_twice

[ "$failures" = 0 ] || exit 1
say "vm: all good in $SECONDS s, on Linux $(cat "$kernel/release")"
