# Sourced by the scripts of vm/: where the cache is, how their options and lists are read.
# shellcheck shell=bash

# The other scripts work from the root of the tree; these take files named from where they are
# called.
called_from=$PWD
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
cd "$called_from" || exit 4
# shellcheck disable=SC2034 # for the scripts
{
    vm=$root/vm
    cache=${LAXITY_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/laxity}
}

# The lines of a list without its remarks.
entries() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$1"; }

# Output of another program, indented.
quoted() { sed 's/^/      /' >&2; }

# The comment at the head of a script is its help.
usage() { sed -n '2,/^[^#]/ { s/^# \{0,1\}//p }' "$0"; }

# Exit status of a call that cannot be understood.
misused=2

misuse() {
    say "$(basename "$0"): $1; --help lists what it takes"
    exit "$misused"
}

# has_value COUNT OPTION: ends when OPTION is the last of COUNT arguments.
has_value() { [ "$1" -ge 2 ] || misuse "$2 wants a value"; }
