# Sourced by packages-test.sh: the units of the package under systemd, in a container with interfaces of its own.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `bare`, `root` and `work` are those of the script

# Nothing that the container writes stays in the bare Debian.
run_services() {
    local unit
    if ! has systemd-nspawn; then
        skip "systemd-nspawn is not installed, so the services are not started"
        return
    fi
    mkdir -p "$work/services"
    cp scripts/packages-test/services-inside.sh "$work/services/inside.sh"
    cat >"$work/services/test-of-services.service" <<'END'
[Unit]
Description=Test of the services
After=basic.target network.target
[Service]
Type=exec
ExecStart=/bin/sh /opt/test/inside.sh
END
    timeout 180 systemd-nspawn -q --register=no --keep-unit --directory="$bare" --volatile=overlay \
        --private-network --capability=all --system-call-filter=bpf --bind=/dev/net/tun --bind="$work/services:/opt/test" \
        --bind-ro="$work/services/test-of-services.service:/etc/systemd/system/test-of-services.service" \
        --boot systemd.wants=test-of-services.service >"$work/log" 2>&1 </dev/null || {
        tail -n 5 "$work/log" >&2
        skip "systemd does not start in a container here, so the services are not started"
        return
    }
    for unit in laxity-stream@media laxity-tun@lxt laxity-bridge@w0; do
        grep -qx "$unit: active, then inactive, success" "$work/services/result" || {
            cat "$work/services/result" "$work/services/log" >&2
            fail "$unit does not run under its confinement"
        }
    done
    grep -qx 'removal: inactive, 0 devices' "$work/services/result" || {
        cat "$work/services/result" "$work/services/log" >&2
        fail "removal leaves a service running"
    }
    say "services: $(paste -s -d ';' "$work/services/result")"
}
