# shellcheck shell=sh
# Runs in the virtual machine: all live parts run beside each other for MINUTES of its time, with traffic, changes and
# reservations every STEP of them. Ends with 1 and the reason when a part ends, grows, keeps descriptors or threads, loses
# a packet or misses a deadline; prints samples and counters.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
rate=''
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
minutes=$1 step=$2

fail() {
    echo "in minute $minute: $*"
    tail -n 5 /tmp/*.said
    exit 1
}
minute=0

# A second wire, in which the bridge is: left - in, out - right.
for name in left middle right; do ip netns add $name; done
ip link add left netns left type veth peer name in netns middle
ip link add right netns right type veth peer name out netns middle
ip -n left address add 10.8.0.1/24 dev left
ip -n right address add 10.8.0.2/24 dev right
for at in left/left middle/in middle/out right/right; do ip -n ${at%/*} link set ${at#*/} up; done
ip netns exec middle ip link set lo up
ip -n tx link set lo up

# start NAME COMMAND...: a part, watched under this name.
parts=''
start() {
    name=$1
    shift
    "$@" >"/tmp/$name.out" 2>"/tmp/$name.said" &
    eval "pid_$name=$!"
    parts="$parts $name"
}
in_middle() { nsenter --net=/run/netns/middle "$@"; }
chmod 755 / /run
laxity cpu up
start broker laxity cpu serve --share 40% --mode 0666 --listen 127.0.0.1:9404
nsenter --net=/run/netns/tx laxity link up family.toml --dev near
start exporter nsenter --net=/run/netns/tx laxity link export --listen 127.0.0.1:9401
start bridge nsenter --net=/run/netns/middle laxity link bridge bridge.toml --in in --out out --listen 127.0.0.1:9402
start server laxity stream serve concert.toml --control /run/concert.sock --listen 127.0.0.1:9403 --rtcp 127.0.0.1:5009
start receiver laxity stream receive 127.0.0.1:5006 --tolerance 1/100 --json
start web laxity web --listen 127.0.0.1:9405 --interval 30s
wait_for grep -q "up to 40" /tmp/broker.said
start task laxity cpu run --runtime 2ms --period 1s -- tasks periodic 1000000 500 $((minutes * 60 + 60))
sleep 5

# Anonymous memory in kB, descriptors and threads of each part, and what the kernel keeps.
sample() {
    for name in $parts; do
        pid=''
        eval "pid=\$pid_$name"
        [ -e "/proc/$pid/status" ] || fail "$name has ended"
        awk -v name="$name" -v minute="$minute" -v fds="$(find "/proc/$pid/fd" -mindepth 1 | wc -l)" '
            /^RssAnon:/ { kb = $2 } /^Threads:/ { threads = $2 }
            END { print minute, name, kb, fds, threads }' "/proc/$pid/status"
    done
    awk -v minute="$minute" '/^(SUnreclaim|Percpu|VmallocUsed):/ { kb += $2 } END { print minute, "kernel", kb, 0, 0 }' /proc/meminfo
}
user="setpriv --reuid 1000 --regid 1000 --clear-groups"
sends="voice=5001:46 video=5002:34 http=5003:10"
wget -qO- http://127.0.0.1:9405/ >/dev/null
packets=$(($(wc -l <burst.csv) - 1)) bursts=0 floods=0
echo "== samples"
while [ $minute -lt "$minutes" ]; do
    [ $((minute % (minutes / 24 / step * step + step))) != 0 ] || sample >>/tmp/samples
    began=$(awk '{ print int($1) }' /proc/uptime)
    # shellcheck disable=SC2086 # several words
    in_tx traffic send burst.csv 10.9.0.2 $sends >/dev/null
    # shellcheck disable=SC2086
    nsenter --net=/run/netns/left traffic send burst.csv 10.8.0.2 $sends >/dev/null
    bursts=$((bursts + 1))
    # Beyond the buffers, so that packets are dropped.
    if [ $((bursts % 10)) = 2 ]; then
        in_tx traffic flood 10.9.0.2:5004 1 1400 3000 1 3000 0 >/dev/null
        nsenter --net=/run/netns/left traffic flood 10.8.0.2:5004 1 1400 3000 1 3000 0 >/dev/null
        floods=$((floods + 1))
    fi
    case $((bursts % 4)) in
        0) nsenter --net=/run/netns/tx laxity link set more.toml --dev near 2>/tmp/set.said || fail "no change" ;;
        2) nsenter --net=/run/netns/tx laxity link set family.toml --dev near 2>/tmp/set.said || fail "no change" ;;
        1) laxity stream control /run/concert.sock '{"add": {"name": "guest", "destination": "127.0.0.1:5006", "ssrc": 7, "tolerance": "1/10", "gap_ns": 500000000, "source": {"constant": {"bytes": 200}}}}' >/tmp/control.said || fail "no stream" ;;
        3) laxity stream control /run/concert.sock '{"remove": {"name": "guest"}}' >/tmp/control.said || fail "no end of a stream" ;;
    esac
    # shellcheck disable=SC2086
    $user laxity cpu run --runtime 1ms --period 20ms -- true 2>/tmp/run.said || fail "no reservation"
    in_tx wget -qO- http://127.0.0.1:9401/metrics >/dev/null || fail "no metrics"
    minute=$((minute + step))
    passed=$(($(awk '{ print int($1) }' /proc/uptime) - began))
    [ $passed -ge $((step * 60)) ] || sleep $((step * 60 - passed))
done
sample >>/tmp/samples
sed 's/^/sample /' /tmp/samples
echo "$bursts bursts of $packets packets, $floods floods of 3000, over each link"
echo "== kernel link"
nsenter --net=/run/netns/tx laxity link status --dev near --json >/tmp/near.json
cat /tmp/near.json
echo "== bridge"
in_middle wget -qO- http://127.0.0.1:9402/metrics >/tmp/bridge.metrics
grep -v -e '^#' -e bucket /tmp/bridge.metrics
echo "== server"
wget -qO- http://127.0.0.1:9403/metrics | grep -v -e '^#' -e bucket
echo "== cpus"
wget -qO- http://127.0.0.1:9404/metrics >/tmp/cpu.metrics
grep -v -e '^#' -e bucket /tmp/cpu.metrics
eval "wait \$pid_task" || true
cat /tmp/task.out
for name in receiver server bridge exporter web broker; do
    eval "pid=\$pid_$name"
    kill "$pid"
    wait "$pid" || fail "$name ends with $?"
done
echo "== receiver"
cat /tmp/receiver.out
echo "== kernel"
nsenter --net=/run/netns/tx laxity link down --dev near
laxity cpu down
# From a quarter of the time on, when buffers have been touched, nothing grows by more than a megabyte, and descriptors and
# threads are as many.
awk '
    { minutes[$1] = 1; kb[$1, $2] = $3; fds[$1, $2] = $4; threads[$1, $2] = $5; name[$2] = 1; last = $1 }
    END {
        for (m in minutes) if (m + 0 >= last / 4 && (first == "" || m + 0 < first + 0)) first = m
        for (n in name) {
            more = kb[last, n] - kb[first, n]
            print n " has " more " kB more than in minute " first
            if (more > 1024 || fds[last, n] != fds[first, n] || threads[last, n] != threads[first, n]) bad = 1
        }
        exit bad
    }' /tmp/samples || fail "a part grows"
for file in /tmp/near.json /tmp/bridge.metrics /tmp/cpu.metrics; do
    ! grep deadline_misses "$file" | grep -v -e '^#' -e '[": }]0,*$' || fail "deadlines are missed: $file"
done
judge_kernel
