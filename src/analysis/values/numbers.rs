//! Numeric outcomes: from recorded numbers to one value per task and arm.
//!
//! A number was spent whatever the verdict, so every recorded one counts and no estimand applies.
//! Numbers are taken as the decimals they are written as: `1.1 - -0.2` and `0.1 - -1.2` are the same
//! difference, which binary subtraction would split and a rank test would then not see as a tie.
use crate::analysis::values::binary::{SlotMismatch, clusters_of};

/// The largest magnitude taken, so that a difference of two means is finite.
pub const MAGNITUDE_MAX: f64 = 1e300;

/// The recorded numbers of one task in the two arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumericTask {
    /// The numbers recorded for the reference, in order of the slots.
    pub reference: Vec<f64>,
    /// The numbers recorded for the treatment, in order of the slots.
    pub treatment: Vec<f64>,
}

/// A numeric outcome of every drawn task, in draw order.
#[derive(Clone, Debug, PartialEq)]
pub struct NumericOutcome {
    tasks: Vec<NumericTask>,
    clusters: Option<Vec<usize>>,
}

impl NumericOutcome {
    /// Takes tasks in draw order and their cluster ids. Refuses numbers beyond [`MAGNITUDE_MAX`] and NaN.
    pub fn new(
        tasks: Vec<NumericTask>,
        clusters: Option<Vec<usize>>,
    ) -> Result<Self, SlotMismatch> {
        let clustered = clusters.as_ref().is_none_or(|ids| ids.len() == tasks.len());
        let bounded = |numbers: &[f64]| numbers.iter().all(|x| x.abs() <= MAGNITUDE_MAX);
        let fits = |task: &NumericTask| bounded(&task.reference) && bounded(&task.treatment);
        if clustered && tasks.iter().all(fits) {
            Ok(Self { tasks, clusters })
        } else {
            Err(SlotMismatch)
        }
    }

    /// Returns how many numbers were recorded for the reference and for the treatment.
    pub fn recorded(&self) -> (usize, usize) {
        self.tasks.iter().fold((0, 0), |(a, b), task| {
            (a + task.reference.len(), b + task.treatment.len())
        })
    }

    /// Returns one mean per task and arm, of the tasks with a number in each arm.
    pub fn paired(&self) -> PairedNumbers {
        let mut pairs = PairedNumbers::default();
        for (index, task) in self.tasks.iter().enumerate() {
            let Some((a, b, difference)) = means(&task.reference, &task.treatment) else {
                continue;
            };
            pairs.tasks.push(index);
            pairs.reference.push(a);
            pairs.treatment.push(b);
            pairs.differences.push(difference);
        }
        pairs.clusters = clusters_of(self.clusters.as_deref(), &pairs.tasks);
        pairs
    }
}

/// One number per task and arm, in draw order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairedNumbers {
    /// The places of the tasks in the draw, from 0.
    pub tasks: Vec<usize>,
    /// The mean of each task in the reference.
    pub reference: Vec<f64>,
    /// The mean of each task in the treatment.
    pub treatment: Vec<f64>,
    /// Treatment minus reference per task: the double nearest to the exact decimal difference.
    pub differences: Vec<f64>,
    /// Dense cluster ids, numbered as they first appear; absent when the tasks have none.
    pub clusters: Option<Vec<usize>>,
}

/// Returns the two means and their difference; undefined when an arm has no number.
fn means(reference: &[f64], treatment: &[f64]) -> Option<(f64, f64, f64)> {
    if reference.is_empty() || treatment.is_empty() {
        return None;
    }
    let exact = || {
        let (a, b) = (DecimalMean::of(reference)?, DecimalMean::of(treatment)?);
        Some((a.value()?, b.value()?, a.until(&b)?))
    };
    exact().or_else(|| {
        let (a, b) = (float_mean(reference), float_mean(treatment));
        Some((a, b, b - a))
    })
}

/// Returns the mean of numbers whose decimals 128 bits do not hold. Divides first, so nothing overflows.
fn float_mean(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    numbers.iter().map(|x| x / count).sum()
}

/// The exact mean `sum * 10^exponent / count` of decimals.
struct DecimalMean {
    sum: i128,
    exponent: i32,
    count: i128,
}

impl DecimalMean {
    fn of(numbers: &[f64]) -> Option<Self> {
        let decimals: Vec<(i128, i32)> =
            numbers.iter().map(|&x| decimal(x)).collect::<Option<_>>()?;
        let exponent = decimals.iter().map(|&(_, exponent)| exponent).min()?.min(0);
        let sum = decimals.iter().try_fold(0_i128, |sum, &(digits, own)| {
            sum.checked_add(digits.checked_mul(power_of_ten(own - exponent)?)?)
        })?;
        Some(Self {
            sum,
            exponent,
            count: i128::try_from(numbers.len()).ok()?,
        })
    }

    fn value(&self) -> Option<f64> {
        quotient(
            self.sum,
            self.count.checked_mul(power_of_ten(-self.exponent)?)?,
        )
    }

    /// Returns `other - self`, rounded once.
    fn until(&self, other: &Self) -> Option<f64> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |mean: &Self, by: i128| {
            mean.sum
                .checked_mul(by)?
                .checked_mul(power_of_ten(mean.exponent - exponent)?)
        };
        let difference = scaled(other, self.count)?.checked_sub(scaled(self, other.count)?)?;
        let count = self.count.checked_mul(other.count)?;
        quotient(difference, count.checked_mul(power_of_ten(-exponent)?)?)
    }
}

/// Returns the double nearest to the sum of two decimals, so that equal sums are equal doubles.
pub(in crate::analysis) fn plus(value: f64, shift: f64) -> f64 {
    let exact = || DecimalMean::of(&[-shift])?.until(&DecimalMean::of(&[value])?);
    exact().unwrap_or(value + shift)
}

/// Returns the shortest decimal that reads back as `x`, as digits and a power of ten.
fn decimal(x: f64) -> Option<(i128, i32)> {
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e')?;
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let digits: i128 = digits.replace('.', "").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    Some((digits, exponent - i32::try_from(decimals).ok()?))
}

fn power_of_ten(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

/// Returns the double nearest to a quotient with a positive denominator, ties to even.
///
/// Long division to at least 55 bits; what is left over only marks the last bit, so the single
/// conversion at the end rounds correctly.
fn quotient(numerator: i128, denominator: i128) -> Option<f64> {
    let (whole, divisor) = (numerator.unsigned_abs(), denominator.unsigned_abs());
    let mut bits = whole.checked_div(divisor)?;
    let mut rest = whole.checked_rem(divisor)?;
    let mut shift = 0;
    while rest > 0 && bits < 1 << 54 {
        rest <<= 1;
        let carry = rest >= divisor;
        rest -= if carry { divisor } else { 0 };
        bits = (bits << 1) | u128::from(carry);
        shift += 1;
    }
    let magnitude = libm::scalbn((bits | u128::from(rest > 0)) as f64, -shift);
    Some(if numerator < 0 { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_decimal_differences_are_equal_doubles() {
        let pairs = [(-0.2, 1.1), (-1.2, 0.1), (100.1, 101.4)];
        for (a, b) in pairs {
            assert_eq!(means(&[a], &[b]), Some((a, b, 1.3)));
        }
    }

    #[test]
    fn a_mean_is_rounded_once() {
        assert_eq!(means(&[0.1, 0.2, 0.3], &[0.7]), Some((0.2, 0.7, 0.5)));
        assert_eq!(quotient(1, 3), Some(1.0 / 3.0));
        assert_eq!(quotient(-2, 3), Some(-2.0 / 3.0));
        assert_eq!(quotient((1 << 60) + 1, 1 << 60), Some(1.0));
    }

    #[test]
    fn numbers_without_a_short_decimal_are_subtracted_as_doubles() {
        assert_eq!(means(&[1e300], &[-1e300]), Some((1e300, -1e300, -2e300)));
        assert_eq!(means(&[5e-324], &[1.0]), Some((5e-324, 1.0, 1.0)));
        assert_eq!(means(&[], &[1.0]), None);
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for x in [f64::NAN, f64::INFINITY, 1.1e300] {
            let task = NumericTask {
                reference: vec![x],
                treatment: vec![],
            };
            assert_eq!(NumericOutcome::new(vec![task], None), Err(SlotMismatch));
        }
    }
}
