//! Entry points for a fuzzer: functions that panic only when something is wrong.

use laxity_dwcs::Tolerance;
use rtp_types::RtpPacket;

use crate::control::{Request, SourceRequest};
use crate::media::{FrameRate, Media};
use crate::receiver::{Arrival, SourceMeter};
use crate::rtcp::report_blocks;

/// Any bytes are a request to the control socket or an error; a request is written and reads back
/// equal, and a stream with packets from no file becomes a configuration or an error.
///
/// # Panics
/// When one of these does not hold.
pub fn control(data: &[u8]) {
    let Ok(request) = serde_json::from_slice::<Request>(data) else { return };
    let written = serde_json::to_value(&request).expect("requests have a form");
    let again: Request = serde_json::from_value(written.clone()).expect("written requests parse");
    assert_eq!(serde_json::to_value(&again).expect("requests have a form"), written);
    match request {
        // A media file would be opened.
        Request::Add(add) if !matches!(add.source, SourceRequest::Media(_)) => {
            let _ = add.config();
        }
        _ => {}
    }
}

/// Any bytes are a datagram of a receiver or no RTCP; each report block has bytes of its own, and its
/// loss fits into 24 bits.
///
/// # Panics
/// When one of these does not hold.
pub fn rtcp(data: &[u8]) {
    if let Ok((blocks, _)) = report_blocks(data) {
        // A report block has 24 bytes.
        assert!(blocks.len() * 24 <= data.len());
        assert!(blocks.iter().all(|c| (-(1 << 23)..1 << 23).contains(&c.lost)));
    }
}

/// Any bytes are a media file or an error; times of units rise, and their parts are not empty and lie
/// in the file.
///
/// # Panics
/// When one of these does not hold.
pub fn media(data: &[u8]) {
    let Ok(media) = Media::read(data.to_vec(), FrameRate::default()) else { return };
    assert!(media.units().windows(2).all(|pair| pair[0].at < pair[1].at));
    let longest = media.longest();
    for unit in media.units() {
        assert!(media.parts(unit).all(|part| !part.is_empty() && part.len() <= longest));
    }
}

/// Any bytes are packets of one source, each behind two bytes for its length and six for the time since the one
/// before: what is expected is received or lost, but for duplicates.
///
/// # Panics
/// When this does not hold.
pub fn received(data: &[u8]) {
    let tolerance = Tolerance::new(1, 4).expect("one of four");
    let mut meter = SourceMeter::new(5, 90_000, tolerance, true);
    let (mut rest, mut now) = (data, 0u64);
    while let Some(([low, high, after @ ..], body)) = rest.split_first_chunk::<8>() {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(body.len());
        let (datagram, behind) = body.split_at(length);
        rest = behind;
        let after = after.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        now = now.saturating_add(after);
        if let Ok(packet) = RtpPacket::parse(datagram) {
            meter.packet(&packet, datagram.len(), Arrival { monotonic: now, wall: now });
            assert!(meter.reception(now).is_some());
        }
    }
    let report = meter.finish();
    assert!(report.received + report.lost >= report.expected);
}
