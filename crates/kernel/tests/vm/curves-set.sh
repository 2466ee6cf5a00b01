# shellcheck shell=sh
# Runs in the virtual machine: a link with service curves comes up, and its rate and scenario change.
set -eu
# shellcheck source=vm/guest/wire.sh
. ./wire.sh
# shellcheck source=crates/kernel/tests/vm/link.sh
. ./link.sh

# Two bursts of the concave flow.
bursts() { in_tx traffic flood 10.9.0.2:5001 46 1250 8 2 8 1000 >/dev/null; }
# change WHAT ARGUMENTS...: sets it behind bursts.
change() {
    echo "== $1"
    shift
    bursts
    tell set --dev near "$@"
}

echo "== up"
tell up curves.toml --dev near --policy slack
tell up curves.toml --dev near
change rate --rate "9 Mbit/s"
change low --rate "5 Mbit/s"
sed 's/m2 = "4 Mbit/m2 = "3 Mbit/' curves.toml >other.toml
change other other.toml
sed 's/weight = 1/weight = 2/' curves.toml >same.toml
change same same.toml
echo "== status"
bursts
sleep 0.1
link status --dev near --json
tell down --dev near
as_found
