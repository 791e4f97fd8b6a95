//! Known answers: the rules of five systems, as cases of data (`tests/vectors/README.md`).
//!
//! Every file of the folder in `PREREG_VECTORS` is executed (without it `tests/vectors`); the rule is
//! the file's name up to its first dot. Each case goes through the code that the product runs, driven
//! by a shipped protocol with the case's own parameters put in. Rules without an answer here are
//! listed: `cargo test --test vectors -- --nocapture`.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]
#![expect(clippy::float_arithmetic, reason = "answers are compared nearly")]

mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// How far apart two numbers may be.
const TOLERANCE: f64 = 1e-6;
/// How many failures of a file are shown.
const SHOWN_MAX: usize = 3;

fn folder() -> PathBuf {
    match std::env::var_os("PREREG_VECTORS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
    }
}

/// Compares two answers: numbers nearly, everything else exactly; null and absent are the same.
fn is_same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(found), Value::Number(wanted)) => {
            let (found, wanted) = (found.as_f64().unwrap(), wanted.as_f64().unwrap());
            (found - wanted).abs() <= TOLERANCE
        }
        (Value::Array(found), Value::Array(wanted)) => {
            let mut pairs = found.iter().zip(wanted);
            found.len() == wanted.len() && pairs.all(|(found, wanted)| is_same(found, wanted))
        }
        (Value::Object(found), Value::Object(wanted)) => {
            let mut keys = found.keys().chain(wanted.keys());
            let at = |object: &serde_json::Map<String, Value>, key: &str| {
                object.get(key).cloned().unwrap_or(Value::Null)
            };
            keys.all(|key| is_same(&at(found, key), &at(wanted, key)))
        }
        (found, wanted) => found == wanted,
    }
}

/// Executes the cases of a file; returns how many there are, and what failed.
fn execute(path: &Path, answer: rules::Answer) -> (usize, Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let mut failures = Vec::new();
    let mut cases = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        cases += 1;
        let found = answer(&case["in"]);
        if !is_same(&found, &case["out"]) {
            failures.push(format!(
                "case {}: {}\n    wanted {}\n    found  {found}",
                case["case"], case["in"], case["out"]
            ));
        }
    }
    (cases, failures)
}

#[test]
fn known_answers() {
    let answers: BTreeMap<&str, rules::Answer> = rules::ALL.iter().copied().collect();
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no vectors", folder().display());
    let (mut failed, mut uncovered) = (0, Vec::new());
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let rule = name.split('.').next().unwrap();
        let Some(answer) = answers.get(rule) else {
            uncovered.push(name);
            continue;
        };
        let (cases, failures) = execute(&path, *answer);
        println!("{name}: {cases} cases, {} failures", failures.len());
        for failure in failures.iter().take(SHOWN_MAX) {
            println!("  {failure}");
        }
        failed += failures.len();
    }
    println!("not covered: {}", uncovered.join(", "));
    assert_eq!(failed, 0, "some answers are not the known ones");
}
