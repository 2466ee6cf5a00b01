//! `laxity-rtkit`: serves `org.freedesktop.RealtimeKit1` on the system bus.
#![deny(unsafe_code)]

mod args;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use clap::Parser as _;
use laxity_daemon::journal::{Messages, Priority};
use laxity_daemon::privileges::{Bpf, Capabilities, deny_system_calls, retain};
use laxity_reserve::Client;
use laxity_rtkit::{Config, NAME, Supervisor, serve};
use zbus::blocking::MessageIterator;
use zbus::blocking::connection::Builder;

use crate::args::Args;

/// Exit status of the command: refused, and something is missing.
const REFUSED: u8 = 1;
const LACKING: u8 = 3;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args.config()) {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, text)) => {
            say(Priority::Error, &text);
            ExitCode::from(status)
        }
    }
}

/// Prints a message, or sends it to systemd's journal.
fn say(priority: Priority, text: &str) {
    static MESSAGES: OnceLock<Messages> = OnceLock::new();
    MESSAGES.get_or_init(|| Messages::of("laxity-rtkit")).send(priority, text, &[]);
}

/// Serves until the bus ends the connection, or root asks for the end.
fn run(config: Config) -> Result<(), (u8, String)> {
    // Nice values of other users' threads.
    for result in [retain(Capabilities::SYS_NICE), deny_system_calls(Bpf::Denied)] {
        if let Err(error) = result {
            say(Priority::Notice, &format!("note: privileges cannot be dropped: {error}"));
        }
    }
    let supervisor = Arc::new(Supervisor::new(config, Client::unconnected()));
    let bus = Builder::system().map_err(|e| (LACKING, format!("the system bus: {e}")))?;
    let connection = serve(bus, Arc::clone(&supervisor)).map_err(|error| match error {
        zbus::Error::NameTaken => {
            let text =
                format!("{NAME} has an owner; `systemctl stop rtkit-daemon` if it is RealtimeKit");
            (REFUSED, text)
        }
        error => (LACKING, format!("the system bus: {error}")),
    })?;
    let refining = std::thread::Builder::new().name("refine".to_owned());
    let shared = Arc::clone(&supervisor);
    refining.spawn(move || shared.run()).map_err(|e| (LACKING, e.to_string()))?;
    say(Priority::Info, &format!("{NAME} makes reservations"));
    // Ends with the connection. The object server reads the messages as well.
    MessageIterator::from(connection).for_each(drop);
    if supervisor.exits() {
        return Ok(());
    }
    Err((LACKING, "the system bus has ended the connection".to_owned()))
}
