# shellcheck shell=sh
# Sourced by scripts in the virtual machine: starts a scheduler, prints exit statuses and kernel messages, counts
# kicks, waits.

# start_scheduler POLICY RUN_HOOKS: starts the scheduler once the boot is over; with run hooks if RUN_HOOKS is 1.
start_scheduler() {
    export LAXITY_CPU_RUN_HOOKS="$2"
    sleep 2
    kernel-cpu up "$1"
}

# with_status COMMAND...: runs it; prints its output and its exit status.
with_status() {
    status=0
    "$@" 2>&1 || status=$?
    echo "ended with $status"
}

# Prints warnings of the kernel, or that there are none.
judge_kernel() {
    dmesg | grep -i -e 'bug:' -e 'warning:' -e 'oops' -e 'rcu.*stall' -e 'lockup' -e 'runnable task' \
        -e 'disabled (runtime error)' -e 'disabled (scx_bpf_error)' -A 3 ||
        echo "kernel content"
}

# kicks CPU: prints how often it has interrupted itself, to kick a CPU. All below it are online.
kicks() { awk -v column=$(($1 + 2)) '/^ *IWI:/ { print $column }' /proc/interrupts; }

# wait_for COMMAND...: repeats it until it succeeds, for at most 10 s of the guest's time.
wait_for() {
    tries=100
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ $tries = 0 ]; then
            echo "timed out: $*"
            exit 1
        fi
        sleep 0.1
    done
}
