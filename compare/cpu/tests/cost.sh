# shellcheck shell=sh
# What switching costs: a byte to another process and back. ROUNDS

test_pass() { tasks pass "$1"; }

# Where an instruction takes a nanosecond.
test_cost() { tasks pass "$1" | sed 's/$/ instruction_ns 1/'; }
