//! HFSC (Stoica, Zhang, Ng 1997) as `net/sched/sch_hfsc.c` has it: leaf classes below one root class that always has
//! service left, with real-time and link-sharing curves and without upper limits.

use std::ops::Range;

use super::{BYTE, Choice, Order};

/// A curve of two slopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slopes {
    /// First slope in bit/s.
    pub m1: u64,
    /// Time between the slopes in ns.
    pub d: u64,
    /// Second slope in bit/s.
    pub m2: u64,
}

/// A leaf class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HfscClass {
    /// Real-time curve.
    pub rt: Option<Slopes>,
    /// Link-sharing curve.
    pub ls: Option<Slopes>,
}

/// Later than any simulated time.
const NEVER: i128 = i128::MAX / 4;

/// A curve from `(x, y)`: ns or virtual ns, nanobits.
#[derive(Clone, Copy, Debug)]
struct Curve {
    x: i128,
    y: i128,
    m1: i128,
    dx: i128,
    dy: i128,
    m2: i128,
}

impl Curve {
    fn new(slopes: Slopes, x: i128, y: i128) -> Curve {
        let (m1, dx) = (i128::from(slopes.m1), i128::from(slopes.d));
        Curve { x, y, m1, dx, dy: m1 * dx, m2: slopes.m2.into() }
    }

    /// The earliest time at which it has reached `y`.
    fn time(&self, y: i128) -> i128 {
        let above = y - self.y;
        if above < 0 {
            return self.x;
        }
        if above <= self.dy {
            return self.x + if self.dy == 0 { self.dx } else { ceil(above, self.m1) };
        }
        self.x.saturating_add(self.dx).saturating_add(ceil(above - self.dy, self.m2))
    }

    fn value(&self, x: i128) -> i128 {
        let after = x - self.x;
        match after {
            ..=0 => self.y,
            _ if after <= self.dx => self.y + after * self.m1,
            _ => self.y + self.dy + (after - self.dx) * self.m2,
        }
    }

    /// `rtsc_min`: the minimum of it and of `slopes` from `(x, y)`, as far as the kernel takes it. A convex curve
    /// that lies below what was served stays as it is.
    fn lower_to(&mut self, slopes: Slopes, x: i128, y: i128) {
        let fresh = Curve::new(slopes, x, y);
        let here = self.value(x);
        if slopes.m1 <= slopes.m2 {
            if here >= y {
                (self.x, self.y) = (x, y);
            }
            return;
        }
        if here <= y {
            return;
        }
        if self.value(x + fresh.dx) >= y + fresh.dy {
            *self = fresh;
            return;
        }
        let mut dx = (here - y) / (fresh.m1 - fresh.m2);
        dx += (self.x + self.dx - x).max(0);
        *self = Curve { dx, dy: dx * fresh.m1, ..fresh };
    }
}

fn ceil(work: i128, rate: i128) -> i128 {
    if rate == 0 { NEVER } else { (work + rate - 1) / rate }
}

struct Class {
    options: HfscClass,
    active: bool,
    /// Served by the real-time rule, and in all.
    cumulative: i128,
    total: i128,
    deadline: Option<Curve>,
    eligible: Option<Curve>,
    virtual_time: Option<Curve>,
    eligible_at: i128,
    due: i128,
    vt: i128,
    vt_adjustment: i128,
    /// The backlog period of the root class in which it was active last.
    period: u64,
}

pub(super) struct Hfsc {
    classes: Vec<Class>,
    /// Backlog periods of the root class so far.
    period: u64,
    /// The least virtual time at which a class was served in this period.
    least: i128,
    /// Greatest virtual time at which a class became passive.
    reached: i128,
    by_deadline: bool,
}

impl Hfsc {
    pub(super) fn new(classes: &[HfscClass]) -> Hfsc {
        let class = |options: &HfscClass| Class {
            options: *options,
            active: false,
            cumulative: 0,
            total: 0,
            deadline: None,
            eligible: None,
            virtual_time: None,
            eligible_at: NEVER,
            due: NEVER,
            vt: 0,
            vt_adjustment: 0,
            period: 0,
        };
        let classes = classes.iter().map(class).collect();
        Hfsc { classes, period: 0, least: 0, reached: 0, by_deadline: false }
    }

    fn sharing(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(|c| c.active && c.options.ls.is_some())
    }

    /// `init_vf`.
    fn begin_sharing(&mut self, class: usize, slopes: Slopes) {
        let newest = self.sharing().map(|c| c.vt).max();
        let own = &mut self.classes[class];
        match newest {
            Some(greatest) => {
                let start = if self.least != 0 { (self.least + greatest) / 2 } else { greatest };
                if own.period != self.period || start > own.vt {
                    own.vt = start;
                }
            }
            None => {
                self.period += 1;
                self.least = 0;
                own.vt = self.reached;
            }
        }
        own.period = self.period;
        let (vt, total) = (own.vt, own.total);
        let curve = own.virtual_time.get_or_insert(Curve::new(slopes, vt, total));
        curve.lower_to(slopes, vt, total);
        own.vt_adjustment = 0;
    }

    /// `init_ed`.
    fn begin_real_time(&mut self, class: usize, slopes: Slopes, now: i128, head: u32) {
        let own = &mut self.classes[class];
        let deadline = own.deadline.get_or_insert(Curve::new(slopes, now, own.cumulative));
        deadline.lower_to(slopes, now, own.cumulative);
        let mut eligible = *deadline;
        if slopes.m1 <= slopes.m2 {
            (eligible.dx, eligible.dy) = (0, 0);
        }
        own.eligible = Some(eligible);
        own.set_times(head, true);
    }
}

impl Class {
    /// The deadline of its oldest packet, and where real time was served the time from which it is eligible.
    fn set_times(&mut self, head: u32, eligible: bool) {
        let (Some(deadline), Some(curve)) = (&self.deadline, &self.eligible) else { return };
        if eligible {
            self.eligible_at = curve.time(self.cumulative);
        }
        self.due = deadline.time(self.cumulative + i128::from(head) * BYTE);
    }
}

/// The first of the indices with the least value.
fn least_of(indices: Range<usize>, value: impl Fn(usize) -> Option<i128>) -> Option<usize> {
    indices.filter_map(|i| Some((value(i)?, i))).min().map(|(_, i)| i)
}

impl Order for Hfsc {
    fn begin(&mut self, class: usize, now: i128, head: u32) {
        let HfscClass { rt, ls } = self.classes[class].options;
        if let Some(slopes) = ls {
            self.begin_sharing(class, slopes);
        }
        if let Some(slopes) = rt {
            self.begin_real_time(class, slopes, now, head);
        }
        self.classes[class].active = true;
    }

    fn choose(&mut self, now: i128, _: &[Option<u32>]) -> Choice {
        let all = 0..self.classes.len();
        let real_time = |i: usize| {
            let class = &self.classes[i];
            (class.active && class.options.rt.is_some()).then_some(class)
        };
        let due =
            least_of(all.clone(), |i| real_time(i).filter(|c| c.eligible_at <= now).map(|c| c.due));
        self.by_deadline = due.is_some();
        if let Some(class) = due {
            return Choice::Send(class);
        }
        let shared = |i: usize| {
            let class = &self.classes[i];
            (class.active && class.options.ls.is_some()).then_some(class.vt)
        };
        if let Some(class) = least_of(all.clone(), shared) {
            self.least = self.least.max(self.classes[class].vt);
            return Choice::Send(class);
        }
        Choice::Wait(all.filter_map(real_time).map(|c| c.eligible_at).min())
    }

    fn sent(&mut self, class: usize, _: i128, length: u32, next: Option<u32>) {
        let work = i128::from(length) * BYTE;
        let own = &mut self.classes[class];
        own.active = next.is_some();
        own.total += work;
        if let Some(curve) = &own.virtual_time {
            own.vt = curve.time(own.total) + own.vt_adjustment;
            if own.vt < self.least {
                own.vt_adjustment += self.least - own.vt;
                own.vt = self.least;
            }
            if next.is_none() {
                self.reached = self.reached.max(own.vt);
            }
        }
        if self.by_deadline {
            own.cumulative += work;
        }
        if let Some(head) = next {
            own.set_times(head, self.by_deadline);
        }
    }
}
