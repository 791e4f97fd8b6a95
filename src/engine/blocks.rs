//! Blocks: the slots that are complete or void together, and how far they have come.
//!
//! A block is complete once all its slots have ended, judged or not; so is a stage. Pilots and
//! controls are in no block.

use serde::Serialize;

use super::counts;
use super::event::{LaneId, Place};
use super::lanes;
use super::outage;
use super::rules::Rules;
use super::slice::{Run, Slice, State};
use crate::protocol::model::OrderBy;
use crate::protocol::plan::{Plan, Slot};

/// How a slot has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With outcomes.
    Judged,
    /// Without.
    Unjudged,
}

/// How far the slots of a block have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Whether all have ended.
    pub complete: bool,
    /// How many have ended.
    pub ended: u64,
    /// How many there are.
    pub expected: u64,
    /// How many have ended without outcomes.
    pub unjudged: u64,
}

/// What is said of a run by its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The block, from 0; none where the plan has no such place.
    pub block: Option<u64>,
    /// Whether it is not complete.
    pub incomplete: bool,
}

impl Block {
    /// Counts the slots of a block, each with how it has ended, if it has.
    pub fn of(slots: impl IntoIterator<Item = Option<Ending>>) -> Self {
        let mut block = Self::default();
        for ending in slots {
            block.expected += 1;
            block.ended += u64::from(ending.is_some());
            block.unjudged += u64::from(ending == Some(Ending::Unjudged));
        }
        block.complete = is_complete(block.ended, block.expected);
        block
    }
}

/// Returns whether so many ended slots are all; where there are none, nothing is missing.
pub fn is_complete(ended: u64, expected: u64) -> bool {
    ended == expected
}

/// Returns how a slot has ended, by the attempts at it in the order of their starts: the last of
/// those after which it has ended says it.
pub fn ending(attempts: impl IntoIterator<Item = Option<Ending>>) -> Option<Ending> {
    attempts.into_iter().flatten().last()
}

/// Returns what is said of a run by its block; nothing of a run that is in none.
pub fn flag(
    plan: &Plan,
    place: Option<&Place>,
    is_complete: impl FnOnce(u64) -> bool,
) -> Option<Flag> {
    let place = place.filter(|place| place.lane.is_registered())?;
    let block = (place.position < plan.len()).then_some(place.block);
    Some(Flag {
        block,
        incomplete: !block.is_some_and(is_complete),
    })
}

/// Returns how far every block of the registered plan has come, in order.
pub fn all(rules: &Rules, slice: &Slice) -> Vec<Block> {
    let plan = rules.plan_of(slice, true);
    let blocks = 0..count(&plan);
    blocks
        .map(|block| stands(rules, slice, &plan, block))
        .collect()
}

/// Returns how many blocks of the registered plan are complete, and how many there are.
pub fn complete(rules: &Rules, slice: &Slice) -> (u64, u64) {
    let blocks = count(&rules.plan_of(slice, true));
    (slice.standing.blocks_complete, blocks)
}

/// Returns what is said of a run by its block; nothing of a run that is in none.
pub fn of_run(rules: &Rules, slice: &Slice, run: &Run) -> Option<Flag> {
    let plan = rules.plan_of(slice, true);
    flag(&plan, run.place.as_ref(), |block| {
        is_whole(rules, slice, &plan, block)
    })
}

/// An empty plan has no slots to put into blocks.
fn count(plan: &Plan) -> u64 {
    if plan.is_empty() { 0 } else { plan.blocks() }
}

/// Returns whether a block is complete, by its lanes alone.
pub(super) fn is_whole(rules: &Rules, slice: &Slice, plan: &Plan, block: u64) -> bool {
    let positions = plan.positions_of_block(block);
    match rules.protocol().allocation.by {
        // The last one first: while it has not ended, nothing else is looked at.
        OrderBy::Plan => positions
            .iter()
            .rev()
            .all(|position| outage::has_ended(slice, plan, &plan.slot(*position))),
        OrderBy::Counts => {
            let lane = slice.lane(LaneId::registered(block));
            let ended = lane.map_or(0, |lane| lane.ended);
            is_complete(ended, positions.len() as u64)
        }
    }
}

fn stands(rules: &Rules, slice: &Slice, plan: &Plan, block: u64) -> Block {
    let slots = plan.slots_of_block(block);
    match rules.protocol().allocation.by {
        OrderBy::Plan => Block::of(slots.iter().map(|slot| by_plan(slice, plan, slot))),
        OrderBy::Counts => {
            let ended = counts::endings(rules, slice, block);
            Block::of(slots.iter().map(|slot| {
                let place = (usize::try_from(slot.arm).ok()?, slot.repeat + 1);
                ended.get(&place).copied()
            }))
        }
    }
}

/// Returns how a slot under an order by plan has ended.
fn by_plan(slice: &Slice, plan: &Plan, slot: &Slot) -> Option<Ending> {
    if !outage::has_ended(slice, plan, slot) {
        return None;
    }
    let lane = slice.lane(LaneId::registered(plan.lane(slot)))?;
    // A block that was voided too often has ended without any attempt that counts.
    ending(lanes::attempts_at(slice, lane, slot.position).map(ending_of)).or(Some(Ending::Unjudged))
}

fn ending_of(run: &Run) -> Option<Ending> {
    match run.state {
        State::Scored => Some(Ending::Judged),
        State::Unjudged => Some(Ending::Unjudged),
        State::Live | State::Ended | State::Void => None,
    }
}

/// Returns the slots of a task whose slots have all ended, each with the run that says how; none where its
/// block was voided too often.
pub(super) fn of_task<'a>(
    rules: &Rules,
    slice: &'a Slice,
    plan: &Plan,
    task: u64,
) -> Vec<(Slot, Option<&'a Run>)> {
    let arms = rules.protocol().arms.len() as u64;
    let repeats = 0..plan.repeats();
    let each = repeats.flat_map(|repeat| (0..arms).map(move |arm| (repeat, arm)));
    let slots = each.map(|(repeat, arm)| plan.slot(plan.position(task, repeat, arm)));
    let by_counts = match rules.protocol().allocation.by {
        OrderBy::Plan => None,
        OrderBy::Counts => Some(counts::closing(rules, slice, task)),
    };
    let closing = |slot: &Slot| match &by_counts {
        Some(runs) => {
            let place = (usize::try_from(slot.arm).ok()?, slot.repeat + 1);
            slice.run(*runs.get(&place)?)
        }
        None => {
            let lane = slice.lane(LaneId::registered(plan.lane(slot)))?;
            let attempts = lanes::attempts_at(slice, lane, slot.position);
            attempts.filter(|run| ending_of(run).is_some()).last()
        }
    };
    slots.map(|slot| (slot, closing(&slot))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUDGED: Option<Ending> = Some(Ending::Judged);
    const UNJUDGED: Option<Ending> = Some(Ending::Unjudged);

    #[test]
    fn a_block_is_complete_when_all_its_slots_have_ended() {
        for (slots, complete, [ended, expected, unjudged]) in [
            (&[][..], true, [0, 0, 0]),
            (&[None], false, [0, 1, 0]),
            (&[JUDGED, None], false, [1, 2, 0]),
            (&[JUDGED, UNJUDGED], true, [2, 2, 1]),
            (&[UNJUDGED, UNJUDGED], true, [2, 2, 2]),
        ] {
            let block = Block {
                complete,
                ended,
                expected,
                unjudged,
            };
            assert_eq!(Block::of(slots.iter().copied()), block, "{slots:?}");
        }
    }

    #[test]
    fn the_last_attempt_that_ends_a_slot_says_how() {
        for (attempts, said) in [
            (&[][..], None),
            (&[None, None], None),
            (&[UNJUDGED, JUDGED], JUDGED),
            (&[JUDGED, UNJUDGED], UNJUDGED),
            (&[UNJUDGED, None], UNJUDGED),
        ] {
            assert_eq!(ending(attempts.iter().copied()), said, "{attempts:?}");
        }
    }
}
