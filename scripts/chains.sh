#!/usr/bin/env bash
# Random chains of changes beside hard tasks on servers of CPUs: far more systems than `make test` goes
# through. Takes some minutes of one core; prints how many jobs each policy had, and fails when one was late.
#
#   usage: chains.sh [SYSTEMS]     default 100000
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
export LAXITY_SYSTEMS=${1:-100000}
say "$LAXITY_SYSTEMS systems under each policy"
cargo test --locked -p laxity-sim --test suite -- cpu_chains:: --nocapture
