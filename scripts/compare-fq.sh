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
cargo build --release --locked -p laxity-compare-media
[ $# -gt 0 ] || set -- 20 10000 5 100 10000 3 200 10000 3
vm/run --deterministic --for packets --timeout 900 --file compare/media/vm.sh \
    --with chrt --with "$target/release/laxity-compare-media" -- sh vm.sh "$@"
