//! Every leaf of a document, and how two documents differ.
use std::collections::BTreeMap;

use serde_json::Value;

use super::tolerance::{self, Class, Scene};

/// A way to a leaf: keys and places.
pub(crate) type Path = Vec<String>;

/// Returns every leaf of a document with its path. An empty list or object is a leaf too.
pub(crate) fn leaves(document: &Value) -> BTreeMap<Path, Value> {
    let mut found = BTreeMap::new();
    collect(document, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, path: &mut Path, found: &mut BTreeMap<Path, Value>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, child)| (key.clone(), child))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(place, child)| (place.to_string(), child))
            .collect(),
        _ => Vec::new(),
    };
    if children.is_empty() {
        found.insert(path.clone(), value.clone());
    }
    for (key, child) in children {
        path.push(key);
        collect(child, path, found);
        path.pop();
    }
}

/// What comparing two documents gave.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Leaves compared, by class.
    pub(crate) compared: BTreeMap<Class, usize>,
    /// One line per leaf that is missing, unexpected or different.
    pub(crate) failures: Vec<String>,
    /// The largest part of the tolerance used by a leaf, by class.
    pub(crate) worst: BTreeMap<Class, f64>,
}

/// Compares every leaf. A leaf of either document without its counterpart is a failure.
pub(crate) fn compare(expected: &Value, got: &Value, scene: &Scene) -> Outcome {
    let (expected, got) = (leaves(expected), leaves(got));
    let mut outcome = Outcome::default();
    for (path, wanted) in &expected {
        let class = tolerance::class(path, wanted, scene.inputs);
        *outcome.compared.entry(class).or_default() += 1;
        let shown = path.join(".");
        let Some(found) = got.get(path) else {
            outcome
                .failures
                .push(format!("{shown}: expected {wanted}, got nothing"));
            continue;
        };
        match tolerance::difference(class, path, wanted, found, [&expected, &got]) {
            Ok(difference) => {
                let worst = outcome.worst.entry(class).or_default();
                *worst = worst.max(difference);
            }
            Err(reason) => outcome.failures.push(format!(
                "{shown}: expected {wanted}, got {found} ({class:?}, {reason})"
            )),
        }
    }
    for (path, found) in &got {
        if !expected.contains_key(path) && !tolerance::may_be_added(path) {
            let shown = path.join(".");
            outcome
                .failures
                .push(format!("{shown}: expected nothing, got {found}"));
        }
    }
    let counted: usize = outcome.compared.values().sum();
    assert_eq!(counted, expected.len(), "every leaf is compared once");
    outcome
}
