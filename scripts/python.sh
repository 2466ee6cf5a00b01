#!/usr/bin/env bash
# Builds the Python package and tries it in a fresh virtual environment: types of the package and of its tests, the
# tests, ten thousand cases of calls with arbitrary arguments, the notebooks. Builds in target/python.
#
#   usage: python.sh [--short]
#
# LAXITY_RAY=1 also installs Ray and sweeps on a local cluster of it.
#
# The wheel is built by scripts/python-wheel.sh, in release mode. The source
# distribution is built beside it and installed in a virtual environment of its own. Both are in target/python/wheels. With
# --short, as in `make test`, the library comes from the build of the other tests instead, Python finds it beside the
# sources, a thousand cases are tried, and notebooks are small.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

short=
[ "${1:-}" != --short ] || short=1
rust cargo
python_venv need
get_needs

mkdir -p "$target"
target=$(realpath "$target")
build=$target/python
rm -rf "$build/venv" "$build/site" "$build/wheels"
mkdir -p "$build/site/laxity" "$build/wheels"
python3 -m venv "$build/venv"
python=$build/venv/bin/python
# No bytecode: most of it would never be run.
install=("$python" -m pip install --quiet --disable-pip-version-check --no-compile)
# A fifth of the time of pip; which does it where uv cannot.
by_uv=("$python" -m uv pip install --quiet --python "$python")
if ! { "${install[@]}" uv==0.13.9 && "${by_uv[@]}" -r python/tests/requirements.txt; } 2>/dev/null &&
    ! "${install[@]}" -r python/tests/requirements.txt; then
    skip "the packages of python/tests/requirements.txt cannot be installed, so Python is not tested"
    exit 0
fi

if [ "${LAXITY_RAY:-}" = 1 ]; then "${install[@]}" ray==2.60.0; fi

if [ -n "$short" ]; then
    kernel=()
    if has_kernel_parts; then kernel=(--features "$kernel_features"); fi
    # With the tests, because their dependencies decide the features of the rest, which is built already.
    cargo build --workspace --lib --bins --tests --profile test --locked "${kernel[@]}"
    cp python/laxity/*.py python/laxity/*.pyi python/laxity/py.typed "$build/site/laxity"
    cp "$target/debug/lib_laxity.so" "$build/site/laxity/_laxity.abi3.so"
    export PYTHONPATH=$build/site LAXITY_FUZZ_CASES=${LAXITY_FUZZ_CASES:-1000}
else
    scripts/python-wheel.sh "$build/venv" "$build/wheels"
    "${install[@]}" "$build"/wheels/laxity-*.whl

    say "source distribution"
    rm -rf "$build/sdist"
    python3 -m venv "$build/sdist"
    CARGO_TARGET_DIR=$build/sdist-target "$build/sdist/bin/python" -m pip install --quiet --disable-pip-version-check \
        "$build"/wheels/laxity-*.tar.gz
    (cd "$build/sdist" && bin/python -c '
import laxity
link = laxity.Scenario.from_dict({"link": {"rate": "1 Mbit/s"}, "best_effort": [{"name": "web"}]})
print("from the sources:", laxity.__version__, link.check().admitted)')
fi

export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$build/hypothesis
say "types"
(cd python && "$python" -m mypy --cache-dir "$build/mypy" --config-file pyproject.toml)
# Pyright in a wheel that brings its own runtime.
"$build/venv/bin/basedpyright" --project python --pythonpath "$python"
(cd python/tests && MYPYPATH=.. "$python" -m mypy --cache-dir "$build/mypy" --strict ./*.py)
say "tests"
"$python" -m unittest discover -s python/tests
say "notebooks"
if [ -n "$short" ]; then
    LAXITY_NOTEBOOK_SIZE=small "$python" python/notebooks/run.py "$build/notebooks"
else
    "$python" python/notebooks/run.py "$target/notebooks"
fi
if [ -z "$short" ]; then
    say "the wheel is $(ls "$build"/wheels/laxity-*.whl)"
    say "the sources are $(ls "$build"/wheels/laxity-*.tar.gz)"
fi
