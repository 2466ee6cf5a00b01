//! Prints how many events a second a simulation with 100 CUBIC downloads makes, in time of this process.
//!
//! `cargo run --release -p laxity-transport --example events`

#[path = "../tests/network/mod.rs"]
mod network;

use std::time::Instant;

use laxity_core::{Rate, Span, Time};
use laxity_transport::app::{Bulk, Pairs, TcpApplication};
use laxity_transport::congestion::Cubic;
use laxity_transport::{Config, Direction};
use network::{MS, Network};

fn main() {
    let mut network = Network::new(Rate(1_000_000_000), Rate(100_000_000), 5_000, Span(40 * MS));
    for i in 0..100 {
        let control = || Box::new(Cubic::default()) as _;
        let pairs = Pairs::new(1, Config::default(), &control);
        network.add(TcpApplication::new(Time(i * MS), Bulk::new(Direction::Down, None), pairs));
    }
    network.run(Time(2_000 * MS));
    let (before, start) = (network.events, Instant::now());
    network.run(Time(12_000 * MS));
    let (events, elapsed) = (network.events - before, start.elapsed());
    let rate = events as f64 / elapsed.as_secs_f64();
    println!("{events} events of 10 s in {elapsed:.2?}: {:.2} million a second", rate / 1e6);
}
