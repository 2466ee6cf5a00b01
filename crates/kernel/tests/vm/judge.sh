# shellcheck shell=sh
# What scripts in the virtual machine end with.

# What the kernel complained of.
judge_kernel() {
    dmesg | grep -i -e 'bug:' -e 'warning:' -e 'oops' -e 'rcu.*stall' -e 'lockup' -e 'runnable task' \
        -e 'disabled (runtime error)' -e 'disabled (scx_bpf_error)' -A 3 ||
        echo "kernel content"
}
