use super::*;
use proptest::prelude::*;

#[test]
fn units_and_prefixes() {
    assert_eq!(rate("10 Mbit/s"), Ok(Rate(10_000_000)));
    assert_eq!(rate("1.25MB/s"), Ok(Rate(10_000_000)));
    assert_eq!(rate(" 370530  B/s "), Ok(Rate(2_964_240)));
    assert_eq!(rate("0.125 B/s"), Ok(Rate(1)));
    assert_eq!(rate("1 GiB/s"), Ok(Rate(8 << 30)));
    assert_eq!(bytes("1536 B"), Ok(Bytes(1536)));
    assert_eq!(bytes("1.5 KiB"), Ok(Bytes(1536)));
    assert_eq!(bytes("0.0009765625 KiB"), Ok(Bytes(1)));
    assert_eq!(span("0.5 ms"), Ok(Span(500_000)));
    assert_eq!(span("1.5 min"), Ok(Span(90_000_000_000)));
    assert_eq!(span("2 µs"), span("2 us"));
    assert_eq!(span("2 μs"), span("2us"));
    assert_eq!(span("5124095 h"), Ok(Span(5_124_095 * 3_600_000_000_000)));
    assert_eq!(span("0018446744073709551615.000 ns"), Ok(Span(u64::MAX)));
}

#[test]
fn errors_name_problem_and_remedy() {
    let kind = |r: Result<u64, QuantityError>| r.unwrap_err().kind;
    let time = |t| kind(parse(t, Dimension::Time));
    use QuantityErrorKind::*;
    assert_eq!(time("  "), Empty);
    assert_eq!(time("-5 ms"), Negative);
    assert_eq!(time("ms"), NoNumber);
    assert_eq!(time(".5 ms"), NoNumber);
    assert_eq!(time("5. ms"), NoNumber);
    assert_eq!(time("1.2.3 ms"), NoNumber);
    assert_eq!(time("- ms"), NoNumber);
    assert_eq!(time("15"), NoUnit);
    assert_eq!(time("15 B"), OtherDimension { found: Dimension::Size });
    assert_eq!(time("15 secs"), UnknownUnit { unit: "secs".into(), nearest: Some("s") });
    assert_eq!(time("15 parsec"), UnknownUnit { unit: "parsec".into(), nearest: None });
    assert_eq!(time("0.5 ns"), NotExact);
    assert_eq!(time("18446744073709551616 ns"), TooLarge);
    assert_eq!(time("18446744073709551615.5 us"), TooLarge);
    assert_eq!(time("99999999999999999999999999999999999999999999 h"), TooLarge);
    let kind = rate("10 Mbps").unwrap_err().kind;
    assert_eq!(kind, UnknownUnit { unit: "Mbps".into(), nearest: Some("Mbit/s") });
    let kind = rate("10 MBIT/S").unwrap_err().kind;
    assert_eq!(kind, UnknownUnit { unit: "MBIT/S".into(), nearest: Some("Mbit/s") });
    assert_eq!(
        bytes("1.5 B").unwrap_err().to_string(),
        "\"1.5 B\" is not a size: it is not a whole number of bytes; \
         give fewer decimals: quantities are exact and never rounded"
    );
    assert_eq!(
        rate("10").unwrap_err().to_string(),
        "\"10\" is not a rate: it has no unit; rates are written in bit/s or B/s with an \
         optional prefix k, M, G, Ki, Mi or Gi: \"10 Mbit/s\" or \"600 kB/s\""
    );
}

#[test]
fn the_shortest_exact_form_is_printed() {
    assert_eq!(print_span(Span(15_000_000)), "15 ms");
    assert_eq!(print_span(Span(500_000_000)), "500 ms");
    assert_eq!(print_span(Span(360_000_000_000)), "6 min");
    assert_eq!(print_span(Span(15_000_001)), "15000001 ns");
    assert_eq!(print_span(Span(0)), "0 s");
    assert_eq!(print_rate(Rate(2_964_240)), "370530 B/s");
    assert_eq!(print_rate(Rate(10_000_000)), "10 Mbit/s");
    assert_eq!(print_rate(Rate(4_800_000)), "600 kB/s");
    assert_eq!(print_rate(Rate(8_000_000)), "1 MB/s");
    assert_eq!(print_bit_rate(Rate(8_000_000)), "8 Mbit/s");
    assert_eq!(print_rate(Rate(0)), "0 bit/s");
    assert_eq!(print_bytes(Bytes(1500)), "1500 B");
    assert_eq!(print_bytes(Bytes(65536)), "64 KiB");
    assert_eq!(print_bytes(Bytes(45_000)), "45 kB");
}

/// Mostly round numbers, as scenarios have them.
fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..100_000, 0u32..13).prop_map(|(n, e)| n.saturating_mul(10u64.pow(e))),
        (0u64..100_000, 0u32..33).prop_map(|(n, e)| n << e),
        (0u64..5_000).prop_map(|n| n * 3_600_000_000_000),
    ]
}

proptest! {
    // Fails when a factor of a printed unit differs from the parsed one, or when `print` divides
    // without a whole quotient.
    #[test]
    fn printed_quantities_round_trip(v in values()) {
        prop_assert_eq!(rate(&print_rate(Rate(v))), Ok(Rate(v)));
        prop_assert_eq!(rate(&print_bit_rate(Rate(v))), Ok(Rate(v)));
        prop_assert_eq!(bytes(&print_bytes(Bytes(v))), Ok(Bytes(v)));
        prop_assert_eq!(span(&print_span(Span(v))), Ok(Span(v)));
    }

    // Fails when decimals are dropped, or when Horner's steps begin at the wrong end.
    #[test]
    fn decimals_are_exact(whole in 0u64..1_000_000, micro in 0u64..1_000_000) {
        let text = format!("{whole}.{micro:06} ms");
        prop_assert_eq!(span(&text), Ok(Span(whole * 1_000_000 + micro)));
        let text = format!("{whole}.{micro:06}5 ms");
        prop_assert_eq!(span(&text).map_err(|e| e.kind), Err(QuantityErrorKind::NotExact));
    }

    #[test]
    fn arbitrary_text_causes_no_panic(text in "\\PC{0,24}") {
        let _ = (rate(&text), bytes(&text), span(&text));
    }
}
