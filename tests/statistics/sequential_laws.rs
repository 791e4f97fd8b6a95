//! Group sequential designs against the references, and the laws they keep.
#![expect(
    clippy::float_arithmetic,
    clippy::unwrap_used,
    reason = "a test of numbers: a wrong reading of the references may fail it"
)]

use prereg::analysis::Flag;
use prereg::analysis::sequential::{
    SequentialDesign, Sided, Spending, UnderRun, boundaries, operation,
};
use proptest::prelude::*;
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../stats/edge-sequential.json")).unwrap()
}

fn design_of(case: &Value) -> SequentialDesign {
    SequentialDesign {
        fractions: case["fractions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_f64().unwrap())
            .collect(),
        spending: match case["spending"].as_str().unwrap() {
            "obf" => Spending::Obf,
            "pocock" => Spending::Pocock,
            _ => Spending::Power(case["rho"].as_f64().unwrap()),
        },
        alpha: case["alpha"].as_f64().unwrap(),
        sided: if case["sided"] == 1 {
            Sided::One
        } else {
            Sided::Two
        },
        under_run: UnderRun::SpendToT,
    }
}

/// The largest relative difference between the numbers of two JSON values of the same shape.
fn distance(path: &str, found: &Value, expected: &Value) -> f64 {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            assert!(found.keys().eq(expected.keys()), "{path}: {found:?}");
            expected
                .iter()
                .map(|(key, value)| distance(key, &found[key], value))
                .fold(0.0, f64::max)
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{path}");
            found
                .iter()
                .zip(expected)
                .map(|(f, e)| distance(path, f, e))
                .fold(0.0, f64::max)
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            (found - expected).abs() / expected.abs().max(1e-300)
        }
        _ => {
            assert_eq!(found, expected, "{path}");
            0.0
        }
    }
}

#[test]
fn every_reference_figure_is_met_far_below_its_tolerance() {
    for case in reference()["cases"].as_array().unwrap() {
        let found = serde_json::to_value(operation(&design_of(case)).unwrap()).unwrap();
        let far = distance("", &found, case);
        assert!(far < 1e-9, "{far:e}: {found}");
    }
}

fn spendings() -> impl Strategy<Value = Spending> {
    prop_oneof![
        Just(Spending::Obf),
        Just(Spending::Pocock),
        (0.05..8.0).prop_map(Spending::Power)
    ]
}

/// Up to six looks, apart by a hundredth, the last at 1 half of the time.
fn schedules() -> impl Strategy<Value = Vec<f64>> {
    (prop::collection::btree_set(1_u32..100, 1..6), any::<bool>()).prop_map(|(hundredths, full)| {
        let mut looks: Vec<f64> = hundredths
            .into_iter()
            .map(|t| f64::from(t) / 100.0)
            .collect();
        if full {
            looks.push(1.0);
        }
        looks
    })
}

fn designs() -> impl Strategy<Value = SequentialDesign> {
    let sided = prop_oneof![Just(Sided::One), Just(Sided::Two)];
    (schedules(), spendings(), 1e-6_f64..0.4, sided).prop_map(
        |(fractions, spending, alpha, sided)| SequentialDesign {
            fractions,
            spending,
            alpha,
            sided,
            under_run: UnderRun::SpendToT,
        },
    )
}

proptest! {
    #[test]
    fn alpha_is_spent_and_never_more(design in designs()) {
        let found = boundaries(&design).unwrap();
        prop_assert!(found.cumulative_alpha_total.is_sorted());
        let spent = *found.cumulative_alpha_total.last().unwrap();
        if *design.fractions.last().unwrap() == 1.0 {
            prop_assert!((spent / design.alpha - 1.0).abs() < 1e-12);
        }
        prop_assert!(spent <= design.alpha * (1.0 + 1e-12));
        let all = SequentialDesign { under_run: UnderRun::SpendAll, ..design.clone() };
        let all = boundaries(&all).unwrap();
        let spent_all = *all.cumulative_alpha_total.last().unwrap();
        prop_assert!((spent_all / design.alpha - 1.0).abs() < 1e-12);
        // More to spend makes the last look easier and leaves the others.
        prop_assert!(all.z.last().unwrap().unwrap() <= found.z.last().unwrap().unwrap_or(f64::MAX) + 1e-12);
        prop_assert_eq!(&all.z[..all.z.len() - 1], &found.z[..found.z.len() - 1]);
    }

    /// A look's nominal p is at least what the look spends, and at most what has been spent.
    #[test]
    fn nominal_p_lies_between_the_increment_and_the_sum(design in designs()) {
        let found = boundaries(&design).unwrap();
        let mut before = 0.0;
        for (p, spent) in found.nominal_p.iter().zip(&found.cumulative_alpha_total) {
            if let Some(p) = p {
                prop_assert!(*p >= (spent - before) * (1.0 - 1e-9), "{p} {spent} {before}");
                prop_assert!(*p <= spent * (1.0 + 1e-9), "{p} {spent}");
            }
            before = *spent;
        }
    }

    #[test]
    fn power_is_what_was_asked_and_size_is_within_the_schedule(design in designs()) {
        let found = operation(&design).unwrap();
        let power: f64 = found.exit_upper_power80.as_ref().unwrap().iter().sum();
        prop_assert!((power - 0.8).abs() < 1e-12);
        prop_assert!(found.drift_power90 > found.drift_power80);
        let expected = found.expected_information_power80.unwrap();
        let (first, last) = (design.fractions[0], *design.fractions.last().unwrap());
        prop_assert!(expected >= first - 1e-12 && expected <= last + 1e-12);
        // One look at the end with the same alpha needs least.
        let end = SequentialDesign { fractions: vec![1.0], ..design.clone() };
        prop_assert!((operation(&end).unwrap().inflation80.unwrap() - 1.0).abs() < 1e-11);
        prop_assert!(found.inflation80.unwrap() > 1.0 - 1e-11);
    }

    /// A trial that may stop for the other side loses paths that would have come back.
    #[test]
    fn two_sides_are_each_no_harder_than_one(design in designs()) {
        let one = SequentialDesign { sided: Sided::One, alpha: design.alpha / 2.0, ..design.clone() };
        let two = SequentialDesign { sided: Sided::Two, ..design };
        let (one, two) = (boundaries(&one).unwrap(), boundaries(&two).unwrap());
        for (one, two) in one.z.iter().zip(&two.z) {
            prop_assert!(two.unwrap_or(0.0) <= one.unwrap_or(f64::MAX) + 1e-9);
        }
    }

    #[test]
    fn nothing_panics_and_no_figure_is_without_meaning(
        fractions in prop::collection::vec(
            prop_oneof![0.0..1.1_f64, Just(f64::NAN), Just(5e-324), Just(1e-300), Just(1.0), -1.0..1e-6],
            0..5,
        ),
        rho in prop_oneof![1e-12..1e-3, 0.0..1e6_f64, Just(f64::NAN), Just(f64::INFINITY)],
        alpha in prop_oneof![Just(5e-324), Just(1e-300), 0.0..1.2_f64, Just(f64::NAN)],
        kind in 0_usize..3,
        two in any::<bool>(),
        sorted in any::<bool>(),
    ) {
        let mut fractions = fractions;
        if sorted {
            fractions.sort_by(f64::total_cmp);
        }
        let design = SequentialDesign {
            fractions,
            spending: [Spending::Obf, Spending::Pocock, Spending::Power(rho)][kind],
            alpha,
            sided: if two { Sided::Two } else { Sided::One },
            under_run: UnderRun::SpendAll,
        };
        if let Ok(found) = operation(&design) {
            let text = serde_json::to_string(&found).unwrap();
            // A float that is no number serialises to null: count the nulls.
            let missing = found.boundaries.z.iter().filter(|z| z.is_none()).count() * 2
                + usize::from(kind != 2)
                + if found.drift_power80.is_none() { 5 } else { usize::from(found.flag.is_some()) };
            prop_assert_eq!(text.matches("null").count(), missing, "{}", text);
        }
    }
}

#[test]
fn a_look_that_can_spend_nothing_has_no_boundary_and_changes_no_other() {
    let design = |fractions: &[f64]| SequentialDesign {
        fractions: fractions.to_vec(),
        spending: Spending::Obf,
        alpha: 0.05,
        sided: Sided::Two,
        under_run: UnderRun::SpendToT,
    };
    let with = operation(&design(&[1e-4, 0.5, 1.0])).unwrap();
    let without = operation(&design(&[0.5, 1.0])).unwrap();
    assert_eq!(with.boundaries.z[0], None);
    assert_eq!(with.boundaries.nominal_p[0], None);
    for (with, without) in with.boundaries.z[1..].iter().zip(&without.boundaries.z) {
        assert!((with.unwrap() - without.unwrap()).abs() < 1e-10);
    }
    assert!((with.drift_power80.unwrap() - without.drift_power80.unwrap()).abs() < 1e-10);
    let never = operation(&design(&[1e-4])).unwrap();
    assert_eq!((never.drift_power80, never.inflation80), (None, None));
    assert_eq!(never.flag, Some(Flag::UnreachablePower));
}

#[test]
fn a_design_that_is_none_is_refused() {
    let design = |fractions: &[f64], alpha, spending| SequentialDesign {
        fractions: fractions.to_vec(),
        spending,
        alpha,
        sided: Sided::Two,
        under_run: UnderRun::SpendToT,
    };
    for (fractions, alpha, spending, flag) in [
        (&[][..], 0.05, Spending::Obf, Flag::InvalidDesign),
        (&[0.5, 0.5], 0.05, Spending::Obf, Flag::InvalidDesign),
        (&[0.5, 1.1], 0.05, Spending::Obf, Flag::InvalidDesign),
        (&[0.0, 1.0], 0.05, Spending::Obf, Flag::InvalidDesign),
        (&[0.5, f64::NAN], 0.05, Spending::Obf, Flag::InvalidDesign),
        (&[0.5, 1.0], 1.0, Spending::Obf, Flag::InvalidDesign),
        (&[0.5, 1.0], 0.0, Spending::Obf, Flag::InvalidDesign),
        (&[0.5, 1.0], 0.05, Spending::Power(0.0), Flag::InvalidDesign),
        (&[0.5, 0.500_01], 0.05, Spending::Obf, Flag::LooksTooClose),
    ] {
        assert_eq!(
            boundaries(&design(fractions, alpha, spending)),
            Err(flag),
            "{fractions:?}"
        );
    }
    let many: Vec<f64> = (1..=51).map(|i| f64::from(i) / 51.0).collect();
    assert_eq!(
        boundaries(&design(&many, 0.05, Spending::Obf)),
        Err(Flag::InvalidDesign)
    );
    assert!(boundaries(&design(&many[1..], 0.05, Spending::Obf)).is_ok());
}

/// Found by an independent program: Simpson's rule on 2,000 intervals per look, bisection.
#[test]
fn uneven_schedules_agree_with_another_program() {
    let six = [0.05, 0.3, 0.31, 0.6, 0.95, 1.0];
    for (fractions, spending, alpha, sided, expected) in [
        (
            &[0.2, 0.21, 0.8][..],
            Spending::Power(1.5),
            0.1,
            Sided::Two,
            &[2.614176876841, 2.763979217172, 1.844410173678][..],
        ),
        (
            &six[..],
            Spending::Pocock,
            0.01,
            Sided::One,
            &[
                3.147196347124,
                2.706818914690,
                2.889874259481,
                2.686236122047,
                2.658015869197,
                2.785087257988,
            ][..],
        ),
        (
            &six[..],
            Spending::Obf,
            0.05,
            Sided::Two,
            &[
                9.955145577456,
                3.928572542626,
                3.915516017711,
                2.670447375155,
                2.048245812721,
                2.075150459210,
            ][..],
        ),
    ] {
        let fractions = fractions.to_vec();
        let design = SequentialDesign {
            fractions,
            spending,
            alpha,
            sided,
            under_run: UnderRun::SpendToT,
        };
        for (found, expected) in boundaries(&design).unwrap().z.iter().zip(expected) {
            assert!(
                (found.unwrap() - expected).abs() < 1e-9,
                "{found:?} {expected}"
            );
        }
    }
}

/// Fifty looks, each a ten-thousandth after the other, are the most a walk has to do.
#[test]
fn looks_as_close_as_allowed_are_walked() {
    let fractions = (0..50)
        .map(|look| 0.5 * libm::pow(1.000_101, f64::from(look)))
        .collect();
    let design = SequentialDesign {
        fractions,
        spending: Spending::Pocock,
        alpha: 0.05,
        sided: Sided::Two,
        under_run: UnderRun::SpendAll,
    };
    let found = operation(&design).unwrap();
    let power: f64 = found.exit_upper_power80.unwrap().iter().sum();
    assert!((power - 0.8).abs() < 1e-12);
    assert!(found.boundaries.z.iter().all(Option::is_some));
}
