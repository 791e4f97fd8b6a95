//! Scheduled looks: at the first tasks of the draw, once all their slots have ended.
//!
//! A look that is due comes before the next start. Whether it ends the study is computed from the outcomes
//! of its tasks alone, so whoever has them computes it again.

mod seen;

use super::decide::Ruling;
use super::event::{Event, LaneId};
use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::{Looked, Slice};
use crate::protocol::plan::Plan;

pub use seen::{Seen, SeenTask, of_task, task};

/// A look that comes before the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which one, from 1.
    pub look: u64,
    /// At how many tasks of the draw.
    pub tasks: u64,
    /// How many are drawn.
    pub drawn: u64,
}

/// The look that comes next, and how many of its slots have not ended.
struct Next {
    due: Due,
    open: u64,
}

/// Returns at how many tasks each look before the end is taken.
pub fn sizes(rules: &Rules, slice: &Slice) -> Vec<u64> {
    let analysis = rules.protocol().analysis.as_ref();
    let looks = analysis.and_then(|analysis| analysis.looks.as_ref());
    looks.map_or_else(Vec::new, |looks| {
        let drawn = rules.plan_of(slice, true).tasks();
        looks.before_end(drawn).collect()
    })
}

/// Returns a look by its place in the schedule, and how many of its slots have not ended.
fn at(rules: &Rules, slice: &Slice, place: u64) -> Option<Next> {
    let index = usize::try_from(place).ok()?;
    let tasks = *sizes(rules, slice).get(index)?;
    let plan = rules.plan_of(slice, true);
    let drawn = plan.tasks();
    let all = tasks.saturating_mul(plan.len() / drawn.max(1));
    let ended = slice.standing.looked.slots_ended.get(index).copied();
    let look = place + 1;
    Some(Next {
        due: Due { look, tasks, drawn },
        open: all.saturating_sub(ended.unwrap_or(0)),
    })
}

fn next(rules: &Rules, slice: &Slice) -> Option<Next> {
    let standing = &slice.standing;
    let may_come = standing.registered.is_some() && !standing.has_ended() && !standing.looked.stops;
    at(rules, slice, standing.looked.taken).filter(|_| may_come)
}

/// Returns the look that is due; refuses where none is.
pub fn due(rules: &Rules, slice: &Slice) -> Result<Due, Refusal> {
    let Looked { taken, stops, .. } = slice.standing.looked;
    match next(rules, slice) {
        Some(Next { due, open: 0 }) => Ok(due),
        None if stops => Err(Refusal::LookStopped { look: taken }),
        next => Err(Refusal::LookNotDue {
            next: next.as_ref().map(|next| next.due.look),
            open: next.map(|next| next.open),
        }),
    }
}

/// Refuses a start while a look is due, and once one has ended the study: but for a task of that look which an
/// outage has opened again.
pub(super) fn guard(rules: &Rules, slice: &Slice, task: u64) -> Result<(), Refusal> {
    if let Some((look, seen)) = newest(rules, slice) {
        let is_again = seen.open > 0 && task < seen.due.tasks;
        return match is_again {
            true => Ok(()),
            false => Err(Refusal::LookStopped { look }),
        };
    }
    match due(rules, slice) {
        Ok(Due { look, tasks, .. }) => Err(Refusal::LookDue { look, tasks }),
        Err(_) => Ok(()),
    }
}

/// Returns the look that lets nothing new start, by its number.
fn newest(rules: &Rules, slice: &Slice) -> Option<(u64, Next)> {
    let Looked { taken, stops, .. } = slice.standing.looked;
    let seen = at(rules, slice, taken.checked_sub(1)?)?;
    stops.then_some((taken, seen))
}

/// Returns that a look has ended the study, if one has and all slots of its tasks still have ended.
pub(super) fn stopped(rules: &Rules, slice: &Slice) -> Option<Refusal> {
    let (look, seen) = newest(rules, slice)?;
    (seen.open == 0).then_some(Refusal::LookStopped { look })
}

/// Takes a look that is due; what it came to is not decided here.
pub(super) fn take(rules: &Rules, slice: &Slice, look: u64, tasks: u64, stops: bool) -> Ruling {
    let due = due(rules, slice)?;
    match (due.look, due.tasks) == (look, tasks) {
        true => Ok(vec![Event::Looked { look, stops }]),
        false => Err(Refusal::LookNotDue {
            next: Some(due.look),
            open: Some(0),
        }),
    }
}

/// Returns how many slots of the tasks of each look end by events that are not folded yet.
pub(super) fn moved(rules: &Rules, slice: &Slice, events: &[Event]) -> Vec<i64> {
    let sizes = sizes(rules, slice);
    if sizes.is_empty() {
        return Vec::new();
    }
    let plan = rules.plan_of(slice, true);
    let moved: Vec<(u64, i64)> = events
        .iter()
        .filter_map(|event| ended(slice, &plan, event))
        .collect();
    let of_look = |size: u64| {
        let within = moved.iter().filter(|(task, _)| *task < size);
        within.map(|(_, more)| more).sum()
    };
    sizes.into_iter().map(of_look).collect()
}

/// Returns the place of the task of which slots end by an event, and how many.
fn ended(slice: &Slice, plan: &Plan, event: &Event) -> Option<(u64, i64)> {
    let at = |position: u64| (position < plan.len()).then(|| plan.slot(position).task);
    let before = |lane: LaneId| slice.lane(lane).filter(|_| lane.is_registered());
    match event {
        Event::SlotEnded { lane, again, .. } => {
            let position = again.or(before(*lane)?.next)?;
            lane.is_registered().then_some((at(position)?, 1))
        }
        Event::SlotAgain {
            lane,
            position,
            reopened: true,
            ..
        } if lane.is_registered() => Some((at(*position)?, -1)),
        Event::Counted { lane, ended, .. } => {
            let before = before(*lane).map_or(0, |lane| lane.ended);
            Some((lane.number, difference(*ended, before)))
        }
        Event::BlockVoided {
            block,
            requeued,
            ended,
            slots,
            ..
        } => {
            let task = plan.slots_of_block(*block).first()?.task;
            let after = if *requeued { 0 } else { *slots };
            Some((task, difference(after, *ended)))
        }
        _ => None,
    }
}

fn difference(after: u64, before: u64) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(after).saturating_sub(signed(before))
}

impl Looked {
    /// Counts slots that have ended, or have not after all, for each look.
    pub(super) fn count(&mut self, moved: &[i64]) {
        if self.slots_ended.len() < moved.len() && moved.iter().any(|more| *more != 0) {
            self.slots_ended.resize(moved.len(), 0);
        }
        for (ended, more) in self.slots_ended.iter_mut().zip(moved) {
            *ended = ended.saturating_add_signed(*more);
        }
    }
}
