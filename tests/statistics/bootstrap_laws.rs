//! Laws of the exact bootstraps, and the same numbers by other ways.
#![expect(clippy::float_arithmetic, reason = "the numbers under test are floats")]

use std::collections::BTreeMap;

use prereg::analysis::resampling::bootstrap::{
    MeanLaw, TaskIdeal, cluster_exact, cluster_rows, enumerate, quotient, task_ideal,
};
use prereg::analysis::{Flag, Lattice};
use proptest::prelude::*;

fn lattice(scale: u64, values: &[i64]) -> Lattice {
    Lattice {
        scale,
        values: values.to_vec(),
    }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

/// Returns the law of the sum of n draws by n convolutions; `one` and `add` may count or weigh.
fn convolved<T: Copy>(
    values: &[i64],
    one: T,
    times: impl Fn(T, usize) -> T,
    add: impl Fn(T, T) -> T,
) -> BTreeMap<i64, T> {
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for &value in values {
        *counts.entry(value).or_default() += 1;
    }
    let mut law = BTreeMap::from([(0, one)]);
    for _ in values {
        let mut next: BTreeMap<i64, T> = BTreeMap::new();
        for (sum, &weight) in &law {
            for (value, &count) in &counts {
                let weight = times(weight, count);
                next.entry(sum + value)
                    .and_modify(|w| *w = add(*w, weight))
                    .or_insert(weight);
            }
        }
        law = next;
    }
    law
}

fn law_of(ideal: &TaskIdeal) -> &MeanLaw {
    ideal.law.as_ref().unwrap()
}

/// Holds an ideal bootstrap to the distribution function of the sum of its draws.
fn assert_law(values: &[i64], ideal: &TaskIdeal, cdf: impl Fn(i64) -> f64) {
    let n = values.len() as f64;
    let law = law_of(ideal);
    let infos = law
        .percentile_info
        .iter()
        .chain(law.bca_info.iter().flatten());
    for info in infos {
        let sum = (info.value * n * ideal.lattice as f64).round() as i64;
        assert!(close(info.cdf, cdf(sum)), "{info:?} for {}", cdf(sum));
        assert!(
            close(info.cdf_below, cdf(sum - 1)),
            "{info:?} for {}",
            cdf(sum - 1)
        );
    }
    let p_le_zero = law.p_le_zero.unwrap_or(0.0);
    assert!(close(p_le_zero, cdf(0)), "{p_le_zero} for {}", cdf(0));
    let levels = law.bca_levels.unwrap();
    for (level, info) in [0.025, 0.975].iter().zip(&law.percentile_info) {
        assert!(info.cdf >= level - 1e-12 && info.cdf_below < level + 1e-12);
    }
    for (level, info) in levels.iter().zip(law.bca_info.as_ref().unwrap()) {
        assert!(info.cdf >= level * (1.0 - 1e-9) && info.cdf_below < *level + 1e-9);
    }
}

fn not_constant(values: &[i64]) -> bool {
    values.iter().any(|value| Some(value) != values.first())
}

/// Holds that what is printed has no number that is not finite.
fn assert_finite(result: &impl std::fmt::Debug) {
    let text = format!("{result:?}");
    let names = ["NaN", " inf", "(inf", "[inf", "-inf"];
    assert!(names.iter().all(|name| !text.contains(name)), "{text}");
}

proptest! {
    #[test]
    fn the_ideal_law_is_the_law_of_all_draws(
        scale in 1_u64..7,
        values in prop::collection::vec(-6_i64..7, 2..15),
    ) {
        prop_assume!(not_constant(&values));
        let ideal = task_ideal(&lattice(scale, &values), 0.05);
        let law = convolved(&values, 1_u128, |w, count| w * count as u128, |a, b| a + b);
        let all = (values.len() as u128).pow(values.len() as u32) as f64;
        let cdf = |sum: i64| law.range(..=sum).map(|(_, ways)| ways).sum::<u128>() as f64 / all;
        assert_law(&values, &ideal, cdf);
    }

    #[test]
    fn tails_of_any_size_are_relatively_exact(
        shift in -3_i64..12,
        values in prop::collection::vec(prop_oneof![4 => 0_i64..3, 1 => -9_i64..10], 30..60),
    ) {
        let values: Vec<i64> = values.iter().map(|value| value + shift).collect();
        prop_assume!(not_constant(&values));
        let ideal = task_ideal(&lattice(1, &values), 0.05);
        let n = values.len() as f64;
        // All terms are positive, so this sum loses no digits however small it is.
        let law = convolved(&values, 1.0, |w, count| w * count as f64 / n, |a, b| a + b);
        assert_law(&values, &ideal, |sum| law.range(..=sum).map(|(_, p)| p).sum());
    }

    #[test]
    fn extreme_levels_find_their_quantile(
        exponent in -200..-3_i32,
        values in prop::collection::vec(0_i64..4, 30..60),
    ) {
        prop_assume!(not_constant(&values));
        let alpha = 2.0 * libm::pow(10.0, f64::from(exponent));
        let ideal = task_ideal(&lattice(1, &values), alpha);
        let n = values.len() as f64;
        let law = convolved(&values, 1.0, |w, count| w * count as f64 / n, |a, b| a + b);
        let mut reached = 0.0;
        let found = law.iter().find(|(_, p)| {
            reached += *p;
            reached >= alpha / 2.0 * (1.0 - 1e-12)
        });
        prop_assert!(close(ideal.percentile.unwrap()[0], *found.unwrap().0 as f64 / n));
    }

    #[test]
    fn order_and_unit_do_not_matter(
        mut values in prop::collection::vec(-9_i64..10, 2..40),
        factor in 1_u64..50,
    ) {
        let ideal = task_ideal(&lattice(3, &values), 0.05);
        values.reverse();
        prop_assert_eq!(&task_ideal(&lattice(3, &values), 0.05), &ideal);
        for value in &mut values {
            *value *= factor as i64;
        }
        let finer = task_ideal(&lattice(3 * factor, &values), 0.05);
        let near = |a: Option<[f64; 2]>, b: Option<[f64; 2]>| match (a, b) {
            (Some(a), Some(b)) => (0..2).all(|end| (a[end] - b[end]).abs() <= 1e-14),
            (a, b) => a == b,
        };
        prop_assert!(near(finer.percentile, ideal.percentile));
        prop_assert!(near(finer.bca, ideal.bca));
        prop_assert!(near(finer.basic, ideal.basic));
    }

    #[test]
    fn swapped_arms_mirror_the_law(values in prop::collection::vec(-9_i64..10, 2..40)) {
        prop_assume!(not_constant(&values));
        let swapped: Vec<i64> = values.iter().map(|value| -value).collect();
        let (ours, theirs) = (
            task_ideal(&lattice(2, &values), 0.05),
            task_ideal(&lattice(2, &swapped), 0.05),
        );
        let (ours_law, theirs_law) = (law_of(&ours), law_of(&theirs));
        prop_assert!((ours_law.se - theirs_law.se).abs() <= 1e-14);
        prop_assert!((ours_law.z0.unwrap() + theirs_law.z0.unwrap()).abs() <= 1e-12);
        let accelerations = ours_law.acceleration.unwrap() + theirs_law.acceleration.unwrap();
        prop_assert!(accelerations.abs() <= 1e-12);
        // The mirror of an end is the largest value whose upper share reaches the level.
        let [low, _] = ours.percentile.unwrap();
        let [_, high] = theirs.percentile.unwrap();
        let [info, _] = &ours_law.percentile_info;
        prop_assert!((low + high).abs() <= 1e-14 || (info.cdf - 0.025).abs() <= 1e-11);
    }

    #[test]
    fn single_task_clusters_change_nothing(values in prop::collection::vec(-9_i64..10, 2..8)) {
        let differences = lattice(3, &values);
        let clusters: Vec<usize> = (0..values.len()).collect();
        let exact = cluster_exact(&differences, &clusters, 0.05).unwrap();
        let ideal = task_ideal(&differences, 0.05);
        prop_assert_eq!(exact.flag, ideal.flag);
        for (exact, ideal) in [(exact.percentile, ideal.percentile), (exact.basic, ideal.basic)] {
            for (exact, ideal) in exact.iter().flatten().zip(ideal.iter().flatten()) {
                prop_assert!((exact - ideal).abs() <= 1e-14);
            }
        }
    }

    #[test]
    fn listed_clusters_are_the_law_of_all_draws(
        tasks in prop::collection::vec((-5_i64..6, 0_usize..4), 2..30),
    ) {
        let (values, clusters): (Vec<i64>, Vec<usize>) = tasks.iter().copied().unzip();
        let Some(exact) = cluster_exact(&lattice(2, &values), &clusters, 0.05) else {
            return Ok(());
        };
        prop_assume!(exact.flag.is_none());
        let rows: Vec<[f64; 2]> = values.iter().map(|&value| [value as f64, 2.0]).collect();
        let rows = cluster_rows(&rows, &clusters).unwrap();
        let count = rows.len();
        let mut means: Vec<f64> = (0..count.pow(count as u32))
            .map(|draw| {
                let drawn = (0..count as u32).map(|place| rows[draw / count.pow(place) % count]);
                let total = drawn.fold([0.0; 2], |[s, n], [value, tasks]| [s + value, n + tasks]);
                total[0] / total[1]
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let end = |level: f64| means[(level * means.len() as f64).ceil() as usize - 1];
        let [low, high] = exact.percentile.unwrap();
        prop_assert!((low - end(0.025)).abs() <= 1e-14);
        prop_assert!((high - end(0.975)).abs() <= 1e-14);
    }

    #[test]
    fn listed_ratios_are_the_law_of_all_draws(
        rows in prop::collection::vec((-20_i32..60, 0_i32..9), 2..6),
    ) {
        let rows: Vec<[f64; 2]> = rows.iter().map(|(b, a)| [f64::from(*b), f64::from(*a)]).collect();
        let found = enumerate(&rows, quotient, 0.1).unwrap();
        let count = rows.len();
        let draws = count.pow(count as u32);
        let mut ratios: Vec<f64> = (0..draws)
            .filter_map(|draw| {
                let drawn = (0..count as u32).map(|place| rows[draw / count.pow(place) % count]);
                let total = drawn.fold([0.0; 2], |[b, a], row| [b + row[0], a + row[1]]);
                quotient(&total)
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let Some([low, high]) = found.percentile else {
            let undefined = draws - ratios.len();
            let is_one = ratios.first() == ratios.last();
            prop_assert!(undefined * 100 > draws || is_one, "{found:?}");
            return Ok(());
        };
        let end = |level: f64| ratios[(level * ratios.len() as f64).ceil() as usize - 1];
        prop_assert!((low - end(0.05)).abs() <= 1e-12 && (high - end(0.95)).abs() <= 1e-12);
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let square = ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean));
        let se = (square.sum::<f64>() / ratios.len() as f64).sqrt();
        prop_assert!((found.se.unwrap() - se).abs() <= 1e-9 * se);
    }

    #[test]
    fn listed_tasks_have_the_intervals_of_the_ideal_bootstrap(
        values in prop::collection::vec(-3_i64..4, 2..9),
    ) {
        let ideal = task_ideal(&lattice(1, &values), 0.05);
        let rows: Vec<[f64; 2]> = values.iter().map(|value| [*value as f64, 1.0]).collect();
        let found = enumerate(&rows, quotient, 0.05).unwrap();
        prop_assert_eq!(found.flag, ideal.flag);
        for (found, ideal) in [(found.percentile, ideal.percentile), (found.bca, ideal.bca)] {
            prop_assert_eq!(found.is_some(), ideal.is_some());
            for (found, ideal) in found.iter().flatten().zip(ideal.iter().flatten()) {
                prop_assert!((found - ideal).abs() <= 1e-12, "{} {}", found, ideal);
            }
        }
    }

    #[test]
    fn no_integers_break_an_exact_bootstrap(
        scale in prop_oneof![0..4_u64, any::<u64>()],
        values in prop::collection::vec(
            prop_oneof![3 => -3_i64..4, 1 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)],
            0..12,
        ),
        clusters in prop::collection::vec(prop_oneof![0_usize..4, any::<usize>()], 0..12),
        alpha in prop_oneof![4 => -0.5..1.5, 1 => any::<f64>()],
    ) {
        let differences = lattice(scale, &values);
        let ideal = task_ideal(&differences, alpha);
        assert_finite(&ideal);
        prop_assert!(ideal.percentile.is_some() || ideal.flag.is_some());
        if let Some(exact) = cluster_exact(&differences, &clusters, alpha) {
            assert_finite(&exact);
            prop_assert!(exact.percentile.is_some() || exact.flag.is_some());
        }
    }
}

#[test]
fn more_than_nine_units_are_not_listed() {
    assert!(enumerate(&[[1.0, 1.0]; 10], quotient, 0.05).is_none());
    assert!(enumerate(&[[1.0, 1.0]; 0], quotient, 0.05).is_none());
    let same = enumerate(&[[1.0, 1.0]; 9], quotient, 0.05).unwrap();
    assert_eq!(
        (same.estimate, same.flag),
        (Some(1.0), Some(Flag::Degenerate))
    );
}

#[test]
fn equal_differences_have_no_interval() {
    let ideal = task_ideal(&lattice(3, &[2, 2, 2]), 0.05);
    assert_eq!(
        (ideal.percentile, ideal.flag),
        (None, Some(Flag::Degenerate))
    );
    let ideal = task_ideal(&lattice(3, &[]), 0.05);
    assert_eq!((ideal.percentile, ideal.flag), (None, Some(Flag::NoTask)));
    let far = task_ideal(&lattice(1, &[0, 1, 1 << 40]), 0.05);
    assert_eq!(
        (far.percentile, far.flag),
        (None, Some(Flag::LatticeTooFine))
    );
    // 3000 successes against none leave a positive share of no double.
    let mut values = vec![1; 3000];
    values.extend([0, -1]);
    let sure = task_ideal(&lattice(1, &values), 0.05);
    assert!(sure.percentile.is_some() && sure.flag == Some(Flag::BelowRange));
}
