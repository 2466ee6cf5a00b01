use proptest::prelude::*;

use super::*;
use crate::fuzz;

const OPUS: &[u8] = include_bytes!("../../tests/media/tone.ogg");
const H264: &[u8] = include_bytes!("../../tests/media/picture.h264");
const VP8: &[u8] = include_bytes!("../../tests/media/picture.ivf");

fn read(bytes: &[u8]) -> Result<Media, MediaError> {
    Media::read(bytes.to_vec(), FrameRate { pictures: 15, seconds: 1 })
}

fn damages(media: &Media) -> Vec<Damage> {
    media.faults().iter().map(|f| f.damage).collect()
}

/// Counts as `ffprobe -count_packets` gives them for these files.
///
/// Fails when Opus durations are misread or IVF times read in other units: tried with frame
/// lengths of CELT in place of SILK, and the time base upside down.
#[test]
fn sound_files_read_whole() {
    let opus = read(OPUS).unwrap();
    assert_eq!(opus.codec(), &Codec::Opus { channels: 1 });
    assert_eq!((opus.units().len(), opus.units()[100].at, opus.ticks()), (101, 96_000, 96_960));

    let h264 = read(H264).unwrap();
    let Codec::H264 { sps, pps } = h264.codec() else { panic!("{:?}", h264.codec()) };
    assert_eq!((sps[0] & 31, pps[0] & 31), (7, 8));
    assert_eq!((h264.units().len(), h264.units()[29].at, h264.ticks()), (30, 174_000, 180_000));
    let keys: Vec<usize> = (0..30).filter(|i| h264.units()[*i].key).collect();
    assert_eq!(keys, [0, 15]);

    let vp8 = read(VP8).unwrap();
    assert_eq!(vp8.codec(), &Codec::Vp8);
    assert_eq!((vp8.units().len(), vp8.units()[29].at, vp8.ticks()), (30, 174_000, 180_000));
    assert!(vp8.units()[0].key && !vp8.units()[1].key);

    for media in [opus, h264, vp8] {
        assert_eq!(media.faults(), []);
    }
}

/// Fails when access units are split at every slice, or their key frames not seen: tried with a
/// picture begun by every slice.
#[test]
fn slices_of_a_picture_stay_together() {
    let nals: [&[u8]; 8] = [
        &[9, 0xf0],
        &[0x67, 1, 2, 3],
        &[0x68, 1],
        &[0x65, 0x88, 1],
        &[0x65, 0x40, 2],
        &[0x0c, 0xff],
        &[0x41, 0x9a, 3],
        &[0x41, 0x50, 4],
    ];
    let file: Vec<u8> = nals.iter().flat_map(|nal| [&[0, 0, 1], *nal].concat()).collect();
    let media = read(&file).unwrap();
    let units: Vec<(bool, Vec<&[u8]>)> =
        media.units().iter().map(|u| (u.key, media.parts(u).collect())).collect();
    // Filler is left out.
    assert_eq!(units, [(true, nals[..5].to_vec()), (false, nals[6..].to_vec())]);
}

/// Fails when one damaged page costs the rest of the file, or damage goes unseen: tried with the
/// search for the next page removed, and with checksums not compared.
#[test]
fn a_damaged_ogg_page_costs_what_it_holds() {
    let pages: Vec<usize> = (0..OPUS.len()).filter(|i| OPUS[*i..].starts_with(b"OggS")).collect();
    assert!(pages.len() >= 4, "{pages:?}");
    let mut bytes = OPUS.to_vec();
    bytes[pages[2] + 100] ^= 1;
    let media = read(&bytes).unwrap();
    assert!(!media.units().is_empty() && media.units().len() < 101);
    assert_eq!(media.faults()[0], Fault { offset: pages[2] as u64, damage: Damage::Checksum });
    assert!(damages(&media).contains(&Damage::Gap), "{:?}", media.faults());

    let cut = read(&OPUS[..OPUS.len() - 10]).unwrap();
    assert!(damages(&cut).contains(&Damage::CutOff), "{:?}", cut.faults());
}

/// Fails when damage in a NAL unit stops the reading or is sent on: tried without the header check.
#[test]
fn a_damaged_nal_unit_is_left_out() {
    let clean = read(H264).unwrap();
    let mut bytes = H264.to_vec();
    let part = clean.parts[clean.units()[7].parts.start].start;
    bytes[part] |= 0x80;
    let media = read(&bytes).unwrap();
    assert_eq!(media.units().len(), 29);
    assert_eq!(media.faults(), [Fault { offset: part as u64, damage: Damage::NalHeader }]);
}

/// Fails when a frame header is trusted beyond the end, or a frame's kind is not looked at: tried
/// without the check of key frames, and with times used unchanged.
#[test]
fn damaged_ivf_frames_are_named() {
    let cut = read(&VP8[..VP8.len() - 1]).unwrap();
    assert_eq!((cut.units().len(), damages(&cut)), (29, vec![Damage::CutOff]));

    let mut bytes = VP8.to_vec();
    bytes[32 + 12 + 3] = 0;
    let media = read(&bytes).unwrap();
    assert_eq!(media.faults(), [Fault { offset: 32, damage: Damage::NotVp8 }]);
    assert_eq!((media.units().len(), media.units()[0].at), (29, 0));

    let first = u32::from_le_bytes(VP8[32..36].try_into().unwrap()) as usize;
    let second = 32 + 12 + first;
    let mut bytes = VP8.to_vec();
    bytes[second + 4..second + 12].fill(0);
    let media = read(&bytes).unwrap();
    assert_eq!(media.faults(), [Fault { offset: second as u64, damage: Damage::TimeBack }]);
    assert_eq!(media.units()[1].at, 1);
}

#[test]
fn unsupported_media_is_reported() {
    let fails_with = |bytes: &[u8], text: &str| {
        let message = read(bytes).unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    };
    fails_with(b"RIFF1234", "neither Ogg");
    fails_with(b"", "neither Ogg");
    fails_with(&VP8[..20], "ends inside its IVF header");
    fails_with(&VP8[..32], "nothing in it can be played");
    fails_with(
        &[0, 0, 1],
        "nothing in it can be played; at byte 3: nothing between two boundaries",
    );
    let mut other = VP8.to_vec();
    other[11] = b'9';
    fails_with(&other, "codec \"VP89\" in IVF");
    let mut surround = OPUS.to_vec();
    surround[28 + 9] = 6; // The checksum is wrong then, so the page is only left out.
    assert_eq!(read(&surround).unwrap().faults()[0].damage, Damage::Checksum);
    let missing = Media::open(Path::new("no/such.ogg"), FrameRate::default()).unwrap_err();
    assert!(missing.to_string().starts_with("no/such.ogg: cannot be read"), "{missing}");
    let zero = Media::read(H264.to_vec(), FrameRate { pictures: 0, seconds: 1 });
    assert!(matches!(zero, Err(MediaError::FrameRate)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Fails when damage anywhere makes a reader panic, loop, or let times go back.
    #[test]
    fn malformed_media_cause_no_panic(
        file in 0..3usize,
        cut in 0..30_000usize,
        marks in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = [OPUS, H264, VP8][file].to_vec();
        bytes.truncate(cut.max(8));
        for (at, value) in marks {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        fuzz::media(&bytes);
    }
}
