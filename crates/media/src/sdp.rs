//! Session descriptions (RFC 8866) with which players find and decode a stream.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use crate::media::Codec;

/// One stream as a session description shows it.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// Its codec.
    pub codec: &'a Codec,
    /// Where it is sent.
    pub destination: SocketAddr,
    /// Where RTCP for it goes; an odd neighbour of the RTP port needs no line.
    pub rtcp: Option<SocketAddr>,
    /// RTP payload type.
    pub payload_type: u8,
    /// RTP synchronisation source.
    pub ssrc: u32,
    /// Its canonical name (RFC 3550, section 6.5.1).
    pub cname: &'a str,
}

/// Describes streams that are played together. `from` is the server's address.
pub fn describe(title: &str, from: IpAddr, streams: &[Described<'_>]) -> String {
    let mut sdp = String::new();
    let title = one_line(title);
    let id = streams.first().map_or(0, |s| s.ssrc);
    // Writing into a string does not fail.
    let _ = write!(sdp, "v=0\r\no=- {id} 1 {}\r\ns={title}\r\n", address(from));
    // The last line is the direction for the reader (RFC 8866, section 6.7.1).
    sdp += "t=0 0\r\na=recvonly\r\n";
    for stream in streams {
        media(&mut sdp, stream);
    }
    sdp
}

fn media(sdp: &mut String, stream: &Described<'_>) {
    let Described { codec, destination, rtcp, payload_type, ssrc, cname } = *stream;
    let (kind, mapping) = match codec {
        Codec::Opus { .. } => ("audio", "opus/48000/2"),
        Codec::H264 { .. } => ("video", "H264/90000"),
        Codec::Vp8 => ("video", "VP8/90000"),
        Codec::Synthetic => ("audio", "x-laxity/90000"),
    };
    let port = destination.port();
    let _ = write!(
        sdp,
        "m={kind} {port} RTP/AVP {payload_type}\r\nc={}\r\na=rtpmap:{payload_type} {mapping}\r\n",
        connection(destination.ip())
    );
    if let Some(parameters) = parameters(codec) {
        let _ = write!(sdp, "a=fmtp:{payload_type} {parameters}\r\n");
    }
    if let Some(rtcp) = rtcp.filter(|r| Some(r.port()) != port.checked_add(1)) {
        let _ = write!(sdp, "a=rtcp:{} {}\r\n", rtcp.port(), address(rtcp.ip()));
    }
    let _ = write!(sdp, "a=ssrc:{ssrc} cname:{}\r\n", one_line(cname));
}

fn parameters(codec: &Codec) -> Option<String> {
    match codec {
        Codec::Opus { channels } => Some(format!("sprop-stereo={}", u8::from(*channels == 2))),
        Codec::H264 { sps, pps } => {
            let mut text = String::from("packetization-mode=1");
            if let [_, profile, constraints, level, ..] = sps[..] {
                let _ = write!(text, ";profile-level-id={profile:02X}{constraints:02X}{level:02X}");
                let _ = write!(text, ";sprop-parameter-sets={},{}", base64(sps), base64(pps));
            }
            Some(text)
        }
        _ => None,
    }
}

/// An IPv4 group has to have its time to live (RFC 8866, section 5.7), and sockets have 1 for it
/// by default.
fn connection(ip: IpAddr) -> String {
    let group = ip.is_ipv4() && ip.is_multicast();
    address(ip) + if group { "/1" } else { "" }
}

fn address(ip: IpAddr) -> String {
    let version = if ip.is_ipv4() { 4 } else { 6 };
    format!("IN IP{version} {ip}")
}

/// A name cannot add lines of its own.
fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.trim().is_empty() { "-".into() } else { text }
}

/// Base 64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let value =
            group.iter().fold(0u32, |v, b| v << 8 | u32::from(*b)) << (24 - 8 * group.len());
        for digit in 0..4 {
            let index = value >> (18 - 6 * digit) & 63;
            let used = digit <= group.len();
            text.push(if used { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use sdp_types::Session;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64_matches_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    /// Fails when another parser does not read the description, a name adds a line, or a group has no
    /// time to live: tried with names written as they are, and without it.
    #[test]
    fn another_parser_reads_it() {
        let video = Codec::H264 { sps: vec![0x67, 0x42, 0xc0, 0x1e, 9], pps: vec![0x68, 1] };
        let audio = Codec::Opus { channels: 1 };
        let to = |text: &str| text.parse::<SocketAddr>().unwrap();
        let of = |codec, destination, rtcp| Described {
            codec,
            destination,
            rtcp,
            payload_type: 96,
            ssrc: 7,
            cname: "me\r\na=evil",
        };
        let streams = [
            of(&audio, to("127.0.0.1:5000"), Some(to("127.0.0.1:5001"))),
            of(&video, to("[::1]:5002"), Some(to("[::1]:6000"))),
            of(&Codec::Vp8, to("233.252.0.7:5004"), None),
        ];
        let text = describe("a\nv=1", "127.0.0.1".parse().unwrap(), &streams);
        let session = Session::parse(text.as_bytes()).unwrap();
        assert_eq!(session.session_name, "a v=1");
        let [audio, video, group] = &session.medias[..] else { panic!("{text}") };
        assert_eq!((audio.media.as_str(), audio.port, audio.fmt.as_str()), ("audio", 5000, "96"));
        assert_eq!(video.connections[0].connection_address, "::1");
        let value = |m: &sdp_types::Media, name: &str| {
            m.get_first_attribute_value(name).map(|v| v.unwrap().to_owned())
        };
        assert_eq!(value(audio, "rtpmap").unwrap(), "96 opus/48000/2");
        assert_eq!(value(audio, "rtcp"), None);
        assert_eq!(value(video, "rtcp").unwrap(), "6000 IN IP6 ::1");
        assert_eq!(
            value(video, "fmtp").unwrap(),
            "96 packetization-mode=1;profile-level-id=42C01E;sprop-parameter-sets=Z0LAHgk=,aAE="
        );
        assert!(!audio.has_attribute("evil"));
        assert!(session.has_attribute("recvonly"));
        assert_eq!(value(group, "rtpmap").unwrap(), "96 VP8/90000");
        assert_eq!(group.connections[0].connection_address, "233.252.0.7/1");
    }
}
