//! The media sent: small and generated, and the same as its decoder sees it without losses.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use laxity_media::media::{FrameRate, Media};
use laxity_media::rtp::{HEADER, Payloader};

/// Length of everything, s.
pub const SECONDS: u64 = 4;
/// Slow, so that deadlines are far enough apart for a machine that has other things to do.
pub const PICTURES: FrameRate = FrameRate { pictures: 25, seconds: 2 };
pub const WIDTH: usize = 128;
pub const HEIGHT: usize = 80;
/// Samples of one packet: 60 ms at 48 kHz.
pub const OF_PACKET: usize = 2880;

/// Bytes of a picture, and of the brightness in it.
pub const PICTURE: usize = WIDTH * HEIGHT * 3 / 2;
pub const LUMA: usize = WIDTH * HEIGHT;

/// Bytes of a packet beyond the RTP payload: RTP, UDP, IPv4, Ethernet as the queue counts it.
pub const OVERHEAD: u64 = 12 + 8 + 20 + 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Audio,
    Video,
}

/// One stream.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub name: &'static str,
    pub kind: Kind,
    /// x of y packets may be lost.
    pub tolerance: (u64, u64),
    pub gap_ms: u64,
    file: &'static str,
    /// ffmpeg's source and encoder.
    input: &'static str,
    encoder: &'static str,
}

const OPUS: &str = "-c:a libopus -b:a 32k -vbr off -frame_duration 60 -ac 2 -f ogg";
/// Pictures that need those before them; each fifth, of several packets, does not.
const MOVING: &str = "-c:v libx264 -preset veryfast -threads 1 -bf 0 -g 5 -sc_threshold 0 \
                      -b:v 150k -maxrate 150k -bufsize 30k -f h264";
/// Each picture alone, and in one packet.
const H264: &str = "-c:v libx264 -preset veryfast -threads 1 -bf 0 -g 1 -b:v 90k -maxrate 90k \
                    -bufsize 7k -f h264";
const VP8: &str = "-c:v libvpx -deadline realtime -cpu-used 8 -threads 1 -g 1 -crf 50 -qmin 50 \
                   -qmax 50 -b:v 200k -auto-alt-ref 0 -lag-in-frames 0 -f ivf";
const BARS: &str = "testsrc2=size=128x80:rate=25/2";
const ZOOM: &str = "mandelbrot=size=128x80:rate=25/2";

const fn audio(name: &'static str, x: u64, file: &'static str, input: &'static str) -> Item {
    let kind = Kind::Audio;
    Item { name, kind, tolerance: (x, 100), gap_ms: 60, file, input, encoder: OPUS }
}

const fn video(name: &'static str, x: u64, file: &'static str, input: &'static str) -> Item {
    let encoder = if file.as_bytes()[file.len() - 1] == b'f' { VP8 } else { H264 };
    let kind = Kind::Video;
    Item { name, kind, tolerance: (x, 8), gap_ms: 80, file, input, encoder }
}

/// From the one that tolerates least to the one that tolerates most.
pub const ITEMS: [Item; 7] = [
    audio("speech", 0, "speech.ogg", "aevalsrc=0.4*sin(2*PI*(300*t+120*t*t)):s=48000"),
    audio("music", 1, "music.ogg", "aevalsrc=0.4*sin(2*PI*(2000*t-200*t*t)):s=48000"),
    // Of its five pictures in 400 ms one has several packets: two packets a picture.
    Item { gap_ms: 40, encoder: MOVING, ..video("camera", 1, "camera.h264", BARS) },
    video("screen", 2, "screen.ivf", BARS),
    video("stage", 4, "stage.h264", ZOOM),
    video("preview", 6, "preview.ivf", BARS),
    video("thumbnail", 7, "thumbnail.h264", BARS),
];

/// A stream and its media.
pub struct Prepared {
    pub item: Item,
    pub media: Arc<Media>,
    /// Bytes on the wire of all its packets.
    pub wire: u64,
    /// Decoded without losses: pictures as yuv420p, or samples of both sides as f32.
    pub reference: PathBuf,
}

/// Makes and decodes all media; the reason, where ffmpeg or an encoder is missing.
pub fn prepare(folder: &Path) -> Result<Vec<Prepared>, String> {
    ITEMS.iter().map(|item| item.prepare(folder)).collect()
}

impl Item {
    fn prepare(&self, folder: &Path) -> Result<Prepared, String> {
        let file = folder.join(self.file);
        let seconds = SECONDS.to_string();
        let head = ["-f", "lavfi", "-i", self.input, "-t", &seconds, "-pix_fmt", "yuv420p"];
        let encode = self.encoder.split_whitespace();
        ffmpeg(|c| c.args(head).args(encode).arg(&file))?;
        let media = Media::open(&file, PICTURES).map_err(|e| e.to_string())?;
        assert_eq!(media.faults(), [], "{}", self.name);
        let mut payloader = Payloader::new(1200 - HEADER);
        let mut wire = 0;
        for unit in media.units() {
            let count = |p: laxity_media::rtp::Payload<'_>| {
                wire += (p.prefix.len() + p.body.len()) as u64 + OVERHEAD;
            };
            payloader.cut(media.codec(), media.parts(unit), count).expect("small packets");
        }
        let reference = folder.join(format!("{}.reference", self.name));
        // Without a file's samples to be left out: RTP does not carry them.
        let input = ["-flags2", "+skip_manual", "-i"];
        ffmpeg(|c| c.args(input).arg(&file).args(self.raw()).arg(&reference))?;
        Ok(Prepared { item: *self, media: Arc::new(media), wire, reference })
    }

    /// Pictures that it has.
    pub fn pictures(&self) -> u64 {
        SECONDS * u64::from(PICTURES.pictures) / u64::from(PICTURES.seconds)
    }

    /// Whether pictures need others.
    pub fn is_moving(&self) -> bool {
        self.encoder == MOVING
    }

    /// ffmpeg's options for decoded media without a container.
    pub fn raw(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Audio => &["-f", "f32le"],
            Kind::Video => &["-vsync", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo"],
        }
    }
}

/// Runs ffmpeg to its end.
pub fn ffmpeg(arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<Output, String> {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "info", "-nostats", "-hide_banner", "-nostdin", "-y"]);
    let output = arguments(&mut command).output().map_err(|e| format!("ffmpeg: {e}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
    if output.status.success() { Ok(output) } else { Err(format!("ffmpeg: {last}")) }
}
