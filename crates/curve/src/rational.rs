//! Exact fractions of 128-bit integers in which every operation is checked.

use core::cmp::Ordering;
use core::fmt;

use crate::CurveError;
use crate::error::overflow;

/// A fraction in lowest terms with a positive denominator.
///
/// Corner points of sums of token buckets are fractions of a nanosecond. Arithmetic is checked:
/// a result that does not fit is [`CurveError::Overflow`]. Comparison never overflows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rational {
    num: i128,
    den: i128,
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        if let (Ok(mut x), Ok(mut y)) = (u64::try_from(a), u64::try_from(b)) {
            while y != 0 {
                (x, y) = (y, x % y);
            }
            return u128::from(x);
        }
        (a, b) = (b, a % b);
    }
    a
}

impl Rational {
    /// Zero.
    pub const ZERO: Rational = Rational { num: 0, den: 1 };
    /// One.
    pub const ONE: Rational = Rational { num: 1, den: 1 };

    /// `num / den`; an error when `den` is zero or the reduced fraction does not fit.
    pub fn new(num: i128, den: i128) -> Result<Rational, CurveError> {
        if den == 1 {
            return Ok(Rational { num, den });
        }
        if den == 0 {
            return Err(CurveError::OutOfRange { what: "denominator of a fraction, not zero" });
        }
        let g = gcd(num.unsigned_abs(), den.unsigned_abs());
        let negative = (num < 0) != (den < 0);
        let fit = |x: u128| i128::try_from(x).map_err(|_| overflow("reducing a fraction"));
        let n = fit(num.unsigned_abs() / g)?;
        Ok(Rational { num: if negative { -n } else { n }, den: fit(den.unsigned_abs() / g)? })
    }

    /// A whole number.
    pub const fn whole(num: i128) -> Rational {
        Rational { num, den: 1 }
    }

    /// The numerator, with the sign.
    pub const fn numerator(self) -> i128 {
        self.num
    }

    /// The denominator, positive.
    pub const fn denominator(self) -> i128 {
        self.den
    }

    /// Whether it is a whole number.
    pub const fn is_whole(self) -> bool {
        self.den == 1
    }

    /// -1, 0 or 1.
    pub const fn signum(self) -> i128 {
        self.num.signum()
    }

    /// The largest whole number not above it.
    pub fn floor(self) -> i128 {
        if self.den == 1 { self.num } else { self.num.div_euclid(self.den) }
    }

    /// The smallest whole number not below it.
    pub fn ceil(self) -> i128 {
        if self.den == 1 { self.num } else { self.num.div_euclid(self.den) + 1 }
    }

    /// The sum.
    pub fn plus(self, other: Rational) -> Result<Rational, CurveError> {
        const OP: &str = "a sum of fractions";
        if self.den == 1 && other.den == 1 {
            return Ok(Rational::whole(self.num.checked_add(other.num).ok_or(overflow(OP))?));
        }
        let g = gcd(self.den as u128, other.den as u128) as i128;
        let (a, b) = (other.den / g, self.den / g);
        let left = self.num.checked_mul(a).ok_or(overflow(OP))?;
        let right = other.num.checked_mul(b).ok_or(overflow(OP))?;
        let num = left.checked_add(right).ok_or(overflow(OP))?;
        Rational::new(num, self.den.checked_mul(a).ok_or(overflow(OP))?)
    }

    /// The difference.
    pub fn minus(self, other: Rational) -> Result<Rational, CurveError> {
        self.plus(other.negated()?)
    }

    /// The opposite.
    pub fn negated(self) -> Result<Rational, CurveError> {
        let num = self.num.checked_neg().ok_or(overflow("negating a fraction"))?;
        Ok(Rational { num, den: self.den })
    }

    /// The product. Common factors go first, so that only results that are too large overflow.
    pub fn times(self, other: Rational) -> Result<Rational, CurveError> {
        const OP: &str = "a product of fractions";
        if self.num == 0 || other.num == 0 {
            return Ok(Rational::ZERO);
        }
        let cut = |num: i128, den: i128| -> Result<(i128, i128), CurveError> {
            if den == 1 {
                return Ok((num, den));
            }
            let reduced = Rational::new(num, den)?;
            Ok((reduced.num, reduced.den))
        };
        let (a, d) = cut(self.num, other.den)?;
        let (c, b) = cut(other.num, self.den)?;
        let num = a.checked_mul(c).ok_or(overflow(OP))?;
        let den = b.checked_mul(d).ok_or(overflow(OP))?;
        Ok(Rational { num, den })
    }

    /// The quotient; an error when `other` is zero.
    pub fn over(self, other: Rational) -> Result<Rational, CurveError> {
        if other.num == 0 {
            return Err(CurveError::OutOfRange { what: "divisor of a fraction, not zero" });
        }
        let sign = other.num.signum();
        let num = other.num.checked_abs().ok_or(overflow("a quotient of fractions"))?;
        self.times(Rational { num: sign * other.den, den: num })
    }

    /// The lesser of two.
    pub fn least(self, other: Rational) -> Rational {
        if other < self { other } else { self }
    }

    /// The greater of two.
    pub fn greatest(self, other: Rational) -> Rational {
        if other > self { other } else { self }
    }
}

/// Compares `a/b` with `c/d` for positive `b`, `d` by continued fractions: nothing can overflow.
fn compare(mut a: i128, mut b: i128, mut c: i128, mut d: i128) -> Ordering {
    loop {
        let (p, q) = (a.div_euclid(b), c.div_euclid(d));
        if p != q {
            return p.cmp(&q);
        }
        let (r, s) = (a.rem_euclid(b), c.rem_euclid(d));
        match (r, s) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return Ordering::Less,
            (_, 0) => return Ordering::Greater,
            // r/b ? s/d is the reverse of b/r ? d/s, and that is d/s ? b/r.
            _ => (a, b, c, d) = (d, s, b, r),
        }
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Rational) -> Ordering {
        if self.den == other.den {
            return self.num.cmp(&other.num);
        }
        match (self.num.checked_mul(other.den), other.num.checked_mul(self.den)) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => compare(self.num, self.den, other.num, other.den),
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Rational) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i128> for Rational {
    fn from(num: i128) -> Rational {
        Rational::whole(num)
    }
}

impl From<i32> for Rational {
    fn from(num: i32) -> Rational {
        Rational::whole(num.into())
    }
}

impl From<u64> for Rational {
    fn from(num: u64) -> Rational {
        Rational::whole(i128::from(num))
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 {
            write!(f, "{}", self.num)
        } else {
            write!(f, "{}/{}", self.num, self.den)
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(num: i128, den: i128) -> Rational {
        Rational::new(num, den).unwrap()
    }

    #[test]
    fn lowest_terms_and_rounding() {
        assert_eq!(r(6, -4), r(-3, 2));
        assert_eq!((r(-3, 2).floor(), r(-3, 2).ceil()), (-2, -1));
        assert_eq!((r(3, 2).floor(), r(3, 2).ceil()), (1, 2));
        assert_eq!(r(1, 3).plus(r(1, 6)), Ok(r(1, 2)));
        assert_eq!(r(1, 3).minus(r(1, 2)), Ok(r(-1, 6)));
        assert_eq!(r(2, 3).times(r(-9, 4)), Ok(r(-3, 2)));
        assert_eq!(r(2, 3).over(r(-4, 9)), Ok(r(-3, 2)));
        assert!(Rational::new(1, 0).is_err() && r(1, 2).over(Rational::ZERO).is_err());
    }

    /// Fails when `cmp` trusts a wrapped cross product or forgets to reverse the reciprocals.
    #[test]
    fn comparison_survives_products_beyond_128_bits() {
        let big = i128::MAX;
        assert!(r(big, big - 1) < r(big - 1, big - 2));
        assert!(r(-big, big - 1) > r(-(big - 1), big - 2));
        assert!(r(big, 2) > r(big, 3) && r(1 << 126, 3) > r(1, 2));
        assert_eq!(r(big, 7).cmp(&r(big, 7)), Ordering::Equal);
        for a in -7..8 {
            for b in 1..6 {
                for c in -7..8 {
                    for d in 1..6 {
                        assert_eq!(compare(a, b, c, d), (a * d).cmp(&(c * b)), "{a}/{b} {c}/{d}");
                    }
                }
            }
        }
    }

    /// Fails when an operator wraps: each is driven just past 128 bits.
    #[test]
    fn overflow_is_an_error() {
        let big = Rational::whole(i128::MAX);
        let error = |x: Result<Rational, CurveError>| matches!(x, Err(CurveError::Overflow { .. }));
        assert!(error(big.plus(Rational::ONE)));
        assert!(error(big.times(Rational::whole(2))));
        assert!(error(Rational::whole(i128::MIN).negated()));
        assert!(error(r(1, i128::MAX).times(r(1, 2))));
        assert!(error(Rational::whole(i128::MIN).over(Rational::whole(i128::MIN))));
        assert!(
            error(Rational::new(i128::MIN, 3).and_then(Rational::negated)) || r(1, 2) > r(1, 3)
        );
        assert_eq!(r(i128::MAX, 3).times(r(3, i128::MAX)), Ok(Rational::ONE));
    }
}
