# shellcheck shell=sh
# Runs in the virtual machine, on one processor: a program of a user asks RealtimeKit on D-Bus for real-time priority,
# and works beside a compilation; with the argument `pipewire` that does as well.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh

chmod 755 / /run
mkdir -p /etc /run/dbus
printf '%s\n' root:x:0:0::/: user:x:1000:1000::/: >/etc/passwd
dbus-daemon --nofork --config-file bus.conf 2>/tmp/bus &
wait_for [ -e /run/dbus/bus ]
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/bus
laxity cpu up
# Users have no access to the socket.
laxity cpu serve --share 50% --mode 0600 2>/tmp/server &
wait_for grep -q "up to 50" /tmp/server
as_user() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }

echo "== without"
with_status as_user realtime 1 10000 10 2
laxity-rtkit 2>/tmp/rtkit &
wait_for grep -q "makes reservations" /tmp/rtkit
echo "== refused"
with_status as_user realtime 21 10000 10 2
echo "== granted"
tasks compile 3 7 60000000 >/dev/null &
load=$!
as_user realtime 1 10000 1500 600 >/tmp/realtime &
realtime=$!
wait_for grep -q granted /tmp/realtime
# Loading the control program takes a second beside the compilation, and a resized reservation is not there for a moment.
reserved() {
    # Without the deadline servers of CPUs, which have runtimes, too.
    laxity cpu status --json | sed '1,/"reservations"/d' | grep -e '"user": ' -e '"runtime_ns": ' | tr -d ' ,\n' >/tmp/reserved
    grep -q -E 'user":1000"runtime_ns":(1[5-9]|[2-9][0-9])[0-9]{5}$' /tmp/reserved
}
wait_for reserved
cat /tmp/reserved
echo
wait $realtime
cat /tmp/realtime
if [ "$#" != 0 ]; then
    echo "== pipewire"
    # Its plugins are programs of this image, so that their libraries are here.
    for plugin in support/libspa-support support/libspa-dbus audioconvert/libspa-audioconvert \
        audiotestsrc/libspa-audiotestsrc; do
        mkdir -p "/tmp/spa/${plugin%/*}"
        ln -s "/usr/local/bin/${plugin#*/}.so" "/tmp/spa/$plugin.so"
    done
    export SPA_PLUGIN_DIR=/tmp/spa PIPEWIRE_MODULE_DIR=/usr/local/bin PIPEWIRE_CONFIG_DIR=/job XDG_RUNTIME_DIR=/tmp/sound
    mkdir -m 777 /tmp/sound
    setpriv --reuid 1000 --regid 1000 --clear-groups pipewire -c /job/pipewire.conf 2>/tmp/log &
    pipewire=$!
    wait_for [ -e /tmp/sound/pipewire-0 ]
    wait_for pw-link tone:capture_1 sink:playback_FL
    pw-link tone:capture_2 sink:playback_FR
    sleep 1
    # The thread that blocks for each buffer: 47 a second.
    blocks() { cat /proc/$pipewire/task/*/status | sed -n 's/^voluntary_ctxt_switches:\t//p' | sort -n | tail -n 1; }
    before=$(blocks)
    sleep 3
    echo "sound blocks $(($(blocks) - before)) xruns $(grep -c -i xrun /tmp/log || true)"
    laxity cpu status | grep ' 1000 '
    cat /tmp/log
    kill $pipewire
    wait $pipewire || true
fi
kill $load
echo "== ended"
laxity cpu status --json | grep '"user": 1000,' || echo "none is left"
echo "== again"
# A second one finds the name taken.
with_status laxity-rtkit
cat /tmp/rtkit
laxity cpu down
judge_kernel
