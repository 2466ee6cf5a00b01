//! `envelope`

use laxity_core::{Bytes, Span};
use laxity_curve::{Bucket, CurveError, DEFAULT_BUCKETS, Envelope};

use crate::problem::Problems;
use crate::quantity::{print_bytes, print_rate};
use crate::read::Context;
use crate::read::walk::{MAX_RATE, Section, shown};

/// Reads the envelope of a flow. Its forms stand in the table of keys in this order.
pub(super) fn read(flow: &Section<'_>, name: &str, cx: &mut Context<'_, '_>) -> Option<Envelope> {
    let (form, section) = flow.form("envelope", cx.out)?;
    match form {
        0 => tspec(&section, cx.out),
        1 => leaky_bucket(&section, cx.out),
        2 => buckets(&section, cx.out),
        3 => periodic(&section, cx.out),
        _ => trace(&section, name, cx),
    }
}

fn tspec(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Envelope> {
    let packet = section.packet("packet", out);
    let peak = section.positive_rate("peak", out);
    let bucket = bucket(section, out);
    let (packet, peak, bucket) = (packet?, peak?, bucket?);
    let mut sound = true;
    if peak < bucket.rate {
        let (peak, rate) = (print_rate(peak), print_rate(bucket.rate));
        let what = format!("the peak rate {peak} is below the long-term rate {rate}");
        section.wrong("peak", out, what, format!("raise it to at least {rate}"));
        sound = false;
    }
    if !fits(section, packet, &[bucket], out) || !sound {
        return None;
    }
    let built = Envelope::tspec(packet, peak, bucket.burst, bucket.rate);
    finish(section, built, out)
}

fn leaky_bucket(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Envelope> {
    let bucket = bucket(section, out)?;
    with_packet(section, &[bucket], out)
}

fn buckets(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Envelope> {
    let (list, shape) = section.tables("buckets", out);
    let shape = shape?;
    if list.is_empty() {
        let remedy = "write at least one { burst = \"15 kB\", rate = \"600 kB/s\" }";
        section.wrong("buckets", out, "the list is empty", remedy);
        return None;
    }
    let mut all = Vec::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        let path = format!("{}[{i}]", section.key_path("buckets"));
        all.push(section.below(value, path, shape, out).and_then(|s| bucket(&s, out)));
    }
    let all: Vec<Bucket> = all.into_iter().collect::<Option<_>>()?;
    with_packet(section, &all, out)
}

fn periodic(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Envelope> {
    let period = section.positive_time("period", out);
    let size = section.packet("size", out);
    let jitter = section.time("jitter", out).unwrap_or(Span::ZERO);
    finish(section, Envelope::periodic(period?, size?, jitter), out)
}

fn bucket(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Bucket> {
    let burst = section.positive_size("burst", out);
    let rate = section.positive_rate("rate", out);
    Some(Bucket { burst: burst?, rate: rate? })
}

fn with_packet(
    section: &Section<'_>,
    buckets: &[Bucket],
    out: &mut Problems<'_>,
) -> Option<Envelope> {
    let smallest = buckets.iter().map(|b| b.burst).min()?;
    let packet = match section.has("packet") {
        true => section.packet("packet", out)?,
        false => smallest,
    };
    if !fits(section, packet, buckets, out) {
        return None;
    }
    finish(section, Envelope::buckets(buckets, packet), out)
}

/// Whether a packet passes all buckets.
fn fits(section: &Section<'_>, packet: Bytes, buckets: &[Bucket], out: &mut Problems<'_>) -> bool {
    let Some(small) = buckets.iter().map(|b| b.burst).filter(|b| *b < packet).min() else {
        return true;
    };
    let (packet, burst) = (print_bytes(packet), print_bytes(small));
    let what = format!("a packet of {packet} exceeds the burst of {burst}");
    let remedy = format!("raise the burst to at least {packet}, or lower `packet`");
    section.wrong("packet", out, what, remedy);
    false
}

/// Applies `min_packet` and reports what the constructors refuse.
fn finish(
    section: &Section<'_>,
    built: Result<Envelope, CurveError>,
    out: &mut Problems<'_>,
) -> Option<Envelope> {
    let envelope = match built {
        Ok(envelope) => envelope,
        Err(error) => {
            refused(section, &error, out);
            return None;
        }
    };
    if !section.known("min_packet") || !section.has("min_packet") {
        return Some(envelope);
    }
    let (minimum, most) = (section.packet("min_packet", out)?, envelope.max_packet());
    if minimum > most {
        let what = format!(
            "the smallest packet {} is larger than the largest, {}",
            print_bytes(minimum),
            print_bytes(most)
        );
        section.wrong("min_packet", out, what, "lower it");
        return None;
    }
    match envelope.with_min_packet(minimum) {
        Ok(envelope) => Some(envelope),
        Err(error) => {
            refused(section, &error, out);
            None
        }
    }
}

fn refused(section: &Section<'_>, error: &CurveError, out: &mut Problems<'_>) {
    let text = error.to_string();
    let (what, remedy) = text.split_once("; ").unwrap_or((&text, ""));
    out.structure(section.span.clone(), &section.path, what, remedy);
}

fn trace(section: &Section<'_>, flow: &str, cx: &mut Context<'_, '_>) -> Option<Envelope> {
    let path = section.file("trace", cx.out)?;
    let file = cx.folder.join(path);
    let packets = match (cx.traces)(&file, flow) {
        Ok(packets) => packets,
        Err(error) => {
            let remedy =
                "name a CSV file with the header time_ns,bytes,flow, relative to this file";
            section.wrong("trace", cx.out, format!("\"{}\": {error}", shown(path)), remedy);
            return None;
        }
    };
    if packets.is_empty() {
        let what = format!("\"{}\" holds no packet of flow `{}`", shown(path), shown(flow));
        section.wrong("trace", cx.out, what, "check the column `flow` of the file");
        return None;
    }
    let fitted = Envelope::from_trace(&packets, DEFAULT_BUCKETS);
    // Such a rate could not be written in a scenario.
    let rates = fitted.iter().filter_map(Envelope::lines).flatten().map(|b| b.rate);
    if rates.clone().any(|r| r.0 == 0) {
        let what = format!("in \"{}\" all its packets come at one instant", shown(path));
        section.wrong("trace", cx.out, what, "a rate needs two instants: record for longer");
        return None;
    }
    if rates.clone().any(|r| r > MAX_RATE) {
        let what = format!("in \"{}\" its packets come faster than 1 Pbit/s", shown(path));
        section.wrong("trace", cx.out, what, "check that the times are in nanoseconds");
        return None;
    }
    finish(section, fitted, cx.out)
}
