//! Reads task values that are given without a table, as JSON.
//!
//! Slots of tasks: `{"k": 3, "tasks": [{"task": "t1", "cluster": "r1", "a": [0, 1, null], "b": [1, 1, 1]}]}`,
//! `null` being a slot without a verdict. Paired numbers: `{"a": [0.7], "b": [1.9], "clusters": null}`,
//! one number per task and arm. Tasks stand in draw order; other members are kept out.
use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use crate::analysis::tables::defect::{Defect, DefectCode, excerpt};
use crate::analysis::tables::table::REPEATS_MAX;
use crate::analysis::values::binary::{BinaryOutcome, BinaryTask, SlotCount};
use crate::analysis::values::numbers::{MAGNITUDE_MAX, NumericOutcome, NumericTask};

#[derive(Deserialize)]
struct TaskFile {
    k: u32,
    tasks: Vec<TaskSlots>,
}

#[derive(Deserialize)]
struct TaskSlots {
    task: String,
    cluster: Option<String>,
    a: Vec<Option<i64>>,
    b: Vec<Option<i64>>,
}

#[derive(Deserialize)]
struct NumberFile {
    a: Vec<f64>,
    b: Vec<f64>,
    clusters: Option<Vec<String>>,
}

/// Reads slots of tasks.
///
/// Refuses with unreadable-json, repeat-out-of-range, repeated-slot (a task twice), not-a-verdict,
/// slot-count (other than k slots) or missing-cluster (some tasks have one).
pub fn read_tasks(text: &str) -> Result<BinaryOutcome, Defect> {
    let file: TaskFile = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    if !(1..=REPEATS_MAX).contains(&file.k) {
        let message = format!("the slots per task and arm, `k`, are {}", file.k);
        let hint = format!("give a number from 1 to {REPEATS_MAX}");
        return Err(Defect::new(DefectCode::RepeatOutOfRange, message, hint));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = file.tasks.iter().find(|task| !seen.insert(&task.task)) {
        let message = format!("the task {} stands twice", excerpt(&twice.task));
        let hint = "put all slots of a task in one entry";
        return Err(Defect::new(DefectCode::RepeatedSlot, message, hint));
    }
    let tasks = file
        .tasks
        .iter()
        .map(|task| task.count(file.k))
        .collect::<Result<_, _>>()?;
    let clusters = clusters(file.tasks.iter().map(|task| task.cluster.as_deref()))?;
    BinaryOutcome::new(file.k, tasks, clusters).map_err(|_| lengths())
}

/// Reads paired numbers.
///
/// Refuses with unreadable-json, slot-count (lists of different length) or not-a-number (beyond 1e300).
pub fn read_numbers(text: &str) -> Result<NumericOutcome, Defect> {
    let file: NumberFile = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    let clusters = file.clusters.as_ref();
    if file.a.len() != file.b.len() || clusters.is_some_and(|ids| ids.len() != file.a.len()) {
        return Err(lengths());
    }
    let ids = clusters.map(|names| dense(names.iter().map(String::as_str)));
    let pairs = file.a.iter().zip(&file.b);
    let tasks = pairs.map(|(&a, &b)| NumericTask {
        reference: vec![a],
        treatment: vec![b],
    });
    NumericOutcome::new(tasks.collect(), ids).map_err(|_| {
        let message = format!("a number is beyond {MAGNITUDE_MAX:e}");
        Defect::new(
            DefectCode::NotANumber,
            message,
            "give the numbers in a plain unit",
        )
    })
}

impl TaskSlots {
    fn count(&self, repeats: u32) -> Result<BinaryTask, Defect> {
        let read = |slots: &[Option<i64>]| {
            if slots.len() != repeats as usize {
                let message = format!(
                    "the task {} has {} slots, not {repeats}",
                    excerpt(&self.task),
                    slots.len()
                );
                let hint = "give one of 1, 0 and null for each slot of each arm";
                return Err(Defect::new(DefectCode::SlotCount, message, hint));
            }
            if let Some(other) = slots.iter().flatten().find(|slot| !matches!(slot, 0 | 1)) {
                let message = format!("the task {} has the verdict {other}", excerpt(&self.task));
                return Err(Defect::new(
                    DefectCode::NotAVerdict,
                    message,
                    "give 1, 0 or null",
                ));
            }
            Ok(slots
                .iter()
                .map(|slot| slot.map(|verdict| verdict == 1))
                .collect::<SlotCount>())
        };
        Ok(BinaryTask {
            reference: read(&self.a)?,
            treatment: read(&self.b)?,
        })
    }
}

/// Returns dense ids; absent when no task has a cluster.
fn clusters<'a>(
    names: impl Iterator<Item = Option<&'a str>>,
) -> Result<Option<Vec<usize>>, Defect> {
    let names: Vec<Option<&str>> = names.collect();
    let named: Vec<&str> = names.iter().copied().flatten().collect();
    if !named.is_empty() && named.len() < names.len() {
        return Err(Defect::new(
            DefectCode::MissingCluster,
            format!(
                "{} of {} tasks have no cluster",
                names.len() - named.len(),
                names.len()
            ),
            "give every task a cluster, or none",
        ));
    }
    Ok((!named.is_empty()).then(|| dense(named.into_iter())))
}

/// Numbers names densely as they first appear.
pub(in crate::analysis) fn dense<'a>(names: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut numbers = HashMap::new();
    names
        .map(|name| {
            let next = numbers.len();
            *numbers.entry(name).or_insert(next)
        })
        .collect()
}

fn lengths() -> Defect {
    Defect::new(
        DefectCode::SlotCount,
        "the lists of the two arms, or of the clusters, differ in length",
        "give one entry per task in each list",
    )
}

fn unreadable(error: &serde_json::Error) -> Defect {
    let line = u64::try_from(error.line()).unwrap_or(0);
    let hint = "give the members the documentation names, with numbers as JSON writes them";
    Defect::new(DefectCode::UnreadableJson, error.to_string(), hint).on_line(line)
}
