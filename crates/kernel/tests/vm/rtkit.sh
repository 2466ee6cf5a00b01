# shellcheck shell=sh
# Runs in the virtual machine, on one processor: a program of a user asks RealtimeKit on D-Bus for real-time priority,
# and works beside a compilation.
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
as_user realtime 1 10000 1500 400 >/tmp/realtime &
realtime=$!
wait_for grep -q granted /tmp/realtime
# Loading the control program takes seconds beside the compilation.
laxity cpu status --json | grep -e '"user": ' -e '"runtime_ns": ' | tr -d ' ,\n'
echo
wait $realtime
cat /tmp/realtime
kill $load
laxity cpu status --json | grep '"user": 1000,' || echo "none is left"
echo "== again"
# A second one finds the name taken.
with_status laxity-rtkit
cat /tmp/rtkit
laxity cpu down
judge_kernel
