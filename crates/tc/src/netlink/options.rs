//! Options of disciplines and classes as attributes, turned into the fields that other forms have.

use super::{Attributes, handle, i32_at, u16_at, u32_at, u64_at};
use crate::record::{Field, Record};
use crate::{Problem, TcError};

/// Nanoseconds of a tick, in which the kernel counts bursts (`PSCHED_SHIFT`).
const TICK_NS: u128 = 64;

/// Length of `struct tc_ratespec`.
const RATE_SPEC: usize = 12;

/// Linklayer numbers of `struct tc_ratespec` and `struct tc_sizespec`.
const ATM: u32 = 2;

fn missing(record: &Record, attribute: &'static str) -> TcError {
    record.error(Problem::MissingAttribute { of: record.of(), attribute })
}

fn need<T>(record: &Record, value: Option<T>, attribute: &'static str) -> Result<T, TcError> {
    value.ok_or_else(|| missing(record, attribute))
}

fn number(record: &mut Record, key: &'static str, n: impl Into<i128>) -> Result<(), TcError> {
    record.set(key, Field::Number(n.into()))
}

/// `struct tc_ratespec`: bytes/s, cells, overhead, smallest size. `large` has rates beyond 32 bits.
struct RateSpec {
    bytes: u64,
    cells: bool,
    overhead: i16,
    mpu: u16,
}

fn rate_spec(bytes: &[u8], at: usize, large: Option<&[u8]>) -> Option<RateSpec> {
    let small = u64::from(u32_at(bytes, at + 8)?);
    Some(RateSpec {
        bytes: large.and_then(|l| u64_at(l, 0)).unwrap_or(small),
        cells: u32::from(bytes.get(at + 1)? & 0x0f) == ATM,
        overhead: i16::from_ne_bytes(u16_at(bytes, at + 2)?.to_ne_bytes()),
        mpu: u16_at(bytes, at + 6)?,
    })
}

/// The bytes of a burst that is stored as ticks at a rate.
fn burst(bytes: u64, ticks: u32) -> i128 {
    let all = u128::from(bytes) * u128::from(ticks) * TICK_NS / 1_000_000_000;
    i128::try_from(all).unwrap_or(i128::MAX)
}

/// Options of a discipline.
pub fn of_qdisc(record: &mut Record, values: &[u8]) -> Result<(), TcError> {
    match record.kind.clone().as_str() {
        "hfsc" => {
            let default = need(record, u16_at(values, 0), "defcls")?;
            number(record, "default", default)
        }
        "htb" => {
            let all = Attributes::of(values);
            all.known(record, &[2, 5, 9])?;
            let init = need(record, all.get(2), "TCA_HTB_INIT")?;
            let default = need(record, u32_at(init, 8), "TCA_HTB_INIT")?;
            let direct = need(record, u32_at(init, 16), "TCA_HTB_INIT")?;
            number(record, "default", default)?;
            number(record, "direct_packets_stat", direct)
        }
        "prio" | "pfifo_fast" => {
            let bands = need(record, u32_at(values, 0), "bands")?;
            let map = need(record, values.get(4..20), "priomap")?;
            let map = map.iter().map(|band| u64::from(*band)).collect();
            number(record, "bands", bands)?;
            record.set("priomap", Field::List(map))
        }
        "tbf" => tbf(record, &Attributes::of(values)),
        "cbs" => {
            let all = Attributes::of(values);
            all.known(record, &[1])?;
            let parms = need(record, all.get(1), "TCA_CBS_PARMS")?;
            let offload = need(record, parms.first().copied(), "TCA_CBS_PARMS")?;
            number(record, "offload", offload)?;
            for (key, at) in
                [("hicredit", 4), ("locredit", 8), ("idleslope", 12), ("sendslope", 16)]
            {
                let value = need(record, i32_at(parms, at), "TCA_CBS_PARMS")?;
                number(record, key, value)?;
            }
            Ok(())
        }
        "taprio" => taprio(record, &Attributes::of(values)),
        "mqprio" => queues(record, values),
        "cake" => {
            let all = Attributes::of(values);
            match all.get(2).and_then(|v| u64_at(v, 0)) {
                Some(bytes) => number(record, "bandwidth", i128::from(bytes) * 8),
                None => Ok(()),
            }
        }
        "ets" => ets(record, &Attributes::of(values)),
        "pfifo" | "bfifo" | "pfifo_head_drop" => {
            let limit = need(record, u32_at(values, 0), "limit")?;
            number(record, "limit", limit)
        }
        // Kinds without a guarantee, whose options do not matter, and kinds without options.
        _ => Ok(()),
    }
}

fn tbf(record: &mut Record, all: &Attributes) -> Result<(), TcError> {
    all.known(record, &[1, 4, 5, 6, 7, 8])?;
    let parms = need(record, all.get(1), "TCA_TBF_PARMS")?;
    let rate = need(record, rate_spec(parms, 0, all.get(4)), "TCA_TBF_PARMS")?;
    let peak = need(record, rate_spec(parms, RATE_SPEC, all.get(5)), "TCA_TBF_PARMS")?;
    let ticks = |at| u32_at(parms, at);
    let buffer = need(record, ticks(2 * RATE_SPEC + 4), "TCA_TBF_PARMS")?;
    let mtu = need(record, ticks(2 * RATE_SPEC + 8), "TCA_TBF_PARMS")?;
    number(record, "rate", i128::from(rate.bytes) * 8)?;
    number(record, "burst", burst(rate.bytes, buffer))?;
    number(record, "overhead", rate.overhead)?;
    number(record, "mpu", rate.mpu.max(peak.mpu))?;
    if peak.bytes > 0 {
        number(record, "peakrate", i128::from(peak.bytes) * 8)?;
        number(record, "minburst", burst(peak.bytes, mtu))?;
    }
    Ok(())
}

fn ets(record: &mut Record, all: &Attributes) -> Result<(), TcError> {
    all.known(record, &[1, 2, 3, 5])?;
    let byte = |id| all.get(id).and_then(|v| v.first().copied());
    let bands = need(record, byte(1), "TCA_ETS_NBANDS")?;
    number(record, "bands", bands)?;
    number(record, "strict", byte(2).unwrap_or(0))?;
    let nested = |id| all.get(id).map(Attributes::of);
    let quanta = nested(3).map(|q| q.iter().filter_map(|(_, v)| u32_at(v, 0)).collect::<Vec<_>>());
    let quanta = quanta.unwrap_or_default().into_iter().map(u64::from).collect();
    record.set("quanta", Field::List(quanta))?;
    let map =
        nested(5).map(|m| m.iter().filter_map(|(_, v)| v.first().copied()).collect::<Vec<_>>());
    let map = map.unwrap_or_default().into_iter().map(u64::from).collect();
    record.set("priomap", Field::List(map))
}

/// `struct tc_mqprio_qopt`: classes, their map, and for each 16 counts and offsets of queues.
fn queues(record: &mut Record, bytes: &[u8]) -> Result<(), TcError> {
    let classes = need(record, bytes.first().copied(), "struct tc_mqprio_qopt")?.min(16);
    let mut pairs = Vec::new();
    for class in 0..usize::from(classes) {
        let count = need(record, u16_at(bytes, 18 + 2 * class), "struct tc_mqprio_qopt")?;
        let offset = need(record, u16_at(bytes, 50 + 2 * class), "struct tc_mqprio_qopt")?;
        pairs.push((u64::from(offset), u64::from(count)));
    }
    record.set("queues", Field::Pairs(pairs))
}

fn taprio(record: &mut Record, all: &Attributes) -> Result<(), TcError> {
    all.known(record, &[1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12])?;
    let map = need(record, all.get(1), "TCA_TAPRIO_ATTR_PRIOMAP")?;
    queues(record, map)?;
    // The schedule that runs, or the one that is to begin.
    let admin = all.get(7).map(Attributes::of);
    let schedule = match (all.get(2), &admin) {
        (None, Some(admin)) => admin,
        _ => all,
    };
    let entries = need(record, schedule.get(2), "TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST")?;
    let mut gates = Vec::new();
    for (_, entry) in Attributes::of(entries).iter() {
        let entry = Attributes::of(entry);
        let command = entry.get(2).and_then(|v| v.first().copied());
        if command != Some(0) {
            let of = record.of();
            let key = "a gate command other than S".to_owned();
            return Err(record.error(Problem::UnknownKey { of, key }));
        }
        let field = |id| entry.get(id).and_then(|v| u32_at(v, 0)).map(u64::from);
        let mask = need(record, field(3), "TCA_TAPRIO_SCHED_ENTRY_GATE_MASK")?;
        let interval = need(record, field(4), "TCA_TAPRIO_SCHED_ENTRY_INTERVAL")?;
        gates.push((mask, interval));
    }
    record.set("schedule", Field::Pairs(gates))?;
    if let Some(cycle) = schedule.get(8).and_then(|v| u64_at(v, 0)) {
        number(record, "cycle_time", cycle)?;
    }
    if let Some(flags) = all.get(10).and_then(|v| u32_at(v, 0)) {
        number(record, "flags", flags)?;
    }
    Ok(())
}

/// Options of a class.
pub fn of_class(record: &mut Record, values: &[u8]) -> Result<(), TcError> {
    let all = Attributes::of(values);
    match record.kind.as_str() {
        "hfsc" => {
            all.known(record, &[1, 2, 3])?;
            for (key, id) in [("rt", 1), ("ls", 2), ("ul", 3)] {
                let Some(curve) = all.get(id) else { continue };
                let part = |at| u32_at(curve, at).map(u64::from);
                let parts = part(0).zip(part(4)).zip(part(8));
                let ((m1, d), m2) = need(record, parts, "struct tc_service_curve")?;
                record.set(key, Field::Curve([m1 * 8, d * 1000, m2 * 8]))?;
            }
            Ok(())
        }
        "htb" => {
            all.known(record, &[1, 6, 7, 8, 9])?;
            let parms = need(record, all.get(1), "TCA_HTB_PARMS")?;
            let rate = need(record, rate_spec(parms, 0, all.get(6)), "TCA_HTB_PARMS")?;
            let ceil = need(record, rate_spec(parms, RATE_SPEC, all.get(7)), "TCA_HTB_PARMS")?;
            let field = |index: usize| u32_at(parms, 2 * RATE_SPEC + 4 * index);
            let buffer = need(record, field(0), "TCA_HTB_PARMS")?;
            let cbuffer = need(record, field(1), "TCA_HTB_PARMS")?;
            let level = need(record, field(3), "TCA_HTB_PARMS")?;
            let prio = need(record, field(4), "TCA_HTB_PARMS")?;
            number(record, "rate", i128::from(rate.bytes) * 8)?;
            number(record, "ceil", i128::from(ceil.bytes) * 8)?;
            number(record, "burst", burst(rate.bytes, buffer))?;
            number(record, "cburst", burst(ceil.bytes, cbuffer))?;
            number(record, "overhead", rate.overhead)?;
            number(record, "mpu", rate.mpu.max(ceil.mpu))?;
            if rate.cells || ceil.cells {
                record.set("linklayer", Field::Word("atm".to_owned()))?;
            }
            // Inner classes have none.
            match level {
                0 => number(record, "prio", prio),
                _ => Ok(()),
            }
        }
        "drr" => {
            all.known(record, &[1])?;
            let quantum = need(record, all.get(1).and_then(|v| u32_at(v, 0)), "TCA_DRR_QUANTUM")?;
            number(record, "quantum", quantum)
        }
        _ => Ok(()),
    }
}

/// The class to which a filter leads: all kinds give it the same attribute, but for that of `bpf`.
pub fn of_filter(record: &mut Record, values: &[u8]) -> Result<(), TcError> {
    let id = match record.kind.as_str() {
        "bpf" => 3,
        "u32" | "fw" | "flower" | "matchall" | "basic" | "route" => 1,
        _ => return Ok(()),
    };
    let class = Attributes::of(values).get(id).and_then(|v| u32_at(v, 0));
    match class.filter(|class| *class != 0) {
        Some(class) => record.set("flowid", Field::Word(handle(class).to_string())),
        None => Ok(()),
    }
}

/// `struct tc_sizespec`.
pub fn size_table(record: &mut Record, values: &[u8]) -> Result<(), TcError> {
    let base = need(record, Attributes::of(values).get(1), "TCA_STAB_BASE")?;
    let overhead = need(record, i32_at(base, 4), "TCA_STAB_BASE")?;
    let layer = need(record, u32_at(base, 8), "TCA_STAB_BASE")?;
    let mpu = need(record, u32_at(base, 12), "TCA_STAB_BASE")?;
    let layer = if layer == ATM { "atm" } else { "ethernet" };
    record.set("stab_linklayer", Field::Word(layer.to_owned()))?;
    number(record, "stab_overhead", overhead)?;
    number(record, "stab_mpu", mpu)
}
