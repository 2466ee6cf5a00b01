# shellcheck shell=sh
# Runs in the virtual machine: what the verifier processes for each program.
uname -r
kernel-link verify family.toml background shifted-line exact slack
kernel-link verify queues.toml background shifted-line exact slack
kernel-link verify curves.toml background shifted-line exact
sed 's/^\[\[best_effort\]\]/&\naqm = "codel"/' curves.toml >managed.toml
kernel-link verify managed.toml exact
