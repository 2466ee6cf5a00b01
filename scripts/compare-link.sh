#!/usr/bin/env bash
# The live link beside the disciplines of the Linux kernel, on the family of traces in compare/link,
# in the virtual machine. Leaves target/compare-link.json, a page and plots. Runs that are done are
# kept in target/compare-link and not done again.
#
#   usage: compare-link.sh             every load, seed and discipline, and what a packet costs
#          compare-link.sh --short     one short row, as continuous integration runs it
#          compare-link.sh --tune      runs the settings of HFSC and prints them, best first
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

case ${1:-} in
    '' | --short | --tune) ;;
    *)
        say "usage: compare-link.sh [--short | --tune]"
        exit 2
        ;;
esac
rust cargo
kernel_parts need
virtual_machine need
get_needs
# Two machines start at a time; they would both get what is missing.
fetch_machine packets || exit "$lacks"
which=full built=$target/release
if [ "${1:-}" = --short ]; then which=short built=$target/debug; fi
build_comparison "$which" link
compare=$built/laxity-compare-link
case ${1:-} in
    --short | --tune) results=$target/compare-link-${1#--} ;;
    *) results=$target/compare-link ;;
esac
mkdir -p "$results"

wire=vm/guest/wire.sh
# Another program or script means other results.
inputs() {
    cat vm/run compare/link/{vm.sh,cost.sh,family.toml,curves.toml,cost.toml} "$wire" "$compare" \
        "$built"/{kernel-link,traffic} | sha256sum | cut -c 1-16
}
stamp=$(inputs)
if [ "$(cat "$results/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$results"
    mkdir -p "$results"
    echo "$stamp" >"$results/stamp"
fi

in_vm() {
    vm/run --deterministic --for packets --timeout 1500 --with chrt \
        --with "$built/kernel-link" --with "$built/traffic" "$@"
}

# run FOLDER: the jobs there, unless that has been done.
run() {
    [ ! -e "$1/output" ] || return 0
    say "$1: $(wc -l <"$1/jobs") runs"
    in_vm --file compare/link/family.toml --file compare/link/curves.toml \
        --file compare/link/vm.sh --file "$wire" --file "$1/trace.csv" --file "$1/jobs" --out "$1" -- sh vm.sh jobs >"$1/output.part"
    mv "$1/output.part" "$1/output"
}

# Two machines at a time; each counts its own instructions.
all() {
    local folder
    for folder in "$@"; do
        while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
        run "$folder" &
    done
    wait
}

case ${1:-} in
    --tune)
        "$compare" grid "$results/grid" 3
        run "$results/grid"
        "$compare" rank "$results/grid"
        exit
        ;;
    --short)
        "$compare" jobs "$results/short" 90 1 2 hfsc-tuned laxity-background laxity-exact \
            laxity-curves-exact
        run "$results/short"
        exec "$compare" read "$results"
        ;;
esac

folders=()
for load in 90 80 95; do
    for seed in 1 2 3 4 5; do
        folders+=("$results/$load-$seed")
        [ -e "$results/$load-$seed/output" ] || "$compare" jobs "$results/$load-$seed" "$load" "$seed" 4
    done
done
all "${folders[@]}"
if [ ! -e "$results/cost" ]; then
    say "what a packet costs"
    in_vm --file compare/link/cost.toml --file compare/link/cost.sh -- \
        sh cost.sh background shifted-line exact slack >"$results/cost.part"
    mv "$results/cost.part" "$results/cost"
fi
"$compare" read "$results"
