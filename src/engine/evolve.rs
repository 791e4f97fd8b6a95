//! The only fold: applies an event to a slice. Total; it needs no protocol and refuses nothing.

use serde_json::Value;

use super::budget::Cost;
use super::command::{Action, Command};
use super::durations::Middle;
use super::ending::evidence_digest;
use super::event::{Event, Place};
use super::facts::{Fact, FactKey, Known, Said};
use super::settings::{Seen, Settings};
use super::slice::{Breaker, Counts, Lane, Progress, Run, Slice, State, Stopped};
use crate::units::{RunId, Time};

/// The most stages that a fold goes through: it keeps a count for each up to the last.
const STAGES_MAX: usize = 1 << 16;

/// Refuses events that no rules give and that no memory would hold, before they are folded.
///
/// An audit finds every event that does not follow; who reads a record without one asks here.
pub fn bounded(events: &[Event]) -> Result<(), String> {
    let stage = |event: &Event| match event {
        Event::Started { place, .. } => place.map(|place| place.stage),
        Event::BlockVoided { stage, .. } | Event::SlotAgain { stage, .. } => Some(*stage),
        _ => None,
    };
    let mut stages = events.iter().filter_map(stage);
    match stages.find(|stage| *stage >= STAGES_MAX) {
        None => Ok(()),
        Some(stage) => Err(format!(
            "it speaks of stage {stage}, and no plan has more than {STAGES_MAX}"
        )),
    }
}

/// Applies a command that was granted: its events, and what it reported of its run.
pub fn apply(slice: &mut Slice, command: &Command, events: &[Event]) {
    tick(slice, command);
    for event in events {
        evolve(slice, command.at, event);
    }
    keep_report(slice, &command.action);
    keep_said(slice, command, events);
}

/// Applies a command that was refused: it was given at its time, and that is counted.
pub fn refused(slice: &mut Slice, command: &Command) {
    tick(slice, command);
    slice.standing.refusals += 1;
}

/// Goes on to the time of a command.
fn tick(slice: &mut Slice, command: &Command) {
    let standing = &mut slice.standing;
    standing.at = standing.at.max(command.at);
    standing.clock.count(command.clock);
}

/// Applies an event that happened at a time.
pub fn evolve(slice: &mut Slice, at: Time, event: &Event) {
    match event {
        Event::Opened {
            registration,
            draft,
        } => {
            slice.standing.opened = Some(*registration);
            slice.standing.draft = *draft;
            // What was seen of another draft's settings says nothing of this one's.
            slice.standing.used.clear();
            // Those of the draft before.
            slice.tasks.clear();
        }
        Event::Registered {
            registration,
            slots,
        } => {
            slice.standing.registered = Some(*registration);
            slice.standing.bound = slice.standing.probes.clone();
            slice.standing.slots = *slots;
        }
        Event::Started { .. } => started(slice, at, event),
        Event::Ended {
            run,
            error_stop,
            cost,
            used,
        } => {
            slice.standing.live.remove(run);
            slice.standing.ended.insert(*run);
            slice.change_run(*run, |run| {
                run.state = State::Ended;
                run.ended_at = Some(at);
                run.error_stop = *error_stop;
                run.cost = *cost;
                run.used.clone_from(used);
            });
            saw(slice, *run, used);
            count(slice, *run, |counts| counts.ended += 1);
        }
        Event::Scored {
            run,
            outcomes,
            exposed,
        } => {
            close(slice, *run);
            slice.change_run(*run, |run| {
                run.state = State::Scored;
                run.closed_at = Some(at);
                run.outcomes.clone_from(outcomes);
                run.exposed = exposed.as_ref().and_then(Value::as_bool);
            });
            count(slice, *run, |counts| counts.scored += 1);
        }
        Event::Unjudged { run, cause } => {
            close(slice, *run);
            slice.change_run(*run, |run| {
                run.state = State::Unjudged;
                run.closed_at = Some(at);
                run.cause = Some(*cause);
            });
            count(slice, *run, |counts| counts.unjudged += 1);
        }
        Event::Voided { run } => voided(slice, at, *run),
        Event::Tallied {
            run,
            window,
            tally,
            error,
        } => {
            let fact = Fact::Window(tally.clone());
            slice.set_fact(FactKey::Window(*window), fact);
            slice.change_run(*run, |run| {
                run.window = Some(*window);
                run.error = *error;
            });
            if *error && (slice.whole || slice.stops.contains_key(window)) {
                slice.stops.entry(*window).or_default().insert(*run);
            }
        }
        Event::BlockVoided { .. } => block_voided(slice, event),
        Event::Priced { run, cost } => {
            slice.change_run(*run, |run| run.cost = Cost::Known(*cost));
        }
        Event::BlockLasted { span, middle } => {
            slice.set_fact(FactKey::Lasted(*span), Fact::Lasted);
            let count = slice.standing.middle.map_or(0, |middle| middle.count) + 1;
            let span = *middle;
            slice.standing.middle = Some(Middle { span, count });
        }
        Event::SlotAgain {
            lane,
            stage,
            position,
            attempts,
            reopened,
        } => {
            if slice.lane(*lane).is_none() {
                return;
            }
            if *reopened && lane.is_registered() {
                slots_ended(slice, *stage, -1);
            }
            slice.change_lane(*lane, |lane| {
                if *reopened {
                    lane.again.insert(*position, *attempts);
                } else if let Some(known) = lane.again.get_mut(position) {
                    *known = *attempts;
                } else {
                    lane.attempts = *attempts;
                }
            });
        }
        Event::Counted { lane, ended, all } => {
            let Some(before) = slice.lane(*lane).map(|lane| lane.ended) else {
                return;
            };
            slots_ended(slice, 0, signed(*ended) - signed(before));
            slice.change_lane(*lane, |counted| {
                counted.ended = *ended;
                counted.next = (!all).then_some(lane.number);
            });
        }
        Event::Spent {
            budget,
            per,
            ledger,
        } => {
            let key = FactKey::Ledger(*budget, per.clone());
            slice.set_fact(key, Fact::Ledger(ledger.clone()));
        }
        Event::Read {
            id,
            fields,
            arm,
            stage,
        } => {
            let standing = &mut slice.standing;
            let before = standing.readings.insert(id.clone(), fields.clone());
            let of = [arm.as_deref(), stage.as_deref()];
            standing.apart.take(id, before.as_ref(), fields, of);
        }
        Event::Switched { text } => slice.standing.switch = text.as_deref().into(),
        Event::Preflighted { arm, status } => {
            slice.standing.preflight.insert(arm.clone(), status.clone());
        }
        Event::Probed { id, value } => {
            slice.standing.probes.insert(id.clone(), value.clone());
        }
        Event::Checked { run, passed } => {
            slice.change_run(*run, |run| run.checkpoint = Some(*passed))
        }
        Event::TaskAdded { task, pilot } => {
            slice.standing.pilot_tasks += u64::from(pilot.is_some());
            if let Some(index) = pilot {
                let place = Fact::Place(task.clone());
                slice.set_fact(FactKey::Pilot(*index), place);
            }
            know(slice, task, |known| known.index = *pilot);
        }
        Event::Drawn { tasks, slots } => {
            for task in tasks {
                let index = slice.standing.drawn;
                let place = Fact::Place(task.clone());
                slice.set_fact(FactKey::Drawn(index), place);
                know(slice, task, |known| known.index = Some(index));
                slice.standing.drawn += 1;
            }
            slice.standing.slots = *slots;
        }
        Event::Deviated { arm } => {
            slice.standing.deviations += 1;
            if let Some(arm) = arm {
                slice.standing.used.remove(arm);
            }
        }
        Event::Anchored { entry, said } => {
            slice.standing.anchors += 1;
            slice.standing.anchored = slice.standing.anchored.max(*entry);
            slice.set_fact(FactKey::Anchor(*said), Fact::Published);
        }
        Event::SlotEnded { lane, next, again } => {
            let Some(stage) = slice.lane(*lane).map(|lane| lane.stage) else {
                return;
            };
            if lane.is_registered() {
                slots_ended(slice, stage, 1);
            }
            slice.change_lane(*lane, |ended| {
                match again {
                    Some(position) => drop(ended.again.remove(position)),
                    None => ended.attempts = 0,
                }
                ended.next = *next;
                ended.open = None;
            });
        }
        Event::SlotWaits { lane } => slice.change_lane(*lane, |lane| lane.open = None),
        Event::Completed {} => slice.standing.completed = Some(at),
        Event::Breaker { failures, open } => {
            slice.standing.breaker = Breaker {
                failures: *failures,
                open: *open,
            };
        }
        Event::Stopped { code } => {
            slice.standing.stopped = Some(Stopped {
                at,
                code: code.clone(),
            });
        }
        Event::Looked { look, stops } => {
            slice.standing.looked.taken = *look;
            slice.standing.looked.stops = *stops;
        }
        Event::Unblinded {} => slice.standing.unblinded += 1,
    }
}

fn started(slice: &mut Slice, at: Time, event: &Event) {
    let Event::Started {
        run,
        task,
        arm,
        executed,
        place,
        skipped,
        seed,
    } = event
    else {
        return;
    };
    slice.standing.runs = run.0;
    slice.standing.live.insert(*run, at);
    if let Some(place) = place {
        slice.standing.pilots += u64::from(!place.lane.is_registered());
        take_place(slice, *run, place, *skipped);
        let cell = (task.clone(), arm.clone());
        if place.by_counts && (slice.whole || slice.cells.contains_key(&cell)) {
            slice.cells.entry(cell).or_default().insert(*run);
        }
    }
    let opened = Run {
        run: *run,
        task: task.clone(),
        arm: arm.clone(),
        executed: executed.clone(),
        place: *place,
        seed: *seed,
        state: State::Live,
        started_at: at,
        ended_at: None,
        error_stop: None,
        cost: Cost::Unknown,
        used: Settings::new(),
        error: false,
        window: None,
        checkpoint: None,
        closed_at: None,
        cause: None,
        ending: None,
        execution: None,
        evidence: None,
        left: None,
        note: None,
        exposed: None,
        outcomes: None,
    };
    slice.set_run(opened);
    count(slice, *run, |counts| counts.started += 1);
}

/// Gives a run its place in its lane, which is opened if nothing started there before.
fn take_place(slice: &mut Slice, run: RunId, place: &Place, skipped: u64) {
    let id = place.lane;
    let is_opened = slice.lane(id).is_some();
    if id.is_registered() {
        slice.standing.slots_open += 1;
        if !is_opened {
            let stage = progress(slice, place.stage);
            stage.lanes_opened = stage.lanes_opened.saturating_add(1).saturating_add(skipped);
        }
    }
    if is_opened {
        return slice.change_lane(id, |lane| take_up(lane, run, place));
    }
    let mut lane = Lane::default();
    take_up(&mut lane, run, place);
    slice.set_lane(id, lane);
}

/// Notes in a lane that a run was started there.
fn take_up(lane: &mut Lane, run: RunId, place: &Place) {
    lane.stage = place.stage;
    if place.by_counts {
        let next = Some(place.lane.number);
        lane.next = next.filter(|_| lane.next.is_some() || lane.ended == 0);
        return;
    }
    lane.runs.push(run);
    lane.open = Some(run);
    match lane.again.get_mut(&place.position) {
        Some(attempts) => *attempts = place.attempt,
        None => {
            lane.next = Some(place.position);
            lane.attempts = place.attempt;
        }
    }
}

fn block_voided(slice: &mut Slice, event: &Event) {
    let Event::BlockVoided {
        stage,
        voids,
        requeued,
        ended,
        slots,
        lanes,
        ..
    } = event
    else {
        return;
    };
    let after = if *requeued { 0 } else { *slots };
    slots_ended(slice, *stage, signed(after) - signed(*ended));
    for (id, first) in lanes {
        // A run that is live keeps its lane until it ends.
        let open = slice.lane(*id).and_then(|lane| lane.open);
        let lane = Lane {
            next: requeued.then_some(*first),
            open,
            voids: *voids,
            stage: *stage,
            ..Lane::default()
        };
        slice.set_lane(*id, lane);
    }
}

/// Takes a run out of whatever it stood in before.
fn voided(slice: &mut Slice, at: Time, run: RunId) {
    let Some(found) = slice.run(run) else { return };
    let (state, place) = (found.state, found.place);
    close(slice, run);
    slice.change_run(run, |run| {
        run.state = State::Void;
        run.closed_at = run.closed_at.or(Some(at));
    });
    count(slice, run, |counts| {
        match state {
            State::Scored => counts.scored = counts.scored.saturating_sub(1),
            State::Unjudged => counts.unjudged = counts.unjudged.saturating_sub(1),
            _ => {}
        }
        counts.void += 1;
    });
    let Some(place) = place else { return };
    if slice.lane(place.lane).and_then(|lane| lane.open) == Some(run) {
        slice.change_lane(place.lane, |lane| lane.open = None);
    }
}

/// Notes that a run is open no more.
fn close(slice: &mut Slice, run: RunId) {
    slice.standing.live.remove(&run);
    slice.standing.ended.remove(&run);
    let is_slot = |run: &&Run| run.place.is_some_and(|place| place.lane.is_registered());
    let open = slice.run(run).filter(|run| !run.is_closed());
    if open.filter(is_slot).is_some() {
        // Saturating here and below: what somebody forged is folded too, and verified later.
        slice.standing.slots_open = slice.standing.slots_open.saturating_sub(1);
    }
}

/// Returns how far a stage has come, to change it.
fn progress(slice: &mut Slice, stage: usize) -> &mut Progress {
    let stages = &mut slice.standing.stages;
    // A lane's row may be forged, and is folded before anybody compares it.
    let stage = stage.min(STAGES_MAX - 1);
    if stages.len() <= stage {
        stages.resize(stage + 1, Progress::default());
    }
    &mut stages[stage]
}

/// Counts slots that have ended in a stage, or have not after all.
fn slots_ended(slice: &mut Slice, stage: usize, more: i64) {
    let stage = progress(slice, stage);
    stage.slots_ended = stage.slots_ended.saturating_add_signed(more);
    slice.standing.slots_ended = slice.standing.slots_ended.saturating_add_signed(more);
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Changes what is known of a task that was not there when the study was registered.
fn know(slice: &mut Slice, task: &str, change: impl FnOnce(&mut Known)) {
    let key = FactKey::Task(task.to_owned());
    let mut known = match slice.fact(&key) {
        Some(Fact::Task(known)) => known.clone(),
        _ => Known::default(),
    };
    change(&mut known);
    slice.set_fact(key, Fact::Task(known));
}

/// Notes what a run says of the settings of its arm; what it does not say stays as it was seen before.
fn saw(slice: &mut Slice, run: RunId, used: &Settings) {
    let Some(arm) = slice.run(run).filter(|_| !used.is_empty()) else {
        return;
    };
    let arm = arm.arm.clone();
    for (name, value) in used.iter().filter(|(_, value)| !value.is_null()) {
        let value = value.clone();
        let of_arm = slice.standing.used.entry(arm.clone()).or_default();
        // A run that was started earlier says nothing of what came since.
        if of_arm.get(name).is_none_or(|seen| seen.run <= run) {
            of_arm.insert(name.clone(), Seen { run, value });
        }
    }
}

fn count(slice: &mut Slice, run: RunId, add: impl FnOnce(&mut Counts)) {
    // The row is there: what changed it before has looked for it.
    let Some(Some(run)) = slice.runs.get(&run) else {
        return;
    };
    if run.place.is_none_or(|place| place.lane.is_registered()) {
        let arms = &mut slice.standing.arms;
        // Looked for first: nearly always there, it needs no copy of the arm's name.
        match arms.get_mut(&run.arm) {
            Some(counts) => add(counts),
            None => add(arms.entry(run.arm.clone()).or_default()),
        }
    }
}

/// Keeps what is printed in full: deviations, voided blocks with their reasons, and looks behind the seal.
fn keep_said(slice: &mut Slice, command: &Command, events: &[Event]) {
    let by_hand = |text: Option<&String>| Said {
        at: command.at,
        actor: Some(command.actor.clone()),
        text: text.cloned(),
    };
    match &command.action {
        Action::Deviate { note, .. } => {
            let key = FactKey::Deviation(slice.standing.deviations);
            slice.set_fact(key, Fact::Said(by_hand(Some(note))));
        }
        Action::Unblind {} => {
            let key = FactKey::Unblinding(slice.standing.unblinded);
            slice.set_fact(key, Fact::Said(by_hand(None)));
        }
        _ => {}
    }
    for event in events {
        let Event::BlockVoided { block, voids, .. } = event else {
            continue;
        };
        let said = match &command.action {
            Action::Void { reason, .. } => by_hand(Some(reason)),
            _ => Said {
                at: command.at,
                actor: None,
                text: None,
            },
        };
        slice.set_fact(FactKey::Void(*block, *voids), Fact::Said(said));
    }
}

/// Keeps with the run what its ending and its scoring reported.
fn keep_report(slice: &mut Slice, action: &Action) {
    match action {
        Action::Finish {
            run,
            ending,
            execution,
        } => slice.change_run(*run, |run| {
            run.ending = Some(ending.clone());
            run.execution.clone_from(execution);
        }),
        Action::Score { run, evidence, .. } => slice.change_run(*run, |run| {
            run.evidence = evidence.as_ref().map(evidence_digest);
            if run.state == State::Unjudged {
                run.left.clone_from(evidence);
            }
        }),
        Action::Close { run, note, .. } => slice.change_run(*run, |run| run.note.clone_from(note)),
        Action::AddTask { task } => {
            if let Some(id) = task["id"].as_str() {
                know(slice, id, |known| known.fields = Some(task.clone()));
            }
        }
        _ => {}
    }
}
