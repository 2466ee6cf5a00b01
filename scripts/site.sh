#!/usr/bin/env bash
# Builds the documentation as a site in target/site: the pages that docs/SUMMARY.md names, searchable, with the Rust
# library and the pictures of notebooks (python/notebooks/run.py) beside them; then checks that no link within it is
# dead and that it loads nothing from another host.
#
#   usage: site.sh [--short]
#
# With --short, as in `make test`, the pages of the Rust library are not built. mdBook is built once, into
# target/mdbook, from the version below: without optimisation, because a build of the site takes a second all the same.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# The last one that Rust 1.85 builds.
mdbook_version=0.4.52

short=
[ "${1:-}" != --short ] || short=1
rust cargo
program need python3 python3 python3 python python3 python3
get_needs

mkdir -p "$target"
target=$(realpath "$target")
tool=$target/mdbook
if [ "$("$tool/bin/mdbook" --version 2>/dev/null)" != "mdbook v$mdbook_version" ]; then
    say "building mdBook $mdbook_version; this takes a minute"
    if ! CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --root "$tool" --target-dir "$tool/build" \
        --version "=$mdbook_version" --no-default-features --features search mdbook; then
        skip "mdBook cannot be built, so there is no site"
        exit 0
    fi
    rm -rf "$tool/build"
fi

options=(--notebooks "$target/notebooks")
if [ -z "$short" ]; then
    cargo doc --workspace --no-deps --locked
    options+=(--library "$target/doc")
fi
python3 scripts/site.py stage "$target/site-source" "${options[@]}"
RUST_LOG=warn "$tool/bin/mdbook" build --dest-dir "$target/site" "$target/site-source"
if [ -z "$short" ]; then cp -R "$target/doc" "$target/site/rust"; fi
python3 scripts/site.py verify "$target/site"
say "Start reading at"
tell "file://$target/site/index.html"
