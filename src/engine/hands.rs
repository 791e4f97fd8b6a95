//! What people and the world report: breaker, checkpoint, cost, retry, switch, void, anchor.

use std::collections::BTreeSet;

use super::attempts::{self, Fate, Resume};
use super::budget::Cost;
use super::command::{Action, WITNESS_MAX, Witness};
use super::decide::{Ruling, known, open_run};
use super::ending::with_completion;
use super::event::Event;
use super::facts::FactKey;
use super::lanes;
use super::outage;
use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::{Slice, State, SwitchSaid};
use super::spending;
use crate::protocol::canonical;
use crate::units::{Money, RunId};

/// The operator's hand on the breaker.
pub(super) fn breaker(rules: &Rules, slice: &Slice, open: bool) -> Ruling {
    let Some(breaker) = &rules.protocol().breaker else {
        return Err(Refusal::NoBreaker {});
    };
    let stands = slice.standing.breaker;
    match (open, stands.open) {
        (true, _) if !breaker.external => Err(Refusal::BreakerInternal {}),
        (wanted, found) if wanted == found => Ok(Vec::new()),
        (open, _) => Ok(vec![Event::Breaker { failures: 0, open }]),
    }
}

/// Records the check in the middle of a run, once.
pub(super) fn checkpoint(rules: &Rules, slice: &Slice, run: RunId, passed: bool) -> Ruling {
    let found = known(slice, run)?;
    if !rules.protocol().checkpoint.contains(&found.arm) {
        return Err(Refusal::NoCheckpoint {
            arm: found.arm.clone(),
            declared: rules.protocol().checkpoint.clone(),
        });
    }
    let live = open_run(slice, run)?;
    if live.state == State::Ended {
        return Err(Refusal::AlreadyEnded { run });
    }
    if live.checkpoint.is_some() {
        return Err(Refusal::CheckpointExists { run });
    }
    Ok(vec![Event::Checked { run, passed }])
}

/// Takes note of what an ended run cost, where nothing had said it.
pub(super) fn learn_cost(rules: &Rules, slice: &Slice, run: RunId, cost: Money) -> Ruling {
    let found = known(slice, run)?;
    match (found.state, found.cost) {
        (State::Live, _) => Err(Refusal::NotEnded { run }),
        (_, Cost::Known(same)) if same == cost => Ok(Vec::new()),
        (_, Cost::Unknown) => {
            let mut events = vec![Event::Priced { run, cost }];
            events.extend(spending::learnt(rules, slice, found, cost));
            Ok(events)
        }
        _ => Err(Refusal::CostStands { run }),
    }
}

/// Lets the slot of an unjudged run wait for another attempt, because a person asks for it. A pilot
/// of an earlier draft has no slot that could start.
pub(super) fn retry(rules: &Rules, slice: &Slice, run: RunId) -> Ruling {
    let found = known(slice, run)?;
    let refused = Err(Refusal::NotRetried { run });
    let (Some(place), Some(cause), State::Unjudged) = (found.place, found.cause, found.state)
    else {
        return refused;
    };
    let is_over = !place.lane.is_registered() && place.lane.draft != slice.standing.draft;
    let Some(lane) = slice
        .lane(place.lane)
        .filter(|_| !place.by_counts && !is_over)
    else {
        return refused;
    };
    let (count, last) = lanes::attempts_at(slice, lane, place.position)
        .fold((0, None), |(count, _), run| (count + 1, Some(run.run)));
    let attempt = Some((count, Fate::Unjudged(cause)));
    let rule = &rules.protocol().attempts;
    let may = attempts::resumes(rule, attempt, true) == Resume::Start && lane.voids == place.voids;
    if !may || last != Some(run) || !lane.has_ended(place.position) {
        return refused;
    }
    Ok(vec![Event::SlotAgain {
        lane: place.lane,
        stage: place.stage,
        position: place.position,
        attempts: count,
        reopened: true,
    }])
}

/// Records what the switch says, where that is news.
pub(super) fn switch(rules: &Rules, slice: &Slice, text: Option<&str>) -> Ruling {
    if rules.protocol().switch.is_none() {
        return Err(Refusal::NoSwitch {});
    }
    if slice.standing.switch == SwitchSaid::from(text) {
        return Ok(Vec::new());
    }
    Ok(vec![Event::Switched {
        text: text.map(str::to_owned),
    }])
}

/// Records that a head was published, unless the same was said before.
///
/// Whether the record had that head, and the witness bears it out, is for the room that knows digests.
pub(super) fn anchor(slice: &Slice, entry: u64, witness: &Witness, action: &Action) -> Ruling {
    let bytes = witness.text().len();
    if bytes > WITNESS_MAX {
        let (bytes, most) = (bytes as u64, WITNESS_MAX as u64);
        return Err(Refusal::WitnessTooLarge { bytes, most });
    }
    let said = canonical::digest(action);
    match slice.fact(&FactKey::Anchor(said)) {
        Some(_) => Ok(Vec::new()),
        None => Ok(vec![Event::Anchored { entry, said }]),
    }
}

/// Voids a block by hand, unless a run of it is scored. There are blocks once there is a registered
/// plan.
pub(super) fn void(rules: &Rules, slice: &Slice, block: u64) -> Ruling {
    let plan = rules.plan_of(slice, true);
    let has_blocks = slice.standing.registered.is_some() && !rules.goes_by_counts();
    let slots = match block.checked_sub(1) {
        Some(index) if has_blocks => plan.slots_of_block(index),
        _ => Vec::new(),
    };
    if slots.is_empty() {
        return Err(Refusal::UnknownBlock { block });
    }
    if outage::has_scored(slice, &plan, &slots) {
        return Err(Refusal::BlockScored { block });
    }
    let blocks = BTreeSet::from([block - 1]);
    let mut events = vec![Event::Deviated { arm: None }];
    events.extend(outage::void_blocks(rules, slice, &blocks, None));
    Ok(with_completion(rules, slice, events))
}

/// Records what the protocol did not foresee; it may let an arm start again.
pub(super) fn deviate(rules: &Rules, arm: Option<&str>) -> Ruling {
    match arm {
        Some(arm) if rules.protocol().arm(arm).is_none() => Err(Refusal::UnknownArm {
            arm: arm.to_owned(),
        }),
        arm => Ok(vec![Event::Deviated {
            arm: arm.map(str::to_owned),
        }]),
    }
}
