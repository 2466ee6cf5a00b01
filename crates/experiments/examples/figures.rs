//! Writes the documentation's figures.
//!
//! `cargo run -p laxity-experiments --example figures -- docs/figures`
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("usage: figures FOLDER")?.into();
    std::fs::create_dir_all(&folder)?;
    for (name, svg) in laxity_experiments::diagrams::all()? {
        std::fs::write(folder.join(name), svg)?;
    }
    Ok(())
}
