#!/usr/bin/env bash
# Kills live parts at random moments (SIGKILL), links in user space and a media server, and looks for what they leave;
# `make test` does it a few times. As root, for links in namespaces of their own.
#
#   usage: kills.sh [TIMES]     default 1000, of links and of servers each
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

rust cargo
get_needs
export LAXITY_KILLS=${1:-1000}
say "$LAXITY_KILLS kills of each"
cargo test --locked -p laxity-cli --test kills -- --nocapture
