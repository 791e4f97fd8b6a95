//! Sums that keep what rounding drops.

/// A running sum with the rounding error of its additions (Knuth's two-sum; Ogita, Rump and Oishi 2005).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    high: f64,
    low: f64,
}

impl CompensatedSum {
    /// Adds one finite value.
    pub(crate) fn add(&mut self, value: f64) {
        let sum = self.high + value;
        let from_value = sum - self.high;
        let error = (self.high - (sum - from_value)) + (value - from_value);
        self.high = sum;
        self.low += error;
    }

    /// Returns the sum, rounded once.
    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }
}

impl FromIterator<f64> for CompensatedSum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = Self::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

/// Returns the sum of finite values in their order, as if computed in twice the precision.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().collect::<CompensatedSum>().value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_values_leave_the_small_ones() {
        assert_eq!(sum([1e16, 1.0, -1e16, 1.0]), 2.0);
        assert_eq!(sum([0.1, 0.2, -0.3]), 2.7755575615628914e-17);
        assert_eq!(sum([]), 0.0);
    }
}
