#!/usr/bin/env bash
# A soak. In virtual time: many packets through every link policy that keeps deadlines; counts, order, deadlines,
# memory and descriptors are checked. `make test` runs a small part of it. Takes three to ten minutes of one core.
#
# Of the live parts, in the virtual machine, for so many minutes of its time: a link in the kernel and its exporter, a
# bridge, a media server and its receiver, the CPUs' scheduler, the broker, a reserved task, the page of `laxity web`;
# with traffic, floods, changes and reservations every five minutes. Memory, descriptors, threads, deadlines and counters
# are checked. Twelve hours take some fifty minutes of one core.
#
#   usage: soak.sh [PACKETS]         default 1000000000
#          soak.sh live [MINUTES]    default 720
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# The programs of the tests go into the machine, without what only debuggers read.
live() {
    local minutes=$1 folder program arguments=()
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    build_live_programs
    for program in laxity traffic tasks; do
        strip -o "$folder/$program" "$target/debug/$program"
        arguments+=(--with "$folder/$program")
    done
    # A fifth of a second, within the envelopes of the scenarios.
    awk 'BEGIN {
        print "time_ns,bytes,flow"
        for (ms = 0; ms < 200; ms++) {
            if (ms % 5 == 0) print ms * 1000000 ",200,voice"
            if (ms % 100 == 0) for (i = 0; i < 45; i++) print ms * 1000000 + 1000 * i ",1400,video"
            if (ms % 17 == 0) for (i = 0; i < 4; i++) print ms * 1000000 + 1000 * i ",1000,http"
        }
    }' >"$folder/burst.csv"
    for program in soak.sh family.toml more.toml bridge.toml concert.toml; do
        arguments+=(--file "crates/kernel/tests/vm/$program")
    done
    vm/run --for both --deterministic --timeout 14400 --with setpriv --with nsenter "${arguments[@]}" \
        --file "$folder/burst.csv" --file vm/guest/wire.sh --file vm/guest/checks.sh -- sh soak.sh "$minutes" 5
}

rust cargo
if [ "${1:-}" = live ]; then
    kernel_parts need
    virtual_machine need
    get_needs
    say "the live parts for ${2:-720} minutes of the virtual machine's time"
    live "${2:-720}"
    exit
fi
get_needs
export LAXITY_SOAK_PACKETS=${1:-1000000000}
say "$LAXITY_SOAK_PACKETS packets"
cargo test --locked -p laxity-sim --test suite -- soak:: --nocapture
