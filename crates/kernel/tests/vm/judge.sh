# shellcheck shell=sh
# Read by scripts in the virtual machine: how a scheduler begins, what to say of a command, and of the kernel at
# the end; and how to wait for something.

# up_told POLICY TOLD: the scheduler, as on kernels that have to tell where TOLD is 1, once the boot is over.
up_told() {
    export LAXITY_CPU_TOLD="$2"
    sleep 2
    kernel-cpu up "$1"
}

# Says how it ended, and all that it said.
told() {
    status=0
    "$@" 2>&1 || status=$?
    echo "ended with $status"
}

# What the kernel complained of.
judge_kernel() {
    dmesg | grep -i -e 'bug:' -e 'warning:' -e 'oops' -e 'rcu.*stall' -e 'lockup' -e 'runnable task' \
        -e 'disabled (runtime error)' -e 'disabled (scx_bpf_error)' -A 3 ||
        echo "kernel content"
}

# The condition, for a while of the guest's time.
wait_for() {
    tries=100
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ $tries = 0 ]; then
            echo "in vain: $*"
            exit 1
        fi
        sleep 0.1
    done
}
