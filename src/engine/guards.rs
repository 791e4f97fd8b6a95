//! The guards of a start, in their registered order: the first that refuses answers.
//!
//! What stands here is looked at before a slot is: it closes no stale run and knows no order.

use super::event::Event;
use super::refusal::Refusal;
use super::rules::{Phase, Rules};
use super::slice::Slice;
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
    let Some(known) = rules.task(task) else {
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
    let registered = slice.standing.registered.is_some();
    let task = task.to_owned();
    let phase = match (rules.is_confirmatory(known), rules.phase(&known.id)) {
        (false, _) if registered => return Err(Refusal::SplitClosed { task }),
        (true, _) if !registered => return Err(Refusal::NotRegistered { task }),
        (_, None) => return Err(Refusal::NotDrawn { task }),
        (_, Some(phase)) => phase,
    };
    cutoff(rules, at)?;
    Ok(Some((phase, listed)))
}

/// Passes a start of an arm through the guards that look neither at the task nor at the slot.
pub fn passed_by(rules: &Rules, slice: &Slice, arm: &str, at: Time) -> Result<(), Refusal> {
    breaker(rules, slice, arm)?;
    cutoff(rules, at)
}

/// Returns the rule that has ended the study before all its slots had, if one has.
pub fn stopped_by(rules: &Rules, at: Time) -> Option<Refusal> {
    cutoff(rules, at).err()
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
