//! How long complete blocks took: in order, with the middle of them at hand.
//!
//! A block lasts from its first start to the moment at which its last slot has ended. One that is
//! opened again counts once more when it is complete again; one that was voided too often does not
//! count. All this is kept only where a stage asks whether a block fits.

use serde::{Deserialize, Serialize};

use super::decide::Ruling;
use super::event::{Event, LaneId};
use super::facts::FactKey;
use super::outage;
use super::rules::Rules;
use super::slice::{Run, Slice, State};
use crate::protocol::plan::{Plan, Slot};
use crate::units::{Micros, Time};

/// How long a block took, and which it was. Spans stand in the order of their texts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Span {
    /// How long it took.
    pub lasted: Micros,
    /// The block, from 0.
    pub block: u64,
}

/// Which neighbour of a span is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The next longer one.
    Longer,
    /// The next shorter one.
    Shorter,
}

/// The middle of all spans; the lower one of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Middle {
    /// The span in the middle.
    pub span: Span,
    /// How many there are in all.
    pub count: u64,
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        format!("{:020}-{:020}", span.lasted.0, span.block)
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text.split_once('-');
        let read = parts.and_then(|(lasted, block)| {
            Some(Self {
                lasted: Micros(lasted.parse().ok()?),
                block: block.parse().ok()?,
            })
        });
        let read = read.filter(|span| String::from(*span) == text);
        read.ok_or_else(|| format!("{text:?} is not the span of a block"))
    }
}

/// Returns the median of how long complete blocks took, half a microsecond rounded up; none while no
/// block is complete.
pub(super) fn median(slice: &Slice) -> Option<Micros> {
    let middle = slice.standing.middle?;
    let lower = middle.span.lasted.0;
    if middle.count % 2 == 1 {
        return Some(Micros(lower));
    }
    let upper = slice.span_beside(middle.span, Side::Longer)?.lasted.0;
    Some(Micros(lower + (upper - lower).div_ceil(2)))
}

/// Adds to what was granted how long the blocks took that are complete with it.
pub(super) fn noted(rules: &Rules, slice: &Slice, at: Time, ruling: Ruling) -> Ruling {
    let protocol = rules.protocol();
    let asked = protocol.stages.iter().any(|stage| stage.fits.is_some());
    if !asked || protocol.cutoff.is_none() {
        return ruling;
    }
    let mut events = ruling?;
    if let Some(span) = completed(rules, slice, at, &events) {
        let middle = with(slice, span);
        events.push(Event::BlockLasted { span, middle });
    }
    Ok(events)
}

/// Returns the span of the block whose last slot events end. A command ends slots of one block at
/// most, but by voiding.
fn completed(rules: &Rules, slice: &Slice, at: Time, events: &[Event]) -> Option<Span> {
    let ended = events.iter().find_map(|event| match event {
        Event::SlotEnded { lane, again, .. } if lane.is_registered() => Some((*lane, *again)),
        _ => None,
    });
    let (id, again) = ended?;
    let plan = rules.plan_of(slice, true);
    let position = again.or(slice.lane(id)?.next)?;
    let block = plan.block(&plan.slot(position));
    let slots = plan.slots_of_block(block);
    let reopened = |slot: &Slot| {
        events.iter().any(|event| {
            matches!(event, Event::SlotAgain { position, reopened: true, .. } if *position == slot.position)
        })
    };
    let has_ended =
        |slot: &Slot| slot.position == position || outage::has_ended(slice, &plan, slot);
    if !slots.iter().all(|slot| has_ended(slot) && !reopened(slot)) {
        return None;
    }
    let first = runs(slice, &plan, &slots).map(|run| run.started_at).min()?;
    let lasted = Micros(first.0.abs_diff(at.0));
    let span = Span { lasted, block };
    slice.fact(&FactKey::Lasted(span)).is_none().then_some(span)
}

/// Returns whether a run of a block has started since the block was voided last.
pub(super) fn has_begun(slice: &Slice, plan: &Plan, block: u64) -> bool {
    let slots = plan.slots_of_block(block);
    runs(slice, plan, &slots).next().is_some()
}

/// Returns the runs at some slots that count as attempts.
fn runs<'a>(slice: &'a Slice, plan: &'a Plan, slots: &'a [Slot]) -> impl Iterator<Item = &'a Run> {
    slots.iter().flat_map(move |slot| {
        let lane = slice.lane(LaneId::registered(plan.lane(slot)));
        let runs = lane.into_iter().flat_map(|lane| &lane.runs);
        let runs = runs.filter_map(|run| slice.run(*run));
        let voids = lane.map_or(0, |lane| lane.voids);
        runs.filter(move |run| {
            let place = run.place.filter(|place| place.position == slot.position);
            run.state != State::Void && place.is_some_and(|place| place.voids == voids)
        })
    })
}

/// Returns the middle once a span is there.
fn with(slice: &Slice, span: Span) -> Span {
    let Some(Middle {
        span: middle,
        count,
    }) = slice.standing.middle
    else {
        return span;
    };
    let beside = |side| slice.span_beside(middle, side);
    match (count % 2 == 1, span < middle) {
        // The lower one of two is the middle now.
        (true, true) => beside(Side::Shorter).map_or(span, |shorter| shorter.max(span)),
        (false, false) => beside(Side::Longer).map_or(span, |longer| longer.min(span)),
        _ => middle,
    }
}
