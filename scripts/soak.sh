#!/usr/bin/env bash
# A soak: many packets in virtual time through every link policy that keeps deadlines. Counts, order, deadlines,
# memory and descriptors are checked; `make test` runs a small part of it. Takes three to ten minutes of one core.
#
#   usage: soak.sh [PACKETS]     default 1000000000
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
export LAXITY_SOAK_PACKETS=${1:-1000000000}
say "$LAXITY_SOAK_PACKETS packets"
cargo test --locked -p laxity-sim --test suite -- soak:: --nocapture
