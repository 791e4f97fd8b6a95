//! Laws of the resampled bootstrap.
#![expect(clippy::float_arithmetic, reason = "the numbers under test are floats")]

use std::num::{NonZeroU64, NonZeroUsize};

use prereg::analysis::resampling::bootstrap::{
    Plan, RESAMPLES_MAX, cluster_rows, difference_of_rates, map_resamples, quadrants, quotient,
    ratio_of_rates, resample, task_ideal,
};
use prereg::analysis::resampling::stream::Streams;
use prereg::analysis::{Flag, Lattice};
use proptest::prelude::*;

fn plan(streams: &Streams, resamples: u64, threads: usize) -> Plan<'_> {
    Plan {
        streams,
        resamples,
        threads: NonZeroUsize::new(threads).unwrap(),
    }
}

fn rows() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec([-3.0..9.0, 0.5..4.0], 1..40)
}

/// Any double, the awkward ones often.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3.0..3.0,
        1 => Just(0.0),
        1 => Just(1e300),
        1 => Just(-1e300),
        1 => Just(5e-324),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => any::<f64>(),
    ]
}

/// Holds that what is printed has no number that is not finite.
fn assert_finite(result: &impl std::fmt::Debug) {
    let text = format!("{result:?}");
    let names = ["NaN", " inf", "(inf", "[inf", "-inf"];
    assert!(names.iter().all(|name| !text.contains(name)), "{text}");
}

proptest! {
    #[test]
    fn totals_are_the_registered_draws(rows in rows(), resamples in 1_u64..30) {
        let streams = Streams::new("hash", "analysis");
        let bound = NonZeroU64::new(rows.len() as u64).unwrap();
        let expected: Vec<[f64; 2]> = (0..resamples)
            .map(|replicate| {
                let mut stream = streams.replicate(replicate);
                rows.iter().fold([0.0; 2], |[x, y], _| {
                    let [dx, dy] = rows[stream.below(bound) as usize];
                    [x + dx, y + dy]
                })
            })
            .collect();
        let found = map_resamples(&rows, plan(&streams, resamples, 1), |totals| *totals);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn swapped_arms_negate_a_resampled_difference(rows in rows()) {
        let streams = Streams::new("hash", "analysis");
        let swapped: Vec<[f64; 2]> = rows.iter().map(|[x, n]| [-x, *n]).collect();
        let ours = resample(&rows, quotient, 0.05, plan(&streams, 1001, 1));
        let theirs = resample(&swapped, quotient, 0.05, plan(&streams, 1001, 1));
        prop_assert_eq!(ours.se, theirs.se);
        prop_assert_eq!(ours.estimate, theirs.estimate.map(|value| -value));
        prop_assert_eq!(ours.flag, theirs.flag);
        if let Some((ours, theirs)) = ours.z0.zip(theirs.z0) {
            prop_assert!((ours + theirs).abs() <= 1e-12);
        }
        if let Some((ours, theirs)) = ours.acceleration.zip(theirs.acceleration) {
            prop_assert!((ours + theirs).abs() <= 1e-12);
        }
        // Ranks 26 and 976 of 1001 are each other's mirror.
        if let Some(([low, high], [swapped_low, swapped_high])) =
            ours.percentile.zip(theirs.percentile)
        {
            prop_assert_eq!([low, high], [-swapped_high, -swapped_low]);
        }
    }

    #[test]
    fn a_unit_of_cost_scales_a_ratio(rows in rows(), exponent in -30..30) {
        let streams = Streams::new("hash", "analysis");
        let factor = libm::scalbn(1.0, exponent);
        let scaled: Vec<[f64; 2]> = rows.iter().map(|[b, a]| [b * factor, *a]).collect();
        let ours = resample(&rows, quotient, 0.05, plan(&streams, 1000, 1));
        let theirs = resample(&scaled, quotient, 0.05, plan(&streams, 1000, 1));
        let times = |ends: Option<[f64; 2]>| ends.map(|ends| ends.map(|end| end * factor));
        prop_assert_eq!(times(ours.percentile), theirs.percentile);
        prop_assert_eq!(times(ours.bca), theirs.bca);
        prop_assert_eq!(ours.z0, theirs.z0);
        prop_assert_eq!(ours.p_le_zero, theirs.p_le_zero);
    }

    #[test]
    fn drawn_single_task_clusters_change_nothing(rows in rows()) {
        let clusters: Vec<usize> = (0..rows.len()).map(|task| 3 * task).collect();
        prop_assert_eq!(cluster_rows(&rows, &clusters).unwrap(), rows);
    }

    #[test]
    fn ends_lie_among_the_resamples(rows in rows(), alpha in 0.001..0.999) {
        let streams = Streams::new("hash", "analysis");
        let plan = plan(&streams, 200, 1);
        let values = map_resamples(&rows, plan, |totals| quotient(totals).unwrap());
        let found = resample(&rows, quotient, alpha, plan);
        for [low, high] in [found.percentile, found.bca].into_iter().flatten() {
            prop_assert!(low <= high && values.contains(&low) && values.contains(&high));
        }
    }

    #[test]
    fn no_values_break_a_bootstrap(
        rows in prop::collection::vec([any_value(), any_value(), any_value(), any_value()], 0..12),
        alpha in any_value(),
        resamples in prop_oneof![0..3_u64, Just(1100), Just(RESAMPLES_MAX + 1), Just(u64::MAX)],
    ) {
        let streams = Streams::new("", "");
        let plan = plan(&streams, resamples, 3);
        for statistic in [difference_of_rates, ratio_of_rates] {
            let found = resample(&rows, statistic, alpha, plan);
            assert_finite(&found);
            prop_assert!(found.percentile.is_some() || found.flag.is_some());
        }
        let plane: Vec<[f64; 2]> = rows.iter().map(|&[x, y, _, _]| [x, y]).collect();
        assert_finite(&quadrants(&plane, plan));
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let streams = Streams::new("hash", "analysis");
    let rows: Vec<[f64; 2]> = (0..400_u32)
        .map(|task| [f64::from(task % 17) / 7.0, 1.0 + f64::from(task % 5) / 3.0])
        .collect();
    let alone = resample(&rows, quotient, 0.05, plan(&streams, 10_001, 1));
    for threads in [2, 3, 16, usize::MAX] {
        let found = resample(&rows, quotient, 0.05, plan(&streams, 10_001, threads));
        assert_eq!(found, alone, "{threads} threads");
    }
}

#[test]
fn resampling_comes_to_the_exact_law() {
    let streams = Streams::new("hash", "analysis");
    let values: Vec<i64> = (0..60).map(|task| task * task % 7 - 2).collect();
    let differences = Lattice {
        scale: 3,
        values: values.clone(),
    };
    let ideal = task_ideal(&differences, 0.05);
    let rows: Vec<[f64; 2]> = values.iter().map(|&value| [value as f64, 3.0]).collect();
    let found = resample(&rows, quotient, 0.05, plan(&streams, 40_000, 2));
    let law = ideal.law.as_ref().unwrap();
    let near = |found: f64, ideal: f64, error: f64| assert!((found - ideal).abs() <= error);
    for (found, ideal) in [(found.percentile, ideal.percentile), (found.bca, ideal.bca)] {
        for (found, ideal) in found.unwrap().iter().zip(ideal.unwrap()) {
            near(*found, ideal, law.step * 1.001);
        }
    }
    near(found.z0.unwrap(), law.z0.unwrap(), 0.03);
    near(
        found.acceleration.unwrap(),
        law.acceleration.unwrap(),
        1e-12,
    );
    near(found.p_le_zero.unwrap(), law.p_le_zero.unwrap(), 0.01);
}

#[test]
fn undefined_resamples_are_dropped_up_to_one_in_a_hundred() {
    let streams = Streams::new("hash", "analysis");
    let plan = plan(&streams, 2000, 1);
    // No resolved task in some 1% and in some 13% of the resamples.
    for (resolved, null) in [(5, false), (2, true)] {
        let rows: Vec<[f64; 2]> = (0..100)
            .map(|task| {
                [
                    1.0 + f64::from(task % 3),
                    if task < resolved { 1.0 } else { 0.0 },
                ]
            })
            .collect();
        let found = resample(&rows, quotient, 0.05, plan);
        assert!(found.undefined > 0 && found.estimate.is_some());
        assert_eq!(found.percentile.is_none(), null, "{found:?}");
        assert_eq!(found.flag, null.then_some(Flag::UndefinedResamples));
    }
}

#[test]
fn a_statistic_with_one_value_has_no_interval() {
    let streams = Streams::new("hash", "analysis");
    let thirds: Vec<[f64; 2]> = (1..50)
        .map(|task| [0.1 * f64::from(task), 0.3 * f64::from(task)])
        .collect();
    let found = resample(&thirds, quotient, 0.05, plan(&streams, 500, 1));
    assert_eq!(
        (found.percentile, found.flag),
        (None, Some(Flag::Degenerate))
    );
}
