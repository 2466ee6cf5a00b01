#!/usr/bin/env bash
# The documentation of the library, as pages.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
cargo doc --workspace --no-deps --locked
case $target in /*) ;; *) target=$root/$target ;; esac
say "Start reading at"
tell "file://$target/doc/laxity_link/index.html"
