//! The counters of the headers, as user space reads them.

#[path = "support/headers.rs"]
mod headers;

use laxity_kernel::counts::Counts;

/// A demoted packet has no deadline. Fails when its delay is among those of packets that have one: the
/// longest delay was then beyond the deadline with no packet late.
#[test]
fn demoted_packets_are_counted_separately() {
    // Bytes, delay in ns, late, demoted.
    let sent: [[u64; 4]; 4] =
        [[100, 3_000, 0, 0], [200, 80_000_000, 0, 1], [300, 5_000, 1, 0], [400, 20_000_000, 0, 1]];
    let input = sent.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
    let Some(words) = headers::ask("counts.c", input) else { return };
    let bytes = words.iter().flat_map(|word| word.parse::<u64>().expect("a number").to_ne_bytes());
    let counts = Counts::read(&bytes.collect::<Vec<u8>>()).expect("as many words");
    assert_eq!((counts.packets, counts.bytes, counts.deadline_misses), (4, 1000, 1));
    assert_eq!((counts.delay_sum, counts.delay_max), (8_000, 5_000));
    assert_eq!(counts.quantile(1000), Some(5_000));
    assert_eq!(counts.delays().map(|(_, n)| n).sum::<u64>(), 2);
    let demoted = (counts.demoted, counts.demoted_sum, counts.demoted_max);
    assert_eq!(demoted, (2, 100_000_000, 80_000_000));
}
