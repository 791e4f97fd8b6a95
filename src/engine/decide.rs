//! The rules, applied: guards in their registered order, one admission, and what follows from it.

use super::command::{Action, Cause, Command, Ending, Evidence, Executed};
use super::event::{Event, LaneId, Place};
use super::guards;
use super::refusal::{Next, Refusal};
use super::rules::{Phase, Rules};
use super::scoring::{self, Verdict};
use super::slice::{Lane, Run, Slice, State};
use crate::protocol::canonical;
use crate::protocol::model::{Attempts, LateReport, ScoreWord};
use crate::protocol::plan::{self, Plan};
use crate::protocol::registration::Registration;
use crate::units::{Digest, RunId, Time};

/// The answer to a command: what happens, or the rule that says no.
///
/// No event at all means that the command says what is known already, and is not recorded.
pub type Ruling = Result<Vec<Event>, Refusal>;

/// Answers a command.
///
/// `rules` are those of the protocol that was opened last; a record begins without.
pub fn decide(rules: Option<&Rules>, slice: &Slice, command: &Command) -> Ruling {
    let at = command.at;
    let Some(rules) = rules else {
        return match &command.action {
            Action::Open { registration, .. } => open(None, slice, registration),
            _ => Err(Refusal::NotOpened {}),
        };
    };
    match &command.action {
        Action::Open { registration, .. } => open(Some(rules), slice, registration),
        Action::Register { registration } => register(rules, slice, *registration),
        Action::Start {
            task,
            arm,
            executed,
        } => start(rules, slice, task, arm, executed, at),
        Action::Finish { run, ending, .. } => {
            let admitted = finish(rules, slice, *run, ending)?;
            Ok(with_consequences(rules, slice, admitted))
        }
        Action::Score { run, evidence } => {
            let admitted = score(rules, slice, *run, evidence.as_ref())?;
            Ok(with_consequences(rules, slice, admitted))
        }
        Action::Close { run, cause, .. } => {
            let admitted = close(rules, slice, *run, *cause)?;
            Ok(with_consequences(rules, slice, admitted))
        }
        Action::Expire { run } => {
            let admitted = expire(rules, slice, *run, at)?;
            Ok(with_consequences(rules, slice, admitted))
        }
        Action::Breaker { open } => breaker(rules, slice, *open),
        Action::Conclude {} => conclude(rules, slice, at),
        Action::Unblind {} => Ok(vec![Event::Unblinded {}]),
    }
}

/// Returns the runs whose deadline a command notices; each is closed by an entry of its own before.
///
/// A start under an order by plan looks at the whole plan, so it notices every stale run; a report
/// notices that its own run is stale.
pub fn due(rules: Option<&Rules>, slice: &Slice, command: &Command) -> Vec<RunId> {
    let Some(rules) = rules else {
        return Vec::new();
    };
    let stale = |run: &RunId| {
        slice
            .standing
            .live
            .get(run)
            .is_some_and(|started_at| rules.is_stale(*started_at, command.at))
    };
    match &command.action {
        Action::Start { task, arm, .. } => {
            match guards::admissible(rules, slice, task, arm, command.at) {
                Ok(Some(_)) => slice
                    .standing
                    .live
                    .keys()
                    .filter(|run| stale(run))
                    .copied()
                    .collect(),
                _ => Vec::new(),
            }
        }
        Action::Finish { run, .. } | Action::Score { run, .. } | Action::Close { run, .. } => {
            let refuses = rules.protocol().attempts.late_report == LateReport::Refuse;
            if refuses && stale(run) {
                vec![*run]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// What may happen next in the registered plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peek {
    /// The deadline of this run has passed; closing it comes first.
    Expire(RunId),
    /// This slot may start now.
    Start(Next),
    /// A guard refuses whatever could start next.
    Refused(Refusal),
    /// Nothing may start until a run under way has ended, or the study is registered.
    Wait,
    /// Every slot has ended.
    Complete,
}

/// Says what may start next; says so exactly when `decide` would grant it. Never recorded.
pub fn peek(rules: &Rules, slice: &Slice, at: Time) -> Peek {
    let live = &slice.standing.live;
    if slice.standing.registered.is_none() {
        return Peek::Wait;
    }
    if slice.standing.slots_ended >= rules.registered_plan().len() {
        return Peek::Complete;
    }
    if let Some((run, _)) = live
        .iter()
        .find(|(_, started_at)| rules.is_stale(**started_at, at))
    {
        return Peek::Expire(*run);
    }
    if live.len() as u64 >= u64::from(rules.protocol().allocation.runs_max) {
        return Peek::Wait;
    }
    let Some(position) = earliest(rules, slice) else {
        return Peek::Wait;
    };
    let next = next_at(rules, true, position);
    match guards::passed_by(rules, slice, &next.arm, at) {
        Ok(()) => Peek::Start(next),
        Err(refusal) => Peek::Refused(refusal),
    }
}

fn open(rules: Option<&Rules>, slice: &Slice, registration: &Registration) -> Ruling {
    let found = registration.digest();
    if slice.standing.opened == Some(found) {
        return Ok(Vec::new());
    }
    match (slice.standing.registered, rules) {
        (Some(registered), Some(rules)) => {
            let differs = rules.registration().differences(registration);
            Err(Refusal::RegistrationDiffers {
                registered,
                found,
                differs,
            })
        }
        _ => Ok(vec![Event::Opened {
            registration: found,
            draft: slice.standing.draft + 1,
        }]),
    }
}

fn register(rules: &Rules, slice: &Slice, registration: Digest) -> Ruling {
    let opened = rules.digest();
    if slice.standing.registered == Some(registration) {
        return Ok(Vec::new());
    }
    if registration != opened {
        return Err(Refusal::NotOpenedLast { opened });
    }
    Ok(vec![Event::Registered {
        registration,
        slots: rules.registered_plan().len(),
    }])
}

fn start(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    at: Time,
) -> Ruling {
    let phase = guards::admissible(rules, slice, task, arm, at)?;
    let place = match phase {
        Some((phase, arm)) => Some(slot(rules, slice, phase, arm, task)?),
        None => None,
    };
    let live = slice
        .standing
        .live
        .values()
        .filter(|started_at| !rules.is_stale(**started_at, at))
        .count();
    let runs_max = rules.protocol().allocation.runs_max;
    if live as u64 >= u64::from(runs_max) {
        return Err(Refusal::CapReached { runs_max });
    }
    let derived = rules.protocol().allocation.run_seed.and(place);
    Ok(vec![Event::Started {
        run: RunId(slice.standing.runs + 1),
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: executed.clone(),
        place,
        seed: derived.map(|place| plan::run_seed(task, place.repeat - 1)),
    }])
}

/// Finds the slot that a start of an arm on a task would fill.
fn slot(
    rules: &Rules,
    slice: &Slice,
    phase: Phase,
    arm: usize,
    task: &str,
) -> Result<Place, Refusal> {
    let plan = rules.plan(phase);
    let wanted = (0..plan.repeats()).map(|repeat| plan.position(phase.index, repeat, arm as u64));
    if !phase.confirmatory {
        return pilot_slot(rules, slice, wanted).ok_or_else(|| used(rules, task, arm));
    }
    let earliest = earliest(rules, slice);
    match earliest {
        Some(position) if wanted.clone().any(|wanted| wanted == position) => {
            Ok(place(rules, slice, 0, position))
        }
        _ if wanted
            .clone()
            .all(|position| is_taken(slice, plan, position)) =>
        {
            Err(used(rules, task, arm))
        }
        _ => Err(Refusal::OutOfOrder {
            next: earliest.map(|position| next_at(rules, true, position)),
        }),
    }
}

fn used(rules: &Rules, task: &str, arm: usize) -> Refusal {
    Refusal::SlotsUsed {
        task: task.to_owned(),
        arm: rules.protocol().arms[arm].id.clone(),
    }
}

/// Pilots know no order: the first slot of the arm on the task that is not taken.
fn pilot_slot(
    rules: &Rules,
    slice: &Slice,
    mut wanted: impl Iterator<Item = u64>,
) -> Option<Place> {
    let draft = slice.standing.draft;
    let free = wanted.find(|position| {
        let id = LaneId {
            draft,
            number: *position,
        };
        slice.lane(id).is_none_or(|lane| lane.ready().is_some())
    })?;
    Some(place(rules, slice, draft, free))
}

/// Returns the earliest position of the registered plan that may start now.
fn earliest(rules: &Rules, slice: &Slice) -> Option<u64> {
    let plan = rules.registered_plan();
    let opened = slice.standing.lanes_opened;
    let fresh = (opened < plan.lanes()).then(|| plan.lane_start(opened));
    let waiting = slice.ready.keys().next().copied();
    match (fresh, waiting) {
        (Some(fresh), Some(waiting)) => Some(fresh.min(waiting)),
        (fresh, waiting) => fresh.or(waiting),
    }
}

/// Returns whether a slot has ended or is under way.
fn is_taken(slice: &Slice, plan: &Plan, position: u64) -> bool {
    let id = LaneId::registered(plan.lane(&plan.slot(position)));
    match slice.lane(id) {
        None => false,
        Some(Lane { next: None, .. }) => true,
        Some(Lane {
            next: Some(next),
            open,
            ..
        }) => position < next || (position == next && open.is_some()),
    }
}

/// Returns which task and arm stand at a position of the registered or the pilot plan.
pub fn next_at(rules: &Rules, confirmatory: bool, position: u64) -> Next {
    let plan = if confirmatory {
        rules.registered_plan()
    } else {
        rules.pilot_plan()
    };
    let slot = plan.slot(position);
    let task = rules.task_at(Phase {
        confirmatory,
        index: slot.task,
    });
    let arm = usize::try_from(slot.arm).unwrap_or(usize::MAX);
    Next {
        task: task.id.clone(),
        arm: rules.protocol().arms[arm].id.clone(),
    }
}

fn place(rules: &Rules, slice: &Slice, draft: u64, position: u64) -> Place {
    let plan = if draft == 0 {
        rules.registered_plan()
    } else {
        rules.pilot_plan()
    };
    let slot = plan.slot(position);
    let lane = LaneId {
        draft,
        number: plan.lane(&slot),
    };
    Place {
        lane,
        position,
        block: plan.block(&slot),
        repeat: slot.repeat + 1,
        turn: slot.turn + 1,
        attempt: slice.lane(lane).map_or(0, |lane| lane.attempts) + 1,
    }
}

fn known(slice: &Slice, run: RunId) -> Result<&Run, Refusal> {
    slice.run(run).ok_or(Refusal::UnknownRun { run })
}

/// Returns a run that is not closed.
fn open_run(slice: &Slice, run: RunId) -> Result<&Run, Refusal> {
    let found = known(slice, run)?;
    match (found.state, found.cause, found.closed_at) {
        (_, Some(Cause::Stale), Some(closed)) => Err(Refusal::Stale { run, closed }),
        (state @ (State::Scored | State::Unjudged), cause, _) => {
            Err(Refusal::AlreadyClosed { run, state, cause })
        }
        _ => Ok(found),
    }
}

fn finish(rules: &Rules, slice: &Slice, run: RunId, ending: &Ending) -> Ruling {
    let ended = open_run(slice, run)?;
    if ended.state == State::Ended {
        return Err(Refusal::AlreadyEnded { run });
    }
    let mut events = vec![Event::Ended { run }];
    events.extend(guards::after_start(rules, slice, &ended.arm, true));
    if ending.timed_out && rules.protocol().scoring.on_timeout == ScoreWord::Unjudged {
        events.push(Event::Unjudged {
            run,
            cause: Cause::TimedOut,
        });
    }
    Ok(events)
}

fn score(rules: &Rules, slice: &Slice, run: RunId, evidence: Option<&Evidence>) -> Ruling {
    let scored = known(slice, run)?;
    if scored.is_closed()
        && scored.evidence.is_some()
        && scored.evidence == evidence.map(evidence_digest)
    {
        return Ok(Vec::new());
    }
    let ended = open_run(slice, run)?;
    if ended.state == State::Live {
        return Err(Refusal::NotEnded { run });
    }
    Ok(vec![match scoring::verdict(rules, ended, evidence) {
        Verdict::Scored(outcomes) => Event::Scored {
            run,
            outcomes: Some(outcomes),
        },
        Verdict::Unjudged(cause) => Event::Unjudged { run, cause },
    }])
}

/// Digests what a run was scored from, so that the same report again can be told from another.
pub fn evidence_digest(evidence: &Evidence) -> Digest {
    canonical::digest(&serde_json::to_value(evidence).unwrap_or_default())
}

fn close(rules: &Rules, slice: &Slice, run: RunId, cause: Cause) -> Ruling {
    let closed = open_run(slice, run)?;
    if !matches!(cause, Cause::Failed | Cause::Cancelled | Cause::Lost) {
        return Err(Refusal::NotACause { cause });
    }
    let mut events = vec![Event::Unjudged { run, cause }];
    if cause == Cause::Failed && closed.state == State::Live {
        events.extend(guards::after_start(rules, slice, &closed.arm, false));
    }
    Ok(events)
}

/// Ends a study that a registered rule lets start nothing more, once no run is open.
fn conclude(rules: &Rules, slice: &Slice, at: Time) -> Ruling {
    let standing = &slice.standing;
    if standing.has_ended() {
        return Ok(Vec::new());
    }
    let open = standing.live.len() + standing.ended.len();
    match guards::stopped_by(rules, at) {
        Some(rule) if standing.registered.is_some() && open == 0 => Ok(vec![Event::Stopped {
            code: rule.code().to_owned(),
        }]),
        _ => Err(Refusal::NotOver {}),
    }
}

/// The operator's hand on the breaker.
fn breaker(rules: &Rules, slice: &Slice, open: bool) -> Ruling {
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

fn expire(rules: &Rules, slice: &Slice, run: RunId, at: Time) -> Ruling {
    let found = open_run(slice, run)?;
    if found.state != State::Live || !rules.is_stale(found.started_at, at) {
        return Err(Refusal::NotStale { run });
    }
    Ok(vec![Event::Unjudged {
        run,
        cause: Cause::Stale,
    }])
}

/// Adds what follows from a run's end, looked at after the end itself: its slot, then the study.
fn with_consequences(rules: &Rules, slice: &Slice, mut events: Vec<Event>) -> Vec<Event> {
    let closing = events.iter().find_map(|event| match event {
        Event::Scored { run, .. } => Some((*run, None)),
        Event::Unjudged { run, cause } => Some((*run, Some(*cause))),
        _ => None,
    });
    let Some((run, cause)) = closing else {
        return events;
    };
    let Some(place) = slice.run(run).and_then(|run| run.place) else {
        return events;
    };
    let current = slice
        .lane(place.lane)
        .is_some_and(|lane| lane.open == Some(run));
    if !current {
        return events;
    }
    let attempts = &rules.protocol().attempts;
    if cause.is_some_and(|cause| may_rerun(attempts, cause, place.attempt)) {
        events.push(Event::SlotWaits { lane: place.lane });
        return events;
    }
    let registered = place.lane.is_registered();
    // A pilot's lane is one slot, and the draft that planned it may not be the one opened last.
    let next = if registered {
        let plan = rules.registered_plan();
        plan.next_in_lane(&plan.slot(place.position))
    } else {
        None
    };
    events.push(Event::SlotEnded {
        lane: place.lane,
        next,
    });
    if registered && slice.standing.slots_ended + 1 == slice.standing.slots {
        events.push(Event::Completed {});
    }
    events
}

fn may_rerun(attempts: &Attempts, cause: Cause, attempt: u32) -> bool {
    attempts.rerun.contains(&cause.word())
        && attempts.per_slot.is_none_or(|per_slot| attempt < per_slot)
}

/// Returns whether events are what some evidence, which is not known, could have led to.
pub fn could_follow(rules: &Rules, slice: &Slice, run: RunId, events: &[Event]) -> bool {
    let first = match events.first() {
        Some(Event::Scored { run: scored, .. }) if *scored == run => events[0].clone(),
        Some(Event::Unjudged {
            run: unjudged,
            cause,
        }) if *unjudged == run && is_of_evidence(*cause) => events[0].clone(),
        _ => return false,
    };
    with_consequences(rules, slice, vec![first]) == events
}

fn is_of_evidence(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::NoReport
            | Cause::BadReport
            | Cause::JudgeTimeout
            | Cause::JudgeError
            | Cause::Infra
            | Cause::OutcomeError
    )
}
