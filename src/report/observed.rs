//! The slots of a study as the registered analysis reads them.

use serde_json::Value;

use super::slots::Became;
use super::tally::control_totals;
use super::told::Told;
use crate::analysis::registered::observed::{Control, Fate, Slot, Task};
use crate::engine::frame::Phase;
use crate::engine::rules::Rules;
use crate::engine::slice::Slice;
use crate::protocol::model::{Analysis, OutcomeKind, Protocol};
use crate::protocol::plan::{self, Plan};

/// Returns the tasks of a plan, in its order, with what the analysis asks of their fields.
pub fn tasks(rules: &Rules, slice: &Slice, plan: &Plan, analysis: &Analysis) -> Vec<Task> {
    let hole = |field: &str| format!("task.{field}");
    let cluster = analysis.cluster.field().map(hole);
    let described = analysis.descriptive.as_ref();
    let groups = described.map_or(&[][..], |described| &described.subgroups);
    let groups: Vec<String> = groups.iter().map(|field| hole(field)).collect();
    let of_index = |index| {
        let phase = Phase {
            confirmatory: true,
            index,
        };
        let id = rules.task_at(slice, phase).unwrap_or_default();
        let task = rules.task_in(slice, &id);
        let fill = |hole: &String| task.as_ref().and_then(|task| task.fill(hole));
        Task {
            cluster: cluster.as_ref().and_then(fill),
            groups: groups.iter().map(fill).collect(),
            id,
        }
    };
    (0..plan.tasks()).map(of_index).collect()
}

/// Returns what the controls came to.
pub fn controls(protocol: &Protocol, slice: &Slice) -> Vec<Control> {
    let controls = protocol.controls.iter();
    controls
        .map(|control| {
            let totals = control_totals(slice, &control.id);
            let (yes, no) = totals.of(&control.outcome);
            Control {
                id: control.id.clone(),
                expect: control.expect,
                yes,
                no,
                unjudged: totals.tasks.saturating_sub(yes + no),
            }
        })
        .collect()
}

/// Returns a slot with what became of it, and its run where one is known.
pub fn slot(
    protocol: &Protocol,
    slot: &plan::Slot,
    became: Became,
    run: Option<&Told<'_>>,
) -> Slot {
    let place = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
    let speaks = run.filter(|_| became.run().is_some());
    let outcomes = protocol.outcomes.iter();
    let value = |id: &str, kind| number(kind, speaks?.value(id));
    Slot {
        task: place(slot.task),
        arm: place(slot.arm),
        turn: slot.turn,
        stage: slot.stage,
        started: became.last().is_some() || became == Became::Void,
        fate: match became {
            Became::Scored(_) => Fate::Scored,
            Became::Unjudged(_) | Became::Void => Fate::Unjudged,
            Became::Nothing | Became::Open(_) | Became::Waits(_) => Fate::Open,
        },
        reason: became.reason().or(run.and_then(Told::reason)),
        values: outcomes
            .map(|outcome| value(&outcome.id, outcome.kind))
            .collect(),
        exposed: speaks.and_then(|run| run.exposed),
        wall: speaks.and_then(|run| run.ending.as_ref()?.wall),
        cost: speaks.and_then(|run| run.cost.known()),
    }
}

/// Returns an outcome as a number: money in USD, as it is told to people.
#[expect(clippy::float_arithmetic, reason = "an analysis computes with doubles")]
fn number(kind: OutcomeKind, value: &Value) -> Option<f64> {
    match (kind, value) {
        (OutcomeKind::Binary, Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
        (OutcomeKind::Money, Value::Number(micros)) => Some(micros.as_f64()? / 1_000_000.0),
        (OutcomeKind::Number | OutcomeKind::Duration, Value::Number(number)) => number.as_f64(),
        _ => None,
    }
}
