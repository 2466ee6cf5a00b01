//! Compiles the BPF programs for the feature `kernel`, and writes down the layout of the structures that
//! they share with the loader.

#[cfg(feature = "kernel")]
#[path = "build/clang.rs"]
mod clang;
#[cfg(feature = "kernel")]
#[path = "build/compile.rs"]
mod compile;

use std::fmt::Write as _;
#[cfg(feature = "kernel")]
use std::path::Path;
use std::path::PathBuf;
use std::process::exit;

/// Sources, and the objects, which the loaders embed compressed.
#[cfg(feature = "kernel")]
const SOURCES: [(&str, &str); 2] =
    [("bpf/qdisc/laxity.bpf.c", "laxity.bpf.o"), ("bpf/scx/laxity_cpu.bpf.c", "laxity_cpu.bpf.o")];

/// The lists of structures and constants, and the modules that are made of them.
const INTERFACES: [(&[&str], &str); 2] =
    [(&["bpf/qdisc/intf.h"], "link"), (&["bpf/scx/intf.h", "bpf/scx/state.h"], "cpu")];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=LAXITY_CLANG");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let layout = INTERFACES.iter().map(|(sources, module)| layout(sources, module));
    let written = layout
        .collect::<Result<String, String>>()
        .and_then(|text| std::fs::write(out.join("layout.rs"), text).map_err(|e| e.to_string()));
    if let Err(error) = written {
        eprintln!("the layout of structures cannot be written down: {error}");
        exit(1);
    }
    #[cfg(feature = "kernel")]
    compile_programs(&out);
}

#[cfg(feature = "kernel")]
fn compile_programs(out: &Path) {
    for (source, object) in SOURCES {
        let include = [Path::new("bpf/include")];
        let object = out.join(object);
        let written = compile::compile(Path::new(source), &include, &object).and_then(|version| {
            // The verifier's cost depends on it.
            println!("cargo::rustc-env=LAXITY_CLANG_VERSION={version}");
            compress(&object).map_err(|e| format!("{}: {e}", object.display()))
        });
        if let Err(error) = written {
            eprintln!("the BPF programs do not compile: {source}: {error}");
            exit(1);
        }
    }
}

/// Writes the compressed object that the loader embeds, beside the object.
#[cfg(feature = "kernel")]
fn compress(object: &Path) -> std::io::Result<()> {
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&std::fs::read(object)?, 9);
    std::fs::write(object.with_extension("o.zlib"), compressed)
}

/// A module with the numbers of some lists, which the compiler of the programs checks there.
fn layout(sources: &[&str], module: &str) -> Result<String, String> {
    let mut text = String::new();
    for source in sources {
        text += &std::fs::read_to_string(source).map_err(|e| format!("{source}: {e}"))?;
    }
    let mut lines = format!("pub(crate) mod {module} {{\n    use super::Field;\n");
    let mut structs: Vec<(&str, String)> = Vec::new();
    let mut ends: Vec<(&str, usize)> = Vec::new();
    for line in text.lines() {
        let Some((kind, rest)) = line.split_once('(') else { continue };
        let arguments: Vec<&str> = rest.trim_end_matches(");").split(", ").collect();
        let (name, line) = match (kind, &arguments[..]) {
            ("LX_FIELD", [name, field, at, bytes]) => {
                let number = |n: &str| n.parse::<usize>().map_err(|_| format!("{module}: {line}"));
                ends.push((*name, number(at)? + number(bytes)?));
                let field = field.to_uppercase();
                let value = format!("Field {{ at: {at}, bytes: {bytes} }}");
                (*name, format!("        pub(crate) const {field}: Field = {value};\n"))
            }
            ("LX_SIZE", [name, bytes]) => {
                // Without the compiler of the programs nothing else notices a size left unchanged.
                let size: usize = bytes.parse().map_err(|_| format!("{module}: {line}"))?;
                if ends.iter().any(|(of, end)| of == name && *end > size) {
                    return Err(format!("{module}: {name} has fields beyond its {size} bytes"));
                }
                (*name, format!("        pub(crate) const SIZEOF: usize = {bytes};\n"))
            }
            ("LX_VALUE", [name, value]) => {
                let _ = writeln!(lines, "    pub(crate) const {name}: u64 = {value};");
                continue;
            }
            ("LX_FIELD" | "LX_SIZE" | "LX_VALUE", _) => return Err(format!("{module}: {line}")),
            _ => continue,
        };
        match structs.last_mut().filter(|(last, _)| *last == name) {
            Some((_, lines)) => *lines += &line,
            None => structs.push((name, line)),
        }
    }
    for (name, fields) in structs {
        let _ = writeln!(
            lines,
            "    pub(crate) mod {name} {{\n        use super::Field;\n{fields}    }}"
        );
    }
    Ok(lines + "}\n")
}
