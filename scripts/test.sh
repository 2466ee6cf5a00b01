#!/usr/bin/env bash
# Everything that can go red: format, lints, tests, documentation, scripts. `.ci/run` and `make
# test` call this. What a machine lacks is skipped with a reason; with LAXITY_REQUIRE_ALL=1 that is
# a failure.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

began=$SECONDS
step() {
    say "$1 ($((SECONDS - began)) s so far)"
}

# Commands of more than half a minute by a part of each, longest first; a part that no command has does no harm.
long_commands=(
    compare-cpu downloads_leave_the_ping_alone three_of_four_cpus live_traffic_keeps_its_deadlines
    what_comes_in_is_scheduled cpu_hard:: six_thousand_changes search- links_survive_faults
    reservations_hold_and_best_effort real_time_flows_meet_deadlines cpu_clusters:: one_of_two_cpus
    link_changes_lose_no_packet after_a_stall commands_leave_nothing_behind unprivileged_programs records_of_two
    verifier_cost_is_as_recorded python.sh site.sh proofs.sh compare-internet run_hooks_give reservations_hold_on loom.sh
    run_state_is_inferred compare-link misses_after_preemption clients_of_realtimekit stalls-
)

# longest_first FILE: puts the commands in it in that order, the short ones last, so that no CPU idles while a long one
# ends.
longest_first() {
    local sorted
    sorted=$(mktemp)
    awk -v names="${long_commands[*]}" '
        BEGIN { n = split(names, name, " ") }
        {
            rank = 1
            while (rank <= n && !index($0, name[rank])) rank++
            print rank "\t" $0
        }' "$1" | sort -s -n -k 1,1 | cut -f 2- >"$sorted"
    mv "$sorted" "$1"
}

rust cargo fmt clippy
kernel_parts optional
[ "$(uname -m)" != x86_64 ] || virtual_machine optional
program need python3 python3 python3 python python3 python3
python_venv optional
program need unshare util-linux util-linux util-linux util-linux util-linux-misc
# Programs of single tests, which are skipped without them.
program optional ip iproute2 iproute iproute2 iproute2 iproute2
program optional iperf3 iperf3 iperf3 iperf3 iperf iperf3
program optional irtt irtt irtt irtt irtt irtt
program optional tcpdump tcpdump tcpdump tcpdump tcpdump tcpdump
program optional ffmpeg ffmpeg ffmpeg-free ffmpeg ffmpeg ffmpeg
program optional cyclictest rt-tests realtime-tests rt-tests rt-tests rt-tests
program optional dbus-daemon dbus-daemon dbus-daemon dbus dbus-daemon dbus
program optional pipewire pipewire pipewire pipewire pipewire pipewire
program optional systemd-analyze systemd systemd systemd systemd ''
program optional coqc coq coq coq coq coq
program optional chromium chromium chromium chromium chromium chromium
program optional shellcheck shellcheck ShellCheck shellcheck ShellCheck shellcheck
program optional patch patch patch patch patch patch
program optional dpkg-shlibdeps dpkg-dev '' '' '' ''
program optional dpkg-deb dpkg '' '' '' ''
get_needs
# Containers leave the node out where the kernel has the driver, under this number.
if is_root && [ ! -e /dev/net/tun ] && grep -q ' tun$' /proc/misc; then
    announced mkdir -p /dev/net
    announced mknod -m 666 /dev/net/tun c 10 200 || true
fi

step "the dependencies, as locked"
cargo fetch --locked --target "$(rustc -vV | sed -n 's/^host: //p')"

step "the virtual machine's kernel and emulator"
machine=
if fetch_machine both packets cpu; then machine=1; fi

step "format"
cargo fmt --all --check

# With the kernel's parts where they can be built, and the command without them as well. All is built as
# one workspace each time: for a package alone its dependencies would be built again, with fewer features.
kernel=()
if has_kernel_parts; then
    kernel=(--features "$kernel_features")
else
    skip "no clang 16 or newer, pkg-config, libelf or zlib, so the kernel's programs are not built"
fi

step "lints, on all targets"
cargo clippy --workspace --all-targets --locked --keep-going "${kernel[@]}" -- -D warnings

log=$(mktemp)
later=$(mktemp)
trap 'rm -f "$log" "$later"' EXIT
if [ ${#kernel[@]} != 0 ]; then
    step "lints without the kernel's parts"
    cargo clippy --workspace --all-targets --locked -- -D warnings
fi

# Of the whole workspace, and with examples, which bring the dependencies of tests: but for the command, all has been
# checked with the same features above, and is not checked again.
step "lints of the command without its optional parts"
cargo clippy --workspace --lib --bins --examples --no-default-features --locked -- -D warnings

step "documentation"
RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --workspace --no-deps --locked

step "scripts"
if command -v shellcheck >/dev/null; then
    shellcheck -s dash packaging/openwrt/files/laxity.init
    shellcheck -x scripts/*.sh scripts/packages-test/*.sh compare/*/*.sh compare/cpu/tests/*.sh packaging/debian/{postinst,prerm,postrm} crates/*/tests/vm/*.sh captures/*.sh .ci/run vm/emulator vm/fetch vm/image vm/init vm/run vm/*.sh vm/guest/*.sh
else
    skip "shellcheck is not installed, so the scripts are not checked"
fi

# All test programs first: they keep all CPUs busy beside the long chain of crates to the command.
step "test programs"
cargo test --workspace --locked --no-run "${kernel[@]}"
if [ ${#kernel[@]} != 0 ]; then
    build_machine_programs
    step "tests without the kernel's parts"
    cargo test --workspace --locked --test link --test cpu 2>&1 | tee -a "$log"
fi

# Virtual machines that count instructions are not disturbed by each other and take one CPU each; crates that only
# compute are not disturbed either. Their tests are run side by side afterwards (scripts/runner.sh). Tests that are
# sensitive to load have the machine to themselves.
step "tests that are sensitive to load"
failed=
host=$(rustc -vV | sed -n 's/^host: //p')
LAXITY_LATER=$later cargo test --workspace --locked --no-fail-fast "${kernel[@]}" --tests \
    --config "target.$host.runner=['$root/scripts/runner.sh']" 2>&1 | tee -a "$log" || failed=1

# Without the runner, with which rustdoc runs all of a crate in one process.
step "documentation examples"
cargo test --workspace --locked --no-fail-fast "${kernel[@]}" --doc 2>&1 | tee -a "$log" || failed=1

step "the other tests, those in the virtual machine, comparisons, proofs, and the rings in every order of events"
if [ ${#kernel[@]} != 0 ] && [ -n "$machine" ]; then
    # One short row each; `make compare-link` and its like run all of it.
    printf '%s\n' "scripts/compare-link.sh --short" "scripts/compare-cpu.sh --short" >>"$later"
    if has iperf3 && has irtt && has tcpdump; then
        echo "scripts/compare-internet.sh --short" >>"$later"
    else
        skip "iperf3, irtt or tcpdump is not installed, so no access link is compared"
    fi
elif [ ${#kernel[@]} != 0 ]; then
    skip "there is no virtual machine, so nothing is compared with the kernel's disciplines and schedulers"
fi
printf '%s\n' scripts/loom.sh vm/test.sh "scripts/site.sh --short" >>"$later"
if has coqc; then
    echo scripts/proofs.sh >>"$later"
else
    skip "Coq is not installed, so the proofs are not checked"
fi
if has_python_venv; then
    echo "scripts/python.sh --short" >>"$later"
else
    skip "Python is older than 3.10 or has no venv, so its package is not tested"
fi
longest_first "$later"
scripts/beside.sh "$later" 2>&1 | tee -a "$log" || failed=1
[ -z "$failed" ] || exit 1

# The counts that the test programs printed themselves.
awk -v seconds=$((SECONDS - began)) '
    /^test result: / { passed += $4; failed += $6; ignored += $8 }
    END {
        printf "==> all good in %d s: %d tests passed, %d failed, %d ignored\n",
            seconds, passed, failed, ignored
    }' "$log"
