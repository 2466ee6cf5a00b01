#!/usr/bin/env bash
# Puts faults that the servers of CPUs once had back into a copy of the tree, one after the other, and
# checks that the search in small systems finds each, and that the judgement of `laxity validate` finds all but three:
# from records of systems in which no job is late, by a build without the assertions of the servers.
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
builds=${CARGO_TARGET_DIR:-$root/target}
export RUST_BACKTRACE=0
# A task waits, and no rule about shares is broken (sleeps-at-exhaustion); or some hundred systems do not show it.
shown_by_search_alone=" limit-above-share sleeps-at-exhaustion spare-taken-back "

# says DIRECTORY ARGUMENT...: what a test of the copy says when it fails; status 1 if it passes.
says() {
    local output
    if output=$(cd "$copy" && CARGO_TARGET_DIR=$builds/$1 cargo test --locked -q "${@:2}" 2>&1); then
        return 1
    elif ! grep -q 'panicked at' <<<"$output"; then
        say "it does not compile: $(grep -m 3 '^error' <<<"$output")"
        exit 1
    fi
    grep -A 1 -m 1 'panicked at' <<<"$output" | tail -n 1
}

unfound=()
for name; do
    patch -d "$copy" -p1 -s <"$folder/$name.patch"
    if output=$(says faults -p laxity-cpu --test search); then
        say "$name, search: $output"
    else
        unfound+=("$name by the search")
    fi
    if [[ $shown_by_search_alone != *" $name "* ]]; then
        if output=$(CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false LAXITY_SYSTEMS=${LAXITY_SYSTEMS:-400} \
            says faults-in-records -p laxity-analysis --test cpu_runs -- former chains); then
            say "$name, validate: $output"
        else
            unfound+=("$name by validate")
        fi
    fi
    patch -d "$copy" -p1 -s -R <"$folder/$name.patch"
done
[ ${#unfound[@]} = 0 ] || {
    printf -v list '%s, ' "${unfound[@]}"
    say "not found: ${list%, }"
    exit 1
}
say "all $# faults are found"
