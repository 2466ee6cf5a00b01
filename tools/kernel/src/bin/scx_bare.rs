//! Runs a sched_ext scheduler without a policy until it is killed: the cost of sched_ext itself, for
//! `make compare-cpu`.
//!
//! ```text
//! scx_bare          with the programs that a policy with run-time accounting needs, empty
//! scx_bare none     without any program
//! ```
#![forbid(unsafe_code)]

use libbpf_rs::{MapCore as _, ObjectBuilder};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bare.bpf.o"));

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "bare".into());
    if let Err(error) = run(&name) {
        eprintln!("scx_bare: {error}");
        std::process::exit(1);
    }
}

fn run(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    for mut map in open.maps_mut() {
        if map.name() != name {
            map.set_autocreate(false)?;
        }
    }
    let mut object = open.load()?;
    let scheduler = object.maps_mut().find(|map| map.name() == name);
    let _link = scheduler.ok_or("there are `bare` and `none`")?.attach_struct_ops()?;
    loop {
        std::thread::park();
    }
}
