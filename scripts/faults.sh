#!/usr/bin/env bash
# Puts faults that the servers of CPUs once had back into a copy of the tree, one after the other, and
# checks that the search in small systems finds each.
#
#   usage: faults.sh [NAME...]     names of crates/cpu/tests/faults without .patch; all of them if none
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
folder=crates/cpu/tests/faults
if [ $# = 0 ]; then
    for file in "$folder"/*.patch; do
        name=${file##*/}
        set -- "$@" "${name%.patch}"
    done
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/faults RUST_BACKTRACE=0
unfound=()
for name; do
    patch -d "$copy" -p1 -s <"$folder/$name.patch"
    if output=$(cd "$copy" && cargo test --locked -q -p laxity-cpu --test search 2>&1); then
        unfound+=("$name")
    elif ! grep -q 'panicked at' <<<"$output"; then
        say "$name: it does not compile: $(grep -m 3 '^error' <<<"$output")"
        exit 1
    else
        say "$name: $(grep -A 1 -m 1 'panicked at' <<<"$output" | tail -n 1)"
    fi
    patch -d "$copy" -p1 -s -R <"$folder/$name.patch"
done
[ ${#unfound[@]} = 0 ] || {
    say "not found: ${unfound[*]}"
    exit 1
}
say "all $# faults are found"
