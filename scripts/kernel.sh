#!/usr/bin/env bash
# Builds the BPF programs and their loader, and tests them in the virtual machine. Skipped, with the
# reason, where clang, libelf or the virtual machine cannot be had.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

need_rust
if ! has_kernel_parts && is_root && command -v apt-get >/dev/null; then
    install_kernel_parts
fi
if ! has_kernel_parts; then
    skip "no clang 16 or newer, libelf or zlib here, so the kernel's programs are not built"
    exit 0
fi
cargo clippy -p laxity-kernel --features kernel --all-targets --locked -- -D warnings
cargo test -p laxity-kernel --features kernel --locked
if ! command -v iperf3 >/dev/null && is_root && command -v apt-get >/dev/null; then
    install_packages "iperf3, whose TCP runs beside real time in a test" iperf3 "" "" "" ""
fi
# The command on top of them; its tests use the examples of the crate above and of the client.
cargo clippy -p laxity-cli --features kernel --all-targets --locked -- -D warnings
cargo test -p laxity-reserve --locked --no-run
cargo test -p laxity-cli --features kernel --locked --test link --test cpu
# Beside the kernel's own disciplines, one short row; `make compare-link` runs all of it.
scripts/compare-link.sh --short
# The CPUs' policies likewise; `make compare-cpu` runs all of it.
scripts/compare-cpu.sh --short
