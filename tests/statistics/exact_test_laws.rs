//! The exact tests against every sign pattern, and their laws.
#![expect(
    clippy::float_arithmetic,
    clippy::unwrap_used,
    reason = "a test of numbers: a missing one may fail it"
)]

use std::num::NonZeroU64;

use prereg::analysis::numerics::special::binomial_half_tail;
use prereg::analysis::paired::sign_flip::SignFlip;
use prereg::analysis::paired::sign_flip_monte_carlo::SignFlipMonteCarlo;
use prereg::analysis::paired::signed_rank::{SignedRank, ZeroMethod};
use prereg::analysis::resampling::stream::Streams;
use prereg::analysis::{Flag, Lattice};
use proptest::prelude::*;

fn lattice(values: &[i64]) -> Lattice {
    Lattice {
        scale: 1,
        values: values.to_vec(),
    }
}

fn close(x: Option<f64>, y: f64) -> bool {
    x.is_some_and(|x| (x - y).abs() <= 1e-12 * y)
}

/// Returns P(|S*| >= |S|), P(S* >= S) and P(S* <= S) by going through all sign patterns.
fn by_enumeration(values: &[i64]) -> (f64, f64, f64) {
    let nonzero: Vec<i64> = values.iter().copied().filter(|&value| value != 0).collect();
    let observed: i64 = nonzero.iter().sum();
    let patterns = 1_u64 << nonzero.len();
    let (mut beyond, mut above, mut below) = (0_u32, 0_u32, 0_u32);
    for pattern in 0..patterns {
        let sum: i64 = (0..)
            .zip(&nonzero)
            .map(|(bit, &value)| {
                if pattern >> bit & 1 == 1 {
                    value
                } else {
                    -value
                }
            })
            .sum();
        beyond += u32::from(sum.abs() >= observed.abs());
        above += u32::from(sum >= observed);
        below += u32::from(sum <= observed);
    }
    let share = |count: u32| f64::from(count) / patterns as f64;
    (share(beyond), share(above), share(below))
}

/// Returns signed doubled average ranks, zeros ranked as well with `pratt`.
fn ranks(values: &[i64], pratt: bool) -> Vec<i64> {
    let ranked: Vec<i64> = values
        .iter()
        .copied()
        .filter(|&value| pratt || value != 0)
        .collect();
    let rank = |value: i64| {
        let below = ranked
            .iter()
            .filter(|other| other.abs() < value.abs())
            .count();
        let through = ranked
            .iter()
            .filter(|other| other.abs() <= value.abs())
            .count();
        i64::try_from(below + 1 + through).unwrap() * value.signum()
    };
    ranked.iter().map(|&value| rank(value)).collect()
}

fn differences() -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        prop::collection::vec(-3_i64..4, 1..13),
        prop::collection::vec(-60_i64..61, 1..13),
        prop::collection::vec(-50_000_i64..50_001, 1..13),
        prop::collection::vec(
            prop::sample::select(vec![-40_000_i64, -2, -1, 0, 1, 2, 40_000]),
            1..13
        ),
    ]
}

proptest! {
    #[test]
    fn sign_flip_is_the_count_of_sign_patterns(values in differences()) {
        let test = SignFlip::of_tasks(&lattice(&values));
        let (two_sided, greater, less) = by_enumeration(&values);
        prop_assert!(close(test.p_two_sided, two_sided), "{:?} {}", test, two_sided);
        prop_assert!(close(test.p_greater, greater), "{:?} {}", test, greater);
        prop_assert!(close(test.p_less, less), "{:?} {}", test, less);
        prop_assert!(test.p_two_sided >= test.p_floor_two_sided.map(|floor| floor * (1.0 - 1e-12)));
    }

    #[test]
    fn signed_rank_is_the_count_of_sign_patterns(values in differences(), pratt: bool) {
        let zeros = if pratt { ZeroMethod::Pratt } else { ZeroMethod::Wilcoxon };
        let test = SignedRank::of_lattice(&lattice(&values), zeros);
        let ranks = ranks(&values, pratt);
        let (two_sided, greater, less) = by_enumeration(&ranks);
        prop_assert!(close(test.p_exact, two_sided), "{:?} {}", test, two_sided);
        if let Some(one_sided) = test.one_sided {
            prop_assert!(close(one_sided.p_exact_greater, greater));
            prop_assert!(close(one_sided.p_exact_less, less));
        }
        let plus: i64 = ranks.iter().filter(|&&rank| rank > 0).sum();
        prop_assert_eq!(test.w_plus * 2.0, plus as f64);
    }

    #[test]
    fn swapping_the_arms_swaps_the_sides(values in differences()) {
        let negated: Vec<i64> = values.iter().rev().map(|value| -value).collect();
        let (test, swapped) = (SignFlip::of_tasks(&lattice(&values)), SignFlip::of_tasks(&lattice(&negated)));
        prop_assert_eq!(test.p_two_sided, swapped.p_two_sided);
        prop_assert_eq!((test.p_greater, test.p_less), (swapped.p_less, swapped.p_greater));
        let rank = |values: &[i64]| SignedRank::of_lattice(&lattice(values), ZeroMethod::Wilcoxon);
        let (test, swapped) = (rank(&values), rank(&negated));
        prop_assert_eq!((test.p_exact, test.p_normal), (swapped.p_exact, swapped.p_normal));
        prop_assert_eq!((test.w_plus, test.w_minus), (swapped.w_minus, swapped.w_plus));
    }

    #[test]
    fn neither_zeros_nor_the_unit_nor_clusters_of_one_matter(values in differences(), unit in 1_i64..1000, zeros in 0_usize..5) {
        let test = SignFlip::of_tasks(&lattice(&values));
        let mut other: Vec<i64> = values.iter().map(|value| value * unit).collect();
        other.extend(vec![0; zeros]);
        let alone: Vec<usize> = (0..other.len()).collect();
        let other = SignFlip::of_clusters(&Lattice { scale: 7, values: other }, &alone);
        prop_assert_eq!(test.p_two_sided, other.p_two_sided);
        prop_assert_eq!((test.p_greater, test.p_less), (other.p_greater, other.p_less));
        prop_assert_eq!(test.n_nonzero, other.n_nonzero);
    }

    #[test]
    fn at_one_run_all_exact_tests_are_mcnemar(up in 0_u64..900, down in 0_u64..900) {
        let mut values = vec![1; usize::try_from(up).unwrap()];
        values.extend(vec![-1; usize::try_from(down).unwrap()]);
        if values.is_empty() {
            values.push(0);
        }
        let mcnemar = (2.0 * binomial_half_tail(up.min(down), up + down)).min(1.0);
        let flip = SignFlip::of_tasks(&lattice(&values));
        match flip.p_two_sided {
            None => prop_assert!(mcnemar < f64::MIN_POSITIVE && flip.ln_p_two_sided.is_some()),
            p => prop_assert!((p.unwrap() - mcnemar).abs() <= 1e-9 * mcnemar, "{:?} {}", p, mcnemar),
        }
        if up + down <= 1000 {
            let rank = SignedRank::of_lattice(&lattice(&values), ZeroMethod::Wilcoxon);
            prop_assert!(rank.p_exact.is_none_or(|p| (p - mcnemar).abs() <= 1e-9 * mcnemar));
        }
    }

    #[test]
    fn ranks_only_see_the_order(values in prop::collection::vec(-1000_i64..1001, 1..40)) {
        let cubes: Vec<f64> = values.iter().map(|&value| (value * value * value) as f64 / 7.0).collect();
        let exact = SignedRank::of_lattice(&lattice(&values), ZeroMethod::Pratt);
        prop_assert_eq!(exact, SignedRank::of_values(&cubes, ZeroMethod::Pratt));
    }

    #[test]
    fn any_numbers_are_answered(values in prop::collection::vec(any::<i64>(), 0..12), scale: u64, ids in prop::collection::vec(any::<usize>(), 0..12)) {
        let exact = Lattice { scale, values };
        for test in [SignFlip::of_tasks(&exact), SignFlip::of_clusters(&exact, &ids)] {
            prop_assert_eq!(test.p_floor_two_sided.is_some(), !exact.values.is_empty() && test.flag != Some(Flag::LengthMismatch));
            prop_assert_eq!(test.p_two_sided.is_none(), test.flag.is_some());
        }
        let doubles: Vec<f64> = exact.values.iter().map(|&value| f64::from_bits(value.cast_unsigned())).collect();
        let test = SignedRank::of_values(&doubles, ZeroMethod::Wilcoxon);
        prop_assert_eq!(test.flag.is_some(), test.p_exact.is_none());
        let streams = Streams::new("registration", "law");
        let test = SignFlipMonteCarlo::of_values(&doubles, NonZeroU64::MIN, &streams);
        prop_assert_eq!(test.flag.is_some(), test.p_two_sided.is_none());
    }

    #[test]
    fn sampled_sign_flips_approach_the_exact_ones(values in prop::collection::vec(-5_i64..6, 1..40)) {
        let streams = Streams::new("registration", "law");
        let resamples = NonZeroU64::new(2000).unwrap();
        let doubles: Vec<f64> = values.iter().map(|&value| value as f64 / 5.0).collect();
        let sampled = SignFlipMonteCarlo::of_values(&doubles, resamples, &streams);
        let thirds: Vec<f64> = values.iter().map(|&value| value as f64 / 3.0).collect();
        prop_assert_eq!(&sampled, &SignFlipMonteCarlo::of_values(&thirds, resamples, &streams));
        let exact = SignFlip::of_tasks(&lattice(&values)).p_two_sided.unwrap();
        let error = (exact * (1.0 - exact) / 2000.0).sqrt();
        prop_assert!((sampled.p_two_sided.unwrap() - exact).abs() <= 6.0 * error + 2.0 / 2000.0);
    }
}

#[test]
fn a_probability_below_the_range_of_a_double_is_not_zero() {
    let test = SignFlip::of_tasks(&lattice(&[1; 2000]));
    assert_eq!((test.p_two_sided, test.p_greater), (None, None));
    assert_eq!(
        (test.p_less, test.flag),
        (Some(1.0), Some(Flag::BelowRange))
    );
    assert!(close(
        test.ln_p_two_sided.map(|ln| -ln),
        1999.0 * std::f64::consts::LN_2
    ));
}

#[test]
fn a_lattice_too_fine_is_refused_and_so_are_too_many_ranks() {
    let fine = SignFlip::of_tasks(&lattice(&[1 << 20, -1, 1]));
    assert_eq!(
        (fine.p_two_sided, fine.flag),
        (None, Some(Flag::LatticeTooFine))
    );
    assert_eq!(fine.p_floor_two_sided, Some(0.25));
    let ranks = SignedRank::of_lattice(&lattice(&[1; 1001]), ZeroMethod::Wilcoxon);
    assert_eq!(
        (ranks.p_exact, ranks.flag),
        (None, Some(Flag::TooManyRanks))
    );
    assert!(ranks.p_normal.is_some());
}

#[test]
fn without_tasks_there_is_no_p() {
    let flip = SignFlip::of_tasks(&lattice(&[]));
    assert_eq!((flip.p_two_sided, flip.flag), (None, Some(Flag::NoTask)));
    let rank = SignedRank::of_values(&[], ZeroMethod::Pratt);
    assert_eq!((rank.p_exact, rank.flag), (None, Some(Flag::NoTask)));
}
