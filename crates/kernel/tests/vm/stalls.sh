# shellcheck shell=sh
# Runs in the virtual machine: a link under load loses time, each way once under each policy where there are two
# network cards; without them it is the machine that is stopped, again and again. Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
# No other wire than the link.
# shellcheck disable=SC2034 # read by wire.sh
rate=
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# Timers of this machine are 3 ms late by themselves now and then.
sed 's/300 us/5 ms/' family.toml >stalled.toml
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

# under_load DEVICE ADDRESS: the link is up, and voice, video and more best effort than it carries come, on time before
# all other programs.
under_load() {
    tell up stalled.toml --dev "$1" --policy "$policy"
    in_tx chrt -f 50 traffic send stalls.csv "$2" voice=5001:46 video=5002:34 bulk=5004:1 >/tmp/tx &
    sender=$!
    sleep 0.5
}

if [ -z "$(ls /sys/bus/virtio/devices)" ]; then
    for policy in background exact slack; do
        under_load near 10.9.0.2
        wait $sender
        echo "== $policy, stolen"
        link status --dev near --json
        tell down --dev near
    done
    judge_kernel
    exit
fi

# A card whose queue the kernel stops, by its limit of bytes, as soon as the other end takes no more.
modprobe virtio_net
ip link set eth0 netns tx name card
ip link set eth1 name other
ip -n tx address add 10.11.0.1/24 dev card
ip -n tx link set card up
ip link set other up
mac=$(ip link show other | awk '/ether/ { print $2 }')
ip -n tx neigh add 10.11.0.2 lladdr "$mac" dev card
mkdir /tmp/sys
in_tx sh -c 'mount -t sysfs sysfs /tmp/sys &&
    echo 3028 >/tmp/sys/class/net/card/queues/tx-0/byte_queue_limits/limit_max'

# Packets through this interface have a source without a return route. The kernel logs that on receipt, on
# two lines, and all other work of interrupts on this processor waits meanwhile, the link's timer included.
ip link add bell netns tx type veth peer name door netns rx
ip -n tx address add 10.7.0.1/32 dev bell
ip -n rx address add 10.8.0.2/24 dev door
ip -n tx link set bell up
ip -n rx link set door up
mac=$(ip -n rx link show door | awk '/ether/ { print $2 }')
ip -n tx route add 10.8.0.2 dev bell src 10.7.0.1
ip -n tx neigh add 10.8.0.2 lladdr "$mac" dev bell
in_rx sh -c 'cd /proc/sys/net/ipv4/conf/door && echo 1 >rp_filter && echo 1 >log_martians'

nsenter --net=/run/netns/tx laxity link export --listen 127.0.0.1:9401 2>/dev/null &
exporter=$!

for policy in background exact slack; do
    under_load card 10.11.0.2
    echo "== $policy, queue stopped"
    # It takes frames until no buffers are left, a dozen.
    ip link set other down
    sleep 0.06
    ip link set other up
    sleep 0.4
    link status --dev card --json
    link status --dev card | tr -s '\n ' ' ' | grep -o 'The link stalled .*credit' || true
    echo "== $policy, watchdog late"
    echo 20 >/proc/sys/kernel/printk_delay
    in_tx traffic flood 10.8.0.2:9 0 100 1 1 0 0 >/dev/null
    echo 0 >/proc/sys/kernel/printk_delay
    wait $sender
    # Until nothing waits, so that status and metrics speak of the same.
    sleep 1
    link status --dev card --json
    in_tx wget -qO- http://127.0.0.1:9401/metrics | grep stall
    tell down --dev card
done
kill $exporter

# Packets are then dropped under every policy.
policy=exact
under_load near 10.9.0.2
echo "== $policy, carrier lost"
ip -n rx link set far down
# The kernel learns of it within a second, and until then sends into nothing.
wait_for sh -c '! ip -n tx link show near | grep "state UP"'
ip -n rx link set far up
wait $sender
link status --dev near --json
tell down --dev near
judge_kernel
