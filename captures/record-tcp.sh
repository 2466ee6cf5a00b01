#!/usr/bin/env bash
# Records goodput and queueing of Linux's own TCP in the virtual machine behind three queues, into linux-tcp.csv.
#
#   usage: record-tcp.sh [RUNS]      of each queue and number of flows (default: 3, about ten minutes)
set -euo pipefail
runs=${1:-3}
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"

rust cargo
kernel_parts need
virtual_machine need
program need iperf3 iperf3 iperf3 iperf3 iperf iperf3
program need tcpdump tcpdump tcpdump tcpdump tcpdump tcpdump
get_needs
fetch_machine packets || exit "$lacks"
build_machine_programs
kernel=$(vm/fetch --for packets)
options=(--file captures/tcp-guest.sh --file captures/linux-tcp.toml --with chrt --with timeout)
for name in internet-load traffic kernel-link; do options+=(--with "$target/debug/$name"); done
for name in iperf3 tcpdump; do options+=(--with "$(command -v "$name")"); done

result=$(mktemp)
trap 'rm -f "$result"' EXIT
{
    echo "# captures/record-tcp.sh: Linux $(cat "$kernel/release"), CUBIC, $(iperf3 --version | head -n 1 | cut -d ' ' -f 1,2)"
    echo "# 19 Mbit/s, 40 ms, from 4 s to 16 s after the first segment"
    echo queue,flows,run,goodput_kbit_s,queueing_us,dropped
} >"$result"
for queue in fifo fq_codel exact; do
    say "$queue"
    vm/run --deterministic --for packets --timeout 1800 "${options[@]}" -- sh tcp-guest.sh "$queue" "$runs" >>"$result"
done
mv "$result" captures/linux-tcp.csv
chmod 644 captures/linux-tcp.csv
