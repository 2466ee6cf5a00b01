#!/usr/bin/env bash
# Everything that can go red: format, lints, tests, documentation, scripts. `.ci/run` and `make
# test` call this. What a machine lacks is skipped with a reason; with LAXITY_REQUIRE_ALL=1 that is
# a failure.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

need_rust
began=$SECONDS
step() {
    say "$1 ($((SECONDS - began)) s so far)"
}

# Components that distributions and the minimal profile of rustup leave out.
need_component() {
    cargo "$1" --version >/dev/null 2>&1 && return
    if command -v rustup >/dev/null; then
        announced rustup component add "$2"
    else
        install_packages "cargo $1" "$3" "$2" "rust" "rust" "rust-$2"
    fi
}
need_component fmt rustfmt rustfmt
need_component clippy clippy rust-clippy

step "the dependencies, as locked"
cargo fetch --locked --target "$(rustc -vV | sed -n 's/^host: //p')"

step "format"
cargo fmt --all --check

# With the kernel's parts where they can be built, and the command without them as well. All is built as
# one workspace each time: for a package alone its dependencies would be built anew, with fewer features.
kernel=()
if ! has_kernel_parts && is_root && command -v apt-get >/dev/null; then
    install_kernel_parts
fi
if has_kernel_parts; then
    kernel=(--features "$kernel_features")
    if ! command -v iperf3 >/dev/null && is_root && command -v apt-get >/dev/null; then
        install_packages "iperf3, whose TCP runs beside real time in a test" iperf3 "" "" "" ""
    fi
else
    skip "no clang 16 or newer, libelf or zlib here, so the kernel's programs are not built"
fi

step "lints, on all targets"
cargo clippy --workspace --all-targets --locked --keep-going "${kernel[@]}" -- -D warnings

step "the virtual machine"
vm/test.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ${#kernel[@]} != 0 ]; then
    step "lints and tests without the kernel's parts"
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --workspace --locked --test link --test cpu 2>&1 | tee -a "$log"
fi

step "tests, documentation examples and those in the virtual machine among them"
cargo test --workspace --locked --no-fail-fast "${kernel[@]}" 2>&1 | tee -a "$log"

if [ ${#kernel[@]} != 0 ]; then
    # One short row each; `make compare-link` and `make compare-cpu` run all of it.
    step "beside the kernel's disciplines and schedulers"
    scripts/compare-link.sh --short
    scripts/compare-cpu.sh --short
fi

step "the rings, in every order of events"
scripts/loom.sh 2>&1 | tee -a "$log"

step "documentation"
RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps --locked

step "scripts"
if ! command -v shellcheck >/dev/null && is_root && command -v apt-get >/dev/null; then
    install_packages "shellcheck" shellcheck "" "" "" ""
fi
if command -v shellcheck >/dev/null; then
    shellcheck -x scripts/*.sh compare/*/*.sh compare/cpu/tests/*.sh crates/*/tests/vm/*.sh .ci/run vm/emulator vm/fetch vm/image vm/init vm/run vm/*.sh
else
    skip "shellcheck is not installed, so the scripts are not checked"
fi

# The counts that the test programs printed themselves.
awk -v seconds=$((SECONDS - began)) '
    /^test result: / { passed += $4; failed += $6; ignored += $8 }
    END {
        printf "==> all good in %d s: %d tests passed, %d failed, %d ignored\n",
            seconds, passed, failed, ignored
    }' "$log"
