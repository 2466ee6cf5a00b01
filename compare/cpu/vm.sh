# shellcheck shell=sh
# Runs in the virtual machine: `vm.sh SCHEDULER BEGINNING TEST...` gives the CPUs to a scheduler and runs tests
# under it, one after the other, later by a time of its own under each BEGINNING. A test is `NAME` or `NAME:ARGUMENT:...`, a function of tests-*.sh of
# which every line printed begins with what it is about. Each has the header `== TEST` and ends with
# what it took: context switches of the machine and its time.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
scheduler=$1 beginning=$2
shift 2

ext=/sys/kernel/sched_ext
refused() {
    sed 's/^/refused /' "$1" | tail -n 3
    exit 0
}
# Tests that cannot be measured under this scheduler, with reasons.
lacks() { echo "lacks $*"; }
has() {
    if ! command -v "$1" >/dev/null; then
        lacks "there is no $1"
        return 1
    fi
}
for number in 1 2 3 4 5; do mkfifo /tmp/hard-$number; done
# Boot goes on for a while; peers take up to a second to be there.
sleep 2
case $scheduler in
    laxity-*) kernel-cpu up "${scheduler#laxity-}" >/tmp/why 2>&1 || refused /tmp/why ;;
    scx_*)
        "$scheduler" >/tmp/why 2>&1 &
        peer=$!
        left=600
        while [ "$(cat $ext/state)" != enabled ]; do
            if ! kill -0 "$peer" 2>/dev/null || [ $left = 0 ]; then refused /tmp/why; fi
            sleep 0.1
            left=$((left - 1))
        done
        sleep 1
        ;;
esac

case $scheduler in
    laxity-* | scx_*) in_use=ext ;;
    *) in_use=kernel ;;
esac

[ "$beginning" = 1 ] || sleep "0.$((beginning * 137))"

# declared BUDGET PERIOD COMMAND...: as a real-time task, in us, by what the scheduler has for it.
declared() {
    budget=$1 period=$2
    shift 2
    case $scheduler in
        # Rate-monotonic.
        fifo) chrt -f $((90 - period / 1000)) "$@" ;;
        deadline)
            chrt -d --sched-runtime "${budget}000" --sched-deadline "${period}000" \
                --sched-period "${period}000" 0 "$@"
            ;;
        laxity-*) kernel-cpu run "$budget" "$period" "$@" ;;
        *) "$@" ;;
    esac
}
switches() { sed -n 's/^ctxt //p' /proc/stat; }
# Of this machine, in ms.
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# hogs COUNT COMMAND...: beside so many tasks that compute.
hogs() {
    tasks hog "$1" 60 &
    load=$!
    shift
    sleep 0.5
    "$@"
    kill $load
    wait $load 2>/dev/null || true
}
# A program's line, as that of NAME.
as() { sed "s/^/$1 /"; }

# hard NUMBER PERCENT PERIOD_US: from now until `no_more_hard`; it has begun when this returns. What
# starts and ends a job is in the budget too. Among tasks that compute, and after processes that
# came and went, reservations take long to be in force, since bandwidth is given back at zero-lag
# times: so these come first, and nothing is started to wait for them.
hard_count=0 said=''
hard() {
    work=$(($2 * $3 / 100)) hard_count=$1
    declared $((work + work / 20)) "$3" \
        tasks periodic "$3" "$work" 1000000 /tmp/over >"/tmp/hard-$1" &
    eval "hard_$1=$! && exec $(($1 + 2))</tmp/hard-$1 && read -r said <&$(($1 + 2))"
}
no_more_hard() {
    : >/tmp/over
    number=1
    while [ $number -le $hard_count ]; do
        eval "read -r said <&$((number + 2)) && exec $((number + 2))<&- && wait \$hard_$number"
        echo "hard $said"
        number=$((number + 1))
    done
    rm -f /tmp/over
    hard_count=0
}

# shellcheck source=/dev/null
for tests in ./tests-*.sh; do . "$tests"; done

for job in "$@"; do
    echo "== $job"
    name=${job%%:*}
    # Until what ran before is forgotten.
    sleep 4
    case $scheduler in laxity-*) kernel-cpu reset-maxima || true ;; esac
    sleep 2
    before=$(switches) began=$(now)
    # shellcheck disable=SC2046 # arguments
    "test_$name" $(echo "$job" | cut -s -d : -f 2- | tr : ' ')
    after=$(switches) ended=$(now)
    case $scheduler in
        laxity-*) kernel-cpu status 2>&1 | sed -n 's/.* max_overrun_ns/timing max_overrun_ns/p' ;;
    esac
    echo "machine switches $((after - before)) ms $((ended - began))"
    # Ejected by the kernel, or ended: the rest would run under the kernel's own scheduler.
    if [ $in_use = ext ] && [ "$(cat $ext/state)" != enabled ]; then
        echo "left $(dmesg | grep 'sched_ext: BPF scheduler' | tail -n 1 | sed 's/.*sched_ext: //')"
        break
    fi
done
case $scheduler in
    laxity-*) kernel-cpu down || true ;;
    scx_*)
        # Programs that ignore the first signal, as background jobs of the shell do, obey the second.
        kill -INT "$peer"
        [ "$scheduler" != scx_bare ] || kill "$peer"
        wait "$peer" || true
        ;;
esac
judge_kernel
