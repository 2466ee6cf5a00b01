//! The fuzz targets on the corpus and on a fixed number of seeded mutations of it.
//!
//! A failure prints the input; put it into `corpus/` under a descriptive name.

mod support;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use laxity_trace::fuzz;
use support::Bytes;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 10_000;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)
}

/// The files of a corpus, in the order of their names.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 8, "the corpus {name} is missing");
    files
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, 0 for an `n` of 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn mutate(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(data.len());
    match random.below(7) {
        0 | 1 => {
            if let Some(byte) = data.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => data.truncate(at),
        3 => {
            data.truncate(at);
            data.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        4 => {
            let end = (at + random.below(64)).min(data.len());
            let part = data[at..end].to_vec();
            data.splice(at..at, part);
        }
        5 => {
            let end = (at + 1 + random.below(8)).min(data.len());
            data.drain(at..end);
        }
        _ => {
            // A length field with a value that lengths go wrong with.
            let near = (data.len() as u32).wrapping_add(random.below(17) as u32).wrapping_sub(8);
            let values =
                [0, 1, 3, 4, 8, 12, 28, 0xffff, 1 << 20, 1 << 24, 0x7fff_ffff, u32::MAX, near];
            let value = values[random.below(values.len())];
            let bytes =
                if random.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
            let at = at / 4 * 4;
            let width = [2, 4][random.below(2)];
            for (slot, byte) in data.iter_mut().skip(at).zip(&bytes[4 - width..]) {
                *slot = *byte;
            }
        }
    }
}

fn run(name: &str, target: fn(&[u8])) {
    let files = corpus(name);
    let check = |what: &str, data: &[u8]| {
        if catch_unwind(AssertUnwindSafe(|| target(data))).is_err() {
            panic!("{name}: {what} fails on {data:02x?}");
        }
    };
    let mut random = Random(0x1a71);
    for (file, data) in &files {
        check(file, data);
        for length in 0..data.len() {
            check(&format!("{file} cut to {length}"), &data[..length]);
        }
        for n in 0..MUTATIONS {
            let mut data = data.clone();
            let other = &files[random.below(files.len())].1;
            for _ in 0..=random.below(4) {
                mutate(&mut data, other, &mut random);
            }
            check(&format!("{file}, mutation {n}"), &data);
        }
    }
    assert_bounded_memory();
}

/// All of these inputs are small, whatever lengths they claim.
fn assert_bounded_memory() {
    if let Some(peak) = support::peak_memory() {
        assert!(peak < 64 << 20, "{peak} bytes at the peak");
    }
}

#[test]
fn capture() {
    run("capture", fuzz::capture);
}

#[test]
fn decode() {
    run("decode", fuzz::decode_frame);
}

#[test]
fn flow() {
    run("decode", fuzz::flow);
}

#[test]
fn csv() {
    run("csv", fuzz::csv);
}

/// The part of the corpus that is built by hand. `LAXITY_BLESS=1 cargo test -p laxity-trace --test
/// fuzz_corpus the_corpus_holds` writes it. Fails when a file of it was changed or removed.
#[test]
fn the_corpus_holds_the_handmade_files() {
    let bless = std::env::var_os("LAXITY_BLESS").is_some();
    let put = |kind: &str, name: &str, bytes: &[u8]| {
        if bless {
            fs::create_dir_all(folder(kind)).unwrap();
            fs::write(folder(kind).join(name), bytes).unwrap();
        }
        let kept = fs::read(folder(kind).join(name)).unwrap_or_default();
        assert!(kept == bytes, "{kind}/{name} is not as built; see above this test");
    };
    let packet = [
        0x45, 0xb8, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x8c, 0x13,
        0x8c, 0, 12, 0, 0, 1, 2, 3, 4,
    ];
    for (big, order) in [(false, "le"), (true, "be")] {
        for (magic, unit) in [(0xa1b2_c3d4, "us"), (0xa1b2_3c4d, "ns")] {
            let mut b = Bytes::pcap(big, magic, 96, 101);
            for n in 0..4 {
                b.record(1_700_000_000, n * 1000, 60, &packet);
            }
            put("capture", &format!("pcap-{order}-{unit}"), &b.out);
        }
        let mut b = Bytes::new(big);
        b.section().interface(101, 40, &[(2, b"eth0"), (9, &[9]), (14, &[0; 8]), (13, &[4])]);
        b.enhanced(0, 1_000, 60, &packet).enhanced_with(0, 2_000, 60, &packet, &[(1, b"late")]);
        let mut simple = Bytes::new(big);
        simple.u32(40).raw(&packet);
        let mut old = Bytes::new(big);
        old.u16(0).u16(0).u32(0).u32(9).u32(32).u32(32).raw(&packet);
        b.block(3, &simple.out).block(2, &old.out).block(5, &[0; 12]).enhanced(0, 1, 32, &packet);
        put("capture", &format!("pcapng-{order}"), &b.out);
    }
    let mut b = Bytes::pcap(false, 0xa1b2_cd34, 96, 0x2400_0001);
    for n in 0..3 {
        b.u32(n).u32(1).u32(32).u32(36).u32(3).u16(0x800).raw(&[0, 0]).raw(&packet);
    }
    put("capture", "pcap-modified-fcs", &b.out);
    let mut b = Bytes::pcap(false, 0xa1b2_c3d4, 96, 101);
    b.record(9, 0, 60, &packet).record(9, 1, 60, &packet).raw(&[0; 50]).record(9, 2, 60, &packet);
    let at = 24 + 48 + 8;
    b.out[at] = 0xff;
    b.record(9, 3, 60, &packet);
    put("capture", "pcap-overlap-and-hole", &b.out);
    let mut b = Bytes::new(false);
    b.section().interface(1, 0, &[(9, &[0x7f])]).enhanced(0, u64::MAX, 32, &packet);
    b.interface(1, 0, &[(9, &[0xff]), (14, &[0x80; 8])]).enhanced(1, u64::MAX, 32, &packet);
    put("capture", "pcapng-extreme-clocks", &b.out);
    let mut b = Bytes::new(false);
    b.section().enhanced(7, 1, 32, &packet).block(1, &[0; 4]).enhanced(0, 1, 32, &packet);
    b.block(6, &[0; 8]).block(3, &[]);
    put("capture", "pcapng-missing-interfaces", &b.out);

    let v6 = [&[0x6b, 0x80, 0, 0, 0, 40, 0, 64][..], &[0x20; 32], &[44, 0, 1, 4, 0, 0, 0, 0]];
    let v6 = [&v6.concat()[..], &[51, 0, 0, 1, 0, 0, 0, 9], &[17, 1], &[0; 10], &[1, 2, 3, 4]];
    let v6 = v6.concat();
    let ethernet = |kinds: &[u8], packet: &[u8]| [&[0][..], &[2; 12], kinds, packet].concat();
    put("decode", "ethernet-ipv4", &ethernet(&[8, 0], &packet));
    put(
        "decode",
        "ethernet-qinq-ipv6",
        &ethernet(&[0x88, 0xa8, 0, 1, 0x81, 0, 0xa0, 2, 0x86, 0xdd], &v6),
    );
    put("decode", "ethernet-snap", &ethernet(&[0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &packet));
    put(
        "decode",
        "ethernet-pppoe",
        &ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 34, 0, 0x21], &packet),
    );
    put("decode", "sll", &[&[1, 0, 4, 0, 1, 0, 6], &[2; 8][..], &[8, 0], &packet].concat());
    put("decode", "sll2", &[&[2, 0x86, 0xdd], &[0; 18][..], &v6].concat());
    put("decode", "raw-ipv4", &[&[3][..], &packet].concat());
    put("decode", "raw-ipv6", &[&[3][..], &v6].concat());
    put("decode", "null", &[&[4, 2, 0, 0, 0][..], &packet].concat());
    let tunnel = |protocol: u8, inner: &[u8]| {
        let mut outer = [&[0][..], &packet[..20], inner].concat();
        (outer[0], outer[2], outer[10]) = (3, 0xb9, protocol);
        outer
    };
    put("decode", "tunnel-ipip", &tunnel(4, &packet));
    put("decode", "tunnel-6in4", &tunnel(41, &v6));
    put("decode", "tunnel-gre", &tunnel(47, &[&[0, 0, 8, 0][..], &packet].concat()));
    put("decode", "icmp", &tunnel(1, &[8, 0, 0, 0, 0x12, 0x34, 0, 1]));
    put("decode", "esp", &tunnel(50, &[0xc0, 0xde, 0, 1, 0, 0, 0, 7]));
    put("decode", "loop", &[&[5, 0, 0, 0, 24][..], &v6].concat());

    let head = "time_ns,bytes,flow\n";
    put("csv", "plain", format!("{head}0,1500,voice\n10,64,bulk\n").as_bytes());
    put("csv", "crlf-bom", "\u{feff}time_ns,bytes,flow\r\n1,2,a\r\n\r\n".as_bytes());
    put("csv", "quoted", format!("{head}1,2,\"a, \"\"b\"\"\"\n\"3\",\"4\",\"ü\"\n").as_bytes());
    put("csv", "unsorted", format!("{head}5,2,a\n4,2,a\n").as_bytes());
    put("csv", "open-quote", format!("{head}5,2,\"a\n6,2,b\"\n").as_bytes());
    put("csv", "overflow", format!("{head}18446744073709551616,4294967296,a\n").as_bytes());
    put("csv", "blank-inside", format!("{head}1,2,a\n\n\n3,2,a\n").as_bytes());
    put("csv", "not-utf8", &[head.as_bytes(), b"1,2,\"a\xff\"\n"].concat());
    put("csv", "header-only", b"time_ns,bytes,flow");
}
