#!/usr/bin/env bash
# Kills live parts at random moments (SIGKILL) and looks for what they leave: links in user space, media servers, pages
# and receivers; `make test` does it a few times. As root, for links in namespaces of their own. In the virtual machine,
# commands of a link in the kernel and its exporter, the broker of reservations and its clients.
#
#   usage: kills.sh [TIMES]            default 1000, of each
#          kills.sh kernel [TIMES]     those in the virtual machine
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# In machines of a hundred kills each, from other random numbers.
in_machine() {
    local left=$1 seed=1 folder program arguments=() part
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    build_live_programs
    for program in laxity kernel-link traffic; do
        strip -o "$folder/$program" "$target/debug/$program"
        arguments+=(--with "$folder/$program")
    done
    for program in kills.sh link.sh family.toml more.toml; do
        arguments+=(--file "crates/kernel/tests/vm/$program")
    done
    while [ "$left" -gt 0 ]; do
        part=$((left < 100 ? left : 100))
        vm/run --for both --in-real-time --timeout 3600 --with setpriv --with nsenter "${arguments[@]}" \
            --file vm/guest/wire.sh --file vm/guest/checks.sh -- sh kills.sh "$part" "$part" "$seed"
        left=$((left - part)) seed=$((seed + 1))
    done
}

rust cargo
if [ "${1:-}" = kernel ]; then
    kernel_parts need
    virtual_machine need
    get_needs
    say "${2:-1000} kills of each"
    in_machine "${2:-1000}"
    exit
fi
get_needs
export LAXITY_KILLS=${1:-1000}
say "$LAXITY_KILLS kills of each"
cargo test --locked -p laxity-cli --test kills -- --nocapture
