//! Whether the registered test can reach its level at all, with as many tasks as are drawn.

use std::collections::BTreeSet;

use serde_json::Value;

use super::weakness::Finding;
use crate::protocol::draft::Draft;
use crate::protocol::frame::Task;
use crate::protocol::model::{Alternative, Analysis, Comparison, Objective, Test};

/// Says that the primary test cannot reach its level, whatever the runs say.
pub(super) fn few_tasks(
    draft: &Draft,
    analysis: &Analysis,
    tasks: &[Task],
    drawn: &[usize],
) -> Option<Finding> {
    let units = planned_units(draft, analysis, tasks, drawn)?;
    let test = analysis.primary.test;
    let halvings = halvings(test, &analysis.primary, units)?;
    let level = analysis.alpha;
    // Each way to adjust gives the smallest of m values of p the level alpha / m.
    let shared = u128::from(level.den) * analysis.treatments.len().max(1) as u128;
    let ways = |halvings: usize| 1_u128 << halvings.min(63);
    let reached = |halvings: usize| shared <= u128::from(level.num) * ways(halvings);
    if reached(halvings) {
        return None;
    }
    let more = match test {
        Test::TCr2 => 1,
        _ => (1..63).find(|more| reached(halvings + more)).unwrap_or(63),
    };
    let what = match analysis.cluster.field() {
        Some(_) => "cluster",
        None => "task",
    };
    let plural = if units == 1 { "" } else { "s" };
    let least = match ways(halvings) {
        1 => "1".to_owned(),
        ways => format!("1/{ways}"),
    };
    let level = match analysis.treatments.len() {
        0 | 1 => "alpha".to_owned(),
        treatments => format!("alpha shared by {treatments} treatments"),
    };
    let pointer = match &draft.draw {
        Some(draw) if draw.size.is_some() => "/draw/size",
        _ => "/tasks/frame",
    };
    let message = format!(
        "with {units} {what}{plural} the smallest possible p is {least}, above {level}: the verdict can only be descriptive"
    );
    let label = format!("at least {} {what}s are needed", units + more);
    Some(Finding::at(pointer, message).label(Some(label)))
}

/// Returns how often 1 is halved to the smallest p of a test; none where p can be as small as it may.
///
/// The tests of signs and ranks have a smallest p: all units on one side, of 2^n ways. The other
/// test needs two units to see any spread.
fn halvings(test: Test, primary: &Comparison, units: usize) -> Option<usize> {
    let sides = match (primary.alternative, primary.objective) {
        (Alternative::TwoSided, Objective::Superiority) => 1,
        _ => 0,
    };
    match test {
        Test::TCr2 if units > 1 => None,
        Test::TCr2 => Some(0),
        Test::SignFlip | Test::Wilcoxon | Test::McnemarExact => Some(units.saturating_sub(sides)),
        Test::McnemarMid => Some((units + 1).saturating_sub(sides)),
    }
}

/// Returns how many units there will be to compare at the most; none where there are none, or nobody knows.
pub(super) fn planned_units(
    draft: &Draft,
    analysis: &Analysis,
    tasks: &[Task],
    drawn: &[usize],
) -> Option<usize> {
    let units = match &draft.draw {
        // The tasks of an open frame are added later, no more than are drawn.
        Some(draw) if draft.tasks.is_open() => usize::try_from(draw.size?).ok()?,
        _ => units(analysis, tasks, drawn),
    };
    (units > 0).then_some(units)
}

/// Returns how many units there are to compare: drawn tasks, or their clusters.
fn units(analysis: &Analysis, tasks: &[Task], drawn: &[usize]) -> usize {
    let Some(field) = analysis.cluster.field() else {
        return drawn.len();
    };
    let values = drawn.iter().map(|i| tasks[*i].fields.get(field));
    let values: BTreeSet<String> = values.flatten().map(Value::to_string).collect();
    values.len()
}
