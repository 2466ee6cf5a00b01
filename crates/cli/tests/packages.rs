//! The Debian package: its files, its description, its maintainer scripts. `make packages-test` installs it.

mod support;

use std::path::Path;
use std::process::{Command, Output};

// Makes cargo build the libraries before this test.
use laxity_reserve_c as _;
use support::{Folder, file};

/// A package of the command and the libraries that were built for the tests; `None`, with the reason said, where
/// there is no program for it.
fn package(folder: &Folder) -> Option<String> {
    let libraries = std::env::current_exe().expect("a path");
    let libraries = libraries.parent().expect("a folder");
    std::fs::create_dir(folder.path("built")).expect("a folder");
    std::fs::copy(env!("CARGO_BIN_EXE_laxity"), folder.path("built/laxity")).expect("a copy");
    // Cargo does not build that of another crate for this test; any program has its place.
    std::fs::copy("/bin/true", folder.path("built/laxity-rtkit")).expect("a copy");
    for name in ["liblaxity_reserve_c.so", "liblaxity_reserve_c.a"] {
        std::fs::copy(libraries.join(name), folder.path("built/") + name).expect("a copy");
    }
    let preload = folder.path("built/liblaxity_preload.so");
    std::fs::copy(libraries.join("liblaxity_reserve_c.so"), preload).expect("a copy");
    for program in ["dpkg-deb", "dpkg-shlibdeps"] {
        if Command::new(program).arg("--version").output().is_err() {
            let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
            assert!(!required, "LAXITY_REQUIRE_ALL=1, and no {program}");
            eprintln!("skipped: no {program}");
            return None;
        }
    }
    let mut script = Command::new("bash");
    script.arg(file("scripts/package-deb.sh")).args([folder.path("built"), folder.path("out")]);
    script.arg(file("LICENSE-MIT")).env("SOURCE_DATE_EPOCH", "1750000000");
    script.env("COMPRESSION", "none");
    Some(output_of(&script.output().expect("bash starts")).trim().to_owned())
}

#[track_caller]
fn output_of(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    out.into_owned()
}

fn dpkg_deb(arguments: &[&str]) -> String {
    output_of(&Command::new("dpkg-deb").args(arguments).output().expect("dpkg-deb starts"))
}

/// The committed list of the package has each file with its mode; man pages, scenarios and Python files, which others
/// list, by their folders. `LAXITY_BLESS=1` writes it.
///
/// Fails when a file is missing, stands elsewhere or has another mode, when a dependency or field is missing, when a
/// maintainer script is not executable, or when a unit starts a command elsewhere: tried without the drop-in of the
/// socket, with the zsh completions where `make install` puts them, without `passwd`, and with the prefix /usr/local.
#[test]
fn the_debian_package_has_its_files_and_fields() {
    let folder = Folder::new("package");
    let Some(package) = package(&folder) else { return };
    let mut lines: Vec<String> = Vec::new();
    for line in dpkg_deb(&["--contents", &package]).lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (mode, owner, path) = (columns[0], columns[1], columns[5..].join(" "));
        assert_eq!(owner, "root/root", "{line}");
        let parent = Path::new(&path).parent().expect("a folder");
        let path = match parent.to_str().expect("a path in UTF-8") {
            "./usr/share/man/man1" if path.ends_with(".1.gz") => {
                format!("{}/*.1.gz", parent.display())
            }
            "./usr/share/laxity/scenarios" => format!("{}/*", parent.display()),
            "./usr/share/laxity/python/laxity" => format!("{}/*", parent.display()),
            _ => path,
        };
        if !mode.starts_with('d') {
            lines.push(format!("{mode} {path}"));
        }
    }
    lines.dedup();
    let (path, text) = (file("packaging/debian/files"), lines.join("\n") + "\n");
    if std::env::var_os("LAXITY_BLESS").is_some() {
        std::fs::write(&path, &text).expect("it is written");
    }
    let committed = std::fs::read_to_string(&path).expect("a list");
    assert_eq!(text, committed, "left: in the package, right: in packaging/debian/files");

    let field = |name: &str| dpkg_deb(&["--field", &package, name]).trim().to_owned();
    assert_eq!(field("Package"), "laxity");
    assert_eq!(field("Version"), env!("CARGO_PKG_VERSION"));
    assert!(
        field("Depends").split(", ").any(|d| d.starts_with("libc6 (>= ")),
        "{}",
        field("Depends")
    );
    assert!(field("Depends").split(", ").any(|d| d == "passwd"), "{}", field("Depends"));
    assert!(field("Installed-Size").parse::<u32>().is_ok_and(|size| size > 1000));
    assert!(!field("Description").is_empty());
    dpkg_deb(&["--control", &package, &folder.path("control")]);
    let conffiles = std::fs::read_to_string(folder.path("control/conffiles")).expect("a list");
    assert_eq!(conffiles, "/etc/laxity/cpu.env\n");
    for script in ["postinst", "prerm", "postrm"] {
        let script = folder.path("control/") + script;
        assert!(
            output_of(&Command::new("bash").args(["-n", &script]).output().expect("bash"))
                .is_empty()
        );
        let found = Command::new(&script).arg("unknown").output().expect("it is executable");
        assert_eq!(output_of(&found), "", "{script} does something when it is asked nothing");
    }
    units_start_the_command_of(&package, &folder);
}

/// The units of the package start the command that it has, and its drop-in sets the group.
fn units_start_the_command_of(package: &str, folder: &Folder) {
    dpkg_deb(&["--extract", package, &folder.path("root")]);
    let units = Path::new(&folder.path("root")).join("usr/lib/systemd/system");
    let mut seen = 0;
    for entry in std::fs::read_dir(&units).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "service") {
            let text = std::fs::read_to_string(&path).expect("a unit");
            for line in text.lines().filter(|line| line.starts_with("Exec")) {
                let own = ["/usr/bin/laxity ", "/usr/bin/laxity-rtkit "];
                assert!(own.iter().any(|own| line.contains(own)), "{}: {line}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 9, "{seen}");
    let text = std::fs::read_to_string(units.join("laxity-cpu-reservations.socket.d/group.conf"));
    assert!(text.expect("a drop-in").contains("SocketGroup=laxity"));
}

/// Stand-ins for procd and UCI, with the two sections of the example, enabled.
const STAND_INS: &str = r#"
config_load() { :; }
config_foreach() { case $2 in bridge) bridge wan ;; tun) tun slow ;; esac; }
config_get() {
    value=
    case $2.$3 in
        *.scenario) value=/etc/laxity/home-router.toml ;;
        wan.in) value=eth1 ;;
        wan.out | slow.out) value=eth0 ;;
        slow.name) value=$NAME ;;
        wan.listen) value=127.0.0.1:9403 ;;
    esac
    eval "$1=\$value"
}
config_get_bool() { eval "$1=\$ENABLED"; }
logger() { echo "log $*"; }
procd_open_instance() { printf 'instance %s\n' "$1"; }
procd_set_param() { case $1 in command) shift; printf '%s' "$*" ;; esac; }
procd_append_param() { shift; printf ' %s' "$*"; }
procd_close_instance() { echo; }
"#;

/// The init script for OpenWrt calls the command with options that it has.
///
/// Fails when an option is renamed, a section that is not enabled starts, or one without a needed option does: tried
/// with `output` in place of `out`.
#[test]
fn the_init_script_for_openwrt_starts_links() {
    let script =
        std::fs::read_to_string(file("packaging/openwrt/files/laxity.init")).expect("a script");
    let start = |enabled: &str, name: &str| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{STAND_INS}\n{script}\nstart_service || :"));
        output_of(&shell.env("ENABLED", enabled).env("NAME", name).output().expect("sh"))
    };
    assert_eq!(start("0", "tun0"), "");
    let lacking = start("1", "");
    assert!(
        lacking.contains("section slow lacks the option name") && !lacking.contains("link tun")
    );
    let started = start("1", "tun0");
    let commands = [
        "instance wan\n/usr/bin/laxity link bridge /etc/laxity/home-router.toml --in eth1 --out eth0 --listen 127.0.0.1:9403\n",
        "instance slow\n/usr/bin/laxity link tun /etc/laxity/home-router.toml --name tun0 --out eth0\n",
    ];
    assert_eq!(started, commands.concat());
    for line in started.lines().filter_map(|line| line.strip_prefix("/usr/bin/laxity ")) {
        let words = line.replace("/etc/laxity/", "/nowhere/");
        let output = Command::new(env!("CARGO_BIN_EXE_laxity")).args(words.split(' ')).output();
        let error = String::from_utf8_lossy(&output.expect("it starts").stderr).into_owned();
        assert!(!error.contains("Usage:"), "{line}: {error}");
    }
}

/// Fails when the recipe for OpenWrt has another version than the workspace.
#[test]
fn the_recipe_for_openwrt_has_this_version() {
    let recipe = std::fs::read_to_string(file("packaging/openwrt/Makefile")).expect("a recipe");
    assert!(recipe.contains(&format!("\nPKG_VERSION:={}\n", env!("CARGO_PKG_VERSION"))));
}

/// The bill of materials has what is linked, with licence and checksum, and nothing else; the licence texts are of the same
/// crates.
///
/// Fails when crates of tests or of build scripts are listed, or linked ones are not: tried with all kinds of
/// dependencies.
#[test]
fn the_bill_of_materials_lists_linked_crates() {
    let dependencies = |what: &str| {
        let mut python = Command::new("python3");
        python.arg(file("scripts/dependencies.py")).args([what, "laxity-cli"]);
        python.args(["x86_64-unknown-linux-gnu", "laxity-cli/kernel"]).current_dir(file(""));
        output_of(&python.env("SOURCE_DATE_EPOCH", "1750000000").output().expect("python3 starts"))
    };
    let text = dependencies("sbom");
    assert_eq!(text, dependencies("sbom"), "two runs differ");
    let bill: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bill["metadata"]["timestamp"], "2025-06-15T15:06:40Z");
    let components = bill["components"].as_array().expect("components");
    let names: Vec<&str> = components.iter().map(|c| c["name"].as_str().expect("a name")).collect();
    for linked in ["clap", "serde_json", "libbpf-rs", "libbpf-sys", "laxity-userlink"] {
        assert!(names.contains(&linked), "{linked} is not in {names:?}");
    }
    for other in
        ["proptest", "loom", "cc", "syn", "clap_derive", "laxity-cli", "laxity-tools-kernel"]
    {
        assert!(!names.contains(&other), "{other} is in {names:?}");
    }
    let licences = dependencies("licences");
    for component in components {
        let name = component["name"].as_str().expect("a name");
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        if !name.starts_with("laxity-") {
            assert_eq!(component["hashes"][0]["alg"], "SHA-256", "{component}");
            let title = format!("\n{name} {} (", component["version"].as_str().expect("a version"));
            assert!(licences.contains(&title), "no licence of {name}");
        }
    }
}
