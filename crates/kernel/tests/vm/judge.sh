# shellcheck shell=sh
# What scripts in the virtual machine end with.

# What the kernel complained of.
judge_kernel() {
    dmesg | grep -i -e 'bug:' -e 'warning:' -e 'oops' -e 'rcu.*stall' -e 'lockup' -e 'runnable task' ||
        echo "kernel content"
}
