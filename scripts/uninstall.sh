#!/usr/bin/env bash
# Removes what install.sh put under $DESTDIR$PREFIX, and the folders that are empty then.
set -euo pipefail
PREFIX=${PREFIX:-/usr/local} DESTDIR=${DESTDIR:-}
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

to=$DESTDIR$PREFIX
list=$to/share/laxity/installed
if [ ! -f "$list" ]; then
    say "nothing of Laxity is installed under $to"
    exit 0
fi
mapfile -t files <"$list"
for file in "${files[@]}"; do rm -f "$to/$file"; done
# Other people's folders stay; those of our own name go when they are empty.
for folder in share/laxity/scenarios share/laxity/systemd share/laxity/monitoring share/laxity/python/laxity share/laxity/python share/laxity \
    share/doc/laxity; do
    [ ! -d "$to/$folder" ] || rmdir --ignore-fail-on-non-empty "$to/$folder"
done
say "removed ${#files[@]} files from $to"
