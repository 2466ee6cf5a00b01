#!/usr/bin/env bash
# Makes the packages of a release in target/packages:
#
#   laxity_VERSION_ARCHITECTURE.deb          the command with the kernel's part, units, libraries for programs
#   laxity-VERSION-MACHINE-linux.tar.gz      a static command without the kernel's part
#   laxity-VERSION-cp310-abi3-PLATFORM.whl   the Python package, for Python 3.10 and later
#   laxity-VERSION-source.tar.gz             the sources with all crates; builds without a network
#   laxity-VERSION.cdx.json                  what is linked into the command (CycloneDX)
#   SHA256SUMS
#
# Takes some twelve minutes of two cores. What this machine cannot make is left out with a reason.
#
#   usage: packages.sh [deb|static|wheel|source|sbom]...     all without arguments
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

parts=("$@")
[ $# -gt 0 ] || parts=(deb static wheel source sbom)
rust cargo
program need python3 python3 python3 python python3 python3
for part in "${parts[@]}"; do
    case $part in
        deb) if has dpkg-deb; then kernel_parts need; fi ;;
        static | sbom) ;;
        wheel) python_venv optional ;;
        source) program need git git git git git git ;;
        *)
            say "usage: packages.sh [deb|static|wheel|source|sbom]..."
            exit 2
            ;;
    esac
done
get_needs

case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/packages
version=$(package_version)
SOURCE_DATE_EPOCH=$(source_date)
export SOURCE_DATE_EPOCH
machine=$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# Equal functions once and relocations packed, a tenth of the command, where the linker knows how.
small=()
for flag in -Clink-arg=-Wl,--icf=all -Clink-arg=-Wl,-z,pack-relative-relocs; do
    echo 'fn main() {}' >"$work/empty.rs"
    if rustc "$flag" -o "$work/empty" "$work/empty.rs" 2>/dev/null; then small+=("$flag"); fi
done

# build TARGET FOLDER FLAG... -- ARGUMENT...: the command of a package. Paths of this machine are not in it, so
# that another one makes the same bytes.
build() {
    local triple=$1 folder=$2 flags registry
    shift 2
    flags=-Cstrip=symbols
    flags+=$'\x1f'--remap-path-prefix=$root=/laxity
    cargo fetch --locked --target "$triple" >&2
    for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        flags+=$'\x1f'--remap-path-prefix=$registry=/crates
    done
    while [ "$1" != -- ]; do
        flags+=$'\x1f'$1
        shift
    done
    shift
    CARGO_ENCODED_RUSTFLAGS=$flags CARGO_TARGET_DIR=$folder \
        cargo build --profile dist --locked --target "$triple" "$@"
}

# archive NAME: a folder of $work as a compressed archive; equal input gives equal bytes.
archive() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --mode=u=rwX,go=rX -C "$work" -c "$1" | gzip -9n >"$out/$1.tar.gz"
}

make_deb() {
    if ! has dpkg-deb; then
        skip "dpkg-deb is not installed, so there is no Debian package"
        return
    fi
    local triple=$machine-unknown-linux-gnu
    say "the command with the kernel's part"
    build "$triple" "$target/packages-build" "${small[@]}" -- \
        -p laxity-cli -p laxity-preload -p laxity-reserve-c -p laxity-rtkit --features laxity-cli/kernel
    scripts/dependencies.py licences laxity-cli,laxity-preload,laxity-rtkit "$triple" laxity-cli/kernel >"$work/licences"
    rm -f "$out"/laxity_*.deb
    scripts/package-deb.sh "$target/packages-build/$triple/dist" "$out" "$work/licences" >/dev/null
}

# Whether Rust has its standard library for a target.
has_target() { [ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ]; }

# static_folder MACHINE COMMAND: the archive of a command.
static_folder() {
    local name=laxity-$version-$1-linux
    local folder=$work/$name
    mkdir -p "$folder/bin" "$folder/share/laxity/scenarios" "$folder/share/doc/laxity"
    install -m 755 "$2" "$folder/bin/laxity"
    describe_command "$folder/share"
    cp scenarios/*.toml "$folder/share/laxity/scenarios/"
    cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder/share/doc/laxity/"
    scripts/dependencies.py licences laxity-cli "$3" >"$folder/share/doc/laxity/THIRD-PARTY.txt"
    archive "$name"
}

# Man pages, completions and schema, as the command of this machine writes them.
describe_command() {
    local command=$target/packages-build/static/$machine/laxity
    mkdir -p "$1"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
    "$command" man "$1/man/man1"
    "$command" completions bash >"$1/bash-completion/completions/laxity"
    "$command" completions zsh >"$1/zsh/site-functions/_laxity"
    "$command" completions fish >"$1/fish/vendor_completions.d/laxity.fish"
    "$command" schema >"$1/laxity/scenario.schema.json"
}

# With musl where Rust has that, else with the C library of this machine: the command looks up no users and no names
# of machines but those that a scenario has.
make_static() {
    local of triple flags folder
    for of in "$machine" aarch64; do
        flags=() triple=$of-unknown-linux-musl folder=$target/packages-build/static
        if [ "$of" = "$machine" ] && ! has_target "$triple"; then
            say "Rust has no $triple here, so the static command has this machine's C library"
            triple=$of-unknown-linux-gnu flags=(-Ctarget-feature=+crt-static "${small[@]}")
        elif ! has_target "$triple"; then
            skip "Rust has no $triple here; where rustup manages it: rustup target add $triple"
            continue
        elif [ "$of" != "$machine" ]; then
            # Rust brings its own linker, and musl's startup files.
            flags=(-Clinker=rust-lld -Clink-self-contained=yes)
        fi
        say "the static command for $of"
        build "$triple" "$folder" "${flags[@]}" -- -p laxity-cli
        install -D "$folder/$triple/dist/laxity" "$folder/$of/laxity"
        static_folder "$of" "$folder/$of/laxity" "$triple"
        [ "$of" != aarch64 ] || break
    done
}

make_wheel() {
    local venv=$work/venv
    if ! python3 -m venv "$venv" 2>/dev/null; then
        skip "Python has no virtual environments here (Debian: python3-venv), so there is no wheel"
        return
    fi
    say "the Python package"
    mkdir "$work/wheel"
    scripts/python-wheel.sh "$venv" "$work/wheel" >"$work/log" 2>&1 || {
        tail "$work/log" >&2
        exit 4
    }
    rm -f "$out"/laxity-*.whl
    cp "$work"/wheel/laxity-*.whl "$out/"
}

make_source() {
    local name=laxity-$version-source
    if ! git rev-parse --verify -q HEAD >/dev/null; then
        skip "this is no checkout of git, so there is no package of the sources"
        return
    fi
    say "the sources, as committed"
    mkdir "$work/$name"
    git archive HEAD | tar -x -C "$work/$name"
    mkdir "$work/$name/.cargo"
    (cd "$work/$name" && cargo vendor --locked vendor >.cargo/config.toml 2>"$work/log") || {
        cat "$work/log" >&2
        exit 4
    }
    # Every Linux that Debian or OpenWrt may build it for differs from one of these at most in its processor.
    local targets=({x86_64,aarch64}-unknown-linux-{gnu,musl} riscv64gc-unknown-linux-gnu armv7-unknown-linux-musleabihf)
    say "$(cd "$work/$name" && "$root/scripts/vendor.py" vendor "${targets[@]}") crates are for other systems: their sources stay out"
    archive "$name"
}

make_sbom() {
    scripts/dependencies.py sbom laxity-cli,laxity-rtkit "$machine-unknown-linux-gnu" laxity-cli/kernel \
        >"$out/laxity-$version.cdx.json"
}

for part in "${parts[@]}"; do "make_$part"; done
rm -f "$out/SHA256SUMS"
sums=$(cd "$out" && find . -maxdepth 1 -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
echo "$sums" >"$out/SHA256SUMS"
say "made in $out:"
(cd "$out" && du -h --apparent-size -- * | sed 's|^|    |') >&2
