#!/usr/bin/env bash
# Installs the command with all that belongs to it under $DESTDIR$PREFIX. BUILT names a folder with the command and the
# libraries, which are otherwise built.
set -euo pipefail
PREFIX=${PREFIX:-/usr/local} DESTDIR=${DESTDIR:-} BUILT=${BUILT:-}
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

case $PREFIX in
    /*) ;;
    *)
        say "PREFIX must be an absolute path, not $PREFIX"
        exit 2
        ;;
esac
# Units, pkg-config and sed have no common way to quote what a path may hold.
case $PREFIX in
    *[!A-Za-z0-9/._+~-]*)
        say "PREFIX may have letters, digits and / . _ + ~ - only, not $PREFIX"
        tell "units of systemd and pkg-config would misread anything else"
        exit 2
        ;;
esac
# Under sudo the user's build is installed unchanged: root may have no cargo, and files that root
# builds would be in the user's way.
libraries=$target/release
if [ -n "$BUILT" ]; then
    libraries=$BUILT
    laxity=$BUILT/laxity
elif [ -z "${SUDO_USER:-}" ] || [ ! -x "$laxity" ] || [ ! -f "$libraries/liblaxity_reserve_c.so" ] ||
    [ ! -f "$libraries/liblaxity_preload.so" ] || [ ! -x "$libraries/laxity-rtkit" ]; then
    build_laxity
fi

to=$DESTDIR$PREFIX
if ! mkdir -p "$to" 2>/dev/null || [ ! -w "$to" ]; then
    say "no permission to write to $to"
    tell "try: sudo make install PREFIX=$PREFIX" "or:  make install PREFIX=\$HOME/.local"
    exit "$lacks"
fi

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$laxity" man "$made/man"
"$laxity" completions bash >"$made/laxity"
"$laxity" completions zsh >"$made/_laxity"
"$laxity" completions fish >"$made/laxity.fish"
"$laxity" schema >"$made/scenario.schema.json"

list=$made/installed
# put MODE FOLDER FILE...: installs files and remembers them, relative to the prefix.
put() {
    local mode=$1 folder=$2 file
    shift 2
    install -d "$to/$folder"
    for file in "$@"; do
        install -m "$mode" "$file" "$to/$folder/"
        printf '%s\n' "$folder/${file##*/}" >>"$list"
    done
}
put 755 bin "$laxity" "$libraries/laxity-rtkit"
put 644 share/man/man1 "$made"/man/*.1
put 644 share/bash-completion/completions "$made/laxity"
put 644 share/zsh/site-functions "$made/_laxity"
put 644 share/fish/vendor_completions.d "$made/laxity.fish"
put 644 share/laxity "$made/scenario.schema.json"
put 644 share/laxity/scenarios scenarios/*.toml
put 644 share/laxity/monitoring packaging/monitoring/*
# Where systemd looks for units under /usr/local and /usr.
for unit in packaging/*.service packaging/*.socket; do
    sed "s|/usr/local/bin/|$PREFIX/bin/|" "$unit" >"$made/${unit#packaging/}"
    put 644 lib/systemd/system "$made/${unit#packaging/}"
done
# The bus reads it there under /usr only.
put 644 share/dbus-1/system.d packaging/laxity-rtkit.conf
sed "s|/usr/local/bin/|$PREFIX/bin/|" packaging/reservation.conf >"$made/reservation.conf"
put 644 share/laxity/systemd "$made/reservation.conf"
# The client library for programs that reserve CPU time. The shared library has the name of its interface,
# under which programs look for it when they start.
library=liblaxity_reserve
cp "$libraries/${library}_c.so" "$made/$library.so.0"
cp "$libraries/${library}_c.a" "$made/$library.a"
sed "s|^prefix=.*|prefix=$PREFIX|" crates/reserve-c/laxity_reserve.pc >"$made/laxity_reserve.pc"
put 755 lib "$made/$library.so.0" "$libraries/liblaxity_preload.so"
put 644 lib "$made/$library.a"
ln -sf "$library.so.0" "$to/lib/$library.so"
printf 'lib/%s.so\n' "$library" >>"$list"
put 644 include crates/reserve-c/include/laxity_reserve.h
put 644 lib/pkgconfig "$made/laxity_reserve.pc"
put 644 share/laxity/python/laxity python/laxity/*.py
put 644 share/doc/laxity README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE
printf 'share/laxity/installed\n' >>"$list"
install -m 644 "$list" "$to/share/laxity/"

say "installed under $to:"
sed "s|^|    |" "$list" >&2
