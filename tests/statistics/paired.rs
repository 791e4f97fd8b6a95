//! Tables, proportions, controls and multiplicity against the reference files.
#![expect(
    clippy::float_arithmetic,
    clippy::unwrap_used,
    reason = "a test of numbers: a wrong reading of the references may fail it"
)]

use prereg::analysis::described::controls::{ControlResult, Demand};
use prereg::analysis::multiplicity::Multiplicity;
use prereg::analysis::paired::paired_table::{PairedCounts, PairedTable};
use prereg::analysis::paired::proportion::proportion_intervals;
use serde_json::{Value, json};

fn reference(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("tests/stats/{file}.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    all["cases"].as_array().unwrap().clone()
}

fn count(object: &Value, key: &str) -> u64 {
    object[key].as_u64().unwrap()
}

/// Fails unless both have the same keys and numbers within relative 1e-10, or 1e-12 near 0.
#[track_caller]
fn assert_same(path: &str, found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(f), Value::Object(e)) => {
            let keys = |map: &serde_json::Map<String, Value>| {
                map.keys()
                    .cloned()
                    .collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(keys(f), keys(e), "{path}");
            for (key, value) in f {
                assert_same(&format!("{path}.{key}"), value, &e[key]);
            }
        }
        (Value::Array(f), Value::Array(e)) => {
            assert_eq!(f.len(), e.len(), "{path}");
            for (place, value) in f.iter().enumerate() {
                assert_same(&format!("{path}[{place}]"), value, &e[place]);
            }
        }
        (Value::Number(f), Value::Number(e)) => {
            let (f, e) = (f.as_f64().unwrap(), e.as_f64().unwrap());
            let near_zero = if path.contains("p_") { 0.0 } else { 1e-12 };
            let allowed = f64::max(1e-10 * e.abs(), near_zero);
            assert!(
                (f - e).abs() <= allowed,
                "{path}: found {f:e}, expected {e:e}"
            );
        }
        _ => assert_eq!(found, expected, "{path}"),
    }
}

#[test]
fn tables_equal_the_references() {
    for case in reference("edge-tables") {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|key| count(&case["counts"], key));
        let table = PairedTable::new(PairedCounts::new(a, b, c, d).unwrap(), 0.05);
        let name = case["name"].as_str().unwrap();
        assert_same(
            name,
            &serde_json::to_value(&table).unwrap(),
            &case["expect"],
        );
        for (arm, successes) in [("a", a + b), ("b", a + c)] {
            let found = proportion_intervals(successes, a + b + c + d, 0.05);
            let expected = &case["rate_ci"][arm];
            assert_same(name, &json!(found.wilson), &expected["wilson"]);
            assert_same(
                name,
                &json!(found.clopper_pearson),
                &expected["clopper_pearson"],
            );
        }
    }
}

#[test]
fn controls_equal_the_references() {
    for case in reference("edge-controls") {
        let control = match case["control"].as_str().unwrap() {
            "must_pass" => Demand::MustPass,
            "must_fail" => Demand::MustFail,
            other => panic!("unknown control {other}"),
        };
        let resolved = count(&case, "resolved");
        let verdicts = (0..count(&case, "n")).map(|slot| slot < resolved);
        let found = ControlResult::from_verdicts(control, verdicts);
        assert_same("control", &serde_json::to_value(&found).unwrap(), &case);
    }
}

#[test]
fn adjusted_p_values_equal_the_references() {
    for case in reference("edge-multiplicity") {
        let p_values: Vec<Option<f64>> = case["p"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::as_f64)
            .collect();
        for method in [
            Multiplicity::Holm,
            Multiplicity::Hochberg,
            Multiplicity::Bonferroni,
        ] {
            let name = serde_json::to_value(method).unwrap();
            let name = name.as_str().unwrap();
            assert_same(name, &json!(method.adjust(&p_values)), &case[name]);
        }
    }
}
