//! CoDel (RFC 8289) with its defaults: target 5 ms, interval 100 ms. Square roots by floats, as in the
//! RFC's pseudo-code.

use laxity_core::{Span, Time};

use super::MS;

const TARGET: Span = Span(5 * MS);
const INTERVAL: f64 = 100e6;

#[derive(Default)]
pub struct CoDel {
    first_above: Option<Time>,
    dropping: bool,
    next: Time,
    count: u32,
    last_count: u32,
}

impl CoDel {
    fn control(at: Time, count: u32) -> Time {
        at + Span((INTERVAL / f64::from(count).sqrt()) as u64)
    }

    /// Whether the packet that waited for `sojourn` is marked or dropped.
    pub fn signals(&mut self, now: Time, sojourn: Span, more: bool) -> bool {
        let above = sojourn >= TARGET && more;
        if !above {
            self.first_above = None;
        }
        let ok = match self.first_above {
            Some(at) => above && now >= at,
            None if above => {
                self.first_above = Some(now + Span(INTERVAL as u64));
                false
            }
            None => false,
        };
        if self.dropping {
            if !ok {
                self.dropping = false;
            } else if now >= self.next {
                self.count += 1;
                self.next = CoDel::control(self.next, self.count);
                return true;
            }
            return false;
        }
        if ok {
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now.since(self.next).0 < 16 * INTERVAL as u64;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.next = CoDel::control(now, self.count);
        }
        ok
    }
}
