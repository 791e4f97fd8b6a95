//! Evidence by task, times, costs, repeats and claims against the references, and their laws.
#![expect(
    clippy::float_arithmetic,
    clippy::unwrap_used,
    reason = "a test of numbers: a wrong reading of the references may fail it"
)]

use prereg::analysis::described::claims::{
    ClaimTable, SlotClaim, claim_table, false_claim_conditional,
};
use prereg::analysis::described::cost_effectiveness::{
    CostEffectiveness, CostTask, cost_effectiveness,
};
use prereg::analysis::described::repeats::pass_k;
use prereg::analysis::described::time_to_success::{cactus, time_to_success};
use prereg::analysis::sequential::confidence_sequence::prpl_eb;
use prereg::analysis::sequential::evalue::sign_evalue;
use prereg::analysis::sequential::{
    Differences, SequentialDesign, Sided, Spending, UnderRun, look_size, look_summaries,
    sequential_looks,
};
use prereg::analysis::tables::table::{Reading, Table};
use prereg::analysis::values::binary::{BinaryOutcome, BinaryTask, Estimand};
use prereg::analysis::values::comparison::{ArmRuns, Comparison, Measure, Run};
use prereg::analysis::{Flag, Lattice};
use proptest::prelude::*;
use serde_json::Value;

/// Asserts that every expected number is met within T1, except at keys the found block leaves to
/// the bootstrap.
fn assert_meets(path: &str, found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (key, value) in expected
                .iter()
                .filter(|(key, _)| !key.contains("bootstrap"))
            {
                let found = found
                    .get(key)
                    .unwrap_or_else(|| panic!("{path}.{key} is absent"));
                assert_meets(&format!("{path}.{key}"), found, value);
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{path}");
            for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert_meets(&format!("{path}[{index}]"), found, expected);
            }
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            let far = (found - expected).abs();
            let tail = path.ends_with(".p") || path.contains("_p");
            let near = if tail {
                1e-9 * expected
            } else {
                (1e-10 * expected.abs()).max(1e-12)
            };
            assert!(far <= near, "{path}: {found} is not {expected}");
        }
        _ => assert_eq!(found, expected, "{path}"),
    }
}

fn json(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn claims_of(arm: &ArmRuns) -> ClaimTable {
    let slots: Vec<SlotClaim> = arm
        .runs()
        .map(|run| SlotClaim {
            claimed: run.claimed,
            resolved: run.resolved,
        })
        .collect();
    claim_table(&slots)
}

fn solve_times(arm: &ArmRuns) -> Vec<Vec<f64>> {
    let time = |run: &Run| {
        run.number(Measure::Duration)
            .filter(|_| run.resolved == Some(true))
    };
    arm.tasks
        .iter()
        .map(|runs| runs.iter().filter_map(time).collect())
        .collect()
}

fn cost_tasks(comparison: &Comparison) -> Vec<CostTask> {
    let resolved = comparison.resolved().unwrap();
    let (a, b) = (
        resolved.reference_successes(),
        resolved.treatment_successes(),
    );
    let costs = comparison.numbers(Measure::Cost).unwrap().paired();
    let rows = costs
        .tasks
        .iter()
        .zip(costs.reference.iter().zip(&costs.treatment));
    rows.map(|(&task, (&cost_a, &cost_b))| CostTask {
        cost_a,
        cost_b,
        successes_a: a[task],
        successes_b: b[task],
    })
    .collect()
}

fn assert_by_task(path: &str, outcome: &BinaryOutcome, expected: &Value) {
    let pairs = outcome.paired(Estimand::AsDrawn);
    let values = pairs.difference_values();
    let lattice = pairs.differences().unwrap();
    let found = serde_json::to_value(sign_evalue(&values, 0.05)).unwrap();
    assert_meets(
        &format!("{path}.sign_evalue"),
        &found,
        &expected["sign_evalue"],
    );
    let found = serde_json::to_value(prpl_eb(&values, 0.05)).unwrap();
    assert_meets(&format!("{path}.prpl_eb"), &found, &expected["prpl_eb"]);
    if let Some(expected) = expected.get("looks") {
        for differences in [Differences::Exact(&lattice), Differences::Real(&values)] {
            let looks = look_summaries(differences, &[0.25, 0.5, 0.75, 1.0]);
            assert_meets(
                &format!("{path}.looks"),
                &serde_json::to_value(looks).unwrap(),
                expected,
            );
        }
    }
    if let Some(expected) = expected.get("sequential_obf_0.5_1.0") {
        let looks = sequential_looks(
            &obrien_fleming(&[0.5, 1.0], Sided::Two),
            Differences::Exact(&lattice),
            pairs.clusters(),
            outcome.task_count(),
        );
        let found = serde_json::to_value(looks.unwrap()).unwrap();
        assert_meets(&format!("{path}.sequential"), &found, expected);
    }
}

fn obrien_fleming(fractions: &[f64], sided: Sided) -> SequentialDesign {
    SequentialDesign {
        fractions: fractions.to_vec(),
        spending: Spending::Obf,
        alpha: 0.05,
        sided,
        under_run: UnderRun::SpendToT,
    }
}

fn assert_pass_k(path: &str, outcome: &BinaryOutcome, expected: &Value) {
    let every: Vec<u64> = (1..=outcome.repeats()).collect();
    let (a, b) = (outcome.reference_successes(), outcome.treatment_successes());
    let found = pass_k(&a, &b, outcome.repeats(), &every, &every).unwrap();
    let found = serde_json::to_value(found).unwrap();
    assert_meets(&format!("{path}.pass_k"), &found, &expected["pass_k"]);
    assert_eq!(
        found.get("diff").is_some(),
        expected["pass_k"].get("diff").is_some(),
        "{path}"
    );
}

/// Returns where effect and cost point, each 1 or -1; none where one of them is 0 or not defined.
fn directions(found: &CostEffectiveness) -> Option<(f64, f64)> {
    let (effect, cost) = (found.delta_effect?, found.delta_cost?);
    (effect != 0.0 && cost != 0.0).then(|| (effect.signum(), cost.signum()))
}

#[test]
fn real_comparisons_meet_the_references() {
    for (file, table) in [
        ("real-swepro-a", "swepro-a"),
        ("real-tb-droid.opus", "tb-droid"),
        ("real-tb-droid.gpt5", "tb-droid"),
        ("real-cpa-3v", "cpa-3v"),
    ] {
        let expected = json(&format!("tests/stats/{file}.json"));
        let text = std::fs::read_to_string(format!("tests/data/{table}.csv")).unwrap();
        let reading = Reading {
            cluster: Some("cluster"),
            repeats: None,
        };
        let table = Table::read(&text, reading).unwrap();
        let arm = |key: &str| expected[key].as_str().unwrap().to_owned();
        let comparison = table.compare(&arm("reference"), &arm("treatment")).unwrap();
        let results = &expected["results"];
        let resolved = comparison.resolved().unwrap();
        assert_by_task(file, &resolved, &results["resolved"]["as_drawn"]);
        let false_claims = comparison.false_claims().unwrap();
        assert_by_task(file, &false_claims, &results["false_claim"]["as_drawn"]);
        assert_pass_k(file, &resolved, results);
        let (a, b) = (
            claims_of(&comparison.reference),
            claims_of(&comparison.treatment),
        );
        let found = serde_json::to_value(false_claim_conditional(&a, &b)).unwrap();
        assert_meets(file, &found, &results["false_claim_conditional"]);
        let clusters = comparison.clusters.as_deref();
        if let Some(expected) = results.get("time_to_success") {
            let limit = expected["limit"].as_f64().unwrap();
            let (a, b) = (
                solve_times(&comparison.reference),
                solve_times(&comparison.treatment),
            );
            let found = time_to_success(limit, comparison.repeats, &a, &b, clusters, 0.05).unwrap();
            assert_eq!(cactus(limit, &a).len() as u64, found.a.solved_within_limit);
            assert_meets(file, &serde_json::to_value(found).unwrap(), expected);
        }
        if let Some(expected) = results.get("cost_effectiveness") {
            let tasks = cost_tasks(&comparison);
            let worths = [1.0, 10.0, 50.0, 200.0];
            let found =
                cost_effectiveness(&tasks, comparison.repeats, &worths, clusters, 0.05).unwrap();
            assert_eq!(directions(&found), Some((1.0, 1.0)));
            assert_meets(file, &serde_json::to_value(found).unwrap(), expected);
        }
    }
}

#[test]
fn edge_tasks_meet_the_references() {
    for case in json("tests/stats/edge-tasks.json")["cases"]
        .as_array()
        .unwrap()
    {
        let name = case["name"].as_str().unwrap();
        let slots = |task: &Value, arm: &str| {
            let slots = task[arm].as_array().unwrap().iter();
            slots
                .map(|slot| slot.as_u64().map(|success| success == 1))
                .collect()
        };
        let tasks = case["tasks"].as_array().unwrap().iter();
        let tasks = tasks
            .map(|task| BinaryTask {
                reference: slots(task, "a"),
                treatment: slots(task, "b"),
            })
            .collect();
        let k = u32::try_from(case["k"].as_u64().unwrap()).unwrap();
        let outcome = BinaryOutcome::new(k, tasks, None).unwrap();
        assert_by_task(name, &outcome, &case["expect"]["as_drawn"]);
        assert_pass_k(name, &outcome, &case["expect"]);
    }
}

/// Differences in thirds, as three repeats give them.
fn thirds() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(-3_i64..=3, 0..40)
}

fn as_values(thirds: &[i64]) -> Vec<f64> {
    thirds.iter().map(|third| *third as f64 / 3.0).collect()
}

fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        -2.0..2.0_f64,
        prop::sample::select(vec![0.0, -0.0, 5e-324, -1e300, 1e300, f64::MAX, f64::NAN]),
        prop::sample::select(vec![
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e290,
            -1e290,
            1e-300
        ]),
    ]
}

/// Fails where a number is NaN or infinite: `{:?}` shows what JSON turns to null.
fn assert_finite(found: &impl std::fmt::Debug) {
    let text = format!("{found:?}");
    assert!(!text.contains("NaN") && !text.contains("inf)"), "{text}");
    assert!(!text.contains("inf,") && !text.contains("inf]"), "{text}");
}

/// Successes of two arms, of k.
fn repeated() -> impl Strategy<Value = (u64, Vec<u64>, Vec<u64>)> {
    (1_u64..8, 0_usize..12).prop_flat_map(|(k, n)| {
        let arm = || prop::collection::vec(0..=k, n);
        (Just(k), arm(), arm())
    })
}

/// Solve times of tasks with at most three slots.
fn times() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(0.0..100.0_f64, 0..=3), 5)
}

fn cost_rows() -> impl Strategy<Value = Vec<CostTask>> {
    let row = (0.0..20.0_f64, 0.0..20.0_f64, 0_u64..=3, 0_u64..=3);
    let task = row.prop_map(|(cost_a, cost_b, successes_a, successes_b)| CostTask {
        cost_a,
        cost_b,
        successes_a,
        successes_b,
    });
    prop::collection::vec(task, 0..12)
}

fn near(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
        }
        (found, expected) => found == expected,
    }
}

proptest! {
    #[test]
    fn swapping_the_arms_mirrors_the_evidence(thirds in thirds()) {
        let values = as_values(&thirds);
        let mirrored: Vec<f64> = values.iter().map(|d| -d).collect();
        let (found, swapped) = (sign_evalue(&values, 0.05), sign_evalue(&mirrored, 0.05));
        prop_assert_eq!((found.up, found.down), (swapped.down, swapped.up));
        prop_assert_eq!(found.log_e, swapped.log_e);
        prop_assert_eq!(found.p_anytime, swapped.p_anytime);
        prop_assert_eq!(found.first_crossing, swapped.first_crossing);
        let (found, swapped) = (prpl_eb(&values, 0.05), prpl_eb(&mirrored, 0.05));
        prop_assert!(near(found.lower, swapped.upper.map(|limit| -limit)));
        prop_assert!(near(found.upper_now, swapped.lower_now.map(|limit| -limit)));
        prop_assert_eq!(found.first_exclusion, swapped.first_exclusion);
    }

    #[test]
    fn evidence_only_grows_with_tasks(thirds in thirds(), kept in 0_usize..40) {
        let values = as_values(&thirds);
        let fewer = &values[..kept.min(values.len())];
        let (all, first) = (sign_evalue(&values, 0.05), sign_evalue(fewer, 0.05));
        prop_assert!(all.max_log_e >= first.max_log_e && all.p_anytime <= first.p_anytime);
        prop_assert!(first.first_crossing.is_none() || first.first_crossing == all.first_crossing);
        // A zero moves nothing but the count of tasks.
        let spaced: Vec<f64> = values.iter().flat_map(|d| [0.0, *d]).collect();
        prop_assert_eq!(sign_evalue(&spaced, 0.05).log_e, all.log_e);
        let (all, first) = (prpl_eb(&values, 0.05), prpl_eb(fewer, 0.05));
        if let (Some(all), Some(first)) = (all.lower.zip(all.upper), first.lower.zip(first.upper)) {
            prop_assert!(-1.0 <= first.0 && first.0 <= all.0 && all.0 <= all.1);
            prop_assert!(all.1 <= first.1 && first.1 <= 1.0);
        }
    }

    /// E is a product of whole numbers: (2u - 1)!! (2v - 1)!! / (u + v)!.
    #[test]
    fn the_e_value_is_its_closed_form(signs in prop::collection::vec(any::<bool>(), 0..=20)) {
        let values: Vec<f64> = signs.iter().map(|up| if *up { 0.25 } else { -1.0 }).collect();
        let odd_product = |n: u64| (1..=n).map(|i| u128::from(2 * i - 1)).product::<u128>();
        let found = sign_evalue(&values, 0.05);
        let top = odd_product(found.up) as f64 * odd_product(found.down) as f64;
        let bottom = (1..=found.up + found.down).map(|i| i as f64).product::<f64>();
        prop_assert!((libm::exp(found.log_e.unwrap()) * bottom / top - 1.0).abs() < 1e-13);
    }

    #[test]
    fn evidence_by_task_survives_any_value(
        values in prop::collection::vec(odd(), 0..8),
        alpha in odd(),
    ) {
        assert_finite(&sign_evalue(&values, alpha));
        assert_finite(&prpl_eb(&values, alpha));
    }

    #[test]
    fn passes_are_shares_of_all_draws((k, a, b) in repeated()) {
        let every: Vec<u64> = (0..=k + 1).collect();
        let found = pass_k(&a, &b, k, &every, &every).unwrap();
        let value = |key: String| found.a.passes.0.iter().find(|pair| pair.0 == key).unwrap().1;
        for j in 1..=k {
            let (mut some, mut all) = (0.0, 0.0);
            let draws: Vec<u32> = (0_u32..1 << k).filter(|draw| u64::from(draw.count_ones()) == j).collect();
            for s in &a {
                // The first s of the k runs are the successes.
                let successes = (1_u32 << s) - 1;
                some += draws.iter().filter(|draw| *draw & successes != 0).count() as f64;
                all += draws.iter().filter(|draw| *draw & !successes == 0).count() as f64;
            }
            let count = (!a.is_empty()).then_some(draws.len() as f64 * a.len() as f64);
            let (at, hat) = (format!("pass@{j}"), format!("pass^{j}"));
            prop_assert!(near(value(at), count.map(|count| some / count)));
            prop_assert!(near(value(hat), count.map(|count| all / count)));
        }
        prop_assert_eq!(value("pass@0".to_owned()), None);
        let beyond = format!("pass^{}", k + 1);
        prop_assert_eq!(value(beyond), None);
    }

    #[test]
    fn swapping_arms_or_tasks_keeps_the_components((k, a, b) in repeated(), turn in 0_usize..12) {
        let found = pass_k(&a, &b, k, &[1], &[k]).unwrap();
        let swapped = pass_k(&b, &a, k, &[1], &[k]).unwrap();
        prop_assert_eq!(&found.diff, &swapped.diff);
        prop_assert_eq!(&found.a, &swapped.b);
        let turned = |arm: &[u64]| {
            let mut arm = arm.to_vec();
            let turn = turn.min(arm.len());
            arm.rotate_left(turn);
            arm
        };
        let turned = pass_k(&turned(&a), &turned(&b), k, &[1], &[k]).unwrap();
        prop_assert_eq!(&turned.diff, &found.diff);
        prop_assert_eq!(&turned.a.var_comp, &found.a.var_comp);
        if let Some(diff) = found.diff {
            prop_assert!(diff.se_k_infinite <= diff.se_now && diff.between_var <= diff.total_var);
        }
    }

    #[test]
    fn later_limits_solve_more_and_swapping_arms_negates((a, b) in (times(), times()), limit in 1.0..90.0_f64) {
        let found = time_to_success(limit, 3, &a, &b, None, 0.05).unwrap();
        let swapped = time_to_success(limit, 3, &b, &a, None, 0.05).unwrap();
        prop_assert!(near(found.rmts_diff.mean, swapped.rmts_diff.mean.map(|mean| -mean)));
        prop_assert_eq!(&found.a, &swapped.b);
        let later = time_to_success(limit * 1.5, 3, &a, &b, None, 0.05).unwrap();
        prop_assert!(later.a.solved_within_limit >= found.a.solved_within_limit);
        let (mean, mean_later) = (found.a.rmts.unwrap(), later.a.rmts.unwrap());
        prop_assert!(mean <= mean_later * (1.0 + 1e-14));
        prop_assert!(mean <= limit * (1.0 + 1e-14) && mean <= found.a.par2.unwrap());
        prop_assert!(found.a.solved_by.0.is_sorted_by_key(|(_, count)| *count));
        prop_assert_eq!(found.a.solved_by.0.last().unwrap().1, found.a.solved_within_limit);
        let points = cactus(limit, &a);
        prop_assert!(points.is_sorted_by(|x, y| x.time <= y.time && x.solved < y.solved));
    }

    #[test]
    fn times_survive_any_value(
        a in prop::collection::vec(prop::collection::vec(odd(), 0..3), 2),
        b in prop::collection::vec(prop::collection::vec(0.0..9.0_f64, 0..3), 2),
        limit in odd(),
        repeats in prop::sample::select(vec![0, 1, 2, u32::MAX]),
    ) {
        assert_finite(&time_to_success(limit, repeats, &a, &b, None, 0.05));
        assert_finite(&time_to_success(limit, repeats, &b, &b, Some(&[0, 1]), 0.05));
    }

    /// In another currency the amounts change and the probabilities do not; a power of two is exact.
    #[test]
    fn another_currency_scales_amounts(rows in cost_rows()) {
        let found = cost_effectiveness(&rows, 3, &[2.0], None, 0.05).unwrap();
        let scaled: Vec<CostTask> = rows
            .iter()
            .map(|row| CostTask { cost_a: 4.0 * row.cost_a, cost_b: 4.0 * row.cost_b, ..*row })
            .collect();
        let scaled = cost_effectiveness(&scaled, 3, &[8.0], None, 0.05).unwrap();
        prop_assert_eq!(scaled.icer, found.icer.map(|icer| 4.0 * icer));
        prop_assert_eq!(scaled.cost_per_resolved_a, found.cost_per_resolved_a.map(|cost| 4.0 * cost));
        prop_assert_eq!(directions(&scaled), directions(&found));
        let (scaled, found) = (&scaled.inb.0[0].1, &found.inb.0[0].1);
        prop_assert!(near(scaled.mean.mean, found.mean.mean.map(|mean| 4.0 * mean)));
        prop_assert!(near(scaled.p_positive_normal, found.p_positive_normal));
    }

    #[test]
    fn swapping_the_arms_negates_costs_and_effects(rows in cost_rows()) {
        let found = cost_effectiveness(&rows, 3, &[5.0], None, 0.05).unwrap();
        let swapped: Vec<CostTask> = rows
            .iter()
            .map(|row| CostTask {
                cost_a: row.cost_b,
                cost_b: row.cost_a,
                successes_a: row.successes_b,
                successes_b: row.successes_a,
            })
            .collect();
        let swapped = cost_effectiveness(&swapped, 3, &[5.0], None, 0.05).unwrap();
        prop_assert!(near(swapped.delta_effect, found.delta_effect.map(|effect| -effect)));
        prop_assert!(near(swapped.delta_cost, found.delta_cost.map(|cost| -cost)));
        prop_assert!(near(swapped.icer, found.icer));
        prop_assert_eq!(swapped.cost_per_resolved_a, found.cost_per_resolved_b);
    }

    #[test]
    fn costs_survive_any_value(
        costs in prop::collection::vec((odd(), odd(), 0_u64..3, 0_u64..3), 0..6),
        worths in prop::collection::vec(odd(), 0..3),
    ) {
        let rows: Vec<CostTask> = costs
            .into_iter()
            .map(|(cost_a, cost_b, successes_a, successes_b)| CostTask {
                cost_a,
                cost_b,
                successes_a,
                successes_b,
            })
            .collect();
        assert_finite(&cost_effectiveness(&rows, 2, &worths, None, 0.05));
        assert_finite(&cost_effectiveness(&rows, 2, &worths, Some(&[0, 0, 1]), 0.05));
    }

    /// At every look the test and its interval say the same, and the last look is the whole draw.
    #[test]
    fn looks_decide_as_their_intervals_do(thirds in thirds(), one in any::<bool>(), groups in 1_usize..9) {
        let lattice = Lattice::from_fractions(
            &thirds.iter().map(|third| (*third, 3)).collect::<Vec<_>>(),
        )
        .unwrap();
        let clusters: Vec<usize> = (0..thirds.len()).map(|task| task % groups).collect();
        let design = obrien_fleming(&[0.3, 0.6, 1.0], if one { Sided::One } else { Sided::Two });
        let exact = Differences::Exact(&lattice);
        let looks = sequential_looks(&design, exact, Some(&clusters), thirds.len()).unwrap();
        assert_finite(&looks);
        prop_assert_eq!(looks.len(), 3);
        prop_assert!(looks.is_sorted_by_key(|look| look.n));
        prop_assert_eq!(looks[2].n, thirds.len());
        for look in &looks {
            for test in [&look.iid, look.cr2.as_ref().unwrap()] {
                if let Some([low, high]) = test.repeated_ci {
                    let excludes = low > 0.0 || (high < 0.0 && !one);
                    prop_assert_eq!(test.reject, Some(excludes), "{:?}", look);
                }
                prop_assert_eq!(test.reject.is_none(), test.repeated_ci.is_none());
                prop_assert!(test.reject.is_some() || test.flag.is_some());
            }
        }
        // As doubles the same means come out.
        let values = lattice.to_values();
        let reals = sequential_looks(&design, Differences::Real(&values), None, thirds.len()).unwrap();
        for (real, exact) in reals.iter().zip(&looks) {
            prop_assert!(near(real.iid.mean, exact.iid.mean) && real.cr2.is_none());
        }
        // Looks that the closed tasks do not reach do not exist.
        let later = sequential_looks(&design, exact, None, 4 * thirds.len() + 4).unwrap();
        prop_assert!(later.iter().all(|look| look.n <= thirds.len()) && later.len() < 3);
    }

    #[test]
    fn claims_are_counted_once_in_any_order(slots in prop::collection::vec(any::<(Option<bool>, Option<bool>)>(), 0..30)) {
        let slots: Vec<SlotClaim> =
            slots.into_iter().map(|(claimed, resolved)| SlotClaim { claimed, resolved }).collect();
        let table = claim_table(&slots);
        let known = table.claimed_resolved + table.claimed_unresolved
            + table.unclaimed_resolved + table.honest_failures;
        prop_assert_eq!(known + table.unknown, slots.len() as u64);
        prop_assert_eq!(claim_table(slots.iter().rev()), table);
        let none = ClaimTable::default();
        let found = false_claim_conditional(&table, &none);
        prop_assert_eq!((found.b.rate, found.diff), (None, None));
        let same = false_claim_conditional(&table, &table);
        prop_assert!(same.diff.is_none_or(|diff| diff == 0.0));
        prop_assert_eq!(same.diff.is_none(), same.a.claims == 0);
    }
}

/// Under a fair coin the mean of E over all sign patterns is 1: that makes it an e-value.
#[test]
fn the_e_value_is_fair() {
    for count in 0..12_u32 {
        let total: f64 = (0..1_u32 << count)
            .map(|pattern| {
                let sign = |i| if pattern >> i & 1 == 1 { 1.0 } else { -1.0 };
                let values: Vec<f64> = (0..count).map(sign).collect();
                libm::exp(sign_evalue(&values, 0.05).log_e.unwrap())
            })
            .sum();
        assert!(
            (total / f64::from(1_u32 << count) - 1.0).abs() < 1e-13,
            "{count}"
        );
    }
}

#[test]
fn a_look_has_the_tasks_its_decimal_fraction_says() {
    for (fraction, planned, tasks) in [
        (0.29, 100, 29),
        (0.57, 100, 57),
        (1.0 / 3.0, 300, 100),
        (1.0 / 3.0, 100, 33),
        (0.25, 399, 99),
        (0.999, 1000, 999),
        (0.999_999, 1000, 999),
        (7.0 / 41.0, 41, 7),
        (0.5, 0, 0),
    ] {
        assert_eq!(
            look_size(fraction, planned),
            tasks,
            "{fraction} of {planned}"
        );
    }
    for planned in 1..300_usize {
        for tasks in 0..=planned {
            assert_eq!(look_size(tasks as f64 / planned as f64, planned), tasks);
        }
    }
}

#[test]
fn a_p_below_the_range_of_a_double_rejects() {
    let thirds: Vec<(i64, u64)> = (0..900)
        .map(|i| (if i % 300 == 0 { 2 } else { 3 }, 3))
        .collect();
    let lattice = Lattice::from_fractions(&thirds).unwrap();
    for sided in [Sided::One, Sided::Two] {
        let design = obrien_fleming(&[1.0], sided);
        let looks = sequential_looks(&design, Differences::Exact(&lattice), None, 900).unwrap();
        let test = &looks[0].iid;
        assert_eq!((test.p, test.reject), (None, Some(true)), "{test:?}");
        assert_eq!(test.flag, Some(Flag::BelowRange));
        assert!(test.repeated_ci.unwrap()[0] > 0.9);
    }
}

#[test]
fn what_does_not_fit_the_design_is_undefined() {
    assert_eq!(pass_k(&[4], &[0], 3, &[1], &[1]), None);
    assert_eq!(pass_k(&[1], &[], 3, &[1], &[1]), None);
    assert_eq!(pass_k(&[], &[], 0, &[1], &[1]), None);
    assert_eq!(pass_k(&[1 << 62], &[0], 1 << 62, &[1], &[1]), None);
    let wide = u64::from(u32::MAX);
    let found = pass_k(
        &[wide, 0, wide / 2],
        &[0, 1, wide],
        wide,
        &[1, wide / 2, wide],
        &[2],
    )
    .unwrap();
    assert_finite(&found);
    assert_eq!(
        time_to_success(10.0, 1, &[vec![1.0, 2.0]], &[vec![]], None, 0.05),
        None
    );
    assert_eq!(
        time_to_success(10.0, 1, &[vec![-1.0]], &[vec![]], None, 0.05),
        None
    );
    let nothing = time_to_success(10.0, 1, &[], &[], None, 0.05).unwrap();
    assert_eq!(
        (nothing.a.fraction, nothing.a.par2, nothing.a.rmts),
        (None, None, None)
    );
    let unsolved = time_to_success(10.0, 2, &[vec![]], &[vec![30.0]], None, 0.05).unwrap();
    assert_eq!((unsolved.a.rmts, unsolved.b.par2), (Some(10.0), Some(20.0)));
    assert!(unsolved.a.total_time_solved.is_sign_positive());
    let row = CostTask {
        cost_a: 1.0,
        cost_b: 3.0,
        successes_a: 1,
        successes_b: 1,
    };
    let found = cost_effectiveness(&[row], 1, &[], None, 0.05).unwrap();
    assert_eq!((found.icer, directions(&found)), (None, None));
    let row = CostTask {
        successes_a: 0,
        ..row
    };
    let found = cost_effectiveness(&[row], 1, &[], None, 0.05).unwrap();
    assert_eq!((found.icer, found.cost_per_resolved_a), (Some(2.0), None));
    assert_eq!(prpl_eb(&[0.5, 1.5], 0.05).flag, Some(Flag::InvalidValue));
    assert_eq!(prpl_eb(&[], 0.05).flag, Some(Flag::NoTask));
    // A sequence that turns round breaks the assumption, and the intersection is empty.
    let turned: Vec<f64> = (0..6000)
        .map(|i| if i < 1000 { 1.0 } else { -1.0 })
        .collect();
    let found = prpl_eb(&turned, 0.05);
    assert_eq!(
        (found.lower, found.flag),
        (None, Some(Flag::EmptyIntersection))
    );
    assert!(found.first_exclusion.is_some() && found.upper_now.is_some());
    assert_eq!(
        sign_evalue(&[f64::NAN], 0.05).flag,
        Some(Flag::InvalidValue)
    );
}
