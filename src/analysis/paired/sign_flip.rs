//! The exact sign-flip test of paired differences (Fisher 1935; Pitman 1937).
//!
//! Under the null hypothesis each unit's difference keeps or flips its sign with probability 1/2.
//! The unit is the task or, with clusters, the cluster. With one run per task and arm it is the exact
//! McNemar test.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::numerics::coin_sum::{Tail, tails};
use crate::analysis::numerics::grouping::Grouping;
use crate::analysis::numerics::lattice::{Lattice, greatest_common_divisor};

/// The exact sign-flip test; all p are `null` without a unit, or beyond the exact limit.
///
/// The limit: the sum of the |values| in units of their greatest common divisor is at most 2^20.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignFlip {
    /// The units whose difference is not 0.
    pub n_nonzero: usize,
    /// The least common denominator of the differences, by which ties are exact.
    pub lattice: u64,
    /// P(|S*| >= |S|) over all sign patterns.
    pub p_two_sided: Option<f64>,
    /// P(S* >= S).
    pub p_greater: Option<f64>,
    /// P(S* <= S).
    pub p_less: Option<f64>,
    /// 2 / 2^m, the smallest p this design can give; `null` below the range of a double.
    pub p_floor_two_sided: Option<f64>,
    /// The natural logarithm of `p_two_sided`, only where that is below the range of a double.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ln_p_two_sided: Option<f64>,
    /// Why something above is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

impl SignFlip {
    /// Flips tasks.
    pub fn of_tasks(differences: &Lattice) -> Self {
        let values: Vec<i128> = differences.values.iter().map(|&v| i128::from(v)).collect();
        Self::of_units(differences.scale, &values)
    }

    /// Flips whole clusters; `clusters` holds one id per task, and `null` follows from another length.
    pub fn of_clusters(differences: &Lattice, clusters: &[usize]) -> Self {
        let grouping = Grouping::new(clusters);
        let sums = grouping.fold(&differences.values, |sum: &mut i128, &value| {
            *sum += i128::from(value);
        });
        if grouping.task_count() != differences.values.len() {
            return Self::undefined(&sums, differences.scale, Flag::LengthMismatch);
        }
        Self::of_units(differences.scale, &sums)
    }

    fn of_units(scale: u64, sums: &[i128]) -> Self {
        let side = |sign: i128| -> Option<Vec<u64>> {
            sums.iter()
                .filter(|sum| sum.signum() == sign)
                .map(|sum| u64::try_from(sum.unsigned_abs()).ok())
                .collect()
        };
        if sums.is_empty() {
            return Self::undefined(sums, scale, Flag::NoTask);
        }
        let exact = side(1)
            .zip(side(-1))
            .and_then(|(up, down)| tails(&up, &down));
        let mut test = Self::undefined(sums, scale, Flag::LatticeTooFine);
        test.p_floor_two_sided = floor(test.n_nonzero);
        let Some(exact) = exact else {
            return test;
        };
        // The law is symmetric, so the two tails beyond |S| are alike, and all of it when S = 0.
        let two_sided = exact.two_sided();
        test.p_two_sided = reported(two_sided);
        test.p_greater = reported(exact.above);
        test.p_less = reported(exact.below);
        test.ln_p_two_sided = test.p_two_sided.is_none().then_some(two_sided.ln);
        let all = [
            test.p_two_sided,
            test.p_greater,
            test.p_less,
            test.p_floor_two_sided,
        ];
        test.flag = all.contains(&None).then_some(Flag::BelowRange);
        test
    }

    fn undefined(sums: &[i128], scale: u64, flag: Flag) -> Self {
        let nonzero = sums.iter().filter(|&&sum| sum != 0).count();
        Self {
            n_nonzero: nonzero,
            lattice: reduced_scale(sums, scale),
            p_two_sided: None,
            p_greater: None,
            p_less: None,
            p_floor_two_sided: None,
            ln_p_two_sided: None,
            flag: Some(flag),
        }
    }
}

/// Returns the probability where a double holds it with full accuracy.
fn reported(tail: Tail) -> Option<f64> {
    (tail.probability >= f64::MIN_POSITIVE).then_some(tail.probability)
}

/// Returns 2 / 2^m, 1 for m = 0.
fn floor(nonzero: usize) -> Option<f64> {
    let halvings = i32::try_from(nonzero).unwrap_or(i32::MAX).saturating_sub(1);
    Some(libm::scalbn(1.0, -halvings.max(0))).filter(|&p| p >= f64::MIN_POSITIVE)
}

/// Returns the least common denominator of the sums over `scale`.
fn reduced_scale(sums: &[i128], scale: u64) -> u64 {
    let shared = sums.iter().fold(scale, |shared, sum| {
        let remainder = sum.unsigned_abs().checked_rem(u128::from(shared));
        let remainder = remainder.and_then(|remainder| u64::try_from(remainder).ok());
        greatest_common_divisor(shared, remainder.unwrap_or(0))
    });
    scale.checked_div(shared).unwrap_or(1)
}
