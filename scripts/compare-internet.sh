#!/usr/bin/env bash
# Shapers of an access link side by side in the virtual machine, with real kernels and real TCP: ours
# beside FIFO, fq_codel, CAKE and HFSC. Leaves target/compare-internet.json, a page, plots, and a data
# file of flent for each run. Runs that are done are kept in target/compare-internet and not done again.
#
#   usage: compare-internet.sh                            every link, scheduler and seed
#          compare-internet.sh --short                    one short row, as continuous integration runs it
#          compare-internet.sh LINK SCHEDULER SEED LOAD   one run (LOAD: marks, plain or hosts), and all results
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

case $#,${1:-} in
    0,) which=full ;;
    1,--short) which=short ;;
    4,[!-]*) which=one ;;
    *)
        say "usage: compare-internet.sh [--short | LINK SCHEDULER SEED LOAD]"
        exit 2
        ;;
esac
rust cargo
kernel_parts need
virtual_machine need
program need iperf3 iperf3 iperf3 iperf3 iperf iperf3
program need irtt irtt irtt irtt irtt irtt
program need tcpdump tcpdump tcpdump tcpdump tcpdump tcpdump
get_needs
fetch_machine packets || exit "$lacks"
built=$target/release results=$target/compare-internet
if [ "$which" = short ]; then built=$target/debug results=$target/compare-internet-short; fi
build_comparison "$which" internet
compare=$built/laxity-compare-internet
mkdir -p "$results"
kernel=$(vm/fetch --for packets)
release=$(cat "$kernel/release")

# run LINK SCHEDULER SEED LOAD: unless that has been done with the same inputs.
run() {
    local folder=$results/${1//\//-}-$2-$3-$4 stamp shift=1 input files=() options=() programs
    "$compare" prepare "$folder" "$1" "$3" "$4"
    # At a gigabit an instruction takes half the time, or the emulated processor would be the bottleneck.
    case $1 in 1000/*) shift=0 ;; esac
    programs=("$built"/{internet-load,traffic} "$(command -v iperf3)" "$(command -v irtt)" "$(command -v tcpdump)")
    case $2 in laxity-*) programs+=("$built/kernel-link") ;; esac
    for input in compare/internet/vm.sh "$folder"/{params,*.toml,*.csv}; do files+=("$input"); done
    # Another program, script or kernel means other results.
    stamp=$({ echo "$release" "$@" && cat vm/run "${files[@]}" "${programs[@]}"; } | sha256sum | cut -c 1-16)
    if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    for input in "${programs[@]}"; do options+=(--with "$input"); done
    for input in "${files[@]}"; do options+=(--file "$input"); done
    rm -f "$folder"/{stamp,output} "$folder"/*.json
    say "$folder"
    if ! vm/run --deterministic --shift "$shift" --for packets --timeout 600 --with chrt \
        "${options[@]}" --out "$folder" -- sh vm.sh "$2" \
        >"$folder/output.part" 2>"$folder/messages"; then
        say "$folder: $(tail -n 3 "$folder/messages")"
        return 1
    fi
    gzip -d -f "$folder"/*.json.gz
    echo "$2 $1 $3 $4" >"$folder/about"
    mv "$folder/output.part" "$folder/output"
    echo "$stamp" >"$folder/stamp"
}

# Two machines at a time; each counts its own instructions.
failed=0
queue() {
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n || failed=1; done
    run "$@" &
}

began=$SECONDS
if [ "$which" = short ]; then
    queue 20/5-short laxity-slack-fifo 1 marks
elif [ "$which" = one ]; then
    queue "$@"
else
    schedulers=(fifo fq_codel cake cake-rtt hfsc laxity-slack laxity-exact laxity-slack-fifo)
    for seed in 1 2; do
        for scheduler in "${schedulers[@]}"; do queue 20/5 "$scheduler" "$seed" marks; done
    done
    for load in plain hosts; do
        for scheduler in "${schedulers[@]}"; do queue 20/5 "$scheduler" 1 "$load"; done
    done
    for link in 20/5-shaped 20/5-ecn 100/20 1000/1000; do
        for scheduler in "${schedulers[@]}"; do queue "$link" "$scheduler" 1 marks; done
    done
fi
while [ "$(jobs -pr | wc -l)" -gt 0 ]; do wait -n || failed=1; done
kept=0
"$compare" read "$results" "$release" || kept=$?
for file in "$results"/*.flent; do [ ! -e "$file" ] || gzip -9 -n -f "$file"; done
say "done after $(((SECONDS - began) / 60)) min"
[ "$kept" = 0 ] || exit "$kept"
exit "$failed"
