# shellcheck shell=sh
# Runs in the virtual machine: commands of a link in the kernel, its exporter, loaders of the CPUs' scheduler and the
# broker of reservations are killed at random moments. Ends with 1 and the reason at the first thing that is left behind
# or does not work afterwards. LINKS BROKERS SEED: so many kills of the first two and of the last two.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
rate=''
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh
links=$1 brokers=$2 state=$3

fail() {
    echo "after $kills kills, $killed: $*"
    cat /tmp/said
    exit 1
}
# random N: a whole number below N, the same in each run of a seed, in `drawn`.
random() {
    state=$(((state * 1103515245 + 12345) & 2147483647))
    drawn=$((state / 8 % $1))
}
# killed_within MS COMMAND...: starts it and kills it at a moment up to then; a third of them in the first tenth. `early`
# ms later each.
early=0
killed_within() {
    most=$1
    shift
    killed="$*"
    random 3
    [ "$drawn" != 0 ] || most=$((most / 10))
    random "$most"
    drawn=$((drawn + early))
    "$@" >/dev/null 2>/tmp/said &
    victim=$!
    sleep "$(printf '%d.%03d' $((drawn / 1000)) $((drawn % 1000)))"
    kill -9 $victim 2>/dev/null || finished=$((finished + 1))
    wait $victim 2>/dev/null || true
    kills=$((kills + 1))
}
clock() { awk '{ print int($1 * 1000) }' /proc/uptime; }
memory() { awk '/^(Slab|Percpu):/ { kb += $2 } END { print kb }' /proc/meminfo; }
programs() { find /proc/[0-9]*/exe -exec readlink {} + 2>/dev/null | grep -c laxity || true; }
# Without a shell of its own, which would be killed in its place.
in_link() { nsenter --net=/run/netns/tx laxity link "$@" 2>/tmp/said; }
attached() { tc -n tx qdisc show dev near | grep -q '^qdisc laxity'; }

kills=0 finished=0 killed=none ups=0 downs=0 came_up=0
in_link up family.toml --dev near >/dev/null
in_link down --dev near
began=$(clock)
in_link up family.toml --dev near >/dev/null
up=$(($(clock) - began))
began=$(clock)
in_link set more.toml --dev near >/dev/null
set_=$(($(clock) - began))
began=$(clock)
in_link down --dev near
down=$(($(clock) - began))
echo "undisturbed: up $up ms, set $set_ ms, down $down ms"
before_memory=$(memory)
# Setting a link up takes a hundred times as long as a change, most of it in the kernel's verifier: a twentieth of the
# kills is of that, half of them in its last tenth, where it changes the machine.
link_command="nsenter --net=/run/netns/tx laxity link"
cleared() {
    in_link down --dev near || [ $? = 1 ] || fail "it does not go down"
    [ "$before" = "$(found)" ] || fail "the interface is not as found: $(found)"
    left=$(find /sys/fs/bpf -mindepth 2 | wc -l)
    [ "$left" = 0 ] || fail "$left pins are left"
}
# shellcheck disable=SC2086 # several words
while [ $kills -lt "$links" ]; do
    random 20
    if [ "$drawn" = 0 ]; then
        cleared
        random 2
        early=$((drawn * up * 9 / 10))
        killed_within $((up + up / 10 - early)) $link_command up family.toml --dev near
        early=0
        ups=$((ups + 1))
        ! attached || came_up=$((came_up + 1))
    elif ! attached; then
        in_link up family.toml --dev near >/dev/null || fail "the next one does not come up"
    fi
    attached || continue
    random 16
    case $drawn in
        0 | 1 | 2 | 3 | 4) killed_within $((set_ + set_ / 10)) $link_command set family.toml --dev near ;;
        5 | 6 | 7 | 8 | 9) killed_within $((set_ + set_ / 10)) $link_command set more.toml --dev near ;;
        10 | 11 | 12) killed_within 100 $link_command export --listen 127.0.0.1:9401 ;;
        13 | 14) killed_within 100 $link_command watch --interval 10ms ;;
        15) killed_within $((down + down / 10)) $link_command down --dev near && downs=$((downs + 1)) ;;
    esac
    # What still runs answers.
    ! attached || in_link status --dev near >/dev/null || fail "no status"
done
in_link down --dev near || [ $? = 1 ] || fail "it does not go down"
in_link up family.toml --dev near >/dev/null || fail "the next one does not come up"
in_link set more.toml --dev near >/dev/null || fail "the next one does not change"
in_link down --dev near || fail "the next one does not go down"
[ "$before" = "$(found)" ] || fail "the interface is not as found: $(found)"
sleep 1
[ "$(programs)" = 0 ] || fail "$(programs) programs are left"
[ "$(kernel-link profile | wc -l)" = 0 ] || fail "BPF programs are left"
echo "links: $kills kills, $finished of them of commands that had ended, $ups of \`up\` of which $came_up came up, $downs of \`down\`, memory of the kernel $(($(memory) - before_memory)) kB more"
[ $(($(memory) - before_memory)) -lt 8192 ] || fail "the kernel keeps memory"

[ "$brokers" != 0 ] || { judge_kernel && exit; }
kills=0 finished=0
laxity cpu up 2>/tmp/said || fail "no scheduler"
chmod 755 / /run
# A reservation that is held throughout, by a task that must not miss a deadline.
serve() {
    rm -f /tmp/served
    laxity cpu serve --share 40% --mode 0666 2>/tmp/served &
    server=$!
    wait_for grep -q "up to 40" /tmp/served
}
answers() { setpriv --reuid 1000 --regid 1000 --clear-groups laxity cpu run --runtime 1ms --period 20ms -- true 2>/tmp/said; }
serve
laxity cpu run --runtime 2ms --period 20ms -- sleep 100000 &
holder=$!
wait_for sh -c "laxity cpu status --json | grep -q '\"pid\": $holder'"
kill -9 $server
wait $server 2>/dev/null || true
before_memory=$(memory)
while [ $kills -lt "$brokers" ]; do
    random 4
    if [ "$drawn" = 0 ]; then
        # A client is killed while it asks, reserves or runs.
        serve
        killed_within 60 setpriv --reuid 1000 --regid 1000 --clear-groups laxity cpu run --runtime 1ms --period 20ms -- sleep 1
        answers || fail "a client is not served"
        kill -9 $server
        wait $server 2>/dev/null || true
    else
        # The broker is killed while it starts or serves.
        ( i=0; while [ $i -lt 3 ]; do answers || true; i=$((i + 1)); done ) 2>/dev/null &
        clients=$!
        killed_within 80 laxity cpu serve --share 40% --mode 0666
        wait $clients || true
    fi
    [ "$(cat /sys/kernel/sched_ext/state)" = enabled ] || fail "the scheduler is gone"
    if [ $((kills % 20)) = 0 ]; then
        laxity cpu status --json >/tmp/status 2>/tmp/said || fail "no status"
        grep -q "\"pid\": $holder" /tmp/status || fail "a reservation is lost"
    fi
done
serve
wait_for answers
laxity cpu status --json >/tmp/status
grep -q "\"pid\": $holder" /tmp/status || fail "a reservation is lost"
[ "$(grep -c runtime_ns /tmp/status)" = 1 ] || fail "reservations of killed clients are left: $(cat /tmp/status)"
kill $holder
wait $holder 2>/dev/null || true
kill $server
wait $server || fail "the server does not end"
[ ! -e /run/laxity/cpu.sock ] || fail "the socket is left"
echo "brokers and their clients: $kills kills, $finished of commands that had ended, memory of the kernel $(($(memory) - before_memory)) kB more, in /run/laxity: $(find /run/laxity -mindepth 1 | wc -l)"
laxity cpu down 2>/tmp/said || fail "the scheduler does not go"
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ] || fail "the scheduler stays"
judge_kernel
