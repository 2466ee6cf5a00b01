#!/usr/bin/env bash
# Cargo's runner in scripts/test.sh: runs a test program, or writes to the file $LAXITY_LATER the commands that run it,
# for scripts/beside.sh. Deferred are tests that run virtual machines, a command for each test, and the tests of
# crates that only compute, which are therefore not sensitive to load.
#
#   usage: runner.sh PROGRAM [ARGUMENT]...     in the folder of the package, as cargo calls it
set -euo pipefail

name=$(basename "$1")
program=$(readlink -f "$1")
# Tests that run virtual machines use crates/kernel/tests/machine.
if grep -q -s '^mod machine;' "tests/${name%-*}.rs"; then
    tests=$("$program" --list --format terse | sed -n 's/: test$//p')
    for test in $tests; do
        printf 'cd %q && %q --exact %q\n' "$PWD" "$program" "$test"
    done >>"$LAXITY_LATER"
    echo "$(wc -w <<<"$tests") tests of ${name%-*} run later"
    exit
fi
case ${PWD##*/} in
    # Without sockets and clocks; that of report's browser only limits what never answers.
    core | curve | link | dwcs | cpu | transport | results | scenario | trace | traffic | sim | analysis | report | experiments | kernel)
        if [[ $PWD = */crates/* ]]; then
            if [ "${name%-*}" = suite ]; then
                # A command for each of its files.
                "$program" --list --format terse | sed -n 's/: test$//p' | awk -F :: -v run="cd $PWD && $program --exact" '
                    { tests[$1] = tests[$1] " " $0 }
                    END { for (file in tests) print run tests[file] }' | sort >>"$LAXITY_LATER"
            else
                printf 'cd %q && %q\n' "$PWD" "$program" >>"$LAXITY_LATER"
            fi
            echo "${name%-*} runs later"
            exit
        fi
        ;;
esac
exec "$@"
