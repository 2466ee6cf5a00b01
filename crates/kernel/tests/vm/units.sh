# shellcheck shell=sh
# Runs in the virtual machine, on one processor: the services of the CPUs' scheduler under the
# machine's systemd, which is the first process of a name space here.
set -eu
cd /job
# shellcheck source=vm/guest/checks.sh
. ./checks.sh

# Services, and all that talks to them, are where systemd is the first process.
if [ $# = 0 ]; then
    mkdir -p /var/tmp /var/log /root /home /etc/laxity
    : >/etc/fstab
    # Not the first time that this machine starts, when all that is there would be enabled.
    echo 6c61786974792d6f6e2d612d74657374 >/etc/machine-id
    chmod 755 / /run
    env container=vm busybox unshare -m -p -f --mount-proc systemd --system --unit=multi-user.target \
        --default-standard-output=tty &
    wait_for [ -e /run/systemd/private ]
    exec busybox nsenter -t "$(pidof systemd)" -m -p /bin/sh /job/units.sh inside
fi
state=$(systemctl is-system-running --wait || true)
if [ "$state" != running ]; then
    echo "$state"
    systemctl --no-pager --failed
    exit 1
fi
states() {
    for name in "$@"; do
        echo "$name is $(systemctl show -P ActiveState "$name"), $(systemctl show -P Result "$name")"
    done
}
as_user="setpriv --reuid 1000 --regid 1000 --clear-groups"
scheduler() {
    cat /sys/kernel/sched_ext/state
    laxity cpu status | head -n 1
}

echo "== enable"
with_status systemctl enable --now laxity-cpu.service laxity-cpu-reservations.socket
states laxity-cpu.service laxity-cpu-reservations.socket laxity-cpu-reservations.service
scheduler
echo "== reload"
printf '%s\n' LAXITY_CPU_POLICY=berate 'LAXITY_CPU_UP_OPTIONS=--overhead switch=1us --overhead release=2us' \
    >/etc/laxity/cpu.env
with_status systemctl reload laxity-cpu.service
states laxity-cpu.service
scheduler
laxity cpu status | grep -o 'each runtime gets 4 us more'
echo "== rtkit"
# A bus as systemd knows it, with the policy of the test.
printf '%s\n' '[Socket]' ListenStream=/run/dbus/system_bus_socket >/etc/systemd/system/dbus.socket
printf '%s\n' '[Service]' StandardError=null "ExecStart=$(command -v dbus-daemon) --nofork --address=systemd: --config-file=/job/bus.conf" \
    >/etc/systemd/system/dbus.service
printf '%s\n' root:x:0:0::/: user:x:1000:1000::/: >/etc/passwd
systemctl daemon-reload
systemctl start dbus.socket dbus.service
# Where clients look for it, which is a link to /run elsewhere.
[ -e /var/run/dbus ] || { mkdir -p /var/run && ln -s /run/dbus /var/run/dbus; }
with_status systemctl enable --now laxity-rtkit.service
states laxity-rtkit.service rtkit-daemon.service
# shellcheck disable=SC2086 # several words
with_status $as_user realtime 20 10000 300 20
$as_user sleep 60 &
sleeper=$!
sleep 0.2
# shellcheck disable=SC2086 # several words
with_status $as_user busctl -- call org.freedesktop.RealtimeKit1 /org/freedesktop/RealtimeKit1 \
    org.freedesktop.RealtimeKit1 MakeThreadHighPriorityWithPID tti $sleeper 0 -5
cut -d ' ' -f 19 /proc/$sleeper/stat
kill $sleeper
with_status systemctl disable --now laxity-rtkit.service
states rtkit-daemon.service
echo "== reservations"
chmod 0666 /run/laxity/cpu.sock
# By the numbers of this name space, under which the kernel has other tasks. The first one to ask
# starts the server, whose users may reserve a quarter each.
$as_user laxity cpu run --runtime 2ms --period 10ms -- \
    tasks periodic 10000 1000 1000 /tmp/over >/tmp/periodic &
periodic=$!
wait_for grep -q begun /tmp/periodic
states laxity-cpu-reservations.service
tasks hog 3 60 &
hogs=$!
sleep 0.5
laxity cpu status --json | grep -q "\"pid\": $periodic,$" && echo "it is known"
# Another container, as it were.
busybox unshare -m -p -f --mount-proc laxity cpu status | grep unseen
# Where the kernel has a deadline server for sched_ext.
server=/sys/kernel/debug/sched/ext_server/cpu0
[ ! -d $server ] || echo "server $(cat $server/runtime) $(cat $server/period)"
: >/tmp/over
wait $periodic
kill $hogs
cat /tmp/periodic
# As systemd starts a service.
sh -c "trap '' PIPE; exec $as_user laxity cpu run --runtime 1ms --period 10ms -- grep SigIgn /proc/self/status"
# shellcheck disable=SC2086 # several words
with_status $as_user laxity cpu run --runtime 3ms --period 10ms -- true
echo "== deadline"
# Programs of SCHED_DEADLINE, without privileges.
as_user="$as_user env LD_PRELOAD=/usr/local/bin/liblaxity_preload.so"
chrt="chrt -d -P 10000000"
tasks hog 3 60 &
hogs=$!
# shellcheck disable=SC2086 # several words
with_status $as_user $chrt -T 2000000 0 tasks periodic 10000 1500 100
# shellcheck disable=SC2086 # several words
with_status $as_user deadline "set 2 10" get "jobs 1.5 10" "set 3 10" get "policy 0 0" get
# shellcheck disable=SC2086 # several words
with_status $as_user $chrt -T 3000000 0 true
kill $hogs
wait $hogs || true
with_status systemctl stop laxity-cpu-reservations.socket laxity-cpu-reservations.service
# shellcheck disable=SC2086 # several words
with_status $as_user $chrt -T 2000000 0 true
states laxity-cpu-reservations.socket laxity-cpu-reservations.service
ls /run/laxity
echo "== stop"
with_status systemctl stop laxity-cpu.service
states laxity-cpu.service
cat /sys/kernel/sched_ext/state
echo "== start"
with_status systemctl start laxity-cpu.service
# A policy that is there already is no failure.
with_status systemctl reload laxity-cpu.service
scheduler
with_status systemctl stop laxity-cpu.service
judge_kernel
