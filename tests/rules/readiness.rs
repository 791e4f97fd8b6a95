//! What must hold before anything starts: preflights and pinned facts.

use std::fmt::Debug;

use prereg::engine::{preflight, probes};
use prereg::protocol::model::{Probe, ProbeFormat};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::shipped::{staged, texts};

pub(super) fn overall_preflight(case: &Value) -> Value {
    answer(preflight::overall(texts(&case["statuses"])))
}

pub(super) fn preflight_counts(case: &Value) -> Value {
    answer(preflight::counts(texts(&case["statuses"])))
}

fn answer(found: Result<impl Serialize + Debug, preflight::Fault>) -> Value {
    match found {
        Ok(found) => serde_json::to_value(found).unwrap(),
        Err(fault) => json!({ "error": fault }),
    }
}

/// A key that begins with `_` is a note of the author's, which only those pins have: it is left out.
pub(super) fn compare_pins(case: &Value) -> Value {
    let expected = case["expected"].as_object().unwrap().clone();
    let expected = expected
        .into_iter()
        .filter(|(name, _)| !name.starts_with('_'));
    let info_keys = texts(&case["info_keys"]).into_iter().map(str::to_owned);
    // No file can expect null, nor what is only recorded: both are put in after the check.
    let probe = Probe {
        format: ProbeFormat::Json,
        expect: Some(Value::Object(expected.collect::<Map<_, _>>())),
        record_only: info_keys.collect(),
        ..staged(&[]).registration.protocol.probes[0].clone()
    };
    let compared = probes::compare(&probe, None, &case["observed"]);
    compared
        .into_iter()
        .map(|one| json!([one.name, one.expected, one.observed, one.matches]))
        .collect()
}
