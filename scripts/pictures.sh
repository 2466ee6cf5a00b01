#!/usr/bin/env bash
# Makes the pictures of README.md in docs/figures from real runs: a recording of a terminal, in which a link is checked,
# simulated and watched live, and the page of a simulation. As root, for a link between network namespaces.
#
#   usage: pictures.sh
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
# Where ip is not on the path of every user.
PATH=$PATH:/usr/sbin:/sbin

rust cargo
program need python3 python3 python3 python python3 python3
program need ip iproute2 iproute iproute2 iproute2 iproute2
python_venv need
program need chromium chromium chromium chromium chromium chromium
get_needs
is_root || { say "pictures.sh makes network namespaces: run it as root"; exit "$lacks"; }
build_laxity

work=$(mktemp -d)
home=laxity-pictures-$$-home link=laxity-pictures-$$-link line=laxity-pictures-$$-line
bridge='' sender=''
# shellcheck disable=SC2317 # called by the trap
end() {
    local space
    [ -z "$sender" ] || kill "$sender" 2>/dev/null || true
    [ -z "$bridge" ] || kill "$bridge" 2>/dev/null || true
    wait 2>/dev/null
    for space in "$home" "$link" "$line"; do ip netns delete "$space" 2>/dev/null || true; done
    rm -rf "$work"
}
trap end EXIT
within() { nsenter --net="/run/netns/$1" -- "${@:2}"; }
for space in "$home" "$link" "$line"; do ip netns add "$space"; done
ip link add wan netns "$home" type veth peer name eth1 netns "$link"
ip link add eth0 netns "$link" type veth peer name end netns "$line"
within "$home" ip address add 10.9.0.1/24 dev wan
for at in "$home wan" "$link eth1" "$link eth0" "$line end"; do within "${at% *}" ip link set "${at#* }" up; done
within "$home" ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev wan

say "a live link under traffic"
# Threads that keep deadlines go before others, where they may.
first=()
if chrt -f 1 true 2>/dev/null; then first=(chrt -f 1); fi
within "$link" "${first[@]}" "$laxity" link bridge scripts/demo.toml --in eth1 --out eth0 2>"$work/bridge" &
bridge=$!
# Voice and video within their envelopes, and more best effort than fits.
cat >"$work/traffic.py" <<'END'
import socket
import time

sockets = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in range(5001, 5005)}
began, step = time.monotonic(), 0
while True:
    bursts = [(5001, 158, 1)] + [(5002, 1000, 12)] * (step % 4 == 0) + [(5003, 1000, 6)] * (step % 3 == 0)
    for port, size, count in bursts + [(5004, 1000, 10)] * (step % 2 == 0):
        for _ in range(count):
            sockets[port].sendto(bytes(size), ("10.9.0.2", port))
    step += 1
    time.sleep(max(0.0, began + step / 100 - time.monotonic()))
END
within "$home" "${first[@]}" python3 "$work/traffic.py" 2>/dev/null &
sender=$!
sleep 2

say "the recording"
ln -s "$(readlink -f "$laxity")" "$work/laxity"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyte==0.8.2
export RECORD_TITLE="laxity check admits a link, laxity simulate compares policies on it, laxity top watches one live"
export RECORD_ROWS=26 RECORD_COLUMNS=104
# A file system of BPF programs of its own, or links of this machine would be seen, too.
# shellcheck disable=SC2016 # expanded by that shell
within "$link" unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf 2>/dev/null; exec "$@"' sh \
    env PATH="$work:$PATH" "$work/venv/bin/python" scripts/record.py docs/figures/terminal.svg \
    "4:laxity check scenarios/access-link.toml" \
    "20:laxity simulate scenarios/access-link.toml --policy background,exact,slack" \
    "15:····↓⏎·················q:laxity top --interval 250ms"

say "the page"
"$laxity" simulate scenarios/access-link.toml --duration 60s --policy background,exact,slack \
    --report "$work/page.html" >/dev/null 2>&1
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --window-size=1100,1330 --screenshot="$work/page.png" "file://$work/page.html" >/dev/null 2>&1
cp "$work/page.png" docs/figures/report.png
ls -l docs/figures/terminal.svg docs/figures/report.png >&2
