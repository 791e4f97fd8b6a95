//! Laws of ratios, whatever the values.
#![expect(
    clippy::float_arithmetic,
    reason = "laws of numbers are tested with numbers"
)]

use prereg::analysis::Flag;
use prereg::analysis::means::ratio::MeanRatio;
use proptest::prelude::*;

fn close(x: Option<f64>, y: Option<f64>) -> bool {
    match (x, y) {
        (Some(x), Some(y)) => (x - y).abs() <= 1e-8 * x.abs().max(y.abs()),
        (x, y) => x == y,
    }
}

fn ends_close(x: Option<[f64; 2]>, y: Option<[f64; 2]>) -> bool {
    let end = |ends: Option<[f64; 2]>, upper: bool| {
        ends.map(|[low, high]| if upper { high } else { low })
    };
    close(end(x, false), end(y, false)) && close(end(x, true), end(y, true))
}

fn costs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((0.01..100.0, 0.01..100.0), 2..50)
        .prop_map(|pairs| pairs.into_iter().unzip())
}

fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        prop::sample::select(vec![
            0.0,
            1e300,
            -1e300,
            f64::MAX,
            1e-300,
            5e-324,
            1.0,
            2.0,
            -1.0
        ]),
    ]
}

proptest! {
    #[test]
    fn a_change_of_unit_changes_no_ratio((a, b) in costs(), unit in 1e-9..1e9) {
        let scaled = |values: &[f64]| values.iter().map(|value| value * unit).collect::<Vec<_>>();
        let (ratio, other) = (MeanRatio::new(&a, &b, 0.05), MeanRatio::new(&scaled(&a), &scaled(&b), 0.05));
        prop_assert!(close(ratio.ratio, other.ratio));
        prop_assert!(close(ratio.total_a.map(|total| total * unit), other.total_a));
        let (one, other) = (ratio.intervals.zip(ratio.typical), other.intervals.zip(other.typical));
        if let (Some((one, typical)), Some((other, typical_other))) = (one, other) {
            prop_assert!(ends_close(one.fieller, other.fieller) && ends_close(one.delta_log, other.delta_log));
            prop_assert!(close(typical.geo_ratio, typical_other.geo_ratio));
        }
    }

    #[test]
    fn swapping_the_arms_inverts_every_ratio((a, b) in costs()) {
        let (ratio, swapped) = (MeanRatio::new(&a, &b, 0.05), MeanRatio::new(&b, &a, 0.05));
        let inverse = |x: Option<f64>| x.map(|x| 1.0 / x);
        let inverted = |ends: Option<[f64; 2]>| ends.map(|[low, high]| [1.0 / high, 1.0 / low]);
        prop_assert!(close(ratio.ratio, inverse(swapped.ratio)));
        if let (Some(one), Some(other)) = (ratio.intervals, swapped.intervals) {
            prop_assert!(ends_close(one.delta_log, inverted(other.delta_log)));
            if let (Some([low, _]), Some([low_swapped, _])) = (one.fieller, other.fieller)
                && low > 0.01 && low_swapped > 0.01
            {
                prop_assert!(ends_close(one.fieller, inverted(other.fieller)));
            }
        }
        if let (Some(one), Some(other)) = (ratio.typical, swapped.typical) {
            prop_assert!(close(one.geo_ratio, inverse(other.geo_ratio)));
            let p = |logarithm: Option<prereg::analysis::means::ratio::LogRatio>| logarithm.and_then(|log| log.geo_p);
            prop_assert!(close(p(one.logarithm), p(other.logarithm)));
        }
    }

    #[test]
    fn intervals_hold_the_ratio((a, b) in costs()) {
        let ratio = MeanRatio::new(&a, &b, 0.05);
        let holds = |ends: Option<[f64; 2]>| match (ratio.ratio, ends) {
            (Some(ratio), Some([low, high])) => low <= ratio * (1.0 + 1e-12) && ratio <= high * (1.0 + 1e-12),
            _ => true,
        };
        if let Some(intervals) = &ratio.intervals {
            prop_assert!(holds(intervals.fieller) && holds(intervals.delta_log));
            prop_assert_eq!(intervals.fieller.is_none(), intervals.fieller_flag == Some(Flag::Unbounded));
        }
    }

    #[test]
    fn proportional_arms_have_no_spread(a in prop::collection::vec(0.01..100.0, 2..30), factor in 0.01..100.0) {
        let b: Vec<f64> = a.iter().map(|value| value * factor).collect();
        let ratio = MeanRatio::new(&a, &b, 0.05);
        let logarithm = ratio.typical.and_then(|typical| typical.logarithm);
        let logarithm = logarithm.ok_or_else(|| TestCaseError::fail("no logarithm of positive values"))?;
        prop_assert_eq!((logarithm.geo_log_se, logarithm.geo_p), (Some(0.0), None));
        prop_assert_eq!(ratio.intervals.and_then(|intervals| intervals.log_ratio_se), Some(0.0));
    }

    #[test]
    fn any_doubles_give_finite_numbers_or_none(
        pairs in prop::collection::vec((any_double(), any_double()), 0..10),
        alpha in any_double(),
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        for alpha in [0.05, alpha] {
            let printed = format!("{:?}", MeanRatio::new(&a, &b, alpha));
            prop_assert!(!printed.contains("NaN") && !printed.contains("inf"), "{}", printed);
        }
        let short = MeanRatio::new(&a, b.get(1..).unwrap_or_default(), 0.05);
        prop_assert_eq!(short.flag, Some(if a.is_empty() { Flag::NoTask } else { Flag::LengthMismatch }));
    }
}
