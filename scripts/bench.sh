#!/usr/bin/env bash
# Measures the hot paths beside their baselines. Arguments go to `laxity bench`.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

build_laxity
show bench "$@"
