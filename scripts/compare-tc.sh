#!/usr/bin/env bash
# The bounds of `laxity check --tc` beside delays measured in 210 random trees of the kernel's disciplines, in the
# virtual machine. Prints the largest part of its bound that a delay took, by discipline; fails if one is beyond.
#
#   usage: compare-tc.sh [TREES]      (default: 210, about a minute and a half)
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
kernel_parts need
virtual_machine need
get_needs
fetch_machine packets || exit "$lacks"
build_machine_programs
LAXITY_TREES=${1:-210} cargo test --locked -p laxity-cli --features kernel --test tc_disciplines -- \
    --nocapture no_packet
