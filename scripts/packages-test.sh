#!/usr/bin/env bash
# Installs, uses and removes each package of target/packages in a bare Debian, and compares the files there before
# and after; starts its services; has Prometheus scrape what runs; builds the sources without a network. As root, with
# debootstrap; downloads some 200 MB once.
#
#   usage: packages-test.sh [static|deb|wheel|source]...     all without arguments
#
# LAXITY_BARE is the folder of the bare Debian (target/packages-root).
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/packages-test/root.sh
. "$root/scripts/packages-test/root.sh"
# shellcheck source=scripts/packages-test/services.sh
. "$root/scripts/packages-test/services.sh"
# shellcheck source=scripts/packages-test/monitoring.sh
. "$root/scripts/packages-test/monitoring.sh"

is_root || {
    say "a bare Debian is made by root"
    exit "$lacks"
}
rust cargo
program need debootstrap debootstrap debootstrap debootstrap debootstrap debootstrap
program need python3 python3 python3 python python3 python3
program need unshare util-linux util-linux util-linux util-linux util-linux-misc
program optional systemd-nspawn systemd-container systemd-container systemd systemd-container ''
program need ip iproute2 iproute iproute2 iproute2 iproute2
get_needs
case $target in /*) ;; *) target=$root/$target ;; esac
packages=$target/packages
version=$(package_version)
bare=${LAXITY_BARE:-$target/packages-root}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    say "FAILED: $1"
    exit 1
}
one() {
    local found
    mapfile -t found < <(compgen -G "$packages/$1")
    [ ${#found[@]} = 1 ] || fail "there is no $1: scripts/packages.sh makes it"
    echo "${found[0]}"
}

(cd "$packages" && sha256sum --quiet --check SHA256SUMS) || fail "SHA256SUMS does not agree"

# use_command COMMAND: what everybody tries first.
use_command() {
    in_root "$1" check "$2/access-link.toml" | grep '^Admitted' >/dev/null || fail "$1 check"
    in_root "$1" simulate "$2/access-link.toml" --duration 2s | grep 'No deadline missed' >/dev/null || fail "$1 simulate"
    in_root "$1" --version | grep -qx "laxity $version" || fail "$1 --version"
}

test_static() {
    say "the static command"
    local archive before status
    archive=$(one "laxity-$version-$(uname -m)-linux.tar.gz")
    before=$(state_of_root)
    tar -xzf "$archive" -C "$bare/usr/local" --strip-components=1
    use_command laxity /usr/local/share/laxity/scenarios
    if in_root ldd /usr/local/bin/laxity 2>&1 | grep -q '=>'; then fail "the static command loads libraries"; fi
    # It has no kernel part, and says so.
    status=0
    in_root laxity link up /usr/local/share/laxity/scenarios/home-router.toml --dev lo 2>"$work/error" || status=$?
    [ "$status" = 3 ] || fail "link up of the static command: status $status, $(cat "$work/error")"
    tar -tzf "$archive" | sed -n 's|^[^/]*/||; /[^/]$/p' | while read -r file; do rm "$bare/usr/local/$file"; done
    # Folders that were there before stay.
    tar -tzf "$archive" | sed -n 's|^[^/]*/||; s|/$||p' | sort -r | while read -r folder; do
        [ -z "$folder" ] || grep -q "^usr/local/$folder d " <<<"$before" || rmdir "$bare/usr/local/$folder"
    done
    [ "$(state_of_root)" = "$before" ] || {
        diff <(echo "$before") <(state_of_root) >&2 || true
        fail "files of the static command are left"
    }
    test_arm
}

# The command for 64-bit ARM, under user-mode emulation: it starts, and a simulation has the bytes that it has here.
test_arm() {
    local archive emulator command
    archive=$target/packages/laxity-$version-aarch64-linux.tar.gz
    emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || emulator=
    if [ "$(uname -m)" = aarch64 ] || [ ! -f "$archive" ]; then return; fi
    if [ -z "$emulator" ]; then
        skip "there is no qemu-aarch64 (Debian: qemu-user-static), so the command for 64-bit ARM is not tried"
        return
    fi
    say "the static command for 64-bit ARM, emulated"
    mkdir "$work/arm"
    tar -xzf "$archive" -C "$work/arm" --strip-components=1
    "$emulator" "$work/arm/bin/laxity" check scenarios/access-link.toml >/dev/null || fail "check on ARM"
    for command in "$target/packages-build/static/$(uname -m)/laxity" "$emulator $work/arm/bin/laxity"; do
        # shellcheck disable=SC2086 # several words
        $command simulate scenarios/access-link.toml --duration 5s --json 2>/dev/null | sha256sum
    done >"$work/sums"
    [ "$(sort -u "$work/sums" | wc -l)" = 1 ] || fail "a simulation on ARM has other bytes"
}

test_deb() {
    say "the Debian package"
    local deb before depends status unit
    deb=$(one "laxity_${version}_*.deb")
    cp "$deb" "$bare/tmp/laxity.deb"
    # What it depends on stays when it goes, so that comes first.
    depends=$(dpkg-deb --field "$deb" Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//' | tr -d ' ' | tr '\n' ' ')
    # shellcheck disable=SC2086 # several names
    in_root apt-get install -q -y --no-install-recommends iproute2 systemd $depends >"$work/log" 2>&1 ||
        { tail "$work/log" >&2; fail "what the package depends on"; }
    in_root apt-get install -q -y --no-install-recommends prometheus >"$work/log" 2>&1 || tail -n 2 "$work/log" >&2
    before=$(state_of_root)
    # An older version first.
    mkdir "$work/older"
    dpkg-deb --raw-extract "$deb" "$work/older/tree"
    sed -i "s/^Version: .*/Version: $version~older/" "$work/older/tree/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip --build "$work/older/tree" "$bare/tmp/older.deb" >/dev/null
    in_root dpkg -i /tmp/older.deb >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "installation"; }
    echo 'LAXITY_CPU_POLICY=bebs' >>"$bare/etc/laxity/cpu.env"
    cp scenarios/home-router.toml "$bare/etc/laxity/eth0.toml"
    in_root systemctl --quiet enable laxity-link@eth0 laxity-cpu-reservations.socket
    in_root dpkg -i /tmp/laxity.deb >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "upgrade"; }
    grep -qx 'LAXITY_CPU_POLICY=bebs' "$bare/etc/laxity/cpu.env" || fail "an upgrade lost cpu.env"
    cmp -s scenarios/home-router.toml "$bare/etc/laxity/eth0.toml" || fail "an upgrade lost a scenario"

    use_command laxity /usr/share/laxity/scenarios
    in_root getent group laxity >/dev/null || fail "there is no group laxity"
    for unit in packaging/*.service packaging/*.socket; do
        [ -f "$bare/usr/lib/systemd/system/${unit##*/}" ] || fail "there is no ${unit##*/}"
    done
    [ -L "$bare/etc/systemd/system/sockets.target.wants/laxity-cpu-reservations.socket" ] || fail "no socket enabled"
    in_root ldconfig -p | grep liblaxity_reserve.so.0 >/dev/null || fail "ldconfig does not know the library"
    in_root laxity doctor >"$work/doctor" || true
    grep -q 'kernel' "$work/doctor" || fail "laxity doctor"
    # In a network namespace with a pair of interfaces.
    status=0
    link_in_namespace >"$work/link" 2>&1 || status=$?
    case $status in
        0) say "laxity link up: done, and down again" ;;
        3) say "laxity link up: $(tail -n 1 "$work/link")" ;;
        *) cat "$work/link" >&2 && fail "laxity link up: status $status" ;;
    esac
    monitor
    run_services
    in_root dpkg --remove laxity >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "removal"; }
    [ -f "$bare/etc/laxity/cpu.env" ] || fail "removal without purge took the configuration"
    in_root dpkg --purge laxity >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "purge"; }
    [ "$(state_of_root)" = "$before" ] || {
        diff <(echo "$before") <(state_of_root) >&2 || true
        fail "the package leaves something behind"
    }
    say "nothing is left after the purge: $(wc -l <<<"$before") entries as before"
}

# In a virtual environment, as Debian asks for, and without a network: it needs Python alone.
test_wheel() {
    say "the Python package"
    local wheel before answer
    wheel=$(one "laxity-$version-*.whl")
    in_root apt-get install -q -y --no-install-recommends python3-venv >"$work/log" 2>&1 ||
        { tail "$work/log" >&2; fail "python3-venv"; }
    # Python caches what it imports first.
    in_root python3 -m venv /opt/before
    before=$(state_of_root)
    cp "$wheel" "$bare/tmp/"
    in_root python3 -m venv /opt/laxity
    in_root /opt/laxity/bin/pip install --no-index --no-compile "/tmp/${wheel##*/}" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "installation of the wheel"; }
    answer=$(in_root /opt/laxity/bin/python -B -c '
import laxity
link = laxity.Scenario.from_dict({"link": {"rate": "1 Mbit/s"}, "best_effort": [{"name": "web"}]})
print(laxity.__version__, link.check().admitted)') || fail "the Python package"
    [ "$answer" = "$version True" ] || fail "the Python package answers $answer"
    in_root /opt/laxity/bin/pip uninstall -q -y laxity
    [ -z "$(find "$bare/opt/laxity" -name '*laxity*.so' -o -name 'laxity-*.dist-info')" ] || fail "pip leaves files"
    rm -rf "$bare/opt/laxity"
    [ "$(state_of_root)" = "$before" ] || {
        diff <(echo "$before") <(state_of_root) >&2 || true
        fail "the Python package leaves something behind"
    }
    rm -rf "$bare/opt/before"
}

test_source() {
    say "the sources, without a network"
    local source
    source=$(one "laxity-$version-source.tar.gz")
    tar -xzf "$source" -C "$work"
    mkdir "$work/home"
    # Nothing that this machine's cargo has fetched.
    (cd "$work/laxity-$version-source" &&
        unshare --net env CARGO_HOME="$work/home" CARGO_TARGET_DIR="$target/packages-build/source" \
            nice cargo build --frozen -p laxity-cli) || fail "the sources do not build"
    "$target/packages-build/source/debug/laxity" check scenarios/access-link.toml >/dev/null || fail "the built command"
}

parts=("$@")
[ $# -gt 0 ] || parts=(static deb wheel source)
case " ${parts[*]} " in
    *" static "* | *" deb "* | *" wheel "*)
        make_root
        trap 'release_root; rm -rf "$work"' EXIT
        enter_root
        ;;
esac
for part in "${parts[@]}"; do "test_$part"; done
say "all good: ${parts[*]}"
