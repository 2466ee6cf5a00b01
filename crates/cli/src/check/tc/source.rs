//! Where configurations come from: files and standard input with output of `tc`, or the kernel.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use laxity_tc::{Config, MAX_INPUT, Reader};

use super::rtnetlink::interface;
use crate::failure::Failure;

/// Names of the dumps in a directory.
const SECTIONS: [&str; 3] = ["qdisc", "class", "filter"];

/// The configurations to read, each with the interface, where it is one of this machine.
pub fn configs(input: &str) -> Result<Vec<(Option<String>, Config)>, Failure> {
    if input.is_empty() {
        return all_interfaces();
    }
    let path = Path::new(input);
    if input == "-" || path.is_file() {
        let mut reader = Reader::default();
        let (name, text) = match input {
            "-" => ("standard input", bounded(&mut std::io::stdin().lock(), input)?),
            _ => (input, file(path)?),
        };
        reader.text(name, &text).map_err(Failure::input)?;
        return Ok(vec![(None, reader.finish().map_err(Failure::input)?)]);
    }
    if path.is_dir() {
        return Ok(vec![(None, directory(path)?)]);
    }
    if is_interface(input) {
        return Ok(vec![(Some(input.to_owned()), interface(input)?)]);
    }
    Err(Failure::Input(format!(
        "{input}: neither a file nor an interface of this machine; give a file with the output of tc"
    )))
}

/// Whether this machine has an interface of the name.
fn is_interface(name: &str) -> bool {
    !name.contains('/') && name != ".." && Path::new("/sys/class/net").join(name).exists()
}

/// The speed of an interface in Mbit/s, where its driver knows it.
pub fn speed(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/sys/class/net").join(name).join("speed"));
    text.ok()?.trim().parse::<u64>().ok().filter(|mbit| *mbit > 0)
}

fn bounded(from: &mut impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_INPUT as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|e| Failure::Input(format!("{name}: {e}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::Input(format!("{name}: not UTF-8 text")))
}

fn file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let mut file = File::open(path).map_err(|e| Failure::Input(format!("{name}: {e}")))?;
    bounded(&mut file, &name)
}

fn directory(path: &Path) -> Result<Config, Failure> {
    let mut reader = Reader::default();
    let mut found = false;
    for section in SECTIONS {
        for form in ["json", "txt"] {
            let path = path.join(format!("{section}.{form}"));
            if path.is_file() {
                found |= section == "qdisc";
                let name = path.display().to_string();
                reader.text(&name, &file(&path)?).map_err(Failure::input)?;
            }
        }
    }
    if !found {
        return Err(Failure::Input(format!(
            "{}: neither qdisc.json nor qdisc.txt in it; write `tc -s -d qdisc show dev DEV` to the latter",
            path.display()
        )));
    }
    reader.finish().map_err(Failure::input)
}

/// All interfaces with a queue.
fn all_interfaces() -> Result<Vec<(Option<String>, Config)>, Failure> {
    let entries = std::fs::read_dir("/sys/class/net");
    let entries = entries.map_err(|e| Failure::Lacking(format!("/sys/class/net: {e}")))?;
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_interface(name)).collect();
    names.sort();
    let mut out = Vec::new();
    for name in names {
        let config = interface(&name)?;
        if config.qdiscs.iter().any(|q| q.options.kind() != "noqueue") {
            out.push((Some(name), config));
        }
    }
    if out.is_empty() {
        return Err(Failure::Input(
            "no interface has a queueing discipline; give a file".to_owned(),
        ));
    }
    Ok(out)
}
