#!/usr/bin/env bash
# Cargo's runner in scripts/test.sh: runs a test program, unless its tests run virtual machines. These it writes to
# the file $LAXITY_LATER, as a command a line for each test, and runs none of them.
#
#   usage: runner.sh PROGRAM [ARGUMENT]...     in the folder of the package, as cargo calls it
set -euo pipefail

name=$(basename "$1")
# Tests that run virtual machines use crates/kernel/tests/machine.
if ! grep -q -s '^mod machine;' "tests/${name%-*}.rs"; then
    exec "$@"
fi
program=$(readlink -f "$1")
tests=$("$program" --list --format terse | sed -n 's/: test$//p')
for test in $tests; do
    printf 'cd %q && %q --exact %q\n' "$PWD" "$program" "$test"
done >>"$LAXITY_LATER"
echo "$(wc -w <<<"$tests") tests of ${name%-*} run later"
