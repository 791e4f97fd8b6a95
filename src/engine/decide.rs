//! The rules, applied: guards in their registered order, one admission, and what follows from it.

use std::collections::BTreeSet;

use super::actors;
use super::attempts::{self, Fate, Resume};
use super::budget::Cost;
use super::command::{Action, Cause, Command, Ending, Evidence, Executed, Execution};
use super::counts::{self, Change};
use super::durations;
use super::event::{Event, LaneId, Place};
use super::guards;
use super::lanes;
use super::observation::Facts;
use super::outage;
use super::refusal::{Next, Refusal};
use super::rules::{Phase, Rules};
use super::scoring::{self, Verdict};
use super::slice::{Run, Slice, State, SwitchSaid};
use super::spending;
use super::tasks;
use crate::protocol::canonical;
use crate::protocol::model::{LateReport, OrderBy, ScoreWord, Voids};
use crate::protocol::plan::{self, Plan};
use crate::protocol::registration::Registration;
use crate::units::{Digest, Money, RunId, Time};

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
    if !is_from_admitted(rules, command) {
        return Err(Refusal::ActorNotAdmitted {
            actor: command.actor.clone(),
        });
    }
    let ruling = match &command.action {
        Action::Open { registration, .. } => open(Some(rules), slice, registration),
        Action::Register { registration } => register(rules, slice, *registration),
        Action::Start {
            task,
            arm,
            executed,
        } => start(rules, slice, task, arm, executed, at),
        Action::Finish {
            run,
            ending,
            execution,
        } => {
            let facts = |run: &Run| observed(rules, slice, run, ending, execution.as_ref());
            finish(rules, slice, *run, ending, at, facts)
        }
        Action::Score {
            run,
            diff,
            evidence,
        } => {
            let verdict = |run: &Run| {
                let task = rules.task_in(slice, &run.task);
                scoring::verdict(rules, task.as_deref(), run, evidence.as_ref())
            };
            let known = evidence.as_ref().map(evidence_digest);
            score(rules, slice, *run, *diff, known, verdict)
        }
        Action::Close { run, cause, .. } => close(rules, slice, *run, *cause),
        Action::Expire { run } => expire(rules, slice, *run, at),
        Action::Checkpoint { run, passed, .. } => checkpoint(rules, slice, *run, *passed),
        Action::Cost { run, cost } => learn_cost(rules, slice, *run, *cost),
        Action::Retry { run } => retry(rules, slice, *run),
        Action::Breaker { open } => breaker(rules, slice, *open),
        Action::Session {} => guards::session(rules, slice, at),
        Action::Switch { text } => switch(rules, slice, text.as_deref()),
        Action::Read { id, fields } => guards::read(rules, slice, id, fields),
        Action::Preflight { arm, status } => Ok(vec![Event::Preflighted {
            arm: arm.clone(),
            status: status.clone(),
        }]),
        Action::Probe { id, value } if slice.standing.probes.get(id) == Some(value) => {
            Ok(Vec::new())
        }
        Action::Probe { id, value } => Ok(vec![Event::Probed {
            id: id.clone(),
            value: value.clone(),
        }]),
        Action::AddTask { task } => tasks::add(rules, slice, task),
        Action::Draw { from, tasks } => tasks::draw(rules, slice, *from, tasks),
        Action::Void { block, .. } => void(rules, slice, *block),
        Action::Deviate { .. } => Ok(vec![Event::Deviated {}]),
        Action::Conclude {} => conclude(rules, slice, at),
        Action::Unblind {} => Ok(vec![Event::Unblinded {}]),
    };
    durations::noted(rules, slice, at, ruling)
}

/// Returns whether a command comes from one who may write; a deadline is the engine's own to close.
fn is_from_admitted(rules: &Rules, command: &Command) -> bool {
    let is_own = matches!(command.action, Action::Expire { .. } | Action::Conclude {});
    is_own || actors::is_admitted(&rules.protocol().actors, &command.actor)
}

/// Returns the runs whose deadline a command notices; each is closed by an entry of its own before.
///
/// A start under an order by plan looks at the whole plan, so it notices every stale run; under an
/// order by counts it notices those of its task and arm; a report notices that its own run is stale.
/// What is not admitted notices nothing.
pub fn due(rules: Option<&Rules>, slice: &Slice, command: &Command) -> Vec<RunId> {
    let Some(rules) = rules.filter(|rules| is_from_admitted(rules, command)) else {
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
        Action::Start {
            task,
            arm,
            executed,
        } => {
            let admitted = guards::admissible(rules, slice, task, arm, executed, command.at);
            match admitted {
                Ok(Some(_)) if goes_by_counts(rules) => {
                    let runs = slice.cell(task, arm).map(|run| run.run);
                    runs.filter(stale).collect()
                }
                Ok(Some(_)) => {
                    let live = slice.standing.live.keys();
                    live.filter(|run| stale(run)).copied().collect()
                }
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
#[derive(Clone, Debug, PartialEq)]
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
    if slice.standing.registered.is_none() {
        return Peek::Wait;
    }
    let plan = rules.plan_of(slice, true);
    if slice.standing.slots_ended >= plan.len() {
        return Peek::Complete;
    }
    if let Some(first) = unready(rules, slice, at) {
        return first;
    }
    if goes_by_counts(rules) {
        return peek_by_counts(rules, slice, at);
    }
    let is_open = |stage| guards::is_open(rules, slice, stage, at);
    let earliest = lanes::earliest(rules, slice, &plan, is_open);
    let Some(position) = earliest.map(|turn| turn.position) else {
        return closed_stage(rules, slice, &plan).map_or(Peek::Wait, Peek::Refused);
    };
    let Some(next) = lanes::next_at(rules, slice, true, position) else {
        return Peek::Wait;
    };
    match start(rules, slice, &next.task, &next.arm, &Executed::Here, at) {
        Ok(_) => Peek::Start(next),
        Err(refusal) => Peek::Refused(refusal),
    }
}

/// Returns that the stage is closed whose slot would come next.
fn closed_stage(rules: &Rules, slice: &Slice, plan: &Plan) -> Option<Refusal> {
    let turn = lanes::earliest(rules, slice, plan, |_| true)?;
    let stage = rules.protocol().stages.get(turn.stage)?.id.clone();
    Some(Refusal::StageClosed { stage })
}

/// Under an order by counts one of the arms may have its turn on the first task that is open.
fn peek_by_counts(rules: &Rules, slice: &Slice, at: Time) -> Peek {
    let Some(task) = counts::first_open(rules, slice, at) else {
        return Peek::Wait;
    };
    let mut held = None;
    for arm in &rules.protocol().arms {
        match start(rules, slice, &task, &arm.id, &Executed::Here, at) {
            Ok(_) => {
                let arm = arm.id.clone();
                return Peek::Start(Next { task, arm });
            }
            Err(refusal) if refusal.is_hold() => held = Some(refusal),
            Err(_) => {}
        }
    }
    held.map_or(Peek::Wait, Peek::Refused)
}

/// Says which pilot slot may start next, in the order of the pilot plan. Never recorded.
pub fn peek_pilot(rules: &Rules, slice: &Slice, at: Time) -> Peek {
    if let Some(first) = unready(rules, slice, at) {
        return first;
    }
    let plan = rules.plan_of(slice, false);
    let draft = slice.standing.draft;
    let is_free = |number: &u64| {
        let number = *number;
        let lane = slice.lane(LaneId { draft, number });
        goes_by_counts(rules) || lane.is_none_or(|lane| lane.ready().is_some())
    };
    let free = (0..plan.len()).filter(is_free);
    for next in free.filter_map(|position| lanes::next_at(rules, slice, false, position)) {
        match start(rules, slice, &next.task, &next.arm, &Executed::Here, at) {
            Ok(_) => return Peek::Start(next),
            Err(Refusal::SlotsUsed { .. }) => {}
            Err(refusal) => return Peek::Refused(refusal),
        }
    }
    match slice.standing.live.is_empty() {
        true => Peek::Complete,
        false => Peek::Wait,
    }
}

/// Returns what stands before any start: a run whose deadline has passed, or as many live runs as may
/// be.
fn unready(rules: &Rules, slice: &Slice, at: Time) -> Option<Peek> {
    let mut live = slice.standing.live.iter();
    if let Some((run, _)) = live.find(|(_, started_at)| rules.is_stale(**started_at, at)) {
        return Some(Peek::Expire(*run));
    }
    let runs_max = u64::from(rules.protocol().allocation.runs_max);
    (slice.standing.live.len() as u64 >= runs_max).then_some(Peek::Wait)
}

fn goes_by_counts(rules: &Rules) -> bool {
    rules.protocol().allocation.by == OrderBy::Counts
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
        slots: rules.plan_of(slice, true).len(),
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
    let admitted = admit(rules, slice, task, arm, executed, at)?;
    commit(rules, slice, task, arm, executed, admitted, at)
}

/// What a start may have, by what it saw.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    place: Option<Place>,
    /// How many runs of the task and arm there were.
    runs: usize,
}

/// Passes a start through every guard but those that are looked at when it is committed.
pub(super) fn admit(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    at: Time,
) -> Result<Admitted, Refusal> {
    let place = match guards::admissible(rules, slice, task, arm, executed, at)? {
        Some((phase, listed)) => {
            let place = slot(rules, slice, phase, listed, task, at)?;
            // Whether it is a rerun shows once the slot is known.
            spending::guard(rules, slice, task, arm, place.attempt > 1)?;
            Some(place)
        }
        None => None,
    };
    let runs = runs_of(slice, task, arm, place.as_ref());
    Ok(Admitted { place, runs })
}

/// Returns how many runs a task and arm have, where slots go by counts, or the slot's lane.
fn runs_of(slice: &Slice, task: &str, arm: &str, place: Option<&Place>) -> usize {
    match place {
        None => 0,
        Some(place) if place.by_counts => slice.cell(task, arm).count(),
        Some(place) => slice.lane(place.lane).map_or(0, |lane| lane.runs.len()),
    }
}

/// Starts a run that was admitted, unless somebody else was faster.
pub(super) fn commit(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    Admitted { place, runs }: Admitted,
    at: Time,
) -> Ruling {
    if runs_of(slice, task, arm, place.as_ref()) != runs {
        return Err(Refusal::RaceLost {});
    }
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
    let mut events = vec![Event::Started {
        run: RunId(slice.standing.runs + 1),
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: executed.clone(),
        skipped: place.map_or(0, |place| lanes::skipped(rules, slice, &place)),
        place,
        seed: derived.map(|place| plan::run_seed(task, place.repeat - 1)),
    }];
    if let Some(place) = place {
        events.extend(spending::opened(rules, slice, task, arm, place.attempt > 1));
    }
    Ok(events)
}

/// Finds the slot that a start of an arm on a task would fill.
fn slot(
    rules: &Rules,
    slice: &Slice,
    phase: Phase,
    arm: usize,
    task: &str,
    at: Time,
) -> Result<Place, Refusal> {
    outage::guard(rules, slice, at)?;
    if goes_by_counts(rules) {
        return counts::slot(rules, slice, phase, arm, task, at);
    }
    let is_open = |stage| guards::is_open(rules, slice, stage, at);
    lanes::slot(rules, slice, phase, arm, task, is_open)
}

fn known(slice: &Slice, run: RunId) -> Result<&Run, Refusal> {
    slice.run(run).ok_or(Refusal::UnknownRun { run })
}

/// Returns a run that is not closed.
fn open_run(slice: &Slice, run: RunId) -> Result<&Run, Refusal> {
    let found = known(slice, run)?;
    match (found.state, found.cause, found.closed_at) {
        (_, Some(Cause::Stale), Some(closed)) => Err(Refusal::Stale { run, closed }),
        (state @ (State::Scored | State::Unjudged | State::Void), cause, _) => {
            Err(Refusal::AlreadyClosed { run, state, cause })
        }
        _ => Ok(found),
    }
}

/// Derives what rules decide by from what was observed of a run.
fn observed(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    ending: &Ending,
    execution: Option<&Execution>,
) -> Facts {
    let task = rules.task_in(slice, &run.task);
    match rules.observer() {
        Ok(observer) => observer.facts(run, task.as_deref(), ending, execution),
        Err(_) => Facts::told(&[]),
    }
}

/// Ends a run; `facts` derives what rules decide by from what was observed of it.
pub(super) fn finish(
    rules: &Rules,
    slice: &Slice,
    run: RunId,
    ending: &Ending,
    at: Time,
    facts: impl FnOnce(&Run) -> Facts,
) -> Ruling {
    let ended = open_run(slice, run)?;
    if ended.state == State::Ended {
        return Err(Refusal::AlreadyEnded { run });
    }
    let facts = facts(ended);
    let mut events = vec![Event::Ended {
        run,
        error_stop: facts.error_stop,
        cost: facts.cost,
    }];
    events.extend(guards::after_start(rules, slice, &ended.arm, true));
    events.extend(spending::settled(rules, slice, ended, facts.cost));
    let readings = facts.readings.into_iter();
    events.extend(readings.map(|(id, fields)| Event::Read { id, fields }));
    let scoring = &rules.protocol().scoring;
    let unscored = |word| word == ScoreWord::Unjudged;
    let cause = if ending.timed_out && unscored(scoring.on_timeout) {
        Some(Cause::TimedOut)
    } else {
        let stopped = facts.error_stop == Some(true);
        (stopped && unscored(scoring.on_error_stop)).then_some(Cause::Failed)
    };
    events.extend(after_ending(rules, slice, ended, at, facts.error, cause));
    Ok(with_completion(rules, slice, events))
}

/// Returns what follows when a run of an arm ends: its window is counted, what that voids is void,
/// and otherwise the run is closed if there is a cause to.
fn after_ending(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    at: Time,
    error: bool,
    cause: Option<Cause>,
) -> Vec<Event> {
    let ended = outage::ended(rules, slice, run, at, error);
    let mut events: Vec<Event> = ended.iter().map(|ended| ended.event.clone()).collect();
    let closed = cause.map(|cause| Event::Unjudged {
        run: run.run,
        cause,
    });
    if goes_by_counts(rules) {
        events.extend(closed);
        let change = Change {
            closed: cause.map(|cause| (run.run, Fate::Unjudged(cause))),
            stopped: error.then_some(run.run),
            window: ended.as_ref().map(outage::Ended::window),
        };
        let turned = ended.and_then(|ended| ended.turned());
        events.extend(counts::counted(rules, slice, run, change, turned));
        return events;
    }
    let stopped = ended.map(|ended| ended.stopped(slice, run.run));
    let voided = void_stopped(rules, slice, run, stopped.unwrap_or_default());
    let is_void = voided.contains(&Event::Voided { run: run.run });
    if is_void {
        events.extend(voided);
    } else if lanes::is_of_voided_block(slice, run) {
        events.extend(voided);
        events.push(Event::Voided { run: run.run });
    } else {
        // Attempts that are void by it count no more for what follows.
        let left = attempts_left(run, &voided);
        events.extend(voided);
        events.extend(closed);
        let follows = cause.and_then(|cause| after_closing(rules, slice, run, Some(cause), left));
        events.extend(follows);
    }
    events
}

/// Returns how many attempts at the slot of a run are left by events, where they change that.
fn attempts_left(run: &Run, events: &[Event]) -> Option<u32> {
    let place = run.place?;
    events.iter().find_map(|event| match event {
        Event::SlotAgain {
            lane,
            position,
            attempts,
            ..
        } if (*lane, *position) == (place.lane, place.position) => Some(*attempts),
        _ => None,
    })
}

/// Voids what error stops of an outage void: themselves, or their blocks.
fn void_stopped(
    rules: &Rules,
    slice: &Slice,
    ending: &Run,
    stopped: BTreeSet<RunId>,
) -> Vec<Event> {
    let Some(rule) = &rules.protocol().outage else {
        return Vec::new();
    };
    let counts = |run: &Run| run.state != State::Void && !lanes::is_of_voided_block(slice, run);
    let stopped: Vec<&Run> = stopped
        .iter()
        .filter_map(|run| slice.run(*run))
        .filter(|run| counts(run))
        .collect();
    match rule.voids {
        Voids::Run => {
            let runs = stopped.iter().map(|run| run.run).collect();
            lanes::void_runs(slice, &runs, |run, attempts| follows(rules, run, attempts))
        }
        Voids::Block => {
            let places = stopped.iter().filter_map(|run| run.place);
            let registered = places.filter(|place| place.lane.is_registered());
            let blocks = registered.map(|place| place.block).collect();
            outage::void_blocks(rules, slice, &blocks, Some(ending.run))
        }
    }
}

/// Returns whether another attempt may follow a run that is unjudged, the last of so many.
fn follows(rules: &Rules, run: &Run, attempts: u32) -> bool {
    let rule = &rules.protocol().attempts;
    let fate = run.cause.map(Fate::Unjudged);
    fate.is_some_and(|fate| attempts::follows(rule, attempts, fate))
}

/// Scores a run; `known` is the digest of what it is scored from, if anything.
pub(super) fn score(
    rules: &Rules,
    slice: &Slice,
    run: RunId,
    diff: Option<Digest>,
    known: Option<Digest>,
    verdict: impl FnOnce(&Run) -> Verdict,
) -> Ruling {
    let scored = self::known(slice, run)?;
    if scored.is_closed() && scored.evidence.is_some() && scored.evidence == known {
        return Ok(Vec::new());
    }
    let ended = open_run(slice, run)?;
    if ended.state == State::Live {
        return Err(Refusal::NotEnded { run });
    }
    if diff.is_some() {
        diff_kept(rules, slice, ended)?;
    }
    let (event, fate) = match verdict(ended) {
        Verdict::Scored(outcomes) => {
            let outcomes = Some(outcomes);
            (Event::Scored { run, outcomes }, Fate::Scored)
        }
        Verdict::Unjudged(cause) => (Event::Unjudged { run, cause }, Fate::Unjudged(cause)),
    };
    let after = closed(rules, slice, ended, event, fate);
    Ok(with_completion(rules, slice, after))
}

/// Refuses a diff of a task in a split whose diffs are not to be kept.
pub(super) fn diff_kept(rules: &Rules, slice: &Slice, run: &Run) -> Result<(), Refusal> {
    let kept = rules.protocol().artefacts.as_ref();
    let kept = kept.map_or(&[] as &[String], |artefacts| &artefacts.keep_diff_for);
    let task = rules.task_in(slice, &run.task);
    let split = task.as_ref().and_then(|task| task.text("split"));
    if split.is_some_and(|split| kept.iter().any(|kept| kept == split)) {
        return Ok(());
    }
    Err(Refusal::DiffNotKept {
        task: run.task.clone(),
    })
}

/// Returns an event that closes a run, and what follows from it.
fn closed(rules: &Rules, slice: &Slice, run: &Run, event: Event, fate: Fate) -> Vec<Event> {
    let mut events = vec![event];
    if goes_by_counts(rules) {
        let change = Change {
            closed: Some((run.run, fate)),
            ..Change::default()
        };
        events.extend(counts::counted(rules, slice, run, change, None));
    } else {
        let cause = match fate {
            Fate::Unjudged(cause) => Some(cause),
            _ => None,
        };
        events.extend(after_closing(rules, slice, run, cause, None));
    }
    events
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
    let event = match lanes::is_of_voided_block(slice, closed) {
        true => Event::Voided { run },
        false => Event::Unjudged { run, cause },
    };
    let mut events = self::closed(rules, slice, closed, event, Fate::Unjudged(cause));
    if closed.state == State::Live {
        // What never started has cost nothing; what was lost, nobody knows.
        let cost = match cause {
            Cause::Failed => Cost::Known(Money(0)),
            _ => Cost::Unknown,
        };
        let mut first = spending::settled(rules, slice, closed, cost);
        let failed = cause == Cause::Failed;
        first.extend(
            failed
                .then(|| guards::after_start(rules, slice, &closed.arm, false))
                .flatten(),
        );
        events.splice(1..1, first);
    }
    Ok(with_completion(rules, slice, events))
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
    let mut events = spending::settled(rules, slice, found, Cost::Unknown);
    events.extend(after_ending(
        rules,
        slice,
        found,
        at,
        false,
        Some(Cause::Stale),
    ));
    Ok(with_completion(rules, slice, events))
}

/// Records the check in the middle of a run, once.
fn checkpoint(rules: &Rules, slice: &Slice, run: RunId, passed: bool) -> Ruling {
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
fn learn_cost(rules: &Rules, slice: &Slice, run: RunId, cost: Money) -> Ruling {
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
fn retry(rules: &Rules, slice: &Slice, run: RunId) -> Ruling {
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
fn switch(rules: &Rules, slice: &Slice, text: Option<&str>) -> Ruling {
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

/// Voids a block by hand, unless a run of it is scored. There are blocks once there is a registered
/// plan.
fn void(rules: &Rules, slice: &Slice, block: u64) -> Ruling {
    let plan = rules.plan_of(slice, true);
    let has_blocks = slice.standing.registered.is_some() && !goes_by_counts(rules);
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
    let mut events = vec![Event::Deviated {}];
    events.extend(outage::void_blocks(rules, slice, &blocks, None));
    Ok(with_completion(rules, slice, events))
}

/// Returns what follows under an order by plan when a run is closed: for its slot, of whose attempts
/// so many are left, if that has just changed.
fn after_closing(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    cause: Option<Cause>,
    left: Option<u32>,
) -> Option<Event> {
    let place = run.place?;
    let lane = slice.lane(place.lane)?;
    if lane.open != Some(run.run) || lane.voids != place.voids {
        return None;
    }
    let rule = &rules.protocol().attempts;
    let count = left.unwrap_or_else(|| lane.attempts_at(place.position));
    let fate = cause.map_or(Fate::Scored, Fate::Unjudged);
    if attempts::follows(rule, count, fate) {
        return Some(Event::SlotWaits { lane: place.lane });
    }
    Some(lanes::slot_ended(rules, slice, lane, &place))
}

/// Adds that the study is complete, if what happens ends its last slot.
fn with_completion(rules: &Rules, slice: &Slice, mut events: Vec<Event>) -> Vec<Event> {
    let more = |event: &Event| match event {
        Event::SlotEnded { lane, .. } => i128::from(lane.is_registered()),
        Event::SlotAgain { lane, reopened, .. } => -i128::from(lane.is_registered() && *reopened),
        Event::Counted { lane, ended, .. } => {
            let before = slice.lane(*lane).map_or(0, |lane| lane.ended);
            i128::from(*ended) - i128::from(before)
        }
        Event::BlockVoided {
            requeued,
            ended,
            slots,
            ..
        } => i128::from(if *requeued { 0 } else { *slots }) - i128::from(*ended),
        _ => 0,
    };
    let more: i128 = events.iter().map(more).sum();
    let standing = &slice.standing;
    let all = i128::from(standing.slots_ended) + more == i128::from(standing.slots);
    let grows = rules.grows() && Some(standing.drawn) != rules.protocol().draw.size;
    if more > 0 && all && !grows && standing.completed.is_none() {
        events.push(Event::Completed {});
    }
    events
}

/// Returns whether events are what some evidence, which is not known, could have led to.
pub fn could_follow(rules: &Rules, slice: &Slice, command: &Command, events: &[Event]) -> bool {
    let run = match &command.action {
        Action::Finish { run, ending, .. } => {
            let facts = |_: &Run| Facts::told(events);
            let given = finish(rules, slice, *run, ending, command.at, facts);
            let given = durations::noted(rules, slice, command.at, given);
            return given.is_ok_and(|given| given == events);
        }
        Action::Score { run, .. } => *run,
        _ => return false,
    };
    let verdict = match events.first() {
        Some(Event::Scored { outcomes, .. }) => {
            Verdict::Scored(outcomes.clone().unwrap_or_default())
        }
        Some(Event::Unjudged { cause, .. }) if is_of_evidence(*cause) => Verdict::Unjudged(*cause),
        _ => return false,
    };
    let given = score(rules, slice, run, None, None, |_| verdict);
    let given = durations::noted(rules, slice, command.at, given);
    given.is_ok_and(|given| entry_of(&given) == entry_of(events))
}

/// Returns events without what an entry seals.
fn entry_of(events: &[Event]) -> Vec<Event> {
    let unsealed = |event: &Event| match event {
        Event::Scored { run, .. } => Event::Scored {
            run: *run,
            outcomes: None,
        },
        other => other.clone(),
    };
    events.iter().map(unsealed).collect()
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
