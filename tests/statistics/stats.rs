//! Every leaf of every reference file, compared with what the code gives at the same path.
//!
//! References are the JSON files of `tests/stats`, or of the folder named by `PREREG_STATS`; their
//! tables those of `tests/data`, or of the folder named by `PREREG_DATA`. A file of a kind without a
//! rule fails, and so does a leaf of either side without its counterpart.
#![expect(
    clippy::float_arithmetic,
    clippy::expect_used,
    reason = "a test of numbers, which reports what it compared"
)]

#[path = "reference/mod.rs"]
mod reference;

use std::path::PathBuf;

use reference::{documents, leaves, tolerance};
use serde_json::Value;

/// The file that belongs to the planning of a study, which this crate does not compute.
const PLANNING: &str = "power";

/// The folder named by a variable, or the one of this crate.
pub(crate) fn folder(variable: &str, own: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| own.into(), PathBuf::from)
}

pub(crate) fn references() -> Vec<(String, Value)> {
    let folder = folder("PREREG_STATS", "tests/stats");
    let files = std::fs::read_dir(&folder).expect("the folder of references is there");
    let mut paths: Vec<PathBuf> = files
        .map(|file| file.expect("a readable folder").path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a readable reference");
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (
                name,
                serde_json::from_str(&text).expect("a reference is JSON"),
            )
        })
        .collect()
}

#[test]
fn every_leaf_of_every_reference_is_met() {
    let mut failures = Vec::new();
    let mut seen = 0;
    for (name, expected) in references() {
        if expected["kind"] == PLANNING {
            println!(
                "{name}: left out, {} leaves",
                leaves::leaves(&expected).len()
            );
            continue;
        }
        seen += 1;
        let computed = match documents::compute(&name, &expected) {
            Ok(computed) => computed,
            Err(reason) => {
                failures.push(format!("{name}: {reason}"));
                continue;
            }
        };
        let scene = tolerance::Scene {
            inputs: computed.inputs,
        };
        let outcome = leaves::compare(&expected, &computed.document, &scene);
        let total: usize = outcome.compared.values().sum();
        println!(
            "{name}: {total} leaves, {} failures",
            outcome.failures.len()
        );
        for (class, count) in &outcome.compared {
            let worst = outcome.worst.get(class).copied().unwrap_or_default();
            println!("    {class:?}: {count} compared, at most {worst:.1e} of the tolerance used");
        }
        failures.extend(
            outcome
                .failures
                .into_iter()
                .map(|failure| format!("{name}: {failure}")),
        );
    }
    assert!(seen > 0, "there is a reference");
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Changes every number and word of a document, by far more than any exact tolerance.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => Value::Bool(true),
        Value::Bool(truth) => Value::Bool(!truth),
        Value::Number(number) if number.is_u64() => (number.as_u64().unwrap_or(0) + 1).into(),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(0.0);
            (number + 1e-4 * number.abs().max(1.0)).into()
        }
        Value::String(word) => format!("{word}.").into(),
        Value::Array(list) if list.is_empty() => Value::Null,
        Value::Array(list) => list.iter().map(changed).collect(),
        Value::Object(map) if map.is_empty() => Value::Null,
        Value::Object(map) => map
            .iter()
            .map(|(key, child)| (key.clone(), changed(child)))
            .collect(),
    }
}

#[test]
fn a_change_of_any_leaf_is_noticed() {
    for (name, reference) in references() {
        let scene = tolerance::Scene { inputs: |_| false };
        let same = leaves::compare(&reference, &reference, &scene);
        assert!(same.failures.is_empty(), "{name}: {:?}", same.failures);
        let outcome = leaves::compare(&changed(&reference), &reference, &scene);
        let total: usize = outcome.compared.values().sum();
        let sampled = outcome
            .compared
            .get(&tolerance::Class::T6)
            .copied()
            .unwrap_or(0);
        assert!(
            outcome.failures.len() + sampled >= total,
            "{name}: a change went unnoticed"
        );
        let nothing = leaves::compare(&reference, &Value::Null, &scene);
        assert!(
            nothing.failures.len() >= total,
            "{name}: a missing leaf went unnoticed"
        );
    }
}
