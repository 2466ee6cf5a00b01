//! Kinds of line: the framing of a packet, under the keywords of tc-cake(8).
//!
//! CAKE counts overhead from the IP packet, a scenario from the packet as its interface has it, so
//! the link-layer header of the interface is subtracted. PTM sends 65 bytes for 64 (IEEE 802.3
//! section 61.3), which lowers the rate. ATM sends cells of 53 bytes that hold 48 of a packet and
//! pads the last one: `48 * ceil(x / 48) <= x + 47`, so the rate times 48/53 and 47 more bytes of
//! overhead bound it from above. Guarantees hold for any packet; the link loses at most the
//! padding of one cell a packet that a count of cells would give to best effort.

use std::fmt;

use laxity_core::{Bytes, Rate};

/// Padding of the last ATM cell, at most.
const CELL_PADDING: u32 = 47;

/// Encoding below the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Frames as they are.
    #[default]
    None,
    /// 64b/65b of VDSL2.
    Ptm,
    /// ATM cells of ADSL.
    Atm,
}

impl Encoding {
    /// Bytes of a frame for so many on the line.
    fn ratio(self) -> (u64, u64) {
        match self {
            Encoding::None => (1, 1),
            Encoding::Ptm => (64, 65),
            Encoding::Atm => (48, 53),
        }
    }
}

/// A kind of line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its keywords.
    pub keywords: Vec<&'static str>,
    /// Bytes beyond the IP packet; beyond the packet of the interface with `raw`.
    overhead: u32,
    raw: bool,
    min_frame: u32,
    /// Encoding below the frames.
    pub encoding: Encoding,
}

/// A keyword: its name, what it adds, least frame and encoding.
struct Keyword {
    name: &'static str,
    overhead: u32,
    min_frame: u32,
    encoding: Option<Encoding>,
    modifies: bool,
}

const fn kind(name: &'static str, overhead: u32, min_frame: u32, encoding: Encoding) -> Keyword {
    Keyword { name, overhead, min_frame, encoding: Some(encoding), modifies: false }
}

const fn modifier(name: &'static str, overhead: u32, encoding: Option<Encoding>) -> Keyword {
    Keyword { name, overhead, min_frame: 0, encoding, modifies: true }
}

/// Keywords with the values of tc-cake(8).
const KEYWORDS: [Keyword; 18] = [
    kind("raw", 0, 0, Encoding::None),
    kind("conservative", 48, 0, Encoding::Atm),
    kind("ethernet", 38, 84, Encoding::None),
    kind("docsis", 18, 64, Encoding::None),
    kind("pppoe-ptm", 30, 0, Encoding::Ptm),
    kind("bridged-ptm", 22, 0, Encoding::Ptm),
    kind("pppoe-vcmux", 32, 0, Encoding::Atm),
    kind("pppoe-llcsnap", 40, 0, Encoding::Atm),
    kind("pppoa-vcmux", 10, 0, Encoding::Atm),
    kind("pppoa-llc", 14, 0, Encoding::Atm),
    kind("bridged-vcmux", 24, 0, Encoding::Atm),
    kind("bridged-llcsnap", 32, 0, Encoding::Atm),
    kind("ipoa-vcmux", 8, 0, Encoding::Atm),
    kind("ipoa-llcsnap", 16, 0, Encoding::Atm),
    modifier("ether-vlan", 4, None),
    modifier("atm", 0, Some(Encoding::Atm)),
    modifier("ptm", 0, Some(Encoding::Ptm)),
    modifier("noatm", 0, Some(Encoding::None)),
];

/// More VLAN tags than any line has are a mistake.
const MOST_KEYWORDS: usize = 8;

/// A kind of line that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// A word that is no keyword.
    Unknown(String),
    /// No keyword names the kind, or a modifier precedes it.
    NoKind,
    /// A second kind.
    SecondKind(&'static str),
    /// Too many keywords.
    TooMany,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Unknown(word) => {
                write!(f, "there is no kind of line `{word}`; choose one of ")?;
                let names: Vec<&str> = KEYWORDS.iter().map(|k| k.name).collect();
                write!(f, "{}", names.join(", "))
            }
            LineError::NoKind => {
                write!(f, "name the kind of line first, such as `ethernet` or `conservative`")
            }
            LineError::SecondKind(name) => write!(
                f,
                "`{name}` is a second kind of line; after the first only ether-vlan, atm, ptm and \
                 noatm are possible"
            ),
            LineError::TooMany => write!(f, "give at most {MOST_KEYWORDS} keywords"),
        }
    }
}

impl Line {
    /// Reads keywords, separated by commas or spaces.
    ///
    /// # Errors
    /// See [`LineError`].
    pub fn parse(text: &str) -> Result<Line, LineError> {
        let mut line: Option<Line> = None;
        let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        for (i, word) in words.enumerate() {
            if i == MOST_KEYWORDS {
                return Err(LineError::TooMany);
            }
            let keyword = KEYWORDS.iter().find(|k| k.name.eq_ignore_ascii_case(word));
            let keyword =
                keyword.ok_or_else(|| LineError::Unknown(word.chars().take(40).collect()))?;
            match (&mut line, keyword.modifies) {
                (None, true) => return Err(LineError::NoKind),
                (Some(_), false) => return Err(LineError::SecondKind(keyword.name)),
                (None, false) => {
                    line = Some(Line {
                        keywords: vec![keyword.name],
                        overhead: keyword.overhead,
                        raw: keyword.name == "raw",
                        min_frame: keyword.min_frame,
                        encoding: keyword.encoding.unwrap_or_default(),
                    });
                }
                (Some(line), true) => {
                    line.keywords.push(keyword.name);
                    line.overhead += keyword.overhead;
                    line.encoding = keyword.encoding.unwrap_or(line.encoding);
                }
            }
        }
        line.ok_or(LineError::NoKind)
    }

    /// Names of the kinds, without modifiers.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KEYWORDS.iter().filter(|k| !k.modifies).map(|k| k.name)
    }

    /// Its keywords, as they are given.
    pub fn name(&self) -> String {
        self.keywords.join(" ")
    }

    /// `overhead` of the scenario on an interface whose packets include `header`; not below zero, which
    /// counts too much where frames on the line are smaller than the interface's packets.
    pub fn overhead(&self, header: Bytes) -> Bytes {
        let header = if self.raw { 0 } else { header.0 };
        let padding = if self.encoding == Encoding::Atm { CELL_PADDING } else { 0 };
        Bytes(u64::from(self.overhead).saturating_sub(header) + u64::from(padding))
    }

    /// `min_frame` of the scenario.
    pub fn min_frame(&self) -> Bytes {
        Bytes(self.min_frame.into())
    }

    /// A share of the line's rate in percent, in bytes of frames, rounded down to four digits.
    pub fn rate(&self, line: Rate, share: u32) -> Rate {
        let (frames, encoded) = self.encoding.ratio();
        let exact = u128::from(line.0) * u128::from(share) * u128::from(frames)
            / (100 * u128::from(encoded));
        let exact = u64::try_from(exact).unwrap_or(u64::MAX);
        let unit = 10u64.pow(exact.checked_ilog10().unwrap_or(0).saturating_sub(3));
        Rate(exact / unit * unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a keyword has another overhead, least frame or encoding than in tc-cake(8), or the
    // header of the interface is not subtracted: tried with 37 B for `ethernet`.
    #[test]
    fn overheads_are_those_of_the_keywords() {
        for (keywords, ethernet, ip, min_frame, encoding) in [
            ("raw", 0, 0, 0, Encoding::None),
            ("ethernet", 24, 38, 84, Encoding::None),
            ("ethernet ether-vlan", 28, 42, 84, Encoding::None),
            ("docsis", 4, 18, 64, Encoding::None),
            ("pppoe-ptm", 16, 30, 0, Encoding::Ptm),
            ("bridged-ptm,ether-vlan", 12, 26, 0, Encoding::Ptm),
            ("conservative", 81, 95, 0, Encoding::Atm),
            ("pppoe-llcsnap", 73, 87, 0, Encoding::Atm),
            ("pppoe-vcmux noatm", 18, 32, 0, Encoding::None),
            ("ipoa-vcmux", 47, 55, 0, Encoding::Atm),
        ] {
            let line = Line::parse(keywords).unwrap();
            assert_eq!(line.overhead(Bytes(14)), Bytes(ethernet), "{keywords}");
            assert_eq!(line.overhead(Bytes(0)), Bytes(ip), "{keywords}");
            assert_eq!(
                (line.min_frame(), line.encoding),
                (Bytes(min_frame), encoding),
                "{keywords}"
            );
        }
    }

    // Fails when the bound of cells is below a count of cells: tried with a padding of 46.
    #[test]
    fn cells_are_bounded_from_above() {
        for keywords in Line::kinds() {
            let line = Line::parse(keywords).unwrap();
            if line.encoding != Encoding::Atm {
                continue;
            }
            for header in [0, 14] {
                for packet in 40..=1500u64 {
                    let on_line = (packet + u64::from(line.overhead)).div_ceil(48) * 53;
                    // Counted: `packet + header + overhead` bytes at 48/53 of the rate.
                    let counted = packet + header + line.overhead(Bytes(header)).0;
                    assert!(counted * 53 >= on_line * 48, "{keywords} {packet}");
                    assert!(counted * 53 <= (on_line + 53 + 14) * 48, "{keywords} {packet}");
                }
            }
        }
    }

    // Fails when the share or the encoding is not applied, or the result is above the exact one.
    #[test]
    fn rates_are_shares_after_the_encoding() {
        let rate =
            |keywords: &str, share| Line::parse(keywords).unwrap().rate(Rate(20_000_000), share).0;
        assert_eq!(rate("ethernet", 95), 19_000_000);
        assert_eq!(rate("pppoe-ptm", 95), 18_700_000);
        assert_eq!(rate("conservative", 95), 17_200_000);
        assert_eq!(rate("conservative noatm", 100), 20_000_000);
    }

    // Fails when an unknown word, a modifier alone or a second kind is accepted.
    #[test]
    fn other_words_are_refused_with_the_choice() {
        let error = |text: &str| Line::parse(text).unwrap_err();
        assert_eq!(error("fibre"), LineError::Unknown("fibre".into()));
        assert!(error("fibre").to_string().contains("docsis"));
        assert_eq!(
            (error(""), error("ether-vlan ethernet")),
            (LineError::NoKind, LineError::NoKind)
        );
        assert_eq!(error("ethernet,docsis"), LineError::SecondKind("docsis"));
        assert_eq!(
            error(
                &"ethernet".to_owned().replace("ethernet", "raw ptm ptm ptm ptm ptm ptm ptm ptm")
            ),
            LineError::TooMany
        );
    }
}
