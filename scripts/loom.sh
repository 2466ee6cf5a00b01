#!/usr/bin/env bash
# Model-checks the rings: every order of events that the memory model allows, on small rings. A
# target directory of its own, since every crate is built again with the checker's atomics.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
# Link-time optimisation and line tables would take longer to build than the checker runs.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" CARGO_TARGET_DIR="$target/loom" \
    cargo test --locked --release --package laxity-ring --features shared --test loom "$@"
