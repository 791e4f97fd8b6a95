//! Puts rows together, and says where they contradict each other.
use std::collections::{BTreeMap, HashMap, HashSet};

use super::{REPEATS_MAX, Reading, Row};
use crate::analysis::tables::defect::{Defect, DefectCode, Defects, excerpt};
use crate::analysis::tables::direct::dense;
use crate::analysis::values::comparison::{ArmRuns, Run};

/// The contents of a table in draw order.
pub(super) struct Parts {
    pub(super) repeats: u32,
    pub(super) tasks: Vec<String>,
    pub(super) clusters: Vec<usize>,
    pub(super) arms: Vec<ArmRuns>,
}

/// Puts rows together; `None` when k is none of 1 to [`REPEATS_MAX`]. The other faults are pushed.
pub(super) fn assemble(rows: &[Row], reading: Reading<'_>, defects: &mut Defects) -> Option<Parts> {
    let repeats = slots_per_task(rows, reading.repeats, defects)?;
    check_slots(rows, defects);
    let mut tasks = drawn_tasks(rows, reading.cluster.unwrap_or_default(), defects);
    tasks.sort_by_key(|row| row.position);
    let place: HashMap<&str, usize> = (0..)
        .zip(&tasks)
        .map(|(i, row)| (row.task.as_str(), i))
        .collect();
    let arms = distinct(rows.iter().map(|row| row.arm.as_str()));
    Some(Parts {
        repeats,
        tasks: tasks.iter().map(|row| row.task.clone()).collect(),
        clusters: dense(tasks.iter().map(|row| row.cluster.as_str())),
        arms: arms
            .into_iter()
            .map(|arm| arm_runs(arm, rows, &place))
            .collect(),
    })
}

/// Returns k: the one given, or else the largest repeat, if no smaller one is absent everywhere.
fn slots_per_task(rows: &[Row], given: Option<u32>, defects: &mut Defects) -> Option<u32> {
    let largest = rows.iter().map(|row| row.repeat).max().unwrap_or(1);
    let Some(given) = given else {
        let present: HashSet<u32> = rows.iter().map(|row| row.repeat).collect();
        // A repeat may stand in a row that could not be read; then its absence says nothing.
        let complete = defects.is_empty();
        for gap in (1..=largest).filter(|repeat| complete && !present.contains(repeat)) {
            let message =
                format!("no row has the repeat {gap}, although there is a repeat {largest}");
            let hint = "number the slots 1, 2, 3 without a gap, or say how many slots a task has";
            defects.push(Defect::new(DefectCode::RepeatGap, message, hint).in_column("repeat"));
        }
        return Some(largest);
    };
    if given == 0 || given > REPEATS_MAX {
        let message = format!("the slots per task and arm are {given}");
        let hint = format!("give a number from 1 to {REPEATS_MAX}");
        defects.push(Defect::new(DefectCode::RepeatOutOfRange, message, hint));
        return None;
    }
    for row in rows.iter().filter(|row| row.repeat > given) {
        let message = format!(
            "the repeat {} is above the {given} slots of a task and arm",
            row.repeat
        );
        let hint = "correct the repeat, or the number of slots";
        let defect = Defect::new(DefectCode::RepeatOutOfRange, message, hint);
        defects.push(defect.on_line(row.line).in_column("repeat"));
    }
    Some(given)
}

fn check_slots(rows: &[Row], defects: &mut Defects) {
    let mut first: HashMap<(&str, &str, u32), u64> = HashMap::new();
    for row in rows {
        let slot = (row.task.as_str(), row.arm.as_str(), row.repeat);
        let line = *first.entry(slot).or_insert(row.line);
        if line != row.line {
            let message = format!(
                "the slot stands on line {line} already: task {}, arm {}, repeat {}",
                excerpt(&row.task),
                excerpt(&row.arm),
                row.repeat
            );
            let hint = "keep the row that counts, or correct its repeat";
            defects.push(Defect::new(DefectCode::RepeatedSlot, message, hint).on_line(row.line));
        }
    }
}

/// Returns the first row of each task. What later rows say of the task must be the same.
fn drawn_tasks<'a>(rows: &'a [Row], cluster: &str, defects: &mut Defects) -> Vec<&'a Row> {
    let mut place: HashMap<&str, usize> = HashMap::new();
    let mut tasks: Vec<&Row> = Vec::new();
    let mut positions: HashMap<u64, &Row> = HashMap::new();
    for row in rows {
        let next = tasks.len();
        let known = *place.entry(&row.task).or_insert(next);
        let Some(first) = tasks.get(known) else {
            if let Some(other) = row
                .position
                .and_then(|position| positions.insert(position, row))
            {
                let message = format!(
                    "the position is that of task {} on line {}",
                    excerpt(&other.task),
                    other.line
                );
                defects.push(clash(
                    DefectCode::SharedPosition,
                    row,
                    "position",
                    message,
                    "give every task its own position",
                ));
            }
            tasks.push(row);
            continue;
        };
        if first.cluster != row.cluster {
            let message = format!(
                "task {} is in cluster {} on line {}, here in {}",
                excerpt(&row.task),
                excerpt(&first.cluster),
                first.line,
                excerpt(&row.cluster)
            );
            defects.push(clash(
                DefectCode::TwoClusters,
                row,
                cluster,
                message,
                "write one cluster per task",
            ));
        }
        if first.position != row.position {
            let message = format!(
                "task {} has another position on line {}",
                excerpt(&row.task),
                first.line
            );
            defects.push(clash(
                DefectCode::TwoPositions,
                row,
                "position",
                message,
                "write one position per task",
            ));
        }
    }
    tasks
}

fn clash(code: DefectCode, row: &Row, column: &str, message: String, hint: &str) -> Defect {
    Defect::new(code, message, hint)
        .on_line(row.line)
        .in_column(column)
}

fn arm_runs(arm: &str, rows: &[Row], place: &HashMap<&str, usize>) -> ArmRuns {
    let mut tasks: Vec<BTreeMap<u32, &Run>> = vec![BTreeMap::new(); place.len()];
    for row in rows.iter().filter(|row| row.arm == arm) {
        let slots = place
            .get(row.task.as_str())
            .and_then(|&task| tasks.get_mut(task));
        if let Some(slots) = slots {
            slots.insert(row.repeat, &row.run);
        }
    }
    let runs = |slots: BTreeMap<u32, &Run>| slots.into_values().cloned().collect();
    ArmRuns {
        name: arm.to_owned(),
        tasks: tasks.into_iter().map(runs).collect(),
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|&name| seen.insert(name)).collect()
}
