#!/usr/bin/env bash
# Runs commands beside each other, as many at a time as there are CPUs, and prints the output of each when it has
# ended. All are run, also when one fails; then the exit status is 1, and the last lines name those that failed.
#
#   usage: beside.sh FILE     one command of the shell a line; the first are begun first
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

if [ "$1" = --one ]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    status=0
    bash -c "$3" >"$log" 2>&1 </dev/null || status=$?
    # One output at a time.
    exec 8>>"$2"
    flock 8
    say "$3 ($SECONDS s)" 2>&1
    cat "$log"
    [ "$status" = 0 ] && exit
    printf '%s: %s\n' "$status" "$3" >&8
    exit 1
fi

failed=$(mktemp)
trap 'rm -f "$failed"' EXIT
status=0
xargs -a "$1" -d '\n' -r -n 1 -P "$(nproc)" scripts/beside.sh --one "$failed" || status=$?
[ "$status" = 0 ] && [ ! -s "$failed" ] && exit
say "failed, with the status and the command; the outputs are above"
sed 's/^/    /' "$failed" >&2
exit 1
