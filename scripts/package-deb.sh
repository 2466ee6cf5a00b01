#!/usr/bin/env bash
# Makes the Debian package from a folder with the command and the libraries of programs that reserve CPU time. The
# same input gives the same bytes for the same SOURCE_DATE_EPOCH.
#
#   usage: package-deb.sh BUILT OUT [THIRD-PARTY]
#
#   BUILT         has laxity, laxity-rtkit, liblaxity_preload.so, liblaxity_reserve_c.so and liblaxity_reserve_c.a
#   OUT           folder for the package, whose path is printed
#   THIRD-PARTY   licence texts of third-party crates
#
# VERSION is another version than that of Cargo.toml, COMPRESSION another than xz: for tests.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

program need dpkg-deb dpkg dpkg dpkg dpkg dpkg
program need dpkg-shlibdeps dpkg-dev dpkg-dev dpkg dpkg dpkg-dev
program need strip binutils binutils binutils binutils binutils
get_needs
built=$(readlink -f "$1") out=$2 third_party=${3:-}
epoch=$(source_date)
version=${VERSION:-$(package_version)}
architecture=$(dpkg --print-architecture)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
mkdir "$work/built" "$stage" "$stage/DEBIAN"
for file in laxity laxity-rtkit liblaxity_preload.so liblaxity_reserve_c.so liblaxity_reserve_c.a; do
    strip --strip-debug -o "$work/built/$file" "$built/$file"
done
strip "$work/built/laxity" "$work/built/laxity-rtkit"
strip --strip-unneeded "$work/built/liblaxity_preload.so" "$work/built/liblaxity_reserve_c.so"
chmod 755 "$work/built/laxity" "$work/built/laxity-rtkit"

PREFIX=/usr DESTDIR=$stage BUILT=$work/built scripts/install.sh 2>"$work/log" || {
    cat "$work/log" >&2
    exit 4
}
doc=$stage/usr/share/doc/laxity
# The list for `make uninstall`; dpkg has its own.
rm "$stage/usr/share/laxity/installed" "$doc/LICENSE-MIT" "$doc/LICENSE-APACHE"
gzip -9n "$stage"/usr/share/man/man1/*.1
mv "$doc/CHANGELOG.md" "$doc/changelog"
gzip -9n "$doc/changelog"
sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /' >"$work/mit"
sed -e "/^@MIT@\$/{r $work/mit" -e 'd}' packaging/debian/copyright >"$doc/copyright"
if [ -n "$third_party" ]; then install -m 644 "$third_party" "$doc/THIRD-PARTY.txt"; fi
# Debian's zsh looks for functions of packages here.
mv "$stage/usr/share/zsh/site-functions" "$stage/usr/share/zsh/vendor-completions"
# As Debian has shared libraries.
chmod 644 "$stage/usr/lib/liblaxity_preload.so" "$stage/usr/lib/liblaxity_reserve.so.0"
group=$stage/usr/lib/systemd/system/laxity-cpu-reservations.socket.d
install -D -m 644 packaging/debian/reservations.conf "$group/group.conf"
install -D -m 644 packaging/debian/cpu.env "$stage/etc/laxity/cpu.env"

install -m 755 packaging/debian/{postinst,prerm,postrm} "$stage/DEBIAN/"
echo /etc/laxity/cpu.env >"$stage/DEBIAN/conffiles"
echo "liblaxity_reserve 0 laxity (>= $version)" >"$stage/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$stage/DEBIAN/triggers"
# It reads the packages of this machine, and wants the description of a source package.
mkdir "$work/debian"
printf 'Source: laxity\n\nPackage: laxity\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O -e built/laxity -e built/laxity-rtkit -e built/liblaxity_preload.so \
    -e built/liblaxity_reserve_c.so 2>"$work/log") || {
    cat "$work/log" >&2
    exit 4
}
size=$(du -k -s --apparent-size "$stage/usr" | cut -f 1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
    -e "s/@DEPENDS@/${depends#shlibs:Depends=}/" packaging/debian/control.in >"$stage/DEBIAN/control"
(cd "$stage" && find etc usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
find "$stage" -exec touch -h -d "@$epoch" {} +

mkdir -p "$out"
package=$out/laxity_${version}_$architecture.deb
SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group "-Z${COMPRESSION:-xz}" --build "$stage" "$package" >/dev/null
echo "$package"
