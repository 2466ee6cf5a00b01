//! Datagrams from receivers: report blocks and goodbyes, or no RTCP.
#![no_main]

use laxity_live::rtcp::claims;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok((claims, _)) = claims(data) {
        // A report block has 24 bytes.
        assert!(claims.len() * 24 <= data.len());
        assert!(claims.iter().all(|c| (-(1 << 23)..1 << 23).contains(&c.lost)));
    }
});
