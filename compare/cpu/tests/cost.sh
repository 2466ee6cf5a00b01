# shellcheck shell=sh
# The cost of a switch: a byte to another process and back. ROUNDS

test_pass() { tasks pass "$1"; }

# Where an instruction takes a nanosecond.
test_cost() { tasks pass "$1" | sed 's/$/ instruction_ns 1/'; }
