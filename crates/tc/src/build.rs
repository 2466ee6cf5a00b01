//! Records of all inputs joined and turned into a configuration.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Field, Record, Section};
use crate::{
    Class, ClassOptions, Config, Filter, Handle, HtbClass, Limit, Problem, Qdisc, QdiscOptions,
    SizeTable, Tbf, TcError, TwoPiece,
};

/// The command that prints the options that JSON lacks.
const QDISC: &str = "tc -s -d qdisc show dev DEV";
const CLASS: &str = "tc -s -d class show dev DEV";

/// Most disciplines, and most classes with options: the analysis compares classes in pairs.
const MAX_OBJECTS: usize = 4096;

/// Counters, which differ between two dumps of one device.
const COUNTERS: &[&str] = &["drops", "direct_packets_stat"];

pub fn config(records: Vec<Record>) -> Result<Config, TcError> {
    let mut config = Config::default();
    let mut joined: BTreeMap<(Section, Option<Handle>, Option<Handle>, String), Record> =
        BTreeMap::new();
    for record in records {
        if let Some(device) = &record.device {
            match &config.device {
                Some(other) if other != device => {
                    let problem = Problem::Repeated("dev".to_owned());
                    return Err(record.error(problem));
                }
                _ => config.device = Some(device.clone()),
            }
        }
        if record.section == Section::Filter {
            config.filters.extend(filter(&record)?);
            continue;
        }
        config.rounded |= record.from_text;
        let key = (record.section, record.handle, record.parent, record.kind.clone());
        match joined.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(record);
            }
            Entry::Occupied(mut entry) => join(entry.get_mut(), record)?,
        }
    }
    for record in joined.values() {
        match record.section {
            Section::Qdisc => config.qdiscs.push(qdisc(record)?),
            _ => config.classes.push(class(record)?),
        }
    }
    config.qdiscs.sort_by_key(|q| (q.parent.is_some(), q.handle, q.parent));
    tree(&mut config)?;
    Ok(config)
}

/// Holds the disciplines to a tree of bounded size, and marks inner classes.
fn tree(config: &mut Config) -> Result<(), TcError> {
    let mut seen = BTreeSet::new();
    for (i, q) in config.qdiscs.iter().enumerate() {
        let fail = |what| TcError { place: q.place.clone(), problem: Problem::Impossible(what) };
        if q.parent.is_none() && i > 0 {
            return Err(fail("two disciplines at the root"));
        }
        if q.handle.major != 0 && !seen.insert(q.handle) {
            return Err(fail("two disciplines with one handle"));
        }
        if i >= MAX_OBJECTS {
            return Err(fail("more than 4096 disciplines"));
        }
    }
    let parents: BTreeSet<Handle> = config.classes.iter().filter_map(|c| c.parent).collect();
    let mut with_options = 0;
    for class in &mut config.classes {
        class.inner =
            parents.contains(&class.handle) || (class.kind == "hfsc" && class.handle.minor == 0);
        with_options += usize::from(class.options != ClassOptions::Plain);
        if with_options > MAX_OBJECTS {
            let problem = Problem::Impossible("more than 4096 classes");
            return Err(TcError { place: class.place.clone(), problem });
        }
    }
    Ok(())
}

/// JSON is exact, so its values stay; the text adds what is missing.
fn join(first: &mut Record, second: Record) -> Result<(), TcError> {
    if first.from_text && !second.from_text {
        let text = std::mem::replace(first, second);
        return join(first, text);
    }
    let same_form = first.from_text == second.from_text;
    for (key, field) in second.fields {
        match first.fields.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(field);
            }
            Entry::Occupied(entry) => {
                if same_form && *entry.get() != field && !COUNTERS.contains(&key) {
                    let problem = Problem::Repeated(key.to_owned());
                    return Err(TcError { place: second.place, problem });
                }
            }
        }
    }
    Ok(())
}

impl Record {
    fn number(&self, key: &str) -> Option<i128> {
        match self.fields.get(key) {
            Some(Field::Number(n)) => Some(*n),
            _ => None,
        }
    }

    fn natural(&self, key: &'static str, command: &'static str) -> Result<u64, TcError> {
        let missing = Problem::Missing { of: self.of(), key, command };
        let n = self.number(key).ok_or_else(|| self.error(missing))?;
        u64::try_from(n).map_err(|_| self.error(Problem::Impossible("a negative number")))
    }

    fn natural_or(&self, key: &'static str, or: u64) -> Result<u64, TcError> {
        match self.fields.contains_key(key) {
            true => self.natural(key, QDISC),
            false => Ok(or),
        }
    }

    fn signed(&self, key: &'static str) -> Result<i64, TcError> {
        let missing = Problem::Missing { of: self.of(), key, command: QDISC };
        let n = self.number(key).ok_or_else(|| self.error(missing))?;
        i64::try_from(n).map_err(|_| self.error(Problem::Impossible("a number beyond 64 bits")))
    }

    fn minor(&self, key: &'static str) -> Result<u16, TcError> {
        let n = self.natural_or(key, 0)?;
        u16::try_from(n).map_err(|_| self.error(Problem::Impossible("a class number above ffff")))
    }

    fn list(&self, key: &'static str) -> Vec<u64> {
        match self.fields.get(key) {
            Some(Field::List(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    fn pairs(&self, key: &'static str) -> Result<Vec<(u64, u64)>, TcError> {
        match self.fields.get(key) {
            Some(Field::Pairs(pairs)) => Ok(pairs.clone()),
            _ => Err(self.error(Problem::Missing { of: self.of(), key, command: QDISC })),
        }
    }

    fn curve(&self, key: &'static str) -> Option<TwoPiece> {
        match self.fields.get(key) {
            Some(Field::Curve([m1, d, m2])) => Some(TwoPiece { m1: *m1, d: *d, m2: *m2 }),
            _ => None,
        }
    }
}

fn filter(record: &Record) -> Result<Option<Filter>, TcError> {
    let Some(Field::Word(target)) = record.fields.get("flowid") else { return Ok(None) };
    let Some(class) = Handle::parse(target) else {
        let value = target.clone();
        let key = "flowid".to_owned();
        return Err(record.error(Problem::Value { key, value, expected: "a handle" }));
    };
    Ok(Some(Filter { kind: record.kind.clone(), class, place: record.place.clone() }))
}

fn qdisc(record: &Record) -> Result<Qdisc, TcError> {
    Ok(Qdisc {
        handle: record.handle.unwrap_or(Handle { major: 0, minor: 0 }),
        parent: record.parent,
        options: options(record)?,
        size_table: size_table(record)?,
        drops: record.natural_or("drops", 0)?,
        place: record.place.clone(),
    })
}

fn size_table(record: &Record) -> Result<Option<SizeTable>, TcError> {
    let Some(Field::Word(layer)) = record.fields.get("stab_linklayer") else { return Ok(None) };
    let overhead = record.number("stab_overhead");
    Ok(Some(SizeTable {
        overhead: overhead.map_or(Ok(0), |_| record.signed("stab_overhead"))?,
        mpu: record.natural_or("stab_mpu", 0)?,
        cells: layer == "atm",
    }))
}

fn options(record: &Record) -> Result<QdiscOptions, TcError> {
    if !record.known {
        return Ok(QdiscOptions::Other(record.kind.clone()));
    }
    Ok(match record.kind.as_str() {
        "hfsc" => QdiscOptions::Hfsc { default: record.minor("default")? },
        "htb" => QdiscOptions::Htb {
            default: record.minor("default")?,
            direct_packets: record.natural_or("direct_packets_stat", 0)?,
        },
        "prio" => {
            let bands = record.natural("bands", QDISC)?;
            QdiscOptions::Prio {
                bands: at_most_16(record, bands)?,
                priomap: record.list("priomap"),
            }
        }
        "tbf" => QdiscOptions::Tbf(tbf(record)?),
        "cbs" => {
            let slope = |key| {
                let kbit: i64 = record.signed(key)?;
                let large = Problem::Impossible("a slope beyond 64 bits");
                kbit.checked_mul(1000).ok_or_else(|| record.error(large))
            };
            QdiscOptions::Cbs {
                idle: slope("idleslope")?,
                send: slope("sendslope")?,
                hicredit: record.signed("hicredit")?,
                offload: record.natural_or("offload", 0)? != 0,
            }
        }
        "etf" => QdiscOptions::Etf,
        "taprio" => {
            let gates = record.pairs("schedule")?;
            let sum = gates.iter().try_fold(0u64, |sum, (_, ns)| sum.checked_add(*ns));
            let long = Problem::Impossible("a cycle beyond 64 bits");
            let sum = sum.ok_or_else(|| record.error(long))?;
            QdiscOptions::Taprio {
                queues: record.pairs("queues")?,
                gates,
                cycle: record.natural_or("cycle_time", sum)?,
                flags: record.natural_or("flags", 0)?,
            }
        }
        "mqprio" => QdiscOptions::Mqprio { queues: record.pairs("queues")? },
        "fq" => QdiscOptions::Fq,
        "fq_codel" => QdiscOptions::FqCodel,
        "cake" => QdiscOptions::Cake {
            bandwidth: match record.natural_or("bandwidth", 0)? {
                0 => None,
                rate => Some(rate),
            },
        },
        "drr" => QdiscOptions::Drr,
        "ets" => {
            let bands = record.natural("bands", QDISC)?;
            let bands = at_most_16(record, bands)?;
            let strict = record.natural_or("strict", 0)?;
            let quanta = record.list("quanta");
            if strict.checked_add(quanta.len() as u64) != Some(bands) {
                let what = "strict bands and quanta that are not the bands";
                return Err(record.error(Problem::Impossible(what)));
            }
            QdiscOptions::Ets { bands, strict, quanta, priomap: record.list("priomap") }
        }
        "qfq" => QdiscOptions::Qfq,
        "pfifo" => QdiscOptions::Fifo(Limit::Packets(record.natural("limit", QDISC)?)),
        "bfifo" => QdiscOptions::Fifo(Limit::Bytes(record.natural("limit", QDISC)?)),
        "pfifo_fast" => QdiscOptions::PfifoFast,
        "noqueue" => QdiscOptions::Noqueue,
        kind => QdiscOptions::Other(kind.to_owned()),
    })
}

fn at_most_16(record: &Record, bands: u64) -> Result<u64, TcError> {
    match bands {
        1..=16 => Ok(bands),
        _ => Err(record.error(Problem::Impossible("a number of bands outside 1 to 16"))),
    }
}

fn tbf(record: &Record) -> Result<Tbf, TcError> {
    // JSON has the burst of the peak rate without the rate itself.
    let burst = if record.number("minburst").is_some() { "minburst" } else { "mtu" };
    let peak = match record.number(burst).is_some() {
        true => Some((record.natural("peakrate", QDISC)?, record.natural(burst, QDISC)?)),
        false => None,
    };
    if peak.is_none() && record.number("peakrate").is_some() {
        let key = "mtu";
        return Err(record.error(Problem::Missing { of: record.of(), key, command: QDISC }));
    }
    Ok(Tbf {
        rate: record.natural("rate", QDISC)?,
        burst: record.natural("burst", QDISC)?,
        peak,
        overhead: record.number("overhead").map_or(Ok(0), |_| record.signed("overhead"))?,
        mpu: record.natural_or("mpu", 0)?,
    })
}

fn class(record: &Record) -> Result<Class, TcError> {
    let options = match record.kind.as_str() {
        "hfsc" => {
            // `sc` stands for equal real-time and link-sharing curves.
            let both = record.curve("sc");
            ClassOptions::Hfsc {
                rt: both.or(record.curve("rt")),
                ls: both.or(record.curve("ls")),
                ul: record.curve("ul"),
            }
        }
        "htb" => ClassOptions::Htb(HtbClass {
            prio: record.number("prio").map(|_| record.natural("prio", CLASS)).transpose()?,
            rate: record.natural("rate", CLASS)?,
            ceil: record.natural("ceil", CLASS)?,
            burst: record.natural("burst", CLASS)?,
            cburst: record.natural("cburst", CLASS)?,
            overhead: record.number("overhead").map_or(Ok(0), |_| record.signed("overhead"))?,
            mpu: record.natural_or("mpu", 0)?,
            cells: matches!(record.fields.get("linklayer"), Some(Field::Word(w)) if w == "atm"),
        }),
        "drr" => ClassOptions::Drr { quantum: record.natural("quantum", CLASS)? },
        _ => ClassOptions::Plain,
    };
    let handle = record.handle.unwrap_or(Handle { major: 0, minor: 0 });
    Ok(Class {
        kind: record.kind.clone(),
        handle,
        parent: record.parent.filter(|p| p.minor != 0 && p.major == handle.major),
        options,
        inner: false,
        place: record.place.clone(),
    })
}
