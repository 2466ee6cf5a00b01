//! The load of an access link beside iperf3 and irtt, and the judge of what its router did; run in the
//! virtual machine.
//!
//! ```text
//! internet-load serve PORT                                pages and a film
//! internet-load fetch SERVER WARM TOTAL SEED              fetches them
//! internet-load late IN OUT KBIT PATH_US FLOW=PORT:US...  two captures of the router
//! internet-load queueing IN OUT FROM_MS TO_MS             of a queue for TCP's segments
//! ```
#![forbid(unsafe_code)]

mod frames;
mod late;
mod load;
mod queueing;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["serve", port] => load::serve(port).map_err(|e| e.to_string()),
        ["fetch", server, warm, total, seed] => {
            load::fetch(server, [warm, total, seed]).map_err(|e| e.to_string())
        }
        ["late", entered, left, rate, path, ref streams @ ..] => {
            late::late([entered, left], [rate, path], streams)
        }
        ["queueing", entered, left, from, to] => queueing::queueing([entered, left], [from, to]),
        _ => Err("internet-load serve|fetch|late|queueing ...".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("internet-load: {error}");
            ExitCode::from(2)
        }
    }
}
