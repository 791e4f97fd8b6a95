//! Computes, for each kind of reference file, the document the file should be.
//!
//! A computed document holds the inputs of the reference and nothing else of it: what is not
//! computed is missing, and is reported so.
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::edge;
use super::real;
use super::streams;

/// A reference document, and which of its leaves are inputs.
pub(crate) struct Computed {
    pub(crate) document: Value,
    pub(crate) inputs: fn(&[String]) -> bool,
}

/// The leaves every reference has beside its cases.
pub(crate) fn is_preamble(path: &[String]) -> bool {
    let names = [
        "schema",
        "software",
        "kind",
        "note",
        "status",
        "convention",
        "rule",
        "alpha",
    ];
    path.len() == 1 && names.contains(&path[0].as_str())
}

/// Says whether the leaf stands under one of `keys` in a case.
pub(crate) fn in_case(path: &[String], list: &str, keys: &[&str]) -> bool {
    path.len() > 2 && path[0] == list && keys.contains(&path[2].as_str())
}

/// Computes the document a reference file should be. Its kind is read from its contents.
pub(crate) fn compute(name: &str, reference: &Value) -> Result<Computed, String> {
    if reference.get("results").is_some() {
        return real::results(name, reference);
    }
    if reference.get("comparisons").is_some() {
        return real::comparisons(name, reference);
    }
    match reference["kind"].as_str() {
        Some("task-level edge cases") => edge::tasks(reference),
        Some("numeric paired cases") => edge::numeric(reference),
        Some("paired 2x2 tables") => edge::tables(reference),
        Some("multiplicity") => edge::multiplicity(reference),
        Some("control gates") => edge::controls(reference),
        Some("group sequential") => edge::sequential(reference),
        Some("special functions") => edge::special(reference),
        Some("proposed reproducible resampling stream") => streams::streams(reference),
        kind => Err(format!("no rule for the kind {kind:?}")),
    }
}

/// Returns a JSON value, or the reason there is none.
pub(crate) fn value(of: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(of).map_err(|error| error.to_string())
}

/// Keeps the input leaves of a document: objects and lists of objects in shape, other lists whole.
pub(crate) fn keep_inputs(reference: &Value, inputs: fn(&[String]) -> bool) -> Value {
    kept(reference, &mut Vec::new(), inputs).unwrap_or_else(|| json!({}))
}

fn kept(value: &Value, path: &mut Vec<String>, inputs: fn(&[String]) -> bool) -> Option<Value> {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut left = Map::new();
            for (key, child) in map {
                path.push(key.clone());
                left.extend(kept(child, path, inputs).map(|child| (key.clone(), child)));
                path.pop();
            }
            Some(Value::Object(left))
        }
        Value::Array(list) if list.first().is_some_and(Value::is_object) => {
            let mut left = Vec::new();
            for (place, child) in list.iter().enumerate() {
                path.push(place.to_string());
                left.push(kept(child, path, inputs).unwrap_or_else(|| json!({})));
                path.pop();
            }
            Some(Value::Array(left))
        }
        Value::Array(list) if !list.is_empty() => {
            path.push("0".into());
            let input = inputs(path);
            path.pop();
            input.then(|| value.clone())
        }
        _ => inputs(path).then(|| value.clone()),
    }
}

/// Puts the members of `from` into the object `into`.
pub(crate) fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

/// Computes the members of each case of a list and puts them beside its inputs.
pub(crate) fn with_cases(
    reference: &Value,
    list: &str,
    inputs: fn(&[String]) -> bool,
    compute: impl Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let mut document = keep_inputs(reference, inputs);
    let cases = reference[list].as_array().ok_or("no cases")?;
    for (place, case) in cases.iter().enumerate() {
        merge(&mut document[list][place], compute(case)?);
    }
    Ok(document)
}

/// Reads a list of numbers.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect()
}
