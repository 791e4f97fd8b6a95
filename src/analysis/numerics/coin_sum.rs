//! The exact law of W = sum of a_i X_i, where the X_i are fair coins and the a_i positive integers.
//!
//! Both the sign flip and the signed rank test are tails of it. Equal a_i make one binomial; the
//! binomials are convolved. The coins are first weighted so that the mean of W is the value
//! observed (exponential tilting, Esscher 1932): then only terms within some ten standard deviations
//! matter however far out the tail lies, and the weight comes back as one factor. Every term is
//! positive, so nothing cancels and the smallest tail keeps its relative accuracy.

use std::f64::consts::LN_2;

use crate::analysis::numerics::lattice::greatest_common_divisor;

/// The largest sum of the a_i, in units of their greatest common divisor, that is computed: at worst
/// 16 MiB and a second, and a millisecond for 20,000 tasks with three repeats.
const STEPS_MAX: u64 = 1 << 20;

/// A term below this share of the largest is dropped; the sum of all such terms is below 1e-14.
const NEGLIGIBLE: f64 = 1e-27;

/// P(W <= w) and P(W >= w) for an observed w.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tails {
    /// P(W <= w).
    pub(crate) below: Tail,
    /// P(W >= w).
    pub(crate) above: Tail,
}

/// A probability with its logarithm, which is there where the probability is below the range of a double.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// The natural logarithm.
    pub(crate) ln: f64,
    /// The probability, 0 or inaccurate below the normal doubles.
    pub(crate) probability: f64,
}

impl Tails {
    /// Returns twice the smaller tail, at most 1.
    pub(crate) fn two_sided(self) -> Tail {
        let smaller = if self.below.ln < self.above.ln {
            self.below
        } else {
            self.above
        };
        smaller.doubled()
    }
}

impl Tail {
    /// Returns twice the probability, at most 1.
    fn doubled(self) -> Self {
        Self {
            ln: (self.ln + LN_2).min(0.0),
            probability: (2.0 * self.probability).min(1.0),
        }
    }

    fn of_probability(probability: f64) -> Self {
        Self {
            ln: libm::log(probability),
            probability,
        }
    }
}

/// Coins of one value.
#[derive(Clone, Copy, Debug)]
struct Group {
    value: u64,
    count: u64,
}

/// Returns both tails at the sum of the values of `heads`, where the coins have `heads` and `tails`.
///
/// Undefined when the sum of all values in units of their greatest common divisor exceeds 2^20.
/// Without coins both are 1. A value of 0 does not matter.
pub(crate) fn tails(heads: &[u64], tails: &[u64]) -> Option<Tails> {
    let mut values: Vec<u64> = heads
        .iter()
        .chain(tails)
        .copied()
        .filter(|&v| v > 0)
        .collect();
    let unit = values
        .iter()
        .fold(0, |unit, &value| greatest_common_divisor(unit, value));
    if unit == 0 {
        let certain = Tail::of_probability(1.0);
        return Some(Tails {
            below: certain,
            above: certain,
        });
    }
    values.iter_mut().for_each(|value| *value /= unit);
    let total = values
        .iter()
        .try_fold(0_u64, |total, &value| total.checked_add(value));
    let total = total.filter(|&total| total <= STEPS_MAX)?;
    let observed: u64 = heads.iter().map(|&value| value / unit).sum();
    let groups = grouped(values);
    // W and total - W have the same law, so the tail that is small is always the lower one.
    let low = observed.min(total - observed);
    let (small, large) = lower_tail(&groups, low);
    Some(if 2 * observed == total {
        Tails {
            below: small,
            above: small,
        }
    } else if observed == low {
        Tails {
            below: small,
            above: large,
        }
    } else {
        Tails {
            below: large,
            above: small,
        }
    })
}

fn grouped(mut values: Vec<u64>) -> Vec<Group> {
    values.sort_unstable();
    values
        .chunk_by(|x, y| x == y)
        .filter_map(|chunk| {
            let value = *chunk.first()?;
            Some(Group {
                value,
                count: u64::try_from(chunk.len()).ok()?,
            })
        })
        .collect()
}

/// Returns P(W <= low) and P(W >= low) for low at or below half of the total.
fn lower_tail(groups: &[Group], low: u64) -> (Tail, Tail) {
    let coins: u64 = groups.iter().map(|group| group.count).sum();
    if low == 0 {
        let halvings = i32::try_from(coins).unwrap_or(i32::MAX);
        let none = Tail {
            ln: -(coins as f64) * LN_2,
            probability: libm::scalbn(1.0, -halvings),
        };
        return (none, Tail::of_probability(1.0));
    }
    // The tilt that a step of 1 has as rounded, or the rounding would grow with the number of steps.
    let tilt = -libm::log(libm::exp(-tilt(groups, low)));
    let (tail, at) = weighted_tail(groups, tilt, low);
    let factor_ln = tilt * low as f64
        + groups
            .iter()
            .map(|group| {
                let tails = libm::log1p(libm::exp(-tilt * group.value as f64));
                group.count as f64 * (tails - LN_2)
            })
            .sum::<f64>();
    let factor = libm::exp(factor_ln);
    let small = Tail {
        ln: factor_ln + libm::log(tail),
        probability: (factor * tail).min(1.0),
    };
    let large = Tail::of_probability((1.0 - factor * (tail - at)).min(1.0));
    (small, large)
}

/// Returns the tilt at which the mean of W is near `low`: Newton's method on a convex function, from the left.
fn tilt(groups: &[Group], low: u64) -> f64 {
    let mut tilt = 0.0;
    // INVARIANT: each step gains at least one unit in the exponent of the smallest value.
    for _ in 0..200 {
        let mut variance = 0.0;
        let mut mean = 0.0;
        for group in groups {
            let (value, count) = (group.value as f64, group.count as f64);
            let share = 1.0 / (1.0 + libm::exp(tilt * value));
            mean += count * value * share;
            variance += count * value * value * share * (1.0 - share);
        }
        let excess = mean - low as f64;
        if excess * excess <= variance / 64.0 {
            break;
        }
        tilt += excess / variance;
    }
    tilt
}

/// Returns the sum over w <= low of P(w) exp(-tilt (low - w)), and P(low), for the weighted coins.
fn weighted_tail(groups: &[Group], tilt: f64, low: u64) -> (f64, f64) {
    let mut parts: Vec<(u64, Run)> = groups
        .iter()
        .map(|group| (group.value, binomial(group, tilt)))
        .collect();
    // The longest is not convolved, only summed over; the others go from narrow to wide.
    parts.sort_by_key(|(value, run)| value.saturating_mul(run.terms.len() as u64));
    let longest =
        (0..parts.len()).max_by_key(|&index| parts.get(index).map(|(_, run)| run.terms.len()));
    let Some((value, last)) = longest.map(|index| parts.remove(index)) else {
        return (1.0, 1.0);
    };
    let (mut others, mut spare) = (Run::certain(), Vec::new());
    for (value, run) in &parts {
        let next = others.convolve(*value, run, spare);
        spare = std::mem::replace(&mut others, next).terms;
    }
    let step = libm::exp(-tilt);
    let cumulated = others.discounted(step);
    let (mut tail, mut at) = (0.0, 0.0);
    for (heads, &p) in (last.start..).zip(&last.terms) {
        let Some(rest) = heads
            .checked_mul(value)
            .and_then(|taken| low.checked_sub(taken))
        else {
            break;
        };
        at += p * others.at(rest);
        tail += p * cumulated.at_or_before(rest, tilt);
    }
    (tail, at)
}

/// Probabilities of the consecutive values start, start + 1, ...; those outside are negligible.
#[derive(Clone, Debug)]
struct Run {
    start: u64,
    terms: Vec<f64>,
}

impl Run {
    fn certain() -> Self {
        Self {
            start: 0,
            terms: vec![1.0],
        }
    }

    fn index(&self, value: u64) -> Option<usize> {
        usize::try_from(value.checked_sub(self.start)?).ok()
    }

    fn at(&self, value: u64) -> f64 {
        let index = self.index(value);
        index
            .and_then(|index| self.terms.get(index))
            .copied()
            .unwrap_or(0.0)
    }

    /// Returns the value of a cumulated run at `value`, which may lie past its end.
    fn at_or_before(&self, value: u64, tilt: f64) -> f64 {
        let (Some(index), Some(&last)) = (self.index(value), self.terms.last()) else {
            return 0.0;
        };
        self.terms.get(index).copied().unwrap_or_else(|| {
            let past = index + 1 - self.terms.len();
            last * libm::exp(-tilt * past as f64)
        })
    }

    /// Returns the sums over v <= w of P(v) step^(w - v).
    fn discounted(&self, step: f64) -> Self {
        let terms = self
            .terms
            .iter()
            .scan(0.0, |sum, &term| {
                *sum = term + step * *sum;
                Some(*sum)
            })
            .collect();
        Self {
            start: self.start,
            terms,
        }
    }

    /// Returns the law of the sum of this and `value` times `run`, without its negligible ends.
    ///
    /// `terms` only lends its memory.
    fn convolve(&self, value: u64, run: &Self, mut terms: Vec<f64>) -> Self {
        let stride = usize::try_from(value).unwrap_or(usize::MAX);
        let reach = stride.saturating_mul(run.terms.len().saturating_sub(1));
        let first = run.terms.first().copied().unwrap_or(0.0);
        terms.clear();
        terms.extend(self.terms.iter().map(|&term| first * term));
        terms.resize(self.terms.len().saturating_add(reach), 0.0);
        for (place, &p) in run.terms.iter().enumerate().skip(1) {
            let target = terms.get_mut(place * stride..).unwrap_or_default();
            for (slot, &term) in target.iter_mut().zip(&self.terms) {
                *slot += p * term;
            }
        }
        let start = self.start + value * run.start;
        Self { start, terms }.trimmed()
    }

    fn trimmed(mut self) -> Self {
        // The terms sum to 1, so the largest is at least their mean.
        let floor = NEGLIGIBLE / self.terms.len() as f64;
        let from = self
            .terms
            .iter()
            .position(|&term| term > floor)
            .unwrap_or(0);
        let to = self
            .terms
            .iter()
            .rposition(|&term| term > floor)
            .unwrap_or(0);
        self.terms.truncate(to + 1);
        self.terms.drain(..from);
        self.start += from as u64;
        self
    }
}

/// Returns the law of the heads of one group when a head weighs exp(-tilt * value) against a tail's 1.
fn binomial(group: &Group, tilt: f64) -> Run {
    let odds = libm::exp(-tilt * group.value as f64);
    let count = group.count;
    let mode = (((count + 1) as f64) * odds / (1.0 + odds)) as u64;
    let mode = mode.min(count);
    // Ratios of neighbours from the mode outwards, then divided by their sum: no factorial is needed.
    let up = std::iter::successors(Some((mode, 1.0)), |&(heads, term)| {
        let next = heads.checked_add(1).filter(|&next| next <= count)?;
        Some((next, term * odds * (count - heads) as f64 / next as f64))
            .filter(|&(_, term)| term > NEGLIGIBLE)
    });
    let down = std::iter::successors(Some((mode, 1.0)), |&(heads, term)| {
        let next = heads.checked_sub(1)?;
        Some((next, term * heads as f64 / ((count - next) as f64 * odds)))
            .filter(|&(_, term)| term > NEGLIGIBLE)
    });
    let mut terms: Vec<f64> = down.map(|(_, term)| term).collect();
    let start = mode - (terms.len() as u64 - 1);
    terms.reverse();
    terms.extend(up.skip(1).map(|(_, term)| term));
    let sum: f64 = terms.iter().sum();
    terms.iter_mut().for_each(|term| *term /= sum);
    Run { start, terms }
}
