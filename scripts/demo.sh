#!/usr/bin/env bash
# The main job on a fresh machine: check a link, compare policies on generated and on recorded
# traffic, run a live link for a few seconds, write pages to look at.
#
#   usage: demo.sh [--quick]      --quick: 30 s of traffic, no capture, no live link, nothing is
#                                 installed
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

quick=
case ${1:-} in
    --quick) quick=1 ;;
    '') ;;
    *)
        say "demo.sh takes --quick or nothing, not $1"
        exit 2
        ;;
esac
if [ -n "$quick" ]; then
    # Says what is missing instead of installing it.
    is_root() { false; }
fi

[ -n "$quick" ] || program optional ip iproute2 iproute iproute2 iproute2 iproute2
build_laxity
pages=target/demo
mkdir -p "$pages"
policies=background,shifted-line,two-segment,exact,slack
duration=360s
[ -z "$quick" ] || duration=30s

say "Do the deadlines of this link hold, whatever its flows do?"
show check scenarios/access-link.toml

say "What does each policy give to whom? $duration of generated traffic, the same for all."
show simulate scenarios/access-link.toml --duration "$duration" --policy "$policies" \
    --report "$pages/access-link.html"
written=("$pages/access-link.html")

recorded=scenarios/captured-link.toml capture=captures/access-link.pcap
if [ -z "$quick" ] && [ -f "$recorded" ] && [ -f "$capture" ]; then
    say "The same for recorded traffic: calls, videos, downloads, web pages."
    show simulate "$recorded" --trace "$capture" --policy "$policies" \
        --report "$pages/captured-link.html"
    written+=("$pages/captured-link.html")
fi

[ -n "$quick" ] || scripts/demo-live.sh

say "Look at the pages in a browser; they need no network:"
for page in "${written[@]}"; do tell "file://$root/$page"; done
