//! Task values and paired numbers that are given as JSON instead of as a table: one case, or a list of cases.
//!
//! A case of slots is `{"k": 3, "tasks": [{"cluster": "r0", "a": [1, null, 0], "b": [...]}, ...]}`; one of
//! numbers `{"a": [...], "b": [...], "clusters": null}`. A list is `{"cases": [...]}`. Other keys say
//! nothing here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::numbers::{NumericOutcome, NumericTask};
use super::results::cases::{PairResults, TaskResults};
use super::values::{BinaryOutcome, BinaryTask, SlotCount};

/// The margin of equivalence beside shares that come without one.
const MARGIN: f64 = 0.1;

/// The results of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case<T> {
    /// How the case is called, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its results.
    pub expect: T,
}

/// The results of one case, or of each of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cases<T> {
    /// The case that was given.
    One(Case<T>),
    /// The list that was given.
    Many {
        /// The cases, in their order.
        cases: Vec<Case<T>>,
    },
}

#[derive(Deserialize)]
struct Slots {
    name: Option<String>,
    k: u32,
    tasks: Vec<TaskSlots>,
}

#[derive(Deserialize)]
struct TaskSlots {
    #[serde(default)]
    cluster: Option<String>,
    a: Vec<Option<Truth>>,
    b: Vec<Option<Truth>>,
}

/// A verdict, as a number or as a word of JSON.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Truth {
    Word(bool),
    Number(Bit),
}

/// 0 or 1.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
struct Bit(bool);

impl TryFrom<u64> for Bit {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        match number {
            0 => Ok(Self(false)),
            1 => Ok(Self(true)),
            other => Err(format!("a verdict is 0, 1 or null, not {other}")),
        }
    }
}

#[derive(Deserialize)]
struct Pairs {
    name: Option<String>,
    a: Vec<f64>,
    b: Vec<f64>,
    #[serde(default)]
    clusters: Option<Vec<String>>,
}

/// Computes the results of slots of tasks. Says what is wrong with the text where it cannot.
pub fn tasks(text: &str, alpha: f64) -> Result<Cases<TaskResults>, String> {
    each(text, |case: Slots| {
        let clusters = case.tasks.iter().map(|task| task.cluster.as_deref());
        let clusters = clusters.collect::<Option<Vec<_>>>().map(dense);
        let tasks = case.tasks.iter().map(|task| BinaryTask {
            reference: count(&task.a),
            treatment: count(&task.b),
        });
        let outcome = BinaryOutcome::new(case.k, tasks.collect(), clusters)
            .map_err(|_| format!("`k` is {}, and a task has more slots than that", case.k))?;
        Ok(Case {
            name: case.name,
            expect: TaskResults::new(&outcome, &[MARGIN], alpha),
        })
    })
}

/// Computes the results of paired numbers. Says what is wrong with the text where it cannot.
pub fn numbers(text: &str, alpha: f64) -> Result<Cases<PairResults>, String> {
    each(text, |case: Pairs| {
        let (a, b) = (case.a.len(), case.b.len());
        if a != b {
            return Err(format!(
                "`a` has {a} numbers and `b` has {b}; they come in pairs"
            ));
        }
        let clusters = case.clusters.as_deref().map(|names| dense(names.iter()));
        let pairs = case.a.iter().zip(&case.b).map(|(a, b)| NumericTask {
            reference: vec![*a],
            treatment: vec![*b],
        });
        let outcome = NumericOutcome::new(pairs.collect(), clusters)
            .map_err(|_| "a number is beyond 1e300, or `clusters` has another length".to_owned())?;
        Ok(Case {
            name: case.name,
            expect: PairResults::new(&outcome.paired(), alpha),
        })
    })
}

/// Reads one case or a list of cases, and computes each.
fn each<C: for<'de> Deserialize<'de>, T>(
    text: &str,
    compute: impl Fn(C) -> Result<Case<T>, String>,
) -> Result<Cases<T>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let read = |value: Value| -> Result<Case<T>, String> {
        compute(serde_json::from_value(value).map_err(|error| error.to_string())?)
    };
    let Some(list) = value.get("cases").and_then(Value::as_array) else {
        return read(value).map(Cases::One);
    };
    let cases = list.iter().enumerate().map(|(place, case)| {
        read(case.clone()).map_err(|error| format!("case {}: {error}", place + 1))
    });
    Ok(Cases::Many {
        cases: cases.collect::<Result<_, _>>()?,
    })
}

fn count(slots: &[Option<Truth>]) -> SlotCount {
    let verdicts = slots.iter().map(|slot| {
        slot.map(|truth| match truth {
            Truth::Word(word) => word,
            Truth::Number(Bit(bit)) => bit,
        })
    });
    verdicts.collect()
}

/// Numbers names as they first appear.
fn dense<N: Ord>(names: impl IntoIterator<Item = N>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    let each = names.into_iter();
    each.map(|name| {
        let next = known.len();
        *known.entry(name).or_insert(next)
    })
    .collect()
}
