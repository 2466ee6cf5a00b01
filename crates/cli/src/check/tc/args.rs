//! Options of `laxity check --tc`.

use clap::Args;
use laxity_core::{Bytes, Rate, Span};
use laxity_scenario::quantity::{self, QuantityError};
use laxity_tc::Handle;

/// Options about the kernel's queueing disciplines.
#[derive(Debug, Args)]
pub struct TcArgs {
    /// Judge queueing disciplines instead: dumps of tc (a file, a directory with qdisc.json, class.txt, ..,
    /// or - for standard input), an interface, or without a value all interfaces.
    #[arg(long, value_name = "FILE|DEV", num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["report", "blocking"])]
    pub tc: Option<String>,
    /// Rate at which the device takes packets; the default is the scenario's, then the interface's speed.
    #[arg(long, value_name = "RATE", requires = "tc", value_parser = parse_rate)]
    pub link_rate: Option<Rate>,
    /// Rate of the slowest hop behind the device.
    #[arg(long, value_name = "RATE", requires = "tc", value_parser = parse_rate)]
    pub slower_hop: Option<Rate>,
    /// Largest packet as queued, up to 65549 B with segmentation offload; the default is the scenario's,
    /// then 1514 B.
    #[arg(long, value_name = "SIZE", requires = "tc", value_parser = parse_packet)]
    pub queued_packet: Option<Bytes>,
    /// How late a timer of the kernel may be.
    #[arg(long, value_name = "TIME", requires = "tc", default_value = "0 ms", value_parser = parse_span)]
    pub timer_lateness: Span,
    /// Burst whose delay is printed for classes without flows; the default is a packet.
    #[arg(long, value_name = "SIZE", requires = "tc", value_parser = parse_burst)]
    pub burst: Option<Bytes>,
    /// Class of a flow of the scenario, such as voice=1:10; once for each flow.
    #[arg(long, value_name = "FLOW=CLASS", requires = "tc", value_parser = parse_class)]
    pub class: Vec<(String, Handle)>,
}

fn text(error: &QuantityError) -> String {
    format!("{}; {}", error.reason(), error.remedy())
}

fn parse_rate(value: &str) -> Result<Rate, String> {
    match quantity::rate(value).map_err(|e| text(&e))? {
        Rate(0) => Err("nothing passes at 0; give a positive rate".to_owned()),
        rate => Ok(rate),
    }
}

fn parse_packet(value: &str) -> Result<Bytes, String> {
    match quantity::bytes(value).map_err(|e| text(&e))? {
        size if (64..=1_000_000).contains(&size.0) => Ok(size),
        _ => Err("give 64 B to 1 MB".to_owned()),
    }
}

fn parse_burst(value: &str) -> Result<Bytes, String> {
    match quantity::bytes(value).map_err(|e| text(&e))? {
        size if size <= laxity_curve::MAX_BURST => Ok(size),
        _ => Err(format!("give at most {}", laxity_curve::MAX_BURST)),
    }
}

fn parse_span(value: &str) -> Result<Span, String> {
    quantity::span(value).map_err(|e| text(&e))
}

fn parse_class(value: &str) -> Result<(String, Handle), String> {
    let wrong = || format!("write FLOW=MAJOR:MINOR, such as voice=1:10, not `{value}`");
    let (flow, class) = value.rsplit_once('=').ok_or_else(wrong)?;
    Ok((flow.to_owned(), Handle::parse(class).ok_or_else(wrong)?))
}
