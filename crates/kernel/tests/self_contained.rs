//! Each C header compiles alone, as the first thing of a translation unit.

#[path = "../build/clang.rs"]
mod clang;
#[path = "support/lacking.rs"]
mod lacking;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use lacking::lacking;

/// Functions that the algorithm headers declare and the program defines.
const PROVIDED: &str = "
#if defined(LAXITY_QUEUE_H) && !defined(LAXITY_QDISC_STATE_H)
LX_INLINE struct lx_slot *lx_slot(u32 i) { (void)i; return NULL; }
#endif
#if defined(LAXITY_FLOW_STATE_H) && !defined(LAXITY_QDISC_STATE_H)
LX_INLINE struct lx_flow_queue *lx_flow_queue(u32 i) { (void)i; return NULL; }
LX_INLINE struct lx_host_counts *lx_host_counts(u32 i) { (void)i; return NULL; }
#endif
#if defined(LAXITY_FLOW_QUEUE_H) && !defined(LAXITY_QDISC_STATE_H)
LX_INLINE struct lx_flow_order *lx_flow_order(u32 i) { (void)i; return NULL; }
#endif
#if defined(LAXITY_FLOW_IDENTITY_H) && !defined(LAXITY_QDISC_HEADERS_H)
LX_INLINE const u8 *lx_packet_slice(void *packet, u32 at, u8 *buffer, u32 n)
{ (void)packet; (void)at; (void)buffer; (void)n; return NULL; }
#endif
#ifdef LAXITY_PIPELINE_STATE_H
LX_INLINE void lx_drop(void *ctx, struct lx_slot *slot, u32 reason)
{ (void)ctx; (void)slot; (void)reason; }
LX_INLINE u8 lx_mark(void *ctx, struct lx_slot *slot) { (void)ctx; (void)slot; return 0; }
#endif
#if defined(LAXITY_PIPELINE_STATE_H) && !defined(LAXITY_QDISC_STATE_H)
LX_INLINE struct lx_served_flow *lx_served_flow(u32 i) { (void)i; return NULL; }
#endif
";

fn bpf() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

/// Headers by their paths below `bpf`.
fn headers() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["include/laxity", "qdisc", "scx"] {
        for entry in std::fs::read_dir(bpf().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().into_string().expect("a name");
            if Path::new(&name).extension().is_some_and(|e| e == "h") {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found.sort();
    found
}

/// Compiles a translation unit for each header, which includes it twice and nothing else.
fn compile_alone(compiler: &str, options: &[&str], kind: &str, headers: &[String]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("alone-{kind}-{}.c", std::process::id()));
    let mut faults = String::new();
    for header in headers {
        let include = format!("#include \"{}\"\n", bpf().join(header).display());
        std::fs::write(&source, format!("{include}{include}{PROVIDED}")).expect("a source");
        let output = Command::new(compiler)
            .args(["-Wall", "-Werror"])
            .args(options)
            .args(["-fsyntax-only", "-I"])
            .arg(bpf().join("include"))
            .arg(&source)
            .output()
            .expect("a compiler");
        if !output.status.success() {
            faults += &format!("{header}:\n{}\n", String::from_utf8_lossy(&output.stderr));
        }
    }
    let _ = std::fs::remove_file(&source);
    assert!(faults.is_empty(), "{faults}");
}

/// Fails when a header needs another one before it: tried without the includes of `release.h`.
#[test]
fn algorithm_headers_compile_alone_on_the_host() {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        lacking("there is no C compiler");
        return;
    }
    // `bpf.h` declares what only BPF has.
    let own = |h: &String| h.starts_with("include/") && h != "include/laxity/bpf.h";
    let headers: Vec<String> = headers().into_iter().filter(own).collect();
    compile_alone(&compiler, &["-std=c11", "-Wextra", "-Wno-unknown-pragmas"], "host", &headers);
}

/// Fails when a header needs another one before it: tried without the includes of `scx/decide.h`.
#[test]
fn headers_compile_alone_for_bpf() {
    let (clang, _) = match clang::find() {
        Ok(clang) => clang,
        Err(why) => {
            lacking(&why);
            return;
        }
    };
    // A callback that only a program uses.
    let options = ["-O2", "-target", "bpf", "-mcpu=v3", "-Wno-unused-function"];
    compile_alone(&clang, &options, "bpf", &headers());
}

/// Fails when an include stands below code, so that its place matters, and when two headers need
/// each other.
#[test]
fn includes_come_first_and_form_no_circle() {
    let mut includes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for header in headers() {
        let text = std::fs::read_to_string(bpf().join(&header)).expect("a header");
        let mut code = false;
        let own = includes.entry(header.clone()).or_default();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("#include ") {
                assert!(!code, "{header}: `{line}` stands below code");
                let folder = header.rsplit_once('/').expect("a folder").0;
                own.push(match name.strip_prefix('"') {
                    Some(name) => format!("{folder}/{}", name.trim_end_matches('"')),
                    None => format!("include/{}", name.trim_matches(['<', '>'])),
                });
            }
            let plain = ["/*", " *", "#", "\t"].iter().any(|start| line.starts_with(start));
            code |= !line.is_empty() && !plain;
        }
    }
    // Headers whose includes are all placed are placed; those of a circle never are.
    let mut placed: Vec<&String> = Vec::new();
    while placed.len() < includes.len() {
        let ready = |(name, needs): &(&String, &Vec<String>)| {
            !placed.contains(name) && needs.iter().all(|n| placed.contains(&n))
        };
        let next: Vec<&String> = includes.iter().filter(ready).map(|(name, _)| name).collect();
        let rest: Vec<_> = includes.keys().filter(|name| !placed.contains(name)).collect();
        assert!(!next.is_empty(), "a circle among {rest:?}");
        placed.extend(next);
    }
}
