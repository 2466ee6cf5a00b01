//! Messages of rtnetlink, put together by hand as `linux/pkt_sched.h` has them.

use laxity_tc::{ClassOptions, Config, Dump, Handle, Problem, QdiscOptions, Reader, TcError};
use proptest::prelude::*;

const INDEX: u32 = 7;

fn attribute(id: u16, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    out.extend_from_slice(&id.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

/// A message: `struct tcmsg`, kind, options.
fn message(handle: u32, parent: u32, kind: &str, options: &[u8]) -> Vec<u8> {
    let kind = [kind.as_bytes(), &[0]].concat();
    [words(&[0, INDEX, handle, parent, 0]), attribute(1, &kind), attribute(2, options)].concat()
}

/// `struct tc_ratespec` with overhead and smallest size.
fn rate(bytes: u32, overhead: u16, mpu: u16) -> Vec<u8> {
    let head = [0, 1, 0, 0].into_iter().collect::<Vec<u8>>();
    let mut out = head;
    out[2..4].copy_from_slice(&overhead.to_ne_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&mpu.to_ne_bytes());
    out.extend_from_slice(&bytes.to_ne_bytes());
    out
}

/// `struct tc_htb_opt`.
fn htb(level: u32, bytes: u32) -> Vec<u8> {
    let rest = words(&[31_250, 62_500, 1514, level, 3]);
    [rate(bytes, 24, 84), rate(bytes, 0, 0), rest].concat()
}

fn read(messages: &[(Dump, Vec<u8>)]) -> Result<Config, TcError> {
    let mut reader = Reader::default();
    for (dump, body) in messages {
        reader.message("eth0", INDEX, *dump, body)?;
    }
    reader.finish()
}

fn root() -> (Dump, Vec<u8>) {
    let init = attribute(2, &words(&[3, 10, 0x30, 0, 5]));
    (Dump::Qdiscs, message(0x1_0000, u32::MAX, "htb", &init))
}

// Fails when a rate beyond 32 bits, a tick, an overhead or the level of a class is read at the wrong place.
#[test]
fn htb_in_full() {
    let large = attribute(6, &1_250_000_000u64.to_ne_bytes());
    let leaf = [attribute(1, &htb(0, u32::MAX)), large].concat();
    let class = (Dump::Classes, message(0x1_0010, 0x1_0001, "htb", &leaf));
    let inner =
        (Dump::Classes, message(0x1_0001, u32::MAX, "htb", &attribute(1, &htb(7, 1_250_000))));
    let filter = attribute(1, &words(&[0x1_0010]));
    let main = Handle { major: 1, minor: 0 };
    let filter = (Dump::Filters(main), message(1, 0x1_0000, "flower", &filter));
    let config = read(&[root(), class, inner, filter]).expect("messages");
    assert_eq!(config.qdiscs[0].options, QdiscOptions::Htb { default: 0x30, direct_packets: 5 });
    assert_eq!((config.device.as_deref(), config.rounded), (Some("eth0"), false));
    let [inner, leaf] = config.classes.as_slice() else { panic!("two classes") };
    assert!(inner.inner && !leaf.inner);
    let ClassOptions::Htb(inner) = inner.options else { panic!("no htb") };
    // 31,250 ticks of 64 ns are 2 ms.
    assert_eq!((inner.rate, inner.burst, inner.cburst, inner.prio), (10_000_000, 2500, 5000, None));
    let ClassOptions::Htb(leaf) = leaf.options else { panic!("no htb") };
    assert_eq!((leaf.rate, leaf.burst, leaf.prio), (10_000_000_000, 2_500_000, Some(3)));
    assert_eq!((leaf.overhead, leaf.mpu), (24, 84));
    assert_eq!(config.filters[0].class.to_string(), "1:10");
}

// Fails when an attribute that may change a rate is passed over, or a missing one is guessed.
#[test]
fn unknown_and_missing_attributes_are_named() {
    let unknown = [attribute(1, &htb(0, 1000)), attribute(40, &[1])].concat();
    let error = read(&[root(), (Dump::Classes, message(0x1_0010, 0x1_0000, "htb", &unknown))]);
    let error = error.expect_err("unknown");
    assert!(matches!(error.problem, Problem::UnknownAttribute { id: 40, .. }), "{error}");
    assert!(error.to_string().contains("class htb 1:10 has the unknown attribute 40"), "{error}");
    let short = attribute(1, &htb(0, 1000)[..20]);
    let error = read(&[root(), (Dump::Classes, message(0x1_0010, 0x1_0000, "htb", &short))]);
    let error = error.expect_err("too short");
    assert!(error.to_string().contains("lacks TCA_HTB_PARMS"), "{error}");
    // Of another interface.
    let mut other = message(0x1_0000, u32::MAX, "sfb", &[]);
    other[4] = 9;
    assert!(read(&[(Dump::Qdiscs, other)]).expect("nothing").qdiscs.is_empty());
}

proptest! {
    // Fails when a cut or wrong length makes the reader panic or read beyond a message.
    #[test]
    fn no_message_makes_the_reader_panic(
        kind in prop::sample::select(vec![
            "hfsc", "htb", "prio", "tbf", "cbs", "taprio", "mqprio", "cake", "ets", "bfifo", "drr", "x",
        ]),
        options in prop::collection::vec(any::<u8>(), 0..120),
        cut in 0usize..200,
        dump in prop::sample::select(vec![Dump::Qdiscs, Dump::Classes]),
    ) {
        let mut body = message(0x1_0000, u32::MAX, kind, &options);
        body.truncate(body.len().saturating_sub(cut));
        let _ = read(&[(dump, body)]);
    }
}
