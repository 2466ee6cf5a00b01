#!/bin/sh
# Runs in the container of services.sh, which it ends: starts each unit, uses the program, stops the unit.
exec 2>/opt/test/log >/opt/test/result
set -x
for pair in v w; do
    ip link add ${pair}0 type veth peer name ${pair}1
    ip link set ${pair}0 up
    ip link set ${pair}1 up
done
ip link set lo up
scenarios=/usr/share/laxity/scenarios
mkdir -p /etc/laxity
cp $scenarios/media-server.toml /etc/laxity/media.toml
cp $scenarios/home-router.toml /etc/laxity/w0.toml
cp $scenarios/home-router.toml /etc/laxity/lxt.toml
printf '%s\n' LAXITY_IN=v0 'LAXITY_OPTIONS=--listen 127.0.0.1:9403' >/etc/laxity/w0.bridge
echo LAXITY_OUT=w0 >/etc/laxity/lxt.tun
# Without udev there are no units of devices.
sed '/^BindsTo=/d; s/^After=.*/After=network-pre.target/' '/usr/lib/systemd/system/laxity-bridge@.service' \
    >'/etc/systemd/system/laxity-bridge@.service'
systemctl daemon-reload

# check UNIT COMMAND...: the unit is active and the command succeeds, before it is stopped.
check() {
    unit=$1
    shift
    timeout 30 systemctl start "$unit"
    sleep 1
    before=$(systemctl show -P ActiveState "$unit")
    "$@" >&2 || before="active in vain"
    timeout 30 systemctl stop "$unit"
    after=$(systemctl show -P ActiveState "$unit")
    echo "$unit: $before, then $after, $(systemctl show -P Result "$unit")"
    journalctl --no-pager -u "$unit" >&2
}
listed() { laxity link status | grep "$1"; }
check laxity-stream@media laxity stream control /run/laxity-stream-media/control '{"stats": {}}'
check laxity-tun@lxt listed 'by link tun'
check laxity-bridge@w0 listed 'by link bridge'
# Removal ends what runs.
systemctl start laxity-tun@lxt
dpkg --remove laxity >&2
echo "removal: $(systemctl is-active laxity-tun@lxt), $(ip link show lxt 2>/dev/null | wc -l) devices"
systemctl --no-block poweroff || kill -s RTMIN+4 1
