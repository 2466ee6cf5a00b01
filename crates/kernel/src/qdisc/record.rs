//! Record of an instance, as text beside its maps: its plan, the previous state of the interface,
//! and the scenario in effect.

use super::netlink::RootQdisc;

/// Of one plan on one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) policy: String,
    /// Rule by which the programs assign deadlines.
    pub(super) rule: u32,
    /// Capacity in packets under any plan.
    pub(super) slots: u32,
    /// Bytes of the longest best-effort packet that may wait, from scenarios before too.
    pub(super) longest: u64,
    /// Rate of the link in bit/s, which may differ from the scenario's.
    pub(super) rate: u64,
    /// Bit `i`: real-time flow `i` has no reservation.
    pub(super) shed: u64,
    /// The most segments that the interface took as one packet.
    pub(super) segments: u32,
    /// The root qdisc that was replaced.
    pub(super) replaced: Option<RootQdisc>,
    pub(super) scenario: String,
}

impl Record {
    /// One line of words, then the scenario.
    pub(super) fn to_text(&self) -> String {
        let Record { policy, rule, slots, longest, rate, shed, segments, replaced, scenario } =
            self;
        let mut line = format!("{policy} {rule} {slots} {longest} {rate} {shed} {segments}");
        if let Some(found) = replaced {
            line += &format!(" {} {:x} ", found.kind, found.handle);
            // So that the field is there even without options.
            line.push('0');
            found.options.iter().for_each(|byte| line += &format!("{byte:02x}"));
        }
        format!("{line}\n{scenario}")
    }

    /// Reads it back; `None` when it is no record.
    pub(super) fn read(bytes: &[u8]) -> Option<Record> {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let (line, scenario) = text.split_once('\n')?;
        let mut fields = line.split(' ');
        let policy = fields.next()?.to_owned();
        let (rule, slots) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let longest = fields.next()?.parse().ok()?;
        let (rate, shed) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let segments = fields.next()?.parse().ok()?;
        let replaced = match fields.next() {
            None => None,
            Some(kind) => {
                let handle = u32::from_str_radix(fields.next()?, 16).ok()?;
                let options = bytes_of(fields.next()?.strip_prefix('0')?)?;
                Some(RootQdisc { kind: kind.to_owned(), handle, options })
            }
        };
        let scenario = scenario.to_owned();
        Some(Record { policy, rule, slots, longest, rate, shed, segments, replaced, scenario })
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|p| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a round trip loses anything, or other text is accepted as a record.
    #[test]
    fn records_come_back_as_they_were() {
        let mut record = Record {
            policy: "exact".into(),
            rule: 2,
            slots: 24_000,
            longest: 1514,
            rate: 900_000,
            shed: 5,
            segments: 65_535,
            replaced: None,
            scenario: "[link]\nrate = \"1 Mbit/s\"\n".into(),
        };
        for replaced in [
            None,
            Some(RootQdisc {
                kind: "pfifo".into(),
                handle: 0x70_0000,
                options: vec![77, 0, 0, 255],
            }),
            Some(RootQdisc { kind: "fq".into(), handle: 0x10000, options: Vec::new() }),
        ] {
            record.replaced = replaced;
            let mut bytes = record.to_text().into_bytes();
            assert_eq!(Record::read(&bytes).as_ref(), Some(&record));
            bytes.resize(1000, 0);
            assert_eq!(Record::read(&bytes).as_ref(), Some(&record));
        }
        for text in
            ["", "exact 2 3 4 5 6\n", "exact 2 3 4 5 6 7", "exact 2 3 4 5 6 7 pfifo\n", "\0"]
        {
            assert_eq!(Record::read(text.as_bytes()), None, "{text}");
        }
    }
}
