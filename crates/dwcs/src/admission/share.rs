//! Shares of the server, summed exactly.

use core::fmt;

use super::Demand;

/// The sum of `(1 - x/y) C/T` over all streams, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilisation {
    numerator: u128,
    denominator: u128,
    exact: bool,
}

/// Fraction bits of a sum that no common denominator below 2^128 holds.
const FIXED: u32 = 80;

impl Utilisation {
    /// The sum over `demands`. Exact as long as a common denominator has less than 128 bits;
    /// beyond that each share is rounded up to a multiple of 2^-80, which is the safe side.
    pub fn of(demands: &[Demand]) -> Utilisation {
        Utilisation::exactly(demands).unwrap_or_else(|| Utilisation::rounded_up(demands))
    }

    pub(super) fn exactly(demands: &[Demand]) -> Option<Utilisation> {
        let (mut numerator, mut denominator) = (0u128, 1u128);
        for demand in demands {
            let (n, d) = share(demand);
            let divisor = gcd(n, d);
            let (n, d) = (n / divisor, d / divisor);
            let common = (denominator / gcd(denominator, d)).checked_mul(d)?;
            let left = numerator.checked_mul(common / denominator)?;
            numerator = left.checked_add(n.checked_mul(common / d)?)?;
            let divisor = gcd(numerator, common);
            (numerator, denominator) = (numerator / divisor, common / divisor);
        }
        Some(Utilisation { numerator, denominator, exact: true })
    }

    pub(super) fn rounded_up(demands: &[Demand]) -> Utilisation {
        let one = 1u128 << FIXED;
        let fixed = demands.iter().map(|demand| {
            let (n, d) = share(demand);
            let (whole, mut rest) = (n / d, n % d);
            let mut fraction = 0;
            // d is below 2^80, so 40 more bits of the remainder fit.
            for _ in 0..2 {
                rest <<= FIXED / 2;
                fraction = (fraction << (FIXED / 2)) + rest / d;
                rest %= d;
            }
            whole.saturating_mul(one).saturating_add(fraction + u128::from(rest > 0))
        });
        let numerator = fixed.fold(0u128, u128::saturating_add);
        Utilisation { numerator, denominator: one, exact: false }
    }

    /// Whether the sum is at most 1.
    pub fn fits(&self) -> bool {
        self.numerator <= self.denominator
    }

    /// The sum as numerator and denominator, in lowest terms when exact.
    pub fn fraction(&self) -> (u128, u128) {
        (self.numerator, self.denominator)
    }

    /// Whether nothing was rounded.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The sum in millionths of the server, rounded up.
    pub fn millionths(&self) -> u128 {
        let (whole, rest) = (self.numerator / self.denominator, self.numerator % self.denominator);
        // Digit by digit, because the remainder may have 127 bits.
        let (mut digits, mut rest) = (whole, rest);
        for _ in 0..6 {
            let mut digit = 0;
            let mut sum = 0u128;
            for _ in 0..10 {
                // sum + rest, reduced, without leaving 128 bits.
                if sum >= self.denominator - rest {
                    sum -= self.denominator - rest;
                    digit += 1;
                } else {
                    sum += rest;
                }
            }
            digits = digits.saturating_mul(10).saturating_add(digit);
            rest = sum;
        }
        digits.saturating_add(u128::from(rest > 0))
    }
}

/// `count (y - x) C / (y T)`, below 2^112 over less than 2^80. Nothing for streams without
/// deadlines or windows of no packets that cannot be late; all packets count for 0/0.
fn share(demand: &Demand) -> (u128, u128) {
    let Some(gap) = demand.attributes.gap else { return (0, 1) };
    let (x, y) = (demand.attributes.tolerance.x(), demand.attributes.tolerance.y());
    let (needed, of) = if y == 0 { (1, 1) } else { (u128::from(y - x), u128::from(y)) };
    let work = u128::from(demand.count) * u128::from(demand.service.0);
    // A gap of zero cannot join; it needs more than there is.
    (needed * work, (of * u128::from(gap.0)).max(1))
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// As a share with six decimals, rounded up.
impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.millionths();
        write!(f, "{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
    }
}
