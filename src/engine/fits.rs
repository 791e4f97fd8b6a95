//! Whether a block is expected to end before the cut-off.

use crate::protocol::model::Fits;
use crate::units::{Micros, Time};

/// Returns whether a block that starts now is expected to end by the cut-off; at it is by it.
///
/// Without a cut-off everything fits; without an estimate, or with one of 0, nothing does.
pub fn fits(fits: &Fits, estimate: Option<Micros>, cutoff: Option<Time>, now: Time) -> bool {
    let Some(cutoff) = cutoff else {
        return true;
    };
    let Some(estimate) = estimate.filter(|estimate| estimate.0 > 0) else {
        return false;
    };
    // estimate * num / den <= left, without the division; no product of two u64 exceeds a u128.
    let needed = u128::from(estimate.0) * u128::from(fits.margin.num);
    let left = i128::from(cutoff.0) - i128::from(now.0);
    u128::try_from(left).is_ok_and(|left| needed <= left * u128::from(fits.margin.den))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::Estimate;
    use crate::units::Ratio;

    fn with_margin(num: u64, den: u64) -> Fits {
        Fits {
            margin: Ratio { num, den },
            estimate: Estimate::MedianCompleteBlock,
        }
    }

    #[test]
    fn a_block_may_end_at_the_cutoff_and_not_after() {
        for (num, den, estimate, cutoff, fit) in [
            (11, 10, 100, 1_110, true),
            (11, 10, 100, 1_109, false),
            // A third of a microsecond too late.
            (1, 3, 100, 1_033, false),
            (1, 3, 100, 1_034, true),
            (1, 1, 1, 1_000, false),
            (1, 1, 1, 999, false),
            (1, 1, 1, -5, false),
        ] {
            let estimate = Some(Micros(estimate));
            let found = fits(
                &with_margin(num, den),
                estimate,
                Some(Time(cutoff)),
                Time(1_000),
            );
            assert_eq!(found, fit, "{num}/{den} of {estimate:?} by {cutoff}");
        }
    }

    #[test]
    fn what_is_not_known_does_not_fit_unless_there_is_nothing_to_fit_before() {
        let (once, far) = (with_margin(1, 1), Some(Time(i64::MAX)));
        for estimate in [None, Some(Micros(0))] {
            assert!(!fits(&once, estimate, far, Time(0)), "{estimate:?}");
            assert!(fits(&once, estimate, None, Time(0)), "{estimate:?}");
        }
    }

    #[test]
    fn the_largest_numbers_do_not_wrap() {
        let (first, last) = (Time(i64::MIN), Some(Time(i64::MAX)));
        let longest = Some(Micros(u64::MAX));
        assert!(fits(&with_margin(u64::MAX, u64::MAX), longest, last, first));
        assert!(!fits(&with_margin(u64::MAX, 1), longest, last, first));
        assert!(fits(&with_margin(1, u64::MAX), longest, last, first));
    }
}
