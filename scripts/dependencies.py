#!/usr/bin/env python3
"""What a package has of third parties, from `cargo metadata`.

usage: dependencies.py sbom|licences PACKAGE[,PACKAGE] TARGET [FEATURES]

`sbom` prints a bill of materials (CycloneDX 1.5, JSON), `licences` the licence texts. Both list the crates
that are linked for TARGET, without those that only build or test. SOURCE_DATE_EPOCH is the date of the bill.
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import uuid

TEXTS = ("license", "licence", "copying", "unlicense", "notice", "copyright")


def metadata(target, features):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    if features:
        command += ["--features", features]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(data, wanted):
    """The packages and what they link, by identifier, with the crates that each uses."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    names = {p["id"]: p["name"] for p in data["packages"]}
    macros = {p["id"] for p in data["packages"] if any("proc-macro" in t["kind"] for t in p["targets"])}
    open_ids = [i for i, name in names.items() if name in wanted and i in data["workspace_members"]]
    found = {}
    while open_ids:
        crate = open_ids.pop()
        if crate in found:
            continue
        normal = [d["pkg"] for d in nodes[crate]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
        # Procedural macros and what they use run in the compiler.
        found[crate] = sorted(set(normal) - macros)
        open_ids += found[crate]
    return found


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind="library"):
    entry = {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    return entry


def checksums():
    """Checksums of Cargo.lock, by name and version."""
    found, name, version = {}, None, None
    for line in pathlib.Path("Cargo.lock").read_text().splitlines():
        key, _, value = line.partition(" = ")
        value = value.strip('"')
        if key == "name":
            name = value
        elif key == "version":
            version = value
        elif key == "checksum":
            found[name, version] = value
    return found


def sbom(data, wanted):
    packages = {p["id"]: p for p in data["packages"]}
    crates, sums = linked(data, wanted), checksums()
    root = next(i for i in crates if packages[i]["name"] == wanted[0])
    components = []
    for crate in sorted(crates, key=lambda i: purl(packages[i])):
        entry = component(packages[crate])
        checksum = sums.get((entry["name"], entry["version"]))
        if checksum:
            entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if crate != root:
            components.append(entry)
    dependencies = [
        {"ref": purl(packages[i]), "dependsOn": sorted(purl(packages[d]) for d in uses)}
        for i, uses in sorted(crates.items(), key=lambda item: purl(packages[item[0]]))
    ]
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    content = json.dumps([components, dependencies], sort_keys=True)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[root], "application"),
        },
        "components": components,
        "dependencies": dependencies,
    }
    print(json.dumps(bill, indent=1))


def licences(data, wanted):
    """Equal texts once, under the crates that have them."""
    packages = {p["id"]: p for p in data["packages"]}
    texts = {}
    without = []
    for crate in sorted(linked(data, wanted), key=lambda i: purl(packages[i])):
        p = packages[crate]
        if not p["source"]:
            continue
        title = f"{p['name']} {p['version']} ({p['license']})"
        folder = pathlib.Path(p["manifest_path"]).parent
        # libbpf-sys has libbpf in a folder of its own, and sources that are not compiled beside it.
        candidates = [*folder.iterdir(), *folder.glob("libbpf/*")]
        files = sorted(f for f in candidates if f.is_file() and f.name.lower().startswith(TEXTS))
        for file in files:
            texts.setdefault(file.read_text(errors="replace").strip(), []).append(title)
        if not files:
            without.append(title)
    print("Laxity is linked with these libraries, under the licences below.")
    for text, titles in texts.items():
        print("\n" + "=" * 78)
        print("\n".join(dict.fromkeys(titles)))
        print("-" * 78 + "\n" + text)
    if without:
        print("\n" + "=" * 78)
        print("These state their licence by name alone:\n" + "\n".join(without))


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("sbom", "licences"):
        sys.exit(__doc__)
    data = metadata(sys.argv[3], sys.argv[4] if len(sys.argv) == 5 else "")
    {"sbom": sbom, "licences": licences}[sys.argv[1]](data, sys.argv[2].split(","))


if __name__ == "__main__":
    main()
