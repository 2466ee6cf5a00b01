#!/usr/bin/env bash
# The live CPU policies beside other schedulers of Linux, in the virtual machine. Leaves
# target/compare-cpu.json, a page and plots, and writes experiments/live-cpu.toml, which `laxity
# reproduce` shows beside the simulated numbers. Runs that are done are kept in target/compare-cpu
# and not done again. Peers and schbench are built in the cache, for comparison only.
#
#   usage: compare-cpu.sh [--beginnings N]                 every scheduler and test
#          compare-cpu.sh [--beginnings N] SCHEDULER...    tests of these only, and all results that are there
#          compare-cpu.sh --short         short rows of EEVDF and ours, as continuous integration runs it
#
# Each machine runs once, or N times (up to 9) with another beginning, and rows are medians over these.
#
# LAXITY_SCHBENCH_SOURCE names a git repository of schbench; without it the rows of schbench are
# left out.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

began=$SECONDS beginnings=1
if [ "${1:-}" = --beginnings ] && [ $# -ge 2 ]; then
    beginnings=$2
    shift 2
fi
which=full built=$target/release results=$target/compare-cpu only=
case ${1:-} in
    '' | eevdf | fifo | deadline | scx_* | laxity-*) only="$*" ;;
    --short) which=short built=$target/debug results=$target/compare-cpu-short ;;
    *)
        say "usage: compare-cpu.sh [--short | [--beginnings N] [SCHEDULER...]]"
        exit 2
        ;;
esac
rust cargo
kernel_parts need
virtual_machine need
# Programs of single rows of results, which are left out without them.
program optional cyclictest rt-tests realtime-tests rt-tests rt-tests rt-tests
program optional ffmpeg ffmpeg ffmpeg-free ffmpeg ffmpeg ffmpeg
peers_clang=/usr/lib/llvm-19
case $which-${only:-scx_lavd} in
    full-*scx_flash* | full-*scx_bpfland* | full-*scx_lavd*)
        [ -e "$peers_clang/lib/libclang.so" ] ||
            optional "clang 19 with libclang, with which peers are built" "clang-19 libclang-19-dev" '' '' '' ''
        ;;
esac
[ "$which" = short ] || [ -z "${LAXITY_SCHBENCH_SOURCE:-}" ] || program optional git git git git git git
get_needs
fetch_machine cpu || exit "$lacks"
build_comparison "$which" cpu
compare=$built/laxity-compare-cpu
mkdir -p "$results"
kernel=$(vm/fetch --for cpu)
emulator=$("$(vm/emulator | head -n 1)" --version)

cache=${LAXITY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/laxity}/peers
version=1.1.4
schbench_commit=24e32b8ef67cbafb0761aed68747d90a291767ae
schbench=$cache/schbench-${schbench_commit:0:12}/schbench

# The schedulers of sched-ext, GPL-2.0: not part of anything here. Prints why one cannot be had.
peer() {
    local log=$cache/$1-$version.log clang
    [ ! -x "$cache/bin/$1" ] || return 0
    mkdir -p "$cache"
    if ! at_least "$(rustc --version | awk '{ print $2 }')" 1.91; then
        echo "$1 $version needs Rust 1.91 or later"
        return 1
    fi
    clang=$peers_clang
    if [ ! -e "$clang/lib/libclang.so" ]; then
        echo "$1 $version needs clang 19 with libclang, as of libclang-19-dev"
        return 1
    fi
    say "building $1 $version in $cache"
    if ! PATH=$clang/bin:$PATH BPF_CLANG=$clang/bin/clang LIBCLANG_PATH=$clang/lib \
        CARGO_TARGET_DIR=$cache/target CARGO_PROFILE_RELEASE_LTO=off \
        cargo install --quiet --locked --root "$cache" "$1@$version" >"$log" 2>&1; then
        echo "$1 $version was not built: $(grep -m 1 error "$log" || tail -n 1 "$log")"
        return 1
    fi
}

get_schbench() {
    local source=${LAXITY_SCHBENCH_SOURCE:-} folder=${schbench%/*}
    [ ! -x "$schbench" ] || return 0
    if [ -z "$source" ]; then
        echo "LAXITY_SCHBENCH_SOURCE names no git repository of it"
        return 1
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    git -C "$folder" init -q
    git -C "$folder" fetch -q --depth 1 "$source" "$schbench_commit" 2>/dev/null ||
        git -C "$folder" fetch -q "$source" || return 1
    git -C "$folder" checkout -q "$schbench_commit" && make -s -C "$folder" schbench
}

programs=(--with chrt --with nice --with "$built/tasks")
more=()
# take_along PROGRAM...: what tests run.
take_along() {
    local name
    for name in "$@"; do
        if command -v "$name" >/dev/null; then
            more+=(--with "$name")
        else
            skip "there is no $name, so its rows are left out"
        fi
    done
}
take_along cyclictest hackbench ffmpeg
if command -v ffmpeg >/dev/null; then
    clip=$results/clip.avi
    if [ ! -e "$clip" ]; then
        ffmpeg -nostdin -loglevel error -y -f lavfi -i mandelbrot=size=640x480:rate=25 \
            -t 6 -c:v mpeg4 -q:v 4 -g 12 -threads 1 -bitexact -f avi "$clip.part"
        mv "$clip.part" "$clip"
    fi
    more+=(--file "$clip")
fi
if [ "$which" = full ]; then
    if (get_schbench) >"$results/schbench.log" 2>&1; then
        more+=(--with "$schbench")
    else
        say "without schbench: $(tail -n 1 "$results/schbench.log")"
    fi
fi

# run FOLDER SCHEDULER BEGINNING CALL...: unless that has been done with the same inputs.
run() {
    local folder=$results/$1 scheduler=$2 group=${1%%-*} with=("${programs[@]}") tests=() place why stamp speed=1
    shift 2
    mkdir -p "$folder"
    for tests_of in cost berate bebs more film; do
        case $group in
            "$tests_of" | short) tests+=("$tests_of") ;;
        esac
    done
    # An instruction takes 2^speed ns.
    [ "$group" != cost ] || speed=0
    case $group in more | film | short) with+=("${more[@]}") ;; esac
    case $scheduler in
        laxity-*) with+=(--with "$built/kernel-cpu") ;;
        scx_bare) with+=(--with "$built/scx_bare") ;;
        scx_*)
            if ! why=$(peer "$scheduler"); then
                echo "refused $why" >"$folder/output"
                rm -f "$folder/stamp"
                return
            fi
            # They ask the kernel's configuration what there is.
            with+=(--with "$cache/bin/$scheduler"
                --file "$kernel/config:/boot/config-$(cat "$kernel/release")")
            ;;
    esac
    with+=(--file compare/cpu/vm.sh --file vm/guest/checks.sh)
    for place in "${tests[@]}"; do
        with+=(--file "compare/cpu/tests/$place.sh:/job/tests-$place.sh")
    done
    # Another program, script, kernel, emulator or processor means other results.
    stamp=$(
        {
            echo "$kernel" "${emulator%%$'\n'*}" "$scheduler" "$@"
            cat vm/run
            for place in "${with[@]}"; do
                place=${place%%:*}
                case $place in
                    --*) ;;
                    */*) cat "$place" ;;
                    *) cat "$(command -v "$place")" ;;
                esac
            done
        } | sha256sum | cut -c 1-16
    )
    if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    rm -f "$folder/stamp" "$folder/output"
    say "$folder: $(($# - 1)) tests"
    vm/run --deterministic --shift "$speed" --for cpu --mem 2048 --timeout 3000 "${with[@]}" -- \
        sh vm.sh "$scheduler" "$@" >"$folder/output.part" 2>"$folder/messages" || {
        say "$folder: $(tail -n 3 "$folder/messages")"
        return 1
    }
    mv "$folder/output.part" "$folder/output"
    echo "$stamp" >"$folder/stamp"
}

# Two machines at a time; each counts its own instructions. Peers are built by the first that needs
# them.
plan=$("$compare" plan "$which" "$beginnings")
if [ "$which" = full ]; then
    for name in scx_flash scx_bpfland scx_lavd; do
        case " ${only:-$name} " in *" $name "*) peer "$name" >&2 || true ;; esac
    done
fi
failed=0
while read -r folder scheduler beginning calls; do
    case " ${only:-$scheduler} " in
        *" $scheduler "*) ;;
        *) continue ;;
    esac
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n || failed=1; done
    # shellcheck disable=SC2086 # several calls
    run "$folder" "$scheduler" "$beginning" $calls &
done <<<"$plan"
while [ "$(jobs -pr | wc -l)" -gt 0 ]; do wait -n || failed=1; done
promises=0
"$compare" read "$which" "$beginnings" "$results" || promises=$?
if [ "$which" = full ] && [ -z "$only" ] && [ "$failed" = 0 ]; then
    "$compare" live "$beginnings" "$results" "$(cat "$kernel/release")" "$(date +%F)" >"$results/live-cpu.toml"
    mv "$results/live-cpu.toml" experiments/live-cpu.toml
fi
say "done after $(((SECONDS - began) / 60)) min"
[ "$promises" = 0 ] || exit "$promises"
exit "$failed"
