#!/usr/bin/env bash
# Model-checks the rings: every order of events that the memory model allows, on small rings. A
# target directory of its own, since every crate is built again with the checker's atomics.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" CARGO_TARGET_DIR="$target/loom" \
    cargo test --locked --release --package laxity-ring --features shared --test loom "$@"
