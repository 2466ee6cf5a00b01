#!/usr/bin/env bash
# Builds the Python package: the wheel, for any Linux with glibc 2.17 or later where Zig can link it, and its sources.
#
#   usage: python-wheel.sh VENV OUT     a virtual environment, which gets maturin and Zig; the folder of both files
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

[ $# = 2 ] || {
    say "usage: python-wheel.sh VENV OUT"
    exit 2
}
venv=$(realpath "$1")
out=$2
needs=('maturin>=1.9,<2')
options=(build --release --locked --interpreter "$venv/bin/python")
if [ "$(uname -s)" = Linux ]; then
    # Maturin checks that the library needs nothing beyond the tag.
    needs+=(ziglang==0.17.1)
    options+=(--zig --compatibility manylinux2014)
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "${needs[@]}"
package=(--manifest-path python/Cargo.toml --out "$out")
"$venv/bin/maturin" sdist "${package[@]}"
PATH=$venv/bin:$PATH "$venv/bin/maturin" "${options[@]}" "${package[@]}"
