//! The example of a UDP server that gets pacing, run.

#[path = "../examples/pace_udp.rs"]
mod pace_udp;

/// Fails when an inlet refuses what keeps to its stream's gap.
#[test]
fn an_ordinary_server_can_be_paced() {
    pace_udp::main().expect("nothing is refused");
}
