#!/usr/bin/env bash
# Builds the command in release mode.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

build_laxity
say "built: $laxity"
