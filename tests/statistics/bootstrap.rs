//! The resampling distributions of the reference files.
#![expect(clippy::float_arithmetic, reason = "a tolerance is computed with")]
use prereg::analysis::Lattice;
use std::num::NonZeroUsize;

use prereg::analysis::resampling::bootstrap::{
    Plan, Resampled, cluster_exact, cluster_rows, difference_of_rates, quadrants, quotient,
    ratio_of_rates, resample, task_ideal,
};
use prereg::analysis::resampling::stream::Streams;
use prereg::analysis::tables::table::{Reading, Table};
use prereg::analysis::values::binary::{Estimand, PairedShares};
use prereg::analysis::values::comparison::{Comparison, Measure, Run};
use serde_json::Value;

/// Holds two results together: same keys, numbers within a relative 1e-9, absolute 1e-12 near 0.
fn assert_close(path: &str, ours: &Value, reference: &Value) {
    match (ours, reference) {
        (Value::Object(ours), Value::Object(reference)) => {
            let keys = |map: &serde_json::Map<String, Value>| {
                let mut keys: Vec<String> = map.keys().cloned().collect();
                keys.sort();
                keys
            };
            assert_eq!(keys(ours), keys(reference), "{path}");
            for (key, value) in ours {
                assert_close(&format!("{path}/{key}"), value, &reference[key]);
            }
        }
        (Value::Array(ours), Value::Array(reference)) => {
            assert_eq!(ours.len(), reference.len(), "{path}");
            for (ours, reference) in ours.iter().zip(reference) {
                assert_close(path, ours, reference);
            }
        }
        (Value::Number(ours), Value::Number(reference)) => {
            let (ours, reference) = (ours.as_f64().unwrap(), reference.as_f64().unwrap());
            let distance = (ours - reference).abs();
            let near = distance <= 1e-9 * reference.abs() || distance <= 1e-16;
            assert!(near, "{path}: {ours} for {reference}");
        }
        _ => assert_eq!(ours, reference, "{path}"),
    }
}

/// Returns the as_drawn differences of an edge case, a missing slot counting 0.
fn differences(case: &Value) -> Lattice {
    let repeats = case["k"].as_u64().unwrap();
    let successes = |task: &Value, arm: &str| {
        let slots = task[arm].as_array().unwrap().iter();
        slots.filter_map(Value::as_i64).sum::<i64>()
    };
    let fractions: Vec<(i64, u64)> = case["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (successes(task, "b") - successes(task, "a"), repeats))
        .collect();
    Lattice::from_fractions(&fractions).unwrap()
}

#[test]
fn the_ideal_bootstrap_of_every_edge_case_is_exact() {
    let reference: Value = serde_json::from_str(include_str!("../stats/edge-tasks.json")).unwrap();
    for case in reference["cases"].as_array().unwrap() {
        let ours = serde_json::to_value(task_ideal(&differences(case), 0.05)).unwrap();
        let expected = &case["expect"]["as_drawn"]["bootstrap_task_ideal"];
        assert_close(case["name"].as_str().unwrap(), &ours, expected);
    }
}

/// Returns dense ids of the clusters of an edge case.
fn clusters(case: &Value) -> Vec<usize> {
    let mut names: Vec<&Value> = Vec::new();
    let tasks = case["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| {
            let known = names.iter().position(|name| **name == task["cluster"]);
            known.unwrap_or_else(|| {
                names.push(&task["cluster"]);
                names.len() - 1
            })
        })
        .collect()
}

#[test]
fn every_draw_of_few_clusters_is_listed() {
    let reference: Value = serde_json::from_str(include_str!("../stats/edge-tasks.json")).unwrap();
    for case in reference["cases"].as_array().unwrap() {
        let ours = cluster_exact(&differences(case), &clusters(case), 0.05);
        let expected = &case["expect"]["as_drawn"]["bootstrap_cluster_exact"];
        let ours = serde_json::to_value(ours).unwrap();
        assert_close(case["name"].as_str().unwrap(), &ours, expected);
    }
}

const REAL: [(&str, &str); 4] = [
    (
        include_str!("../data/cpa-3v.csv"),
        include_str!("../stats/real-cpa-3v.json"),
    ),
    (
        include_str!("../data/swepro-a.csv"),
        include_str!("../stats/real-swepro-a.json"),
    ),
    (
        include_str!("../data/tb-droid.csv"),
        include_str!("../stats/real-tb-droid.gpt5.json"),
    ),
    (
        include_str!("../data/tb-droid.csv"),
        include_str!("../stats/real-tb-droid.opus.json"),
    ),
];

fn comparison(table: &str, reference: &Value) -> Comparison {
    let reading = Reading {
        cluster: Some("cluster"),
        ..Reading::default()
    };
    let table = Table::read(table, reading).unwrap();
    let arm = |key: &str| reference[key].as_str().unwrap().to_owned();
    table.compare(&arm("reference"), &arm("treatment")).unwrap()
}

fn resolved(comparison: &Comparison) -> PairedShares {
    comparison.resolved().unwrap().paired(Estimand::AsDrawn)
}

#[test]
fn the_exact_bootstraps_of_real_runs_are_exact() {
    for (table, reference) in REAL {
        let reference: Value = serde_json::from_str(reference).unwrap();
        let shares = resolved(&comparison(table, &reference));
        let expected = &reference["results"]["resolved"]["as_drawn"];
        let differences = shares.differences().unwrap();
        let ideal = serde_json::to_value(task_ideal(&differences, 0.05)).unwrap();
        assert_close("ideal", &ideal, &expected["bootstrap_task_ideal"]);
        let exact = cluster_exact(&differences, shares.clusters().unwrap(), 0.05);
        let exact = serde_json::to_value(exact).unwrap();
        assert_close("clusters", &exact, &expected["bootstrap_cluster_exact"]);
    }
}

fn plan(streams: &Streams, resamples: u64) -> Plan<'_> {
    Plan {
        streams,
        resamples,
        threads: NonZeroUsize::new(2).unwrap(),
    }
}

#[test]
fn percentile_ends_are_the_published_ones() {
    let reference: Value = serde_json::from_str(include_str!("../stats/edge-rng.json")).unwrap();
    let hash = reference["registration_hash"].as_str().unwrap();
    for case in reference["percentile"].as_array().unwrap() {
        let values: Vec<f64> = serde_json::from_value(case["d"].clone()).unwrap();
        let rows: Vec<[f64; 2]> = values.iter().map(|&value| [value, 1.0]).collect();
        let streams = Streams::new(hash, case["analysis"].as_str().unwrap());
        let alpha = case["alpha"].as_f64().unwrap();
        let ours = resample(
            &rows,
            quotient,
            alpha,
            plan(&streams, case["B"].as_u64().unwrap()),
        );
        assert_close(
            "ci",
            &serde_json::to_value(ours.percentile).unwrap(),
            &case["ci"],
        );
    }
}

/// Holds a resampled result to a reference that was resampled too: class T6.
fn assert_same_law(path: &str, ours: &Resampled, reference: &Value) {
    assert_same_percentiles(path, ours, reference);
    assert_ends(path, "bca", (ours.bca, ours.bca_mcse), reference);
}

fn assert_same_percentiles(path: &str, ours: &Resampled, reference: &Value) {
    let number = |key: &str| reference[key].as_f64().unwrap();
    let near = |key: &str, ours: Option<f64>, error: f64| {
        let distance = (ours.unwrap() - number(key)).abs();
        assert!(
            distance <= error,
            "{path}/{key}: {ours:?} for {}",
            number(key)
        );
    };
    let both = (1.0 / ours.resamples as f64 + 1.0 / number("B")).sqrt();
    near("estimate", ours.estimate, 1e-10 * number("estimate").abs());
    near("acceleration", ours.acceleration, 1e-10);
    near("se", ours.se, 10.0 * both * number("se"));
    near("z0", ours.z0, 10.0 * both);
    near("p_le_zero", ours.p_le_zero, 2.5 * both);
    assert_eq!(ours.undefined, reference["undefined"].as_u64().unwrap());
    assert_eq!(ours.flag, None);
    let percentile = (ours.percentile, ours.percentile_mcse);
    assert_ends(path, "percentile", percentile, reference);
}

type Pair = Option<[f64; 2]>;

fn assert_ends(path: &str, key: &str, (ours, error): (Pair, Pair), reference: &Value) {
    for end in 0..2 {
        let errors = [
            reference[format!("{key}_mcse")][end].as_f64().unwrap(),
            error.unwrap()[end],
        ];
        let distance = (ours.unwrap()[end] - reference[key][end].as_f64().unwrap()).abs();
        let allowed = 5.0 * (errors[0] * errors[0] + errors[1] * errors[1]).sqrt();
        assert!(
            distance <= allowed,
            "{path}/{key}[{end}]: {distance} over {allowed}"
        );
    }
}

#[test]
fn resampled_intervals_of_real_runs_agree_with_the_references() {
    for (table, reference) in REAL {
        let reference: Value = serde_json::from_str(reference).unwrap();
        let (comparison, results) = (comparison(table, &reference), &reference["results"]);
        let streams = Streams::new("0123", "primary");
        let plan = plan(&streams, 20_000);
        let differences = resolved(&comparison).differences().unwrap();
        let scale = differences.scale as f64;
        let rows: Vec<[f64; 2]> = differences
            .values
            .iter()
            .map(|&d| [d as f64, scale])
            .collect();
        let clusters = resolved(&comparison).clusters().unwrap().to_vec();
        let ours = resample(
            &cluster_rows(&rows, &clusters).unwrap(),
            quotient,
            0.05,
            plan,
        );
        let expected = &results["resolved"]["as_drawn"]["bootstrap_cluster_mc"];
        assert_same_law("resolved", &ours, expected);
        let tasks = comparison
            .reference
            .tasks
            .iter()
            .zip(&comparison.treatment.tasks);
        let rows: Vec<[f64; 4]> = tasks
            .map(|(a, b)| [claims(b), claims(a)].concat())
            .map(array)
            .collect();
        let ours = resample(&rows, difference_of_rates, 0.05, plan);
        let expected = &results["false_claim_conditional"]["diff_bootstrap_task"];
        assert_same_law("false_claim_conditional", &ours, expected);
        for measure in [Measure::Cost, Measure::Duration] {
            compare_measure(&comparison, measure, &results[measure.column()], plan);
        }
    }
}

fn array(row: Vec<f64>) -> [f64; 4] {
    row.try_into().unwrap()
}

/// Returns the false claims and the claims of the scored runs of a task.
fn claims(runs: &[Run]) -> [f64; 2] {
    let scored = runs.iter().filter(|run| run.scored);
    scored.fold([0.0, 0.0], |[wrong, all], run| {
        let is = |claim: Option<bool>| f64::from(u8::from(claim == Some(true)));
        [wrong + is(run.false_claim), all + is(run.claimed)]
    })
}

fn compare_measure(comparison: &Comparison, measure: Measure, expected: &Value, plan: Plan<'_>) {
    if expected.get("ratio_bootstrap_task").is_none() {
        return;
    }
    let numbers = comparison.numbers(measure).unwrap().paired();
    let pairs = numbers.treatment.iter().zip(&numbers.reference);
    let ratio: Vec<[f64; 2]> = pairs.map(|(&b, &a)| [b, a]).collect();
    let difference: Vec<[f64; 2]> = numbers.differences.iter().map(|&d| [d, 1.0]).collect();
    let clusters = cluster_rows(&ratio, &numbers.clusters.unwrap()).unwrap();
    for (key, rows) in [
        ("ratio_bootstrap_task", &ratio),
        ("diff_bootstrap_task", &difference),
    ] {
        assert_same_law(key, &resample(rows, quotient, 0.05, plan), &expected[key]);
    }
    let key = "ratio_bootstrap_cluster";
    let ours = resample(&clusters, quotient, 0.05, plan);
    // Of few clusters the reference took draws equal to the estimate but for rounding as below it.
    if clusters.len() > 9 {
        assert_same_law(key, &ours, &expected[key]);
    } else {
        assert_same_percentiles(key, &ours, &expected[key]);
    }
}

#[test]
fn cost_per_resolved_task_and_its_plane_agree_with_the_references() {
    let (table, reference) = REAL[1];
    let reference: Value = serde_json::from_str(reference).unwrap();
    let comparison = comparison(table, &reference);
    let streams = Streams::new("0123", "cost");
    let (shares, costs) = (
        resolved(&comparison),
        comparison.numbers(Measure::Cost).unwrap().paired(),
    );
    let (a, b) = (shares.reference_values(), shares.treatment_values());
    let rows: Vec<[f64; 4]> = (0..)
        .zip(&costs.tasks)
        .map(|(cost, &task)| {
            [
                costs.treatment[cost],
                b[task],
                costs.reference[cost],
                a[task],
            ]
        })
        .collect();
    let ours = resample(&rows, ratio_of_rates, 0.05, plan(&streams, 20_000));
    let expected = &reference["results"]["cost_effectiveness"];
    assert_same_law(
        "ratio",
        &ours,
        &expected["cost_per_resolved_ratio_bootstrap"],
    );
    let plane: Vec<[f64; 2]> = rows.iter().map(|[cb, b, ca, a]| [b - a, cb - ca]).collect();
    let ours = serde_json::to_value(quadrants(&plane, plan(&streams, 100_000))).unwrap();
    assert_close("quadrants", &ours, &expected["quadrants_bootstrap"]);
}
