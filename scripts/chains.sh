#!/usr/bin/env bash
# Random chains of changes beside hard tasks on servers of CPUs: far more systems than `make test` goes
# through. Takes some minutes of one core; prints how many jobs each policy had, and fails when one was late.
#
# Of the scheduler in the kernel, in the virtual machine: so many changes of threads, processes and policies on one CPU and
# on four, of which a thousand each are in `make test`. Five minutes of two cores.
#
#   usage: chains.sh [SYSTEMS]            default 100000
#          chains.sh kernel [CHANGES]     default 5000
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
if [ "${1:-}" = kernel ]; then
    kernel_parts need
    virtual_machine need
    get_needs
    export LAXITY_CHANGES=${2:-5000} LAXITY_REQUIRE_ALL=1
    say "$LAXITY_CHANGES changes on one CPU and on four"
    cargo test --locked -p laxity-kernel --features kernel --test cpu -- cpu_lose_no_task cpus_lose_no_task
    exit
fi
get_needs
export LAXITY_SYSTEMS=${1:-100000}
say "$LAXITY_SYSTEMS systems under each policy"
cargo test --locked -p laxity-sim --test suite -- cpu_chains:: --nocapture
