//! Exact differences as integers over one denominator.
//!
//! Ties between sums of differences decide exact tests, so the differences stay integers:
//! `d_i = values[i] / scale`.

/// Exact values `values[i] / scale`; `scale` is the least common denominator of the reduced values.
///
/// Shape: one integer per task, in the order of the tasks. `scale` is at least 1, and 1 when empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lattice {
    /// The least common denominator.
    pub scale: u64,
    /// The values in units of `1 / scale`.
    pub values: Vec<i64>,
}

impl Lattice {
    /// Puts fractions (numerator, denominator) on their least common denominator.
    ///
    /// Undefined (`None`) when a denominator is 0 or the common denominator or a value leaves 64 bits.
    pub fn from_fractions(fractions: &[(i64, u64)]) -> Option<Self> {
        let reduced: Vec<(i64, u64)> = fractions
            .iter()
            .map(|&(n, d)| reduce(n, d))
            .collect::<Option<_>>()?;
        let scale = reduced.iter().try_fold(1_u64, |scale, &(_, d)| {
            let step = d / greatest_common_divisor(scale, d);
            scale.checked_mul(step)
        })?;
        let values = reduced
            .iter()
            .map(|&(n, d)| n.checked_mul(i64::try_from(scale / d).ok()?))
            .collect::<Option<_>>()?;
        Some(Self { scale, values })
    }

    /// Returns the values as the nearest doubles of the integers, divided by the scale.
    pub fn to_values(&self) -> Vec<f64> {
        self.values
            .iter()
            .map(|&value| value as f64 / self.scale as f64)
            .collect()
    }

    /// Returns the first `n` values on their own least common denominator, all when there are fewer.
    pub fn prefix(&self, n: usize) -> Option<Self> {
        let fractions: Vec<(i64, u64)> = self
            .values
            .iter()
            .take(n)
            .map(|&value| (value, self.scale))
            .collect();
        Self::from_fractions(&fractions)
    }
}

fn reduce(numerator: i64, denominator: u64) -> Option<(i64, u64)> {
    let divisor = greatest_common_divisor(numerator.unsigned_abs(), denominator);
    let denominator = denominator.checked_div(divisor).filter(|&d| d > 0)?;
    let magnitude = i64::try_from(numerator.unsigned_abs() / divisor).ok()?;
    Some((magnitude * numerator.signum(), denominator))
}

/// Returns the greatest common divisor; that of 0 and x is x.
pub(in crate::analysis) fn greatest_common_divisor(mut x: u64, mut y: u64) -> u64 {
    while y > 0 {
        (x, y) = (y, x % y);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_and_halves_meet_on_sixths() {
        let lattice = Lattice::from_fractions(&[(1, 3), (-2, 4), (0, 7), (5, 5)]);
        assert_eq!(
            lattice,
            Some(Lattice {
                scale: 6,
                values: vec![2, -3, 0, 6]
            })
        );
    }

    #[test]
    fn what_leaves_64_bits_or_divides_by_zero_is_undefined() {
        let primes = [u64::from(u32::MAX) - 4, (1 << 61) - 1];
        assert_eq!(
            Lattice::from_fractions(&[(1, primes[0]), (1, primes[1])]),
            None
        );
        assert_eq!(Lattice::from_fractions(&[(1, 0)]), None);
        assert_eq!(Lattice::from_fractions(&[(0, 0)]), None);
        assert_eq!(Lattice::from_fractions(&[(i64::MIN, 1)]), None);
    }
}
