# shellcheck shell=sh
# Runs in the virtual machine: thousands of threads and processes that come, go and change, while
# policies change. Prints what there is to judge.
set -eu
# shellcheck source=vm/guest/checks.sh
. ./checks.sh
sleep 2
kernel-cpu up
# How long so many changes take depends on the policy: they go on until there were two rounds. The program that changes
# the policy goes before them, or the verifier of its programs would take most of the time.
churn "$1" 7 /tmp/enough >/tmp/churn &
churn=$!
changed=0 rounds=0
while kill -0 $churn 2>/dev/null; do
    for policy in berate bebs-credit bebs; do
        chrt -f 1 kernel-cpu up $policy && changed=$((changed + 1))
        sleep 2
    done
    rounds=$((rounds + 1))
    [ $rounds -lt 2 ] || : >/tmp/enough
done
wait $churn
cat /tmp/churn
echo "policies changed $changed"
kernel-cpu status | grep -v '^task'
kernel-cpu down
cat /sys/kernel/sched_ext/state
judge_kernel
