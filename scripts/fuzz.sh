#!/usr/bin/env bash
# Fuzzes every reader of outside bytes: coverage-guided, by libFuzzer on a stable toolchain, with overflow and debug
# assertions checked. Prints how often each target was executed, and fails at the first crash, whose input stands in
# target/fuzz/artifacts. Needs a C++ compiler; the first time cargo fetches libfuzzer-sys.
#
#   usage: fuzz.sh [MILLIONS [TARGET...]]     default 10, all targets
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

millions=${1:-10}
shift || true
rust cargo
program need c++ g++ gcc-c++ gcc gcc-c++ g++
get_needs

# The slow readers are executed less often: each target's share of a hundred.
shares='scenario 2 capture 4 frame 10 flow 8 trace_csv 5 recording 2 segments 10 rtcp 10 media 6 control 8 reserve 8
tc 4 netlink 6 http 3 rtp 6 results 4 packet_record 2 cpu_record 2'
declare -A share seeds
set_shares() { while [ $# -gt 0 ]; do share[$1]=$2; shift 2; done; }
# shellcheck disable=SC2086 # pairs of words
set_shares $shares
seeds=([scenario]="crates/scenario/corpus scenarios" [capture]=crates/trace/corpus/capture
    [frame]=crates/trace/corpus/decode [flow]=crates/trace/corpus/decode [trace_csv]=crates/trace/corpus/csv
    [recording]=captures [media]=crates/media/tests/media [tc]=crates/tc/tests/dumps/iproute2-6.1
    [results]=crates/results/tests/examples [packet_record]=crates/analysis/corpus [cpu_record]=crates/analysis/corpus)
if [ $# = 0 ]; then
    mapfile -t names < <(printf '%s\n' "${!share[@]}" | sort)
    set -- "${names[@]}"
fi

# What cargo-fuzz passes too, but for the address sanitizer, which stable has not. For the target alone, so that
# build scripts are not instrumented.
machine=$(rustc -vV | sed -n 's/^host: //p')
flags='--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module'
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
built=$(realpath -m "$target/fuzz")
mkdir -p "$built/artifacts"
(cd fuzz && RUSTFLAGS="$flags" CARGO_TARGET_DIR="$built" cargo build --release --target "$machine")

total=0
for name in "$@"; do
    runs=$((millions * 10000 * ${share[$name]}))
    corpus=$built/corpus/$name
    mkdir -p "$corpus"
    read -r -a from <<<"${seeds[$name]:-}"
    [ ! -d "fuzz/seeds/$name" ] || from+=("fuzz/seeds/$name")
    log=$built/$name.log
    "$built/$machine/release/$name" -runs=$runs -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -verbosity=1 -artifact_prefix="$built/artifacts/$name-" -dict=fuzz/dictionaries/scenario.dict \
        "$corpus" "${from[@]}" >"$log" 2>&1 || {
        tail -n 25 "$log" >&2
        say "$name: a crash; the input is in $built/artifacts"
        exit 1
    }
    done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    memory=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    printf '%-13s %9d executions, %5s places covered, %4s MB\n' "$name" "$done" "$cover" "$memory"
    total=$((total + done))
done
say "$total executions, no crash"
