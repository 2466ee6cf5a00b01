#!/bin/bash
# Compares what laxity-trace reads of every frame of the captures here with what tshark reads.
#
#   usage: verify.sh [capture...]    (needs cargo; without tshark it says so and succeeds)
set -euo pipefail
here=$(realpath "$(dirname "$0")")
[ $# -gt 0 ] || set -- "$here"/*.pcap
command -v tshark >/dev/null || { echo "tshark is not installed: nothing compared"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build -q --manifest-path "$here/../Cargo.toml" -p laxity-trace --example frames
target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$here/../Cargo.toml" |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

tshark_frames() {
    # The ports of a later fragment and of a packet quoted in an ICMP error are not its own: only
    # the first occurrence of a field counts, and nothing is reassembled.
    tshark -r "$1" -o ip.defragment:FALSE -o ipv6.defragment:FALSE -T fields -E occurrence=f \
        -e frame.time_epoch -e frame.cap_len -e frame.len -e ip.dsfield.dscp -e ipv6.tclass.dscp \
        -e ip.version -e ipv6.version -e ip.src -e ipv6.src -e ip.dst -e ipv6.dst -e ip.proto \
        -e ipv6.nxt -e ipv6.hopopts.nxt -e udp.srcport -e tcp.srcport -e udp.dstport \
        -e tcp.dstport 2>/dev/null |
        awk -F'\t' -v OFS='\t' '
            function one(a, b) { return a != "" ? a : b != "" ? b : "-" }
            {
                sub(/\./, "", $1)
                protocol = one($14, one($12, $13))
                if (protocol == 1 || protocol == 58) $15 = $16 = $17 = $18 = ""
                print $1, $2, $3, one($4, $5), one($6, $7), one($8, $9), one($10, $11), protocol,
                    one($15, $16), one($17, $18)
            }'
}

for capture in "$@"; do
    "$target/debug/examples/frames" "$capture" >"$work/laxity" 2>"$work/report"
    tshark_frames "$capture" >"$work/tshark"
    if ! diff "$work/laxity" "$work/tshark" >"$work/diff"; then
        head -20 "$work/diff"
        echo "$(basename "$capture"): laxity-trace (<) and tshark (>) disagree" >&2
        exit 1
    fi
    echo "$(basename "$capture"): agreement on $(wc -l <"$work/laxity") frames"
done
