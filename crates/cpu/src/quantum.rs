//! The quanta and ticks of Linux 2.4, which BeRate and BEST also use.

use laxity_core::{Choice as _, OptionInfo, OptionKind, Span};

use crate::Nice;

/// The clock interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Clock {
    /// 100 Hz: the default of Linux 2.4 on PCs.
    Hz100,
    /// 800 Hz, with quanta scaled as in the kernel: 51.25 ms, and 26.25 ms at nice +10.
    Hz800,
    /// 800 Hz, with quanta of eight times the ticks: 60 ms, and exactly half of it at nice +10, as
    /// in the BeRate paper.
    #[default]
    Hz800Times8,
}

/// The description of the option.
pub(crate) const CLOCK: OptionInfo = OptionInfo {
    name: "clock",
    kind: OptionKind::Choice(Clock::NAMES),
    required: false,
    default: "800-hz-x8",
    example: "\"800-hz-x8\"",
    summary: "Ticks, and how quanta follow from nice values.",
    reference: None,
};

impl Clock {
    /// The time between ticks.
    pub const fn tick(self) -> Span {
        match self {
            Clock::Hz100 => Span(10_000_000),
            Clock::Hz800 | Clock::Hz800Times8 => Span(1_250_000),
        }
    }

    /// A quantum in ticks.
    pub const fn ticks(self, nice: Nice) -> u32 {
        let scale = nice.scale();
        match self {
            Clock::Hz100 => (scale >> 2) + 1,
            Clock::Hz800 => (scale << 1) + 1,
            Clock::Hz800Times8 => ((scale >> 2) + 1) * 8,
        }
    }

    /// A quantum.
    pub const fn quantum(self, nice: Nice) -> Span {
        Span(self.tick().0 * self.ticks(nice) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_match_the_kernel() {
        let (plain, ten) = (Nice::default(), Nice::new(10).unwrap());
        let both = |c: Clock| (c.quantum(plain).0 / 1000, c.quantum(ten).0 / 1000);
        assert_eq!(both(Clock::Hz100), (60_000, 30_000));
        assert_eq!(both(Clock::Hz800), (51_250, 26_250));
        assert_eq!(both(Clock::Hz800Times8), (60_000, 30_000));
    }
}
