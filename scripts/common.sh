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

# Prints and runs a program that changes the machine.
announced() {
    say "running: $*"
    "$@" </dev/null
}

# shellcheck source=scripts/needs.sh
. "$root/scripts/needs.sh"

# With the kernel's part where that can be built; KERNEL=1 insists on it, KERNEL=0 leaves it out.
build_laxity() {
    local features=()
    rust cargo
    if [ "${KERNEL:-}" = 1 ]; then kernel_parts need; fi
    get_needs
    if [ "${KERNEL:-}" != 0 ] && has_kernel_parts; then
        features=(--features laxity-cli/kernel)
    elif [ "${KERNEL:-}" != 0 ]; then
        say "without the kernel's part (laxity link); make build KERNEL=1 says what it needs"
    fi
    if [ ! -x "$laxity" ]; then
        say "building laxity in release mode; the first time takes some minutes"
    fi
    # At once: each alone has its dependencies built for itself, with other features.
    cargo build --release --locked --package laxity-cli --package laxity-preload \
        --package laxity-reserve-c --package laxity-rtkit "${features[@]}"
}

# The version of the workspace.
package_version() { sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml; }

# The instant, in seconds since 1970, that files in packages carry: SOURCE_DATE_EPOCH, else that of the last commit.
source_date() {
    echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}"
}

# fetch_machine PURPOSE...: gets what virtual machines for these need, before the first of several starts. Fails, with the
# reason said, where it cannot be had.
fetch_machine() {
    local purpose status
    for purpose in "$@"; do
        vm/fetch --for "$purpose" >/dev/null || {
            status=$?
            [ "$status" = "$lacks" ] || exit "$status"
            return 1
        }
    done
    vm/emulator >/dev/null
}

# The features with which the workspace is built where the kernel's parts can be.
kernel_features="laxity-kernel/kernel,laxity-cli/kernel,laxity-tools-kernel/kernel"

# Builds the programs that tests run in the virtual machine. Examples bring the dependencies of tests, without which some
# dependencies would be built again with fewer features.
build_machine_programs() {
    cargo build --profile test --locked --workspace --features "$kernel_features" --examples --bins
}

# The command with the kernel's parts, and programs that exercise it in the virtual machine, as tests use them.
build_live_programs() {
    cargo build --profile test --locked -p laxity-cli -p laxity-tools-kernel --features "$kernel_features" --bins
}

# build_comparison full|short link|cpu: what goes into the virtual machine, and what reads its results.
# The short one is run after the tests, and takes what they have built.
build_comparison() {
    if [ "$1" = short ]; then
        build_machine_programs
    else
        cargo build --release --locked -p laxity-tools-kernel --features kernel
        cargo build --release --locked -p "laxity-compare-$2"
    fi
}

# Shows a command of the tour and runs it.
show() {
    printf '\n$ laxity %s\n' "$*"
    "$laxity" "$@"
}
