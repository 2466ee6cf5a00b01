# Sourced by the other scripts: where things are, how they speak, what they need.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 4
target=${CARGO_TARGET_DIR:-target}
laxity=$target/release/laxity

# As rust-version of Cargo.toml; the architecture tests hold them together.
rust_least=1.85

# Exit status, as that of the command: this machine lacks something.
lacks=3

say() { printf '==> %s\n' "$*" >&2; }
tell() { printf '    %s\n' "$@" >&2; }

# Whether version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Says why a test is not run; with LAXITY_REQUIRE_ALL=1 that is a failure.
skip() {
    say "skipped: $1"
    [ "${LAXITY_REQUIRE_ALL:-}" = 1 ] || return 0
    say "LAXITY_REQUIRE_ALL=1 makes this a failure"
    exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# Runs a program that changes the machine, and says so.
announced() {
    say "running: $*"
    "$@" </dev/null
}

updated=
# The lists of packages, brought up to date once a run.
apt_update() {
    [ -n "$updated" ] || announced apt-get update -q >&2
    updated=1
}

# install_packages WHY DEBIAN FEDORA ARCH SUSE ALPINE: installs packages with apt-get when root,
# else names the command for this machine and stops. Names may hold several packages.
install_packages() {
    local why=$1 command
    say "missing: $why"
    if command -v apt-get >/dev/null; then
        if is_root; then
            apt_update
            # shellcheck disable=SC2086 # several names
            DEBIAN_FRONTEND=noninteractive \
                announced apt-get install -q -y --no-install-recommends $2 >&2
            return
        fi
        command="sudo apt-get install $2"
    elif command -v dnf >/dev/null; then
        command="sudo dnf install $3"
    elif command -v pacman >/dev/null; then
        command="sudo pacman -S --needed $4"
    elif command -v zypper >/dev/null; then
        command="sudo zypper install $5"
    elif command -v apk >/dev/null; then
        command="sudo apk add $6"
    else
        command="(install it with the package manager of this system)"
    fi
    tell "install it and try again:" "" "    $command" ""
    exit "$lacks"
}

# Rust and a linker, or an end that says how to get them.
need_rust() {
    # rustup puts cargo where a shell that was open before does not look.
    local home=${CARGO_HOME:-$HOME/.cargo}
    if ! command -v cargo >/dev/null && [ -x "$home/bin/cargo" ]; then
        PATH=$home/bin:$PATH
    fi
    if ! command -v cargo >/dev/null; then
        distribution_rust || no_rust "there is no cargo on this machine"
    fi
    local version
    version=$(cargo --version | awk '{ print $2 }')
    at_least "${version%%-*}" "$rust_least" || no_rust "cargo is $version here"
    if ! command -v cc >/dev/null; then
        install_packages "a C compiler, with which Rust links" \
            "gcc libc6-dev" "gcc" "gcc" "gcc" "gcc musl-dev"
    fi
}

# Rust from the distribution, where that is new enough and we may install it.
distribution_rust() {
    if ! is_root || ! command -v apt-get >/dev/null; then return 1; fi
    apt_update
    local candidate
    candidate=$(apt-cache policy cargo | awk '/Candidate:/ { print $2 }')
    at_least "${candidate%%[-+~]*}" "$rust_least" 2>/dev/null || return 1
    case $candidate in [0-9]*) ;; *) return 1 ;; esac
    install_packages "cargo" "cargo rustc" "" "" "" ""
}

no_rust() {
    say "Laxity needs Rust $rust_least or later; $1."
    if command -v rustup >/dev/null; then
        tell "Bring it up to date and try again:" "" "    rustup update stable" ""
    else
        tell "Get it from https://rustup.rs and try again:" "" \
            "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y" \
            "    . \"\$HOME/.cargo/env\"" ""
    fi
    exit "$lacks"
}

# Clang 16 or newer; older ones lose the types of the kernel's pointers.
has_bpf_clang() {
    local clang version
    for clang in ${LAXITY_CLANG:-clang-19 clang clang-18 clang-17 clang-16}; do
        version=$("$clang" -dumpversion 2>/dev/null) && at_least "$version" 16 && return
    done
    return 1
}
has_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }
# Whether the kernel's part can be built here.
has_kernel_parts() { has_bpf_clang && has_header libelf.h && has_header zlib.h; }
install_kernel_parts() {
    install_packages "clang 16 or newer, libelf and zlib, for the kernel's part" \
        "clang-19 libelf-dev zlib1g-dev" "clang elfutils-libelf-devel zlib-devel" \
        "clang libelf zlib" "clang libelf-devel zlib-devel" "clang elfutils-dev zlib-dev"
}

# With the kernel's part where that can be built; KERNEL=1 insists on it, KERNEL=0 leaves it out.
build_laxity() {
    local features=()
    need_rust
    if [ "${KERNEL:-}" = 1 ] && ! has_kernel_parts; then install_kernel_parts; fi
    if [ "${KERNEL:-}" != 0 ] && has_kernel_parts; then
        features=(--features kernel)
    elif [ "${KERNEL:-}" != 0 ]; then
        say "without the kernel's part (laxity link); make build KERNEL=1 says what it needs"
    fi
    if [ ! -x "$laxity" ]; then
        say "building laxity in release mode; the first time takes some minutes"
    fi
    cargo build --release --locked --package laxity-cli --bin laxity "${features[@]}"
    cargo build --release --locked --package laxity-reserve-c
}

# The features with which the workspace is built where the kernel's parts can be.
kernel_features="laxity-kernel/kernel,laxity-cli/kernel"

# build_comparison full|short link|cpu: what goes into the virtual machine, and what reads its results.
# The short one is run after the tests, and takes what they have built.
build_comparison() {
    if [ "$1" = short ]; then
        cargo build --profile test --locked --workspace --features "$kernel_features" --examples --bins
    else
        cargo build --release --locked -p laxity-kernel --features kernel --examples
        cargo build --release --locked -p "laxity-compare-$2"
    fi
}

# Shows a command of the tour and runs it.
show() {
    printf '\n$ laxity %s\n' "$*"
    "$laxity" "$@"
}
