//! The slots of a study as the registered analysis reads them.

use super::slots::Became;
use super::tally::control_totals;
use super::told::{Occupant, Told};
use crate::analysis::registered::answer::Exposure;
use crate::analysis::registered::observed::{ControlVerdicts, Fate, Slot, Taken, Task, number};
use crate::engine::looks;
use crate::engine::rules::Rules;
use crate::engine::slice::{Slice, Standing};
use crate::protocol::model::{Analysis, Protocol};
use crate::protocol::plan::{self, Plan};

/// Returns the tasks of a plan, in its order, with what the analysis asks of their fields.
pub fn tasks(rules: &Rules, slice: &Slice, plan: &Plan, analysis: &Analysis) -> Vec<Task> {
    let places = 0..plan.tasks();
    places
        .map(|place| looks::task(rules, slice, analysis, place))
        .collect()
}

/// Returns the scheduled looks that were taken.
pub fn taken(standing: &Standing) -> Taken {
    Taken {
        looks: usize::try_from(standing.looked.taken).unwrap_or(usize::MAX),
        stops: standing.looked.stops,
    }
}

/// Returns what the controls came to.
pub fn controls(protocol: &Protocol, slice: &Slice) -> Vec<ControlVerdicts> {
    let controls = protocol.controls.iter();
    controls
        .map(|control| {
            let totals = control_totals(slice, &control.id);
            let (yes, no) = totals.of(&control.outcome);
            ControlVerdicts {
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
    run: Option<&Occupant<'_>>,
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
            Became::Nothing | Became::Open(_) | Became::Waits(_) | Became::Alone(_) => Fate::Open,
        },
        reason: became.reason().or(run.and_then(Occupant::reason)),
        values: outcomes
            .map(|outcome| value(&outcome.id, outcome.kind))
            .collect(),
        exposed: speaks.and_then(|run| run.exposed),
        wall: speaks.and_then(|run| run.ending.as_ref()?.wall),
    }
}

/// Adds a run of a registered slot to what was executed of each arm.
pub fn expose(exposure: &mut Vec<Exposure>, protocol: &Protocol, run: &Told<'_>) {
    exposure.resize(protocol.arms.len(), Exposure::default());
    let registered = run.place.is_some_and(|place| place.lane.is_registered());
    let arm = protocol.arm(&run.arm).filter(|_| registered);
    if let Some(exposure) = arm.and_then(|arm| exposure.get_mut(arm)) {
        let wall = run.ending.as_ref().and_then(|ending| ending.wall);
        exposure.add(wall, run.cost.known());
    }
}
