#!/usr/bin/env python3
"""Leaves out of a folder of `cargo vendor` what Laxity is not built from.

usage: vendor.py FOLDER TARGET...     in the workspace, once the folder is there

Cargo wants every crate of Cargo.lock to be there, also those of systems that are no TARGET: these keep their
manifest beside an empty library. The others lose the files of their own tests and benchmarks. Checksums of the files
that remain are kept, so that cargo still checks them. Prints how many crates are empty.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

# Not `examples`, which documentation includes here and there.
UNUSED = ("tests", "benches", ".github", "ci")


def needed(target):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--all-features"]
    data = json.loads(subprocess.run([*command, "--filter-platform", target], check=True, stdout=subprocess.PIPE).stdout)
    names = {package["id"]: (package["name"], package["version"]) for package in data["packages"]}
    return {names[node["id"]] for node in data["resolve"]["nodes"]}


def identity(folder):
    """Name and version, from the manifest that cargo has normalised; Python has read TOML since 3.11 only."""
    found = {}
    for line in (folder / "Cargo.toml").read_text().splitlines():
        if line.startswith("[") and line != "[package]" and found:
            break
        key, _, value = line.partition(" = ")
        if key in ("name", "version"):
            found.setdefault(key, value.strip('"'))
    return found["name"], found["version"]


def write_checksums(folder):
    """Of the files that are still there; the empty library is new."""
    path = folder / ".cargo-checksum.json"
    checksums = json.loads(path.read_text())
    checksums["files"] = {name: value for name, value in checksums["files"].items() if (folder / name).exists()}
    library = folder / "src/lib.rs"
    if library.exists() and library.stat().st_size == 0:
        checksums["files"]["src/lib.rs"] = hashlib.sha256(b"").hexdigest()
    path.write_text(json.dumps(checksums))


def empty(folder):
    for path in folder.iterdir():
        if path.name in ("Cargo.toml", ".cargo-checksum.json"):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    (folder / "src").mkdir()
    (folder / "src/lib.rs").touch()
    write_checksums(folder)


def trim(folder):
    for name in UNUSED:
        shutil.rmtree(folder / name, ignore_errors=True)
    write_checksums(folder)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    crates = set().union(*map(needed, sys.argv[2:]))
    count = 0
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        if identity(folder) in crates:
            trim(folder)
        else:
            empty(folder)
            count += 1
    print(count)


if __name__ == "__main__":
    main()
