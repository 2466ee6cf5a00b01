#!/usr/bin/env bash
# Part of demo.sh: a live link for a few seconds, in network namespaces made for it. First in user
# space, which any kernel lets, with what the simulator makes of the same packets beside; then in the
# kernel, where that has BPF queueing disciplines. What this machine does not let, it says.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
# Where ip is not on the path of every user.
PATH=$PATH:/usr/sbin:/sbin

seconds=3
scenario=scripts/demo.toml

without() {
    say "Not possible: $1."
    exit 0
}
is_root || without "a live link takes root, to make network namespaces (sudo make demo)"
for program in ip nsenter; do
    has $program || without "there is no $program, of the packages iproute2 and util-linux"
done

# The namespaces of the senders, of the link, and of the line behind it.
home=laxity-demo-$$-home link=laxity-demo-$$-link line=laxity-demo-$$-line
# shellcheck disable=SC2317 # called by the trap
end() {
    local space
    for space in "$home" "$link" "$line"; do ip netns delete "$space" 2>/dev/null || true; done
}
trap end EXIT
for space in "$home" "$link" "$line"; do
    output=$(ip netns add "$space" 2>&1) || without "the kernel makes no network namespace: $output"
done
# In a namespace of those. Not by `ip netns exec` and `ip -n`, which mount /sys again, as not every container allows.
within() { nsenter --net="/run/netns/$1" -- "${@:2}"; }
output=$(within "$home" true 2>&1) || without "no network namespace can be entered: $output"

# No host has the address, so there are no answers; packets go as far as the line's end.
if ! ip link add wan netns "$home" type veth peer name in netns "$link" ||
    ! ip link add out netns "$link" type veth peer name end netns "$line"; then
    without "the kernel makes no pair of interfaces"
fi
within "$home" ip address add 10.9.0.1/24 dev wan
within "$home" ip link set wan up
within "$link" ip link set in up
within "$link" ip link set out up
within "$line" ip link set end up
within "$home" ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev wan

# Sends for so many seconds, by the clock: a step each 10 ms.
# shellcheck disable=SC2016 # it is for another shell
traffic='
exec 3>/dev/udp/10.9.0.2/5001 4>/dev/udp/10.9.0.2/5002 5>/dev/udp/10.9.0.2/5003
exec 6>/dev/udp/10.9.0.2/5004 9<> <(:)
burst() { local i; for ((i = 0; i < $2; i++)); do printf "%1000s" "" >&"$1"; done; }
begin=${EPOCHREALTIME/./}
for ((step = 0; step < 100 * $1; step++)); do
    printf "%158s" "" >&3
    ((step % 4)) || burst 4 12
    ((step % 3)) || burst 5 6
    ((step % 2)) || burst 6 10
    wait=$((begin + 10000 * (step + 1) - ${EPOCHREALTIME/./}))
    ((wait <= 0)) || read -rt "0.$(printf %06d "$wait")" -u 9 || true
done'
# Threads that keep deadlines go before others, where we may say so.
first=()
if chrt -f 1 true 2>/dev/null; then first=(chrt -f 1); fi
send() { within "$home" "${first[@]}" bash -c "$traffic" traffic "$seconds"; }

say "A live link in user space, $seconds s: what was measured, and what the simulator makes of the same packets."
printf '\n$ %slaxity link bridge %s --in in --out out --compare\n' "${first[*]:+${first[*]} }" "$scenario"
status=0
{ sleep 1 && send; } &
sender=$!
within "$link" "${first[@]}" "$laxity" link bridge "$scenario" --in in --out out --compare \
    --duration "$((seconds + 2))s" || status=$?
wait "$sender"
[ "$status" = 0 ] || [ "$status" = "$lacks" ] || exit "$status"

say "The same traffic over a link in the kernel."
printf '\n$ laxity link up %s --dev wan\n' "$scenario"
status=0
within "$home" "$laxity" link up "$scenario" --dev wan || status=$?
[ "$status" != "$lacks" ] || without "the kernel has none to offer, as reported above"
[ "$status" = 0 ] || exit "$status"
send
for command in status down; do
    printf '\n$ laxity link %s --dev wan\n' "$command"
    within "$home" "$laxity" link "$command" --dev wan
done
