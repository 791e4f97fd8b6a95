//! Laws of means, their standard errors and the tests on them, whatever the values.
#![expect(
    clippy::float_arithmetic,
    reason = "laws of numbers are tested with numbers"
)]

use prereg::analysis::means::equivalence::Equivalence;
use prereg::analysis::means::mean::{Mean, StandardError};
use prereg::analysis::numerics::quantiles::Quantiles;
use prereg::analysis::{Flag, Lattice};
use proptest::prelude::*;

fn close(x: Option<f64>, y: Option<f64>) -> bool {
    match (x, y) {
        (Some(x), Some(y)) => (x - y).abs() <= 1e-9 * x.abs().max(y.abs()) + 1e-13,
        (x, y) => x == y,
    }
}

fn errors(mean: &Mean) -> Vec<StandardError> {
    let mut errors = vec![mean.iid.clone()];
    if let Some(clustered) = mean.clustered.clone() {
        errors.extend([clustered.cr0, clustered.cr1, clustered.cr2]);
    }
    errors
}

/// Whether every number is finite: JSON would hide a NaN as `null`.
fn finite(printed: &str) -> bool {
    !printed.contains("NaN") && !printed.contains("inf")
}

/// Exact differences with a cluster each.
fn tasks() -> impl Strategy<Value = (Lattice, Vec<usize>)> {
    (
        1_u64..61,
        prop::collection::vec((-60_i64..61, 0_usize..7), 1..60),
    )
        .prop_map(|(scale, tasks)| {
            let (values, clusters) = tasks.into_iter().unzip();
            (Lattice { scale, values }, clusters)
        })
}

fn negated(lattice: &Lattice) -> Lattice {
    Lattice {
        scale: lattice.scale,
        values: lattice.values.iter().map(|value| -value).collect(),
    }
}

/// Any double at all, the special ones often.
fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        prop::sample::select(vec![
            0.0,
            -0.0,
            1e300,
            -1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            1.0,
            -1.0,
            1e16,
        ]),
    ]
}

proptest! {
    #[test]
    fn swapping_the_arms_mirrors_the_interval_and_keeps_p((lattice, clusters) in tasks()) {
        let mean = Mean::of_lattice(&lattice, Some(&clusters), 0.05);
        let swapped = Mean::of_lattice(&negated(&lattice), Some(&clusters), 0.05);
        prop_assert_eq!(mean.mean, swapped.mean.map(|mean| -mean));
        for (one, other) in errors(&mean).iter().zip(errors(&swapped)) {
            prop_assert_eq!((one.se, one.df, one.p), (other.se, other.df, other.p));
            prop_assert_eq!(one.ci, other.ci.map(|[low, high]| [-high, -low]));
        }
    }

    #[test]
    fn neither_order_nor_names_of_tasks_and_clusters_matter((lattice, clusters) in tasks(), names in 1_usize..1000) {
        let mean = Mean::of_lattice(&lattice, Some(&clusters), 0.05);
        let reversed = Lattice { scale: lattice.scale, values: lattice.values.iter().rev().copied().collect() };
        let renamed: Vec<usize> = clusters.iter().rev().map(|cluster| 7000 - cluster * names).collect();
        let other = Mean::of_lattice(&reversed, Some(&renamed), 0.05);
        prop_assert_eq!(mean.mean, other.mean);
        for (one, other) in errors(&mean).iter().zip(errors(&other)) {
            prop_assert!(close(one.se, other.se) && close(one.df, other.df) && close(one.p, other.p));
            prop_assert_eq!(one.flag, other.flag);
        }
    }

    #[test]
    fn clusters_of_one_task_change_nothing((lattice, _) in tasks()) {
        let alone: Vec<usize> = (0..lattice.values.len()).collect();
        let mean = Mean::of_lattice(&lattice, Some(&alone), 0.05);
        let cr2 = mean.clustered.map(|clustered| clustered.cr2);
        if lattice.values.len() > 1 {
            let cr2 = cr2.ok_or_else(|| TestCaseError::fail("no clustered errors"))?;
            prop_assert!(close(mean.iid.se, cr2.se) && close(mean.iid.df, cr2.df) && close(mean.iid.p, cr2.p));
            prop_assert_eq!(mean.iid.flag, cr2.flag);
        }
    }

    #[test]
    fn doubles_give_what_exact_values_give((lattice, clusters) in tasks()) {
        let exact = Mean::of_lattice(&lattice, Some(&clusters), 0.05);
        let doubles = Mean::of_values(&lattice.to_values(), Some(&clusters), 0.05);
        prop_assert!(close(exact.mean, doubles.mean) && close(exact.sd, doubles.sd));
        for (one, other) in errors(&exact).iter().zip(errors(&doubles)) {
            prop_assert!(close(one.se, other.se) && close(one.p, other.p), "{:?} {:?}", one, other);
            prop_assert_eq!(one.flag, other.flag);
        }
    }

    #[test]
    fn a_change_of_unit_scales_the_mean_and_keeps_p((lattice, clusters) in tasks(), unit in 1e-6..1e6) {
        let values = lattice.to_values();
        let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
        let mean = Mean::of_values(&values, Some(&clusters), 0.05);
        let other = Mean::of_values(&scaled, Some(&clusters), 0.05);
        prop_assert!(close(mean.mean, other.mean.map(|mean| mean / unit)));
        for (one, other) in errors(&mean).iter().zip(errors(&other)) {
            prop_assert!(close(one.se, other.se.map(|se| se / unit)) && close(one.p, other.p));
            prop_assert_eq!(one.flag, other.flag);
        }
    }

    #[test]
    fn equal_values_have_no_variance(value in -1e9..1e9, n in 2_usize..200, groups in 2_usize..9) {
        let clusters: Vec<usize> = (0..n).map(|task| task % groups).collect();
        let mean = Mean::of_values(&vec![value; n], Some(&clusters), 0.05);
        prop_assert_eq!((mean.mean, mean.sd), (Some(value), Some(0.0)));
        for error in errors(&mean) {
            prop_assert_eq!((error.se, error.t, error.p, error.ci), (Some(0.0), None, None, None));
            prop_assert_eq!(error.flag, Some(Flag::ZeroVariance));
        }
    }

    #[test]
    fn any_doubles_give_finite_numbers_or_none(
        tasks in prop::collection::vec((any_double(), any::<usize>()), 0..12),
        alpha in any_double(),
        margin in any_double(),
        cut in 0_usize..3,
    ) {
        let (values, clusters): (Vec<f64>, Vec<usize>) = tasks.into_iter().unzip();
        let clusters = clusters.get(cut..).unwrap_or_default();
        for alpha in [0.05, alpha] {
            for clusters in [None, Some(clusters)] {
                let mean = Mean::of_values(&values, clusters, alpha);
                prop_assert!(finite(&format!("{mean:?}")), "{:?}", mean);
                let equivalence = Equivalence::new(&mean, 0.1, alpha);
                prop_assert!(finite(&format!("{equivalence:?}")), "{:?}", equivalence);
                let equivalence = Equivalence::new(&mean, margin, alpha);
                let tests = format!("{:?} {:?}", equivalence.iid.p, equivalence.iid.ci90);
                prop_assert!(finite(&tests));
            }
        }
        let quantiles = Quantiles::new(&values);
        prop_assert!(finite(&format!("{quantiles:?}")), "{:?}", quantiles);
    }

    #[test]
    fn any_lattice_gives_finite_numbers_or_none(
        scale in prop_oneof![0_u64..3, any::<u64>()],
        tasks in prop::collection::vec((any::<i64>(), 0_usize..3), 0..12),
    ) {
        let (values, clusters): (Vec<i64>, Vec<usize>) = tasks.into_iter().unzip();
        let mean = Mean::of_lattice(&Lattice { scale, values }, Some(&clusters), 0.05);
        prop_assert!(finite(&format!("{mean:?}")), "{:?}", mean);
    }

    #[test]
    fn equivalence_is_easier_with_a_wider_margin((lattice, clusters) in tasks(), margin in 0.01..1.0) {
        let mean = Mean::of_lattice(&lattice, Some(&clusters), 0.05);
        let narrow = Equivalence::new(&mean, margin, 0.05);
        let wide = Equivalence::new(&mean, margin * 2.0, 0.05);
        if let (Some(narrow), Some(wide)) = (narrow.iid.p, wide.iid.p) {
            prop_assert!(wide <= narrow);
        }
    }

    #[test]
    fn quantiles_are_ordered_and_follow_a_change_of_unit(values in prop::collection::vec(-1e6..1e6, 1..80)) {
        let quantiles = Quantiles::new(&values);
        let all = |q: &Quantiles| [q.min, q.q10, q.q25, q.median, q.q75, q.q90, q.max];
        prop_assert!(all(&quantiles).is_sorted());
        let doubled = Quantiles::new(&values.iter().map(|value| value * -2.0).collect::<Vec<_>>());
        for (one, other) in all(&quantiles).iter().rev().zip(all(&doubled)) {
            prop_assert!(close(one.map(|value| value * -2.0), other));
        }
    }
}
