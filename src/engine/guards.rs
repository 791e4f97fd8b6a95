//! The guards of a start, in their registered order: the first that refuses answers.
//!
//! What stands here is looked at before a slot is: it closes no stale run and knows no order.

use serde_json::{Map, Value};

use super::decide::Ruling;
use super::event::Event;
use super::lanes;
use super::refusal::Refusal;
use super::rules::{Phase, Rules};
use super::slice::{Slice, SwitchSaid};
use crate::protocol::frame::Task;
use crate::protocol::model::OrderBy;
use crate::units::Time;

/// Passes a start through the guards before its slot is looked for; returns what the task is for
/// and the arm's place in the listed order. A control has neither: it skips to concurrency.
pub(super) fn admissible(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    at: Time,
) -> Result<Option<(Phase, usize)>, Refusal> {
    switch(rules, slice)?;
    let Some(task) = rules.task_in(slice, task) else {
        return Err(Refusal::UnknownTask {
            task: task.to_owned(),
        });
    };
    let listed = rules.protocol().arm(arm);
    if listed.is_none() && rules.protocol().control(arm).is_none() {
        return Err(Refusal::UnknownArm {
            arm: arm.to_owned(),
        });
    }
    breaker(rules, slice, arm)?;
    let Some(listed) = listed else {
        return Ok(None);
    };
    let phase = lock(rules, slice, &task)?;
    stage(rules, slice, phase, listed, at)?;
    cutoff(rules, at)?;
    Ok(Some((phase, listed)))
}

/// Passes a start of an arm through the guards that look neither at the task nor at the slot.
pub fn passed_by(rules: &Rules, slice: &Slice, arm: &str, at: Time) -> Result<(), Refusal> {
    switch(rules, slice)?;
    breaker(rules, slice, arm)?;
    cutoff(rules, at)
}

/// Returns the rule that has ended the study before all its slots had, if one has.
pub fn stopped_by(rules: &Rules, at: Time) -> Option<Refusal> {
    cutoff(rules, at).err()
}

/// Confirmatory tasks start once they are registered and drawn, pilots before.
fn lock(rules: &Rules, slice: &Slice, task: &Task) -> Result<Phase, Refusal> {
    let registered = slice.standing.registered.is_some();
    let confirmatory = rules.is_confirmatory(task);
    let id = || task.id.clone();
    match confirmatory {
        false if registered => Err(Refusal::SplitClosed { task: id() }),
        true if !registered => Err(Refusal::NotRegistered { task: id() }),
        _ => rules
            .phase(slice, task)
            .ok_or_else(|| Refusal::NotDrawn { task: id() }),
    }
}

fn switch(rules: &Rules, slice: &Slice) -> Result<(), Refusal> {
    match (&rules.protocol().switch, &slice.standing.switch) {
        (None, _) => Ok(()),
        (Some(_), SwitchSaid::Text(text)) if text == "on" => Ok(()),
        (Some(_), SwitchSaid::Unreadable) => Err(Refusal::SwitchUnreadable {}),
        (Some(_), _) => Err(Refusal::Off {}),
    }
}

/// Refuses a slot whose stage is not open.
fn stage(rules: &Rules, slice: &Slice, phase: Phase, arm: usize, at: Time) -> Result<(), Refusal> {
    let staged = !rules.protocol().stages.is_empty();
    if !staged || !phase.confirmatory || rules.protocol().allocation.by == OrderBy::Counts {
        return Ok(());
    }
    match lanes::stage_of_next(rules, slice, phase, arm) {
        Some(stage) if !is_open(rules, slice, stage, at) => Err(Refusal::StageClosed {
            stage: rules.protocol().stages[stage].id.clone(),
        }),
        _ => Ok(()),
    }
}

/// Records a reading of the world.
pub(super) fn read(rules: &Rules, id: &str, fields: &Map<String, Value>) -> Ruling {
    let known = rules
        .protocol()
        .readings
        .iter()
        .any(|reading| reading.id == id);
    if !known {
        let why = format!("`{id}` is not a reading of this protocol");
        return Err(Refusal::BadReading { why });
    }
    Ok(vec![Event::Read {
        id: id.to_owned(),
        fields: fields.clone(),
    }])
}

/// Returns whether a stage of the plan is open.
pub(super) fn is_open(_rules: &Rules, _slice: &Slice, _stage: usize, _at: Time) -> bool {
    true
}

fn cutoff(rules: &Rules, at: Time) -> Result<(), Refusal> {
    match rules.protocol().cutoff {
        Some(cutoff) if at >= cutoff => Err(Refusal::PastCutoff { cutoff }),
        _ => Ok(()),
    }
}

fn breaker(rules: &Rules, slice: &Slice, arm: &str) -> Result<(), Refusal> {
    if slice.standing.breaker.open && is_guarded(rules, arm) {
        return Err(Refusal::BreakerOpen {
            failures: slice.standing.breaker.failures,
        });
    }
    Ok(())
}

/// Returns whether the breaker is about an arm; one that names no arms is about controls too.
fn is_guarded(rules: &Rules, arm: &str) -> bool {
    let breaker = rules.protocol().breaker.as_ref();
    breaker.is_some_and(|breaker| {
        breaker.arms.is_empty() || breaker.arms.iter().any(|guarded| guarded == arm)
    })
}

/// Returns what the breaker makes of a run that was executed, or could not be: failures in a row
/// are counted, and open it.
pub(super) fn after_start(
    rules: &Rules,
    slice: &Slice,
    arm: &str,
    was_executed: bool,
) -> Option<Event> {
    let limit = rules.protocol().breaker.as_ref()?.failures;
    let stands = slice.standing.breaker;
    if !is_guarded(rules, arm) || (was_executed && stands.failures == 0) {
        return None;
    }
    let failures = if was_executed { 0 } else { stands.failures + 1 };
    Some(Event::Breaker {
        failures,
        open: stands.open || failures >= limit,
    })
}
