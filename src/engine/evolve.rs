//! The only fold: applies an event to a slice. Total; it needs no protocol and refuses nothing.

use super::command::{Action, Command};
use super::decide::evidence_digest;
use super::event::Event;
use super::slice::{Breaker, Counts, Lane, Run, Slice, State, Stopped};
use crate::units::{RunId, Time};

/// Applies a command that was granted: its events, and what it reported of its run.
pub fn apply(slice: &mut Slice, command: &Command, events: &[Event]) {
    slice.standing.at = slice.standing.at.max(command.at);
    for event in events {
        evolve(slice, command.at, event);
    }
    keep_report(slice, &command.action);
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
        }
        Event::Registered {
            registration,
            slots,
        } => {
            slice.standing.registered = Some(*registration);
            slice.standing.slots = *slots;
        }
        Event::Started { .. } => started(slice, at, event),
        Event::Ended { run } => {
            slice.standing.live.remove(run);
            slice.standing.ended.insert(*run);
            change(slice, *run, |run| {
                run.state = State::Ended;
                run.ended_at = Some(at);
            });
            count(slice, *run, |counts| counts.ended += 1);
        }
        Event::Scored { run, outcomes } => {
            slice.standing.ended.remove(run);
            change(slice, *run, |run| {
                run.state = State::Scored;
                run.closed_at = Some(at);
                run.outcomes.clone_from(outcomes);
            });
            count(slice, *run, |counts| counts.scored += 1);
        }
        Event::Unjudged { run, cause } => {
            slice.standing.live.remove(run);
            slice.standing.ended.remove(run);
            change(slice, *run, |run| {
                run.state = State::Unjudged;
                run.closed_at = Some(at);
                run.cause = Some(*cause);
            });
            count(slice, *run, |counts| counts.unjudged += 1);
        }
        Event::SlotEnded { lane, next } => {
            slice.standing.slots_ended += u64::from(lane.is_registered());
            slice.set_lane(
                *lane,
                Lane {
                    next: *next,
                    attempts: 0,
                    open: None,
                },
            );
        }
        Event::SlotWaits { lane } => {
            if let Some(waiting) = slice.lane(*lane) {
                slice.set_lane(
                    *lane,
                    Lane {
                        open: None,
                        ..waiting
                    },
                );
            }
        }
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
        seed,
    } = event
    else {
        return;
    };
    slice.standing.runs = run.0;
    slice.standing.live.insert(*run, at);
    if let Some(place) = place {
        let fresh = slice.lane(place.lane).is_none();
        slice.standing.lanes_opened += u64::from(fresh && place.lane.is_registered());
        slice.standing.pilots += u64::from(!place.lane.is_registered());
        slice.set_lane(
            place.lane,
            Lane {
                next: Some(place.position),
                attempts: place.attempt,
                open: Some(*run),
            },
        );
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
        closed_at: None,
        cause: None,
        ending: None,
        execution: None,
        evidence: None,
        left: None,
        note: None,
        outcomes: None,
    };
    slice.runs.insert(*run, Some(opened));
    count(slice, *run, |counts| counts.started += 1);
}

fn change(slice: &mut Slice, run: RunId, change: impl FnOnce(&mut Run)) {
    if let Some(Some(run)) = slice.runs.get_mut(&run) {
        change(run);
    }
}

fn count(slice: &mut Slice, run: RunId, add: impl FnOnce(&mut Counts)) {
    let Some(run) = slice.run(run) else { return };
    if run.place.is_none_or(|place| place.lane.is_registered()) {
        let arm = run.arm.clone();
        add(slice.standing.arms.entry(arm).or_default());
    }
}

/// Keeps with the run what its ending and its scoring reported.
fn keep_report(slice: &mut Slice, action: &Action) {
    match action {
        Action::Finish {
            run,
            ending,
            execution,
        } => change(slice, *run, |run| {
            run.ending = Some(ending.clone());
            run.execution.clone_from(execution);
        }),
        Action::Score { run, evidence } => change(slice, *run, |run| {
            run.evidence = evidence.as_ref().map(evidence_digest);
            if run.state == State::Unjudged {
                run.left.clone_from(evidence);
            }
        }),
        Action::Close { run, note, .. } => change(slice, *run, |run| run.note.clone_from(note)),
        _ => {}
    }
}
