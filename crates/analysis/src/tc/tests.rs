//! The rules against numbers computed by hand, and the dumps of misconfigured devices.

use std::fs;
use std::path::Path;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Curve, Rational};
use laxity_results::TcCheck;
use laxity_tc::{HtbClass, Reader, Tbf, TwoPiece};

use super::service::{Offered, Service, nanobits};
use super::{Device, Reason, Request, analyse, bands, gates, hfsc, htb, shaper};

fn device(bits: u64) -> Device {
    Device { rate: Rate(bits), max_packet: Bytes(1514), timer_lateness: Span(0) }
}

/// `burst + rate t`, in bytes and bit/s.
fn bucket(burst: u64, rate: u64) -> Curve {
    Curve::line(rate.into(), nanobits(burst))
}

fn fraction(num: i128, den: i128) -> Rational {
    Rational::new(num, den).expect("a fraction")
}

/// The delay of a bucket in us.
fn delay(offered: Offered, burst: u64, rate: u64) -> Rational {
    let service = offered.expect("a guarantee");
    let ns = bucket(burst, rate).delay(&service.curve).expect("fits").expect("bounded");
    ns.over(1000i128.into()).expect("fits")
}

/// Rate in bit/s and latency in us.
fn line(offered: Offered) -> (Rational, Rational) {
    let curve = offered.expect("a guarantee").curve;
    let latency = curve.upper_inverse(Rational::ZERO).expect("fits").expect("served");
    (curve.long_term_slope().expect("fits"), latency.over(1000i128.into()).expect("fits"))
}

fn link(bits: u64) -> (Rational, Rational) {
    (bits.into(), Rational::ZERO)
}

const MBIT: u64 = 1_000_000;

// Fails when L/C or X is left out of HFSC's latency, or X counts convex curves by their first slope.
#[test]
fn hfsc_numbers() {
    let curve = |m1, ms: u64, m2| TwoPiece { m1, d: ms * 1_000_000, m2 };
    let all = [curve(4 * MBIT, 10, 800_000), curve(0, 20, 4 * MBIT), curve(0, 8, MBIT)];
    let device = device(10 * MBIT);
    let leaf = |i: usize| hfsc::leaf(Some(all[i]), &all, link(10 * MBIT), &device).expect("fits");
    assert_eq!(delay(leaf(0), 4000, 800_000), fraction(46056, 5));
    assert_eq!(delay(leaf(1), 6000, 4 * MBIT), fraction(166_056, 5));
    assert_eq!(delay(leaf(2), 1500, MBIT), fraction(106_056, 5));
    // 10 then 4 beside 0 then 4 Mbit/s: the curves as configured never exceed 10 Mbit/s.
    let gap = [curve(10 * MBIT, 10, 4 * MBIT), curve(0, 10, 4 * MBIT)];
    let x = hfsc::excess(&gap, (10 * MBIT).into()).expect("fits").expect("bounded");
    assert_eq!(x.over(nanobits(1)).expect("fits"), 5000i128.into());
}

fn htb_class(rate: u64, burst: u64, prio: u64) -> HtbClass {
    HtbClass {
        prio: Some(prio),
        rate,
        ceil: rate,
        burst,
        cburst: burst,
        overhead: 0,
        mpu: 0,
        cells: false,
    }
}

// Fails when a class ahead counts without its packet, or tokens lost in the wait do not count.
#[test]
fn htb_numbers() {
    let [a, b, c] =
        [htb_class(MBIT, 6144, 0), htb_class(4 * MBIT, 1600, 1), htb_class(500_000, 1600, 2)];
    let fast = device(1000 * MBIT);
    let on = |own, ahead: &[HtbClass], d: &Device| {
        htb::leaf(own, ahead, link(d.rate.0), d).expect("fits")
    };
    assert_eq!(line(on(&a, &[], &fast)), (MBIT.into(), fraction(1_515_514, 125)));
    assert_eq!(line(on(&b, &[a], &fast)).1, fraction(3_098_348, 999));
    assert_eq!(line(on(&c, &[a, b], &fast)).1, fraction(24_201_168, 995));
    // 450/2293 B/us.
    let (rate, _) = line(on(&b, &[a], &device(10 * MBIT)));
    assert_eq!(rate, fraction(450 * 8_000_000, 2293));
    let refused = on(&b, &[htb_class(7 * MBIT, 1600, 0)], &device(10 * MBIT));
    assert_eq!(refused.expect_err("too little left"), Reason::RatesExceedLink);
}

// Fails when a class's own packet does not count in the round, or the quantum is divided wrongly.
#[test]
fn drr_and_prio_numbers() {
    let device = device(10 * MBIT);
    let whole = Service::of_device(&device);
    let quanta = [1514, 3028, 1514];
    let class = |q| bands::round_robin(q, &quanta, &whole, &device).expect("fits");
    assert_eq!(line(class(1514)), ((2_500_000u64).into(), fraction(54504, 5)));
    assert_eq!(line(class(3028)), ((5 * MBIT).into(), fraction(36336, 5)));
    let first = bands::strict(&[], &whole, &device).expect("fits");
    assert_eq!(delay(first, 3000, 2 * MBIT), fraction(18056, 5));
    let above = [Ok(bucket(3000, 2 * MBIT))];
    let second = bands::strict(&above, &whole, &device).expect("fits");
    assert_eq!(delay(second, 3000, 4 * MBIT), fraction(7514, 1));
    let open = [Err("1:1".to_owned())];
    let starved = bands::strict(&open, &whole, &device).expect("fits");
    assert_eq!(starved.expect_err("band 0 is open"), Reason::UnboundedBand("1:1".into()));
}

// Fails when a shaper's packet or the blocking one is left out of its latency.
#[test]
fn shaper_numbers() {
    let device = device(10 * MBIT);
    let whole = Service::of_device(&device);
    let tbf = Tbf { rate: 2 * MBIT, burst: 4096, peak: None, overhead: 0, mpu: 0 };
    let shaped = |tbf: &Tbf| shaper::tbf(tbf, &whole, &device).expect("fits");
    assert_eq!(delay(shaped(&tbf), 6000, 2 * MBIT), fraction(44136, 5));
    let small = Tbf { burst: 1500, ..tbf };
    assert_eq!(shaped(&small).expect_err("too small"), Reason::BurstBelowPacket);
    let cbs = |hicredit, offload| {
        let slopes = (2_000_000, -8_000_000, hicredit);
        shaper::cbs(slopes, offload, &whole, &device).expect("fits")
    };
    for offload in [true, false] {
        assert_eq!(line(cbs(303, offload)), ((2 * MBIT).into(), 6056i128.into()));
    }
    assert_eq!(cbs(302, true).expect_err("302 < 1514/5"), Reason::Credits);
}

/// A port of 10 Mbit/s whose first queue has CBS with an idle slope of 8 Mbit/s, in bytes and us, as `sch_cbs` serves
/// it (`cbs_dequeue_soft`) or as IEEE 802.1Q does. Both queues have packets from 0 on, when a packet of the second
/// begins. Returns how much later than at its rate the first queue is served, at most.
fn latency_of_credits(offload: bool, debt: f64, sizes: &mut dyn FnMut() -> (f64, f64)) -> f64 {
    let (port, idle, hicredit) = (1.25, 1.0, 1212.0);
    let (mut now, mut credit, mut last) = (1514.0 / port, -debt, 0f64);
    let (mut sent, mut latest) = (0.0, 0f64);
    for _ in 0..200 {
        let (own, other) = sizes();
        loop {
            if offload || credit < 0.0 {
                credit = (credit + (now - last) * idle).min(hicredit);
            }
            last = now;
            if credit >= 0.0 {
                break;
            }
            now += other / port;
        }
        latest = latest.max(now - sent / idle);
        now += own / port;
        credit -= own * (1.0 - idle / port);
        last = now;
        sent += own;
    }
    latest
}

// Fails when the kernel's credits are taken for those of IEEE 802.1Q: above half of the port's rate packets are then
// later than their bound.
#[test]
fn the_kernel_does_not_credit_the_first_wait() {
    let device = device(10 * MBIT);
    let whole = Service::of_device(&device);
    let slopes = (8_000_000, -2_000_000, 1212);
    let bounds = [true, false]
        .map(|offload| line(shaper::cbs(slopes, offload, &whole, &device).expect("fits")).1);
    // T + L (1/idle - 1/C), and 2 T.
    assert_eq!(bounds, [1514i128.into(), fraction(12_112, 5)]);
    let mut draw = 1u64;
    let mut below = |n: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (draw >> 33) % n
    };
    let mut worst = [0f64; 2];
    for run in 0..3000 {
        let debt = if run % 4 == 0 { below(304) as f64 } else { 0.0 };
        let mut sizes = || {
            let own = if run % 2 == 0 { 64 + below(1451) } else { 1514 };
            let other = if run % 3 == 0 { 1514 } else { 64 + below(1451) };
            (own as f64, other as f64)
        };
        for (offload, worst) in [true, false].into_iter().zip(&mut worst) {
            *worst = worst.max(latency_of_credits(offload, debt, &mut sizes));
        }
    }
    let [standard, kernel] = worst;
    assert!(standard <= 1514.001 && kernel <= 2422.401, "{worst:?}");
    assert!(kernel > 2000.0, "{worst:?}");
}

// Fails when an opening is not shortened by a packet, or the worst window begins inside an opening.
#[test]
fn gate_numbers() {
    let device = Device { max_packet: Bytes(1250), ..device(100 * MBIT) };
    let entries = [(1, 300_000), (2, 300_000), (1, 200_000), (4, 200_000)];
    let class =
        |c| gates::traffic_class(c, &entries, 1_000_000, link(100 * MBIT), &device).expect("fits");
    // A packet takes 100 us; 200 and 100 us of 1 ms are left, and 400 us pass before the second.
    let curve = class(0).expect("its own gate").curve;
    assert_eq!(curve.long_term_slope().expect("fits"), (30 * MBIT).into());
    let at = |us: i128| {
        let bits = curve.value((us * 1000).into()).expect("fits");
        bits.over(nanobits(1)).expect("fits")
    };
    // Least over windows from the ends 300 and 800: open from 400 on, or from 300 on.
    assert_eq!((at(300), at(400), at(500)), (0i128.into(), 0i128.into(), 1250i128.into()));
    assert_eq!(at(1000), 3750i128.into());
    assert_eq!(class(2).expect("its own gate").curve.long_term_slope(), Ok((10 * MBIT).into()));
    let shared = [(3, 500_000), (2, 500_000)];
    let shared =
        gates::traffic_class(0, &shared, 1_000_000, link(100 * MBIT), &device).expect("fits");
    assert_eq!(shared.expect_err("shared"), Reason::SharedGate);
}

fn dump(name: &str, forms: &[&str], request: &Request) -> TcCheck {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tc/tests/dumps/iproute2-7.1");
    let mut reader = Reader::default();
    for section in ["qdisc", "class", "filter"] {
        for form in forms {
            let file = format!("{name}.{section}.{form}");
            if let Ok(text) = fs::read_to_string(folder.join(&file)) {
                reader.text(&file, &text).expect("good dumps");
            }
        }
    }
    analyse(&reader.finish().expect("good dumps"), request).expect("fits")
}

fn request(bits: u64) -> Request<'static> {
    Request { device: device(bits), burst: Bytes(1514), slower_hop: None, flows: None }
}

fn codes(check: &TcCheck) -> Vec<(&str, &str)> {
    check.findings.iter().map(|f| (f.code.as_str(), f.at.as_str())).collect()
}

// Fails when a discipline gives a guarantee that it has not, or loses one that it has.
#[test]
fn each_dump_has_its_guarantees() {
    let expected: &[(&str, u64, &[&str])] = &[
        ("hfsc", 10 * MBIT, &["1:10", "1:20", "1:40"]),
        ("htb", 1000 * MBIT, &["1:10", "1:20"]),
        ("bad-htb-default", 1000 * MBIT, &[]),
        ("bad-hfsc-over", 10 * MBIT, &[]),
        ("prio", 10 * MBIT, &["1:1", "10:1", "1:2"]),
        ("tbf", 1000 * MBIT, &["1:1", "2:1"]),
        ("drr", 10 * MBIT, &["1:1", "1:2", "1:3"]),
        ("ets", 10 * MBIT, &["1:1"]),
        // 30 B of credit are less than 1514 B × 20/1000.
        ("cbs", 1000 * MBIT, &[]),
        ("taprio", 1000 * MBIT, &["100:1", "100:2"]),
        ("taprio-maxsdu", 1000 * MBIT, &[]),
        ("etf", 1000 * MBIT, &[]),
        ("mqprio", 1000 * MBIT, &[]),
        ("fq", 1000 * MBIT, &[]),
        ("fq_codel", 1000 * MBIT, &[]),
        ("cake", 1000 * MBIT, &[]),
        ("qfq", 1000 * MBIT, &[]),
    ];
    for (name, rate, with_rate) in expected {
        let check = dump(name, &["txt"], &request(*rate));
        let got = check.classes.iter().filter(|c| c.rate_bit_s.is_some());
        let got: Vec<_> = got.map(|c| c.class.as_str()).collect();
        assert_eq!(&got, with_rate, "{name}: {:#?}", check.classes);
        for class in &check.classes {
            let why = class.reason.is_some() != class.rate_bit_s.is_some();
            assert!(why || class.discipline == "htb", "{name}: {class:?}");
        }
    }
}

// Fails when one of the plain misconfigurations is not seen, or a sound device has one.
#[test]
fn misconfigurations_are_found() {
    let over = dump("bad-hfsc-over", &["json"], &request(10 * MBIT));
    assert_eq!(codes(&over), [("curves-exceed-link", "1:"), ("default-missing", "1:")]);
    let htb = dump("bad-htb-default", &["json"], &request(10 * MBIT));
    assert!(!htb.guaranteed);
    for code in [
        ("default-missing", "1:"),
        ("ceil-above-parent", "1:10"),
        ("burst-too-small", "1:10"),
        ("burst-too-small", "1:20"),
    ] {
        assert!(codes(&htb).contains(&code), "{code:?} in {:?}", codes(&htb));
    }
    let sound = dump("drr", &["json", "txt"], &request(10 * MBIT));
    assert!(sound.guaranteed && sound.findings.is_empty(), "{:?}", sound.findings);
    let slower = Request { slower_hop: Some(Rate(5 * MBIT)), ..request(10 * MBIT) };
    assert_eq!(codes(&dump("drr", &["txt"], &slower)), [("no-shaper", "1:")]);
    let hfsc = dump("hfsc", &["json"], &request(10 * MBIT));
    assert_eq!(codes(&hfsc), []);
}

fn text(text: &str, request: &Request) -> TcCheck {
    let mut reader = Reader::default();
    reader.text("text", text).expect("each line reads");
    analyse(&reader.finish().expect("a tree"), request).expect("fits")
}

// Fails when a discipline below a shaper is judged by the rate of the device.
#[test]
fn below_a_shaper_its_rate_is_the_link() {
    let dump = "qdisc tbf 1: root refcnt 2 rate 10Mbit burst 1600b lat 30ms
qdisc hfsc 2: parent 1:1 default 0x20
class tbf 1:1 parent 1: leaf 2:
class hfsc 2: root
class hfsc 2:10 parent 2: rt m1 0bit d 0us m2 8Mbit ls m1 0bit d 0us m2 8Mbit
class hfsc 2:20 parent 2: rt m1 0bit d 0us m2 8Mbit ls m1 0bit d 0us m2 8Mbit
";
    let check = text(dump, &request(1000 * MBIT));
    assert_eq!(codes(&check), [("curves-exceed-link", "2:")]);
    assert!(check.classes[1].rate_bit_s.is_none(), "{:?}", check.classes);
    let sound = text(&dump.replace("8Mbit", "5Mbit"), &request(1000 * MBIT));
    assert_eq!(codes(&sound), []);
    // A packet on the device, and one at the rate of the shaper, before the curve begins.
    assert_eq!(sound.classes[1].latency_ns, Some(12_112 + 1_211_200));
}

// Fails when a burst that packets before a pause may have used counts for the tree below a shaper.
#[test]
fn a_spent_burst_does_not_serve_the_tree_below() {
    let dump = "qdisc tbf 1: root refcnt 2 rate 10Mbit burst 8000b lat 30ms
qdisc prio 2: parent 1:1 bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
class tbf 1:1 parent 1: leaf 2:
class prio 2:1 parent 2:
class prio 2:2 parent 2:
";
    let check = text(dump, &request(1000 * MBIT));
    let first = check.classes.iter().find(|c| c.class == "2:1").expect("a band");
    // A packet on the device and one that blocks, and then one's own.
    assert_eq!(first.latency_ns, Some(12_112 + 1_211_200));
    assert_eq!(first.delay_ns, Some(12_112 + 2 * 1_211_200));
}

// Fails when disciplines that point at each other are followed for ever.
#[test]
fn disciplines_in_a_circle_end() {
    let dump = "qdisc prio 1: root bands 2 priomap 1 1
qdisc drr 2: parent 3:1
qdisc tbf 3: parent 2:1 rate 1Mbit burst 2000b lat 3ms
qdisc prio 0: parent 1:1 bands 2 priomap 1 1
";
    let check = text(dump, &request(10 * MBIT));
    assert_eq!(check.classes.len(), 2, "{:?}", check.classes);
}
