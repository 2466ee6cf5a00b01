# shellcheck shell=sh
# Runs in the virtual machine: what the verifier processes for each program of the CPUs.
uname -r
exec kernel-cpu verify
