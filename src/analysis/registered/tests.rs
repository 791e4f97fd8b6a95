//! Decisions at the edges: a p below the range of a double, ties at a margin, whole studies of one kind.

use std::num::{NonZeroU64, NonZeroUsize};

use super::hypothesis;
use super::interval::{self, Drawing};
use super::pairs::Pairs;
use crate::analysis::resampling::stream::Streams;
use crate::analysis::{Flag, Lattice};
use crate::protocol::model::{
    Alternative, Better, Comparison, Effect, Estimand, Interval, Objective, Test,
};
use crate::units::Ratio;

fn asked(test: Test, objective: Objective) -> Comparison {
    Comparison {
        outcome: "passed".to_owned(),
        estimand: Estimand::AsDrawn,
        effect: Effect::PairedDiff,
        test,
        interval: Interval::TCr2,
        alternative: Alternative::TwoSided,
        objective,
        margin: (objective != Objective::Superiority).then_some(Ratio { num: 1, den: 10 }),
    }
}

/// Pairs of shares with so many tasks that have a difference of 1.
fn all_one_way(tasks: usize) -> Pairs {
    Pairs {
        reference: vec![0.0; tasks],
        treatment: vec![1.0; tasks],
        differences: vec![1.0; tasks],
        lattice: Lattice::from_fractions(&vec![(1, 1); tasks]),
        ..Pairs::default()
    }
}

fn numbers(differences: &[f64]) -> Pairs {
    Pairs {
        reference: vec![0.0; differences.len()],
        treatment: differences.to_vec(),
        differences: differences.to_vec(),
        ..Pairs::default()
    }
}

fn p(pairs: &Pairs, asked: &Comparison) -> (Option<f64>, Option<Flag>) {
    let streams = Streams::new("00", "primary");
    let drawn = NonZeroU64::new(999).unwrap();
    let tested = hypothesis::test(pairs, asked, Better::Higher, drawn, &streams);
    (tested.p, tested.flag)
}

#[test]
fn a_p_below_the_range_of_a_double_rejects_and_is_never_nothing() {
    let pairs = all_one_way(1_100);
    for test in [Test::SignFlip, Test::McnemarExact, Test::McnemarMid] {
        let found = p(&pairs, &asked(test, Objective::Superiority));
        assert_eq!(
            found,
            (Some(f64::MIN_POSITIVE), Some(Flag::BelowRange)),
            "{test:?}"
        );
    }
}

#[test]
fn what_differs_altogether_is_not_equivalent() {
    let pairs = all_one_way(1_100);
    let (found, _) = p(&pairs, &asked(Test::SignFlip, Objective::Equivalence));
    assert!(found.is_some_and(|p| p > 0.99), "{found:?}");
    let (found, _) = p(&pairs, &asked(Test::SignFlip, Objective::NonInferiority));
    assert_eq!(found, Some(f64::MIN_POSITIVE));
}

#[test]
fn a_margin_leaves_ties_of_decimals_ties() {
    // Shifted by 0.1 they are 0.2, 0.2, -0.2, 0.2, 0.2, 0.2: signed ranks that are all tied.
    let pairs = numbers(&[0.1, 0.1, -0.3, 0.1, 0.1, 0.1]);
    let (found, _) = p(&pairs, &asked(Test::Wilcoxon, Objective::NonInferiority));
    // At least five of six signs positive, of 64 ways: 7.
    assert!(
        found.is_some_and(|p| (p - 7.0 / 64.0).abs() < 1e-12),
        "{found:?}"
    );
}

#[test]
fn intervals_of_shares_end_at_one_and_ratios_follow_the_bill() {
    let streams = Streams::new("00", "primary");
    let drawing = Drawing {
        streams: &streams,
        resamples: NonZeroU64::new(999).unwrap(),
        threads: NonZeroUsize::MIN,
    };
    let mut pairs = all_one_way(4);
    pairs.differences[0] = 0.0;
    pairs.treatment[0] = 0.0;
    pairs.lattice = Lattice::from_fractions(&[(0, 1), (1, 1), (1, 1), (1, 1)]);
    let found = interval::estimate(&pairs, Effect::PairedDiff, Interval::TCr2, 0.05, drawing);
    assert_eq!(found.estimate, Some(0.75));
    assert_eq!(found.ci.unwrap()[1], 1.0);
    let bill = Pairs {
        reference: vec![1.0, 2.0, 4.0, 3.0],
        treatment: vec![2.0, 3.0, 9.0, 6.0],
        differences: vec![1.0, 1.0, 5.0, 3.0],
        ..Pairs::default()
    };
    for interval in [Interval::Fieller, Interval::TCr2, Interval::BootstrapBca] {
        let found = interval::estimate(&bill, Effect::RatioOfMeans, interval, 0.05, drawing);
        assert_eq!(found.estimate, Some(2.0), "{interval:?}");
        let [low, high] = found.ci.unwrap();
        assert!(low < 2.0 && 2.0 < high, "{interval:?}: {low} {high}");
    }
    let logarithms =
        interval::estimate(&bill, Effect::GeometricRatio, Interval::TCr2, 0.05, drawing);
    let product: f64 = [2.0, 1.5, 2.25, 2.0].iter().product();
    let expected = libm::pow(product, 0.25);
    assert!((logarithms.estimate.unwrap() - expected).abs() < 1e-12);
}
