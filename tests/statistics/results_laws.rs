//! Laws of the way from a table to its results that need no reference.
#![expect(
    clippy::unwrap_used,
    clippy::float_arithmetic,
    reason = "a test of numbers: a table it wrote itself is readable"
)]

use std::num::{NonZeroU64, NonZeroUsize};

use prereg::analysis::results::resampling::Resampling;
use prereg::analysis::results::{Results, Settings};
use prereg::analysis::tables::table::{Reading, Table};
use prereg::analysis::values::binary::{Estimand, PairedShares};
use prereg::analysis::values::comparison::{Comparison, Measure};
use prereg::analysis::values::flow::Flow;
use proptest::prelude::*;

const ESTIMANDS: [Estimand; 5] = [
    Estimand::AsDrawn,
    Estimand::Available,
    Estimand::CompleteBlocks,
    Estimand::BoundLow,
    Estimand::BoundHigh,
];

/// What stands in a slot: nothing, no verdict, or a verdict and a claim.
#[derive(Clone, Copy, Debug)]
struct Slot {
    kind: u8,
    claimed: bool,
    cents: u32,
}

#[derive(Clone, Debug)]
struct Design {
    repeats: usize,
    /// Two arms of `repeats` slots per task, the reference first, and the cluster of the task.
    tasks: Vec<(Vec<Slot>, u8)>,
}

fn designs(missing: bool) -> impl Strategy<Value = Design> {
    let kinds = if missing { 0_u8..4 } else { 2..4 };
    let slot = (kinds, any::<bool>(), 0_u32..500).prop_map(|(kind, claimed, cents)| Slot {
        kind,
        claimed,
        cents,
    });
    (1_usize..4).prop_flat_map(move |repeats| {
        let slots = prop::collection::vec(slot.clone(), 2 * repeats);
        prop::collection::vec((slots, 0_u8..4), 1..9)
            .prop_map(move |tasks| Design { repeats, tasks })
    })
}

/// Writes a design as rows, naming tasks and clusters by the given functions.
fn rows(
    design: &Design,
    task_name: impl Fn(usize) -> String,
    cluster_name: impl Fn(u8) -> String,
) -> Vec<String> {
    let mut rows = Vec::new();
    for (place, (slots, cluster)) in design.tasks.iter().enumerate() {
        for (index, slot) in slots.iter().enumerate() {
            let arm = if index < design.repeats { "a" } else { "b" };
            let (status, verdict) = match slot.kind {
                0 => continue,
                1 => ("unjudged", ""),
                2 => ("scored", "0"),
                _ => ("scored", "1"),
            };
            rows.push(format!(
                "{},{},{arm},{},{},{status},{verdict},{},{}\n",
                task_name(place),
                cluster_name(*cluster),
                index % design.repeats + 1,
                place + 1,
                u8::from(slot.claimed),
                f64::from(slot.cents) / 100.0,
            ));
        }
        // A task of which no slot of these arms was run is still drawn.
        rows.push(format!(
            "{},{},other,1,{},scored,1,1,\n",
            task_name(place),
            cluster_name(*cluster),
            place + 1
        ));
    }
    rows
}

fn table(repeats: usize, rows: &[String]) -> Table {
    let header = "task,family,arm,repeat,position,status,resolved,claimed,cost_usd\n";
    let reading = Reading {
        cluster: Some("family"),
        repeats: u32::try_from(repeats).ok(),
    };
    Table::read(&format!("{header}{}", rows.concat()), reading).unwrap()
}

fn plain(design: &Design) -> Vec<String> {
    rows(
        design,
        |place| format!("t{place}"),
        |cluster| format!("c{cluster}"),
    )
}

/// Both arms are named in a table only when each has a row.
fn compared(design: &Design) -> Option<Comparison> {
    table(design.repeats, &plain(design)).compare("a", "b").ok()
}

fn settings(threads: usize) -> Settings<'static> {
    Settings {
        alpha: 0.05,
        margins: &[0.05, 0.1],
        lambdas: &[1.0, 50.0],
        time_limit_s: None,
        resampling: Resampling {
            registration_hash: "00",
            resamples: NonZeroU64::new(199).unwrap(),
            threads: NonZeroUsize::new(threads).unwrap(),
            begin: |_| {},
        },
    }
}

fn swapped(comparison: &Comparison) -> Comparison {
    Comparison {
        reference: comparison.treatment.clone(),
        treatment: comparison.reference.clone(),
        ..comparison.clone()
    }
}

fn negated(shares: &PairedShares) -> Vec<f64> {
    shares.difference_values().iter().map(|d| 0.0 - d).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Serialisation would turn what is not finite into null, so the values themselves are looked at.
fn all_finite(results: &Results) -> bool {
    let shown = format!("{results:?}");
    let mut words = shown.split(|c: char| !c.is_alphanumeric() && c != '_');
    !words.any(|word| word == "NaN" || word == "inf")
}

proptest! {
    #[test]
    fn swapping_the_arms_negates_every_difference(design in designs(true)) {
        let Some(comparison) = compared(&design) else { return Ok(()) };
        let (there, back) = (comparison.resolved().unwrap(), swapped(&comparison).resolved().unwrap());
        for (one, other) in ESTIMANDS.into_iter().zip([
            Estimand::AsDrawn,
            Estimand::Available,
            Estimand::CompleteBlocks,
            Estimand::BoundHigh,
            Estimand::BoundLow,
        ]) {
            prop_assert_eq!(there.paired(one).difference_values(), negated(&back.paired(other)));
        }
    }

    #[test]
    fn the_bounds_enclose_what_was_drawn(design in designs(true)) {
        let Some(comparison) = compared(&design) else { return Ok(()) };
        for outcome in [comparison.resolved().unwrap(), comparison.false_claims().unwrap()] {
            let of = |estimand| mean(&outcome.paired(estimand).difference_values());
            let (low, drawn, high) = (of(Estimand::BoundLow), of(Estimand::AsDrawn), of(Estimand::BoundHigh));
            prop_assert!(low <= drawn + 1e-12 && drawn <= high + 1e-12, "{} {} {}", low, drawn, high);
        }
    }

    #[test]
    fn without_missing_slots_all_estimands_are_one(design in designs(false)) {
        let comparison = compared(&design).unwrap();
        let outcome = comparison.resolved().unwrap();
        for estimand in ESTIMANDS {
            prop_assert_eq!(outcome.paired(estimand), outcome.paired(Estimand::AsDrawn));
        }
    }

    #[test]
    fn exact_differences_are_those_of_the_doubles(design in designs(true)) {
        let Some(comparison) = compared(&design) else { return Ok(()) };
        for estimand in ESTIMANDS {
            let shares = comparison.resolved().unwrap().paired(estimand);
            let exact = shares.differences().unwrap();
            for (one, other) in exact.to_values().iter().zip(shares.difference_values()) {
                prop_assert!((one - other).abs() < 1e-15);
            }
            let (up, down, level) = shares.signs();
            prop_assert_eq!(up + down + level, shares.task_count());
        }
    }

    #[test]
    fn names_and_the_order_of_rows_do_not_matter(
        (design, order) in designs(true).prop_flat_map(|design| {
            let rows = plain(&design);
            (Just(design), Just(rows).prop_shuffle())
        })
    ) {
        let Some(comparison) = compared(&design) else { return Ok(()) };
        let expected = Results::new(&comparison, &settings(1)).unwrap();
        let shuffled = table(design.repeats, &order).compare("a", "b").unwrap();
        prop_assert_eq!(&Results::new(&shuffled, &settings(1)).unwrap(), &expected);
        let renamed = rows(&design, |place| format!("z{}", 99 - place), |cluster| format!("k{}", 9 - cluster));
        let renamed = table(design.repeats, &renamed).compare("a", "b").unwrap();
        prop_assert_eq!(&Results::new(&renamed, &settings(1)).unwrap(), &expected);
    }

    #[test]
    fn threads_do_not_matter_and_nothing_is_infinite(design in designs(true)) {
        let Some(comparison) = compared(&design) else { return Ok(()) };
        let one = Results::new(&comparison, &settings(1)).unwrap();
        prop_assert_eq!(&one, &Results::new(&comparison, &settings(16)).unwrap());
        prop_assert!(all_finite(&one));
    }

    #[test]
    fn extreme_numbers_give_no_infinite_result(
        (design, numbers) in designs(true).prop_flat_map(|design| {
            let extreme = prop::sample::select(vec![0.0, 5e-324, 1e-300, 1e-9, 1.0, 0.3, 9e15, 1e290, 1e300]);
            (Just(design), prop::collection::vec(extreme, 64))
        })
    ) {
        let Some(mut comparison) = compared(&design) else { return Ok(()) };
        let mut numbers = numbers.into_iter().cycle();
        for arm in [&mut comparison.reference, &mut comparison.treatment] {
            for run in arm.tasks.iter_mut().flatten() {
                run.numbers = std::array::from_fn(|_| numbers.next());
            }
        }
        let limits = Settings { time_limit_s: Some(1.0), ..settings(1) };
        prop_assert!(all_finite(&Results::new(&comparison, &limits).unwrap()));
    }

    #[test]
    fn another_unit_of_cost_scales_differences_and_keeps_ratios(design in designs(false)) {
        let cents = |comparison: &mut Comparison| {
            for arm in [&mut comparison.reference, &mut comparison.treatment] {
                for run in arm.tasks.iter_mut().flatten() {
                    run.numbers[0] = run.numbers[0].map(|dollars| (dollars * 100.0).round());
                }
            }
        };
        let dollars = compared(&design).unwrap();
        let mut scaled = dollars.clone();
        cents(&mut scaled);
        let of = |comparison: &Comparison| comparison.numbers(Measure::Cost).unwrap().paired();
        let (one, other) = (of(&dollars), of(&scaled));
        for (d, hundredfold) in one.differences.iter().zip(&other.differences) {
            prop_assert!((100.0 * d - hundredfold).abs() <= 1e-12 * hundredfold.abs());
        }
        let results = |comparison: &Comparison| Results::new(comparison, &settings(1)).unwrap().cost_usd.unwrap().all;
        let (one, other) = (results(&dollars), results(&scaled));
        prop_assert_eq!(one.wilcoxon, other.wilcoxon);
        if let (Some(one), Some(other)) = (one.effect.ratio.ratio, other.effect.ratio.ratio) {
            prop_assert!((one - other).abs() <= 1e-12 * one);
        }
    }

    #[test]
    fn the_flow_adds_up(design in designs(true)) {
        let Some(comparison) = compared(&design) else { return Ok(()) };
        let (resolved, claims) = (comparison.resolved().unwrap(), comparison.false_claims().unwrap());
        let flow = Flow::of(&comparison, &resolved, &claims).unwrap();
        prop_assert_eq!(flow.tasks_drawn, design.tasks.len());
        prop_assert_eq!(flow.complete_blocks, resolved.paired(Estimand::CompleteBlocks).task_count());
    }

    #[test]
    fn no_text_makes_reading_panic(text in "[a-z0-9,\"\n\r .-]{0,200}") {
        let header = "task,arm,repeat,status,resolved\n";
        for text in [text.clone(), format!("{header}{text}")] {
            if let Err(defects) = Table::read(&text, Reading::default()) {
                prop_assert!(!defects.is_empty());
            }
        }
    }
}
