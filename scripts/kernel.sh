#!/usr/bin/env bash
# Builds the BPF programs and their loader, and tests them in the virtual machine. Skipped, with the
# reason, where clang, libelf or the virtual machine cannot be had.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# Clang 16 or newer; older ones lose the types of the kernel's pointers.
has_clang() {
    local clang version
    for clang in ${LAXITY_CLANG:-clang-19 clang clang-18 clang-17 clang-16}; do
        version=$("$clang" -dumpversion 2>/dev/null) && at_least "$version" 16 && return
    done
    return 1
}
has_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }
has_all() { has_clang && has_header libelf.h && has_header zlib.h; }

need_rust
if ! has_all && is_root && command -v apt-get >/dev/null; then
    install_packages "clang and libelf, for BPF programs" "clang-19 libelf-dev zlib1g-dev" \
        "" "" "" ""
fi
if ! has_all; then
    skip "no clang 16 or newer, libelf or zlib here, so the kernel's programs are not built"
    exit 0
fi
cargo clippy -p laxity-kernel --features kernel --all-targets --locked -- -D warnings
cargo test -p laxity-kernel --features kernel --locked
