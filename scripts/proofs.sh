#!/usr/bin/env bash
# Checks the proofs of proofs/: compiles each file, prints what each theorem of Assumptions.v assumes, which must be
# nothing, and has the independent checker of Coq read the compiled files again. Where a laxity is built, simulated runs
# are checked by the program that Coq extracts from link/Record.v, and certificates by that from link/Certificate.v,
# cpu/Certificate.v and cpu/Cluster.v. Builds in target/proofs.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

program need coqc coq coq coq coq coq
get_needs

mkdir -p "$target"
target=$(realpath "$target")
build=$target/proofs
# From nothing each time, so that no file without a source is left; it takes under a minute.
rm -rf "$build"
mkdir -p "$build"
cp -R proofs/. "$build"
cd "$build"

# One file a line after the options, each after those that it needs.
mapfile -t files < <(grep '\.v$' _CoqProject)
if find . -name '*.v' ! -name Assumptions.v ! -name Extract.v | sed 's|^\./||' | grep -vxF "$(printf '%s\n' "${files[@]}")"; then
    say "_CoqProject does not list these files"
    exit 1
fi
# An admitted theorem would show below as an assumption; this names its line.
if grep -nE '\<(Admitted|admit|Axiom|Axioms|Conjecture|Parameter|Parameters)\>' "${files[@]}"; then
    say "the proofs assume something"
    exit 1
fi
for file in "${files[@]}"; do
    coqc -Q . Laxity "$file"
done

coqc -Q . Laxity Assumptions.v >assumptions.txt
theorems=$(grep -c '^Print Assumptions' Assumptions.v)
closed=$(grep -cx 'Closed under the global context' assumptions.txt) || true
if [ "$closed" != "$theorems" ]; then
    grep -vx 'Closed under the global context' assumptions.txt || true
    say "of $theorems theorems only $closed are closed under the global context"
    exit 1
fi

modules=("${files[@]%.v}")
modules=("${modules[@]//\//.}")
coqchk -silent -o -Q . Laxity "${modules[@]/#/Laxity.}" >checked.txt 2>&1 || {
    cat checked.txt
    exit 1
}
if ! grep -A 1 '^\* Axioms:' checked.txt | grep -q '<none>'; then
    cat checked.txt
    say "the checker found axioms"
    exit 1
fi
# replay SCENARIO POLICY: whether the run is a legal one of the model. The links of both scenarios take 800 ns a byte.
replay() {
    rm -f packets.csv
    "$simulator" simulate "$1" --duration 5s --policy "$2" --packets packets.csv >/dev/null || true
    ./replay packets.csv 800
}
simulator=$target/debug/laxity
[ -x "$simulator" ] || simulator=$target/release/laxity
if [ ! -x "$simulator" ] || ! has ocamlopt; then
    say "no laxity is built or there is no ocamlopt, so no runs are checked"
else
    coqc -Q . Laxity link/Extract.v
    ocamlopt checker.mli checker.ml replay.ml -o replay
    for scenario in access-link greedy-harder; do
        # `exact` lowers deadlines when it restarts, which is a run of the model with other releases (link/Restart.v).
        sed 's/^\[policy\]$/&\nrestart = "idle"/' "$root/scenarios/$scenario.toml" >idle.toml
        grep -q '^restart = "idle"' idle.toml
        for policy in tbs shifted-line two-segment algorithm-3 exact; do
            replay idle.toml "$policy" >legal.txt || {
                say "$scenario under $policy: $(cat legal.txt) of EDF"
                exit 1
            }
        done
    done
    if replay idle.toml fifo >legal.txt; then
        say "a run in order of arrival passes as one of EDF: $(cat legal.txt)"
        exit 1
    fi
    say "ten simulated runs are legal in the model"

    # Certificates: of the scenarios that have one, and random ones.
    coqc -Q . Laxity Extract.v
    ocamlopt certificates.mli certificates.ml certify.ml -o certify
    # No scenario of the folder has CPUs that share a queue.
    sed 's/^\[cpu\]$/&\ncpus = 3\ncluster = 2/' "$root/scenarios/bebs-figure-2.toml" >clusters.toml
    certified=0 served=0 clusters=0
    for scenario in "$root"/scenarios/*.toml "$root"/experiments/low-delay/access-link.toml clusters.toml; do
        "$simulator" check "$scenario" --certificate one.txt >/dev/null 2>&1 || continue
        "$simulator" certify one.txt "$scenario" --facts facts.txt >/dev/null
        ./certify one.txt facts.txt >verdict.txt || {
            say "the certificate of $scenario: $(cat verdict.txt)"
            exit 1
        }
        certified=$((certified + 1))
        if grep -q '^packets ' one.txt; then
            served=$((served + 1))
        fi
        if grep -q '^cluster' one.txt; then
            clusters=$((clusters + 1))
        fi
    done
    # What is not as it is printed, or follows more steps than can be.
    for change in 's/^end$/end x/' '1s/$/ 2/' 's/^link$/link x/' 's/^rate /&0/' 's/^rate /&\t/' 's/^proof$/proof x/'; do
        "$simulator" check "$root/scenarios/access-link.toml" --certificate one.txt >/dev/null
        sed "$change" one.txt >other.txt
        if cmp -s one.txt other.txt || ./certify other.txt >/dev/null || "$simulator" certify other.txt \
            "$root/scenarios/access-link.toml" >/dev/null 2>&1; then
            say "a certificate with the change $change passes"
            exit 1
        fi
    done
    "$simulator" check "$root/scenarios/robot.toml" --certificate one.txt >/dev/null
    sed 's/^steps .*/steps 1000000000000/' one.txt >other.txt
    grep -q '^steps 1000000000000$' other.txt
    [ "$(./certify other.txt)" = "0 accepted, 1 refused" ] || {
        say "a certificate of too many steps is not refused"
        exit 1
    }
    if [ "$certified" -lt 14 ] || [ "$served" -lt 1 ] || [ "$clusters" -lt 1 ]; then
        say "only $certified scenarios have certificates, $served of them with service curves, $clusters with clusters"
        exit 1
    fi
    random=$(dirname "$simulator")/examples/certificates
    if [ -x "$random" ]; then
        "$random" 1000 >random.txt
        "$random" 1000 changed >changed.txt
        ./certify random.txt >/dev/null
        ./certify changed.txt changed >/dev/null
        for kind in served clusters; do
            "$random" 300 "$kind" >random.txt
            "$random" 300 "$kind" changed >changed.txt
            ./certify random.txt >/dev/null
            ./certify changed.txt changed >/dev/null
        done
        say "certificates of $certified scenarios and 1600 random ones pass, and none with a number changed"
    else
        say "certificates of $certified scenarios pass; cargo build -p laxity-certify --examples brings random ones"
    fi
fi
say "$theorems theorems proved, none assumes anything; coqchk agrees"
