# Sourced by packages-test.sh: Prometheus scrapes a media server and a link in user space, on the loopback of a network
# namespace of their own, with the alerts of the package.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `bare` and `work` are those of the script

# The expressions of the dashboard, for all interfaces.
expressions() {
    python3 - packaging/monitoring/laxity-dashboard.json <<'END'
import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel.get("targets", []):
        print(target["expr"].replace("$device", ".*"))
END
}

monitor() {
    local status=0
    if [ ! -x "$bare/usr/bin/promtool" ]; then
        skip "the bare Debian has no Prometheus, so nothing is scraped"
        return
    fi
    in_root promtool check rules /usr/share/laxity/monitoring/laxity-alerts.yml >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "promtool check rules"
    }
    say "Prometheus: $(grep -o '[0-9]* rules found' "$work/log")"
    cat >"$bare/tmp/prometheus.yml" <<'END'
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [/usr/share/laxity/monitoring/laxity-alerts.yml]
scrape_configs:
  - job_name: laxity
    static_configs: [{targets: ["127.0.0.1:9400", "127.0.0.1:9403"]}]
  - job_name: prometheus
    static_configs: [{targets: ["127.0.0.1:9090"]}]
END
    expressions >"$bare/tmp/expressions"
    # shellcheck disable=SC2016 # for the shell there
    timeout 200 unshare --net --mount --pid --fork --kill-child \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$bare" sh -c '
        mount -t proc proc /proc
        ip link set lo up
        for pair in a b; do
            ip link add ${pair}0 type veth peer name ${pair}1
            ip link set ${pair}0 up && ip link set ${pair}1 up
        done
        cd /usr/share/laxity/scenarios
        laxity stream serve media-server.toml --listen 127.0.0.1:9400 >/tmp/stream.log 2>&1 &
        laxity link bridge home-router.toml --in a0 --out b0 --io packet --listen 127.0.0.1:9403 >/tmp/bridge.log 2>&1 &
        prometheus --config.file=/tmp/prometheus.yml --storage.tsdb.path=/tmp/prometheus \
            --web.listen-address=127.0.0.1:9090 >/tmp/prometheus.log 2>&1 &
        ask() { promtool query instant http://127.0.0.1:9090 "$1"; }
        # answered QUERY LOG: waits until the query has an answer.
        answered() {
            tries=0
            until [ -n "$(ask "$1" 2>/dev/null)" ]; do
                tries=$((tries + 1))
                [ "$tries" -lt 60 ] || { echo "no answer to $1"; tail -n 5 "$2"; exit 1; }
                sleep 1
            done
        }
        answered "prometheus_rule_evaluations_total > 9" /tmp/prometheus.log
        answered "sum(rate(laxity_stream_packets_total{outcome=\"sent\"}[20s])) > 10" /tmp/stream.log
        answered "laxity_link_rate_bits_per_second > 0" /tmp/bridge.log
        answered "count(up == 1) == 3" /tmp/prometheus.log
        set -e
        [ -z "$(ask "prometheus_rule_evaluation_failures_total > 0")" ]
        while read -r expression; do
            ask "$expression" >/dev/null || { echo "not an expression: $expression"; exit 1; }
        done </tmp/expressions
        echo "series: $(ask "count({__name__=~\"laxity_.*\"})")"
        ' >"$work/log" 2>&1 </dev/null || status=$?
    rm -rf "$bare"/tmp/prometheus* "$bare"/tmp/expressions "$bare"/tmp/*.log
    [ "$status" = 0 ] || {
        cat "$work/log" >&2
        fail "Prometheus: status $status"
    }
    say "Prometheus: $(wc -l <<<"$(expressions)") expressions of the dashboard, $(tail -n 1 "$work/log")"
}
