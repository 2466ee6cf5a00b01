#!/usr/bin/env bash
# Removes everything that was built.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

if has cargo; then cargo clean; fi
rm -rf target
