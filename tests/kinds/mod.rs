//! The kinds of consistent forgery.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses its own part; a test that cannot go on fails where it stands"
)]

use prereg::engine::command::{Action, Cause, Command, Executed};
use prereg::engine::event::{Event, LaneId, Place};
use prereg::engine::outage::Window;
use prereg::engine::refusal::Refusal;
use prereg::engine::slice::{Run, State};
use prereg::engine::start::{self, Peek};
use prereg::protocol::plan::Plan;
use prereg::record::entry::Answer;
use prereg::units::{Digest, RunId, Time};
use serde_json::{Value, json};

use super::engine_common::Report;
use super::engine_common::design::Design;
use super::forger::{Forgery, Past};
use super::histories;

/// What is said that was not: an action and what is said to follow.
type Lie = Option<(Action, Vec<Event>)>;

/// How history is changed.
enum Forge {
    /// Something is said before an entry that never was.
    Insert(fn(&Past) -> Lie),
    /// An entry says something else.
    Change(fn(&Past, &mut Command, &mut Answer) -> bool),
    /// An entry's text says something else.
    Edit(fn(&mut Value) -> bool),
    /// An entry is left out.
    Remove(fn(&Past, &Command, &Answer) -> bool),
}

/// A kind of forgery, the history that it is made in, and how.
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// The good history that it is made in.
    pub history: fn() -> Forgery,
    forge: Forge,
}

const fn kind(name: &'static str, history: fn() -> Forgery, forge: Forge) -> Kind {
    Kind {
        name,
        history,
        forge,
    }
}

/// All kinds. A seed that is older than an anchor has no words in this record, so nobody can lie about it;
/// lies about how a run was executed are told in `receipts.rs`.
pub const KINDS: &[Kind] = &[
    kind(
        "start before its task is drawn",
        histories::growing,
        Forge::Insert(undrawn),
    ),
    kind(
        "start before the registration",
        histories::planned,
        Forge::Insert(unregistered),
    ),
    kind(
        "start of a pilot after the registration",
        histories::planned,
        Forge::Insert(pilot),
    ),
    kind(
        "start off the plan: another task",
        histories::planned,
        Forge::Insert(another_task),
    ),
    kind(
        "start off the plan: the other arm first",
        histories::planned,
        Forge::Insert(other_arm),
    ),
    kind(
        "start out of turn",
        histories::turns,
        Forge::Insert(out_of_turn),
    ),
    kind(
        "start of a task that was not drawn",
        histories::planned,
        Forge::Insert(undrawn),
    ),
    kind(
        "score of a run that never started",
        histories::planned,
        Forge::Insert(score_of_nothing),
    ),
    kind(
        "score of a run that has not ended",
        histories::planned,
        Forge::Insert(score_of_live),
    ),
    kind(
        "second score",
        histories::planned,
        Forge::Insert(second_score),
    ),
    kind(
        "second score, of a refused report",
        histories::planned,
        Forge::Change(grant_second_score),
    ),
    kind(
        "score after it was closed",
        histories::planned,
        Forge::Insert(score_of_closed),
    ),
    kind(
        "score after its deadline",
        histories::planned,
        Forge::Insert(score_of_stale),
    ),
    kind(
        "third attempt",
        histories::planned,
        Forge::Insert(third_attempt),
    ),
    kind(
        "second attempt after a judged first",
        histories::planned,
        Forge::Insert(second_after_score),
    ),
    kind(
        "second attempt while the first is live",
        histories::planned,
        Forge::Insert(second_while_live),
    ),
    kind(
        "start over the cap",
        histories::planned,
        Forge::Insert(over_cap),
    ),
    kind(
        "start in an outage",
        histories::planned,
        Forge::Insert(start_in_outage),
    ),
    kind(
        "error stop not counted",
        histories::planned,
        Forge::Change(uncounted_stop),
    ),
    kind(
        "error stop counted that was none",
        histories::planned,
        Forge::Change(counted_stop),
    ),
    kind(
        "error stop that voids nothing",
        histories::planned,
        Forge::Change(unvoided),
    ),
    kind(
        "block that an outage does not void",
        histories::blocks,
        Forge::Change(unvoided),
    ),
    kind(
        "run voided without an outage",
        histories::planned,
        Forge::Change(voided),
    ),
    kind(
        "judge's digest differs",
        histories::planned,
        Forge::Insert(other_judge),
    ),
    kind(
        "judge's digest differs from what was opened",
        histories::planned,
        Forge::Edit(edited_judge),
    ),
    kind(
        "unjudged without a cause",
        histories::planned,
        Forge::Edit(no_cause),
    ),
    kind(
        "unjudged for another cause",
        histories::planned,
        Forge::Change(other_cause),
    ),
    kind(
        "unjudged where it was scored",
        histories::planned,
        Forge::Change(unjudged),
    ),
    kind(
        "outcome that its evidence does not give",
        histories::planned,
        Forge::Change(other_outcome),
    ),
    kind(
        "finish before a rule stops the study",
        histories::planned,
        Forge::Insert(concluded),
    ),
    kind(
        "draw not from its seed",
        histories::growing,
        Forge::Change(other_draw),
    ),
    kind(
        "seed of another draw",
        histories::planned,
        Forge::Edit(other_seed),
    ),
    kind(
        "time that goes back",
        histories::planned,
        Forge::Change(earlier),
    ),
    kind(
        "deadline that nobody noticed",
        histories::planned,
        Forge::Remove(expiry),
    ),
    kind(
        "run that was left out",
        histories::planned,
        Forge::Remove(bad_run),
    ),
    kind(
        "ending that was left out",
        histories::planned,
        Forge::Remove(ending),
    ),
    kind(
        "refusal that never was",
        histories::planned,
        Forge::Change(refused),
    ),
    kind(
        "tasks of another frame",
        histories::planned,
        Forge::Edit(other_frame),
    ),
    kind(
        "start by a program of another version",
        histories::probed,
        Forge::Remove(put_back),
    ),
];

fn registered(past: &Past) -> bool {
    past.slice.standing.registered.is_some()
}

fn plan(past: &Past) -> Option<&Plan> {
    past.rules.as_ref().map(|rules| rules.registered_plan())
}

/// Says that a run of an arm on a task has started, at a position of the plan, which is as it should be.
fn started(past: &Past, task: &str, arm: &str, position: u64, attempt: u32) -> Lie {
    let plan = plan(past)?;
    let slot = plan.slot(position);
    let by_counts = past.rules.as_ref()?.goes_by_counts();
    let lane = LaneId {
        draft: 0,
        number: plan.lane(&slot),
    };
    let place = Place {
        lane,
        position,
        block: plan.block(&slot),
        repeat: slot.repeat + 1,
        turn: slot.turn + 1,
        attempt,
        stage: slot.stage,
        voids: 0,
        by_counts,
    };
    let action = Action::Start {
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: Executed::Here,
    };
    let event = Event::Started {
        run: RunId(past.slice.standing.runs + 1),
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: Executed::Here,
        place: Some(place),
        skipped: 0,
        seed: None,
    };
    Some((action, vec![event]))
}

/// Returns the runs of arms in the registered plan.
fn runs(past: &Past) -> impl Iterator<Item = &Run> {
    let is_slot = |run: &&Run| run.place.is_some_and(|place| place.lane.draft == 0);
    past.slice
        .runs
        .values()
        .filter_map(Option::as_deref)
        .filter(is_slot)
}

fn task_at(past: &Past, position: u64) -> Option<(String, String)> {
    let rules = past.rules.as_ref()?;
    let slot = plan(past)?.slot(position);
    let task = rules.draw_order(&past.slice, slot.task)?;
    let arm = &rules.protocol().arms[slot.arm as usize];
    Some((task, arm.id.clone()))
}

/// Returns whether one more run may be live, and none that is has passed its deadline.
fn free_place(past: &Past) -> bool {
    let standing = &past.slice.standing;
    let is_stale = |started: &Time| {
        let rules = past.rules.as_ref();
        rules.is_some_and(|rules| rules.is_stale(*started, standing.at))
    };
    standing.live.len() < 2 && !standing.live.values().any(is_stale)
}

/// Returns whether some slot may start, and that of an arm on a task may not.
fn is_not_next(past: &Past, task: &str, arm: &str) -> bool {
    let Some(rules) = past.rules.as_ref().filter(|_| free_place(past)) else {
        return false;
    };
    match start::peek(rules, &past.slice, past.slice.standing.at) {
        Peek::Start(next) => (next.task.as_str(), next.arm.as_str()) != (task, arm),
        peek => peek == Peek::Complete,
    }
}

fn undrawn(past: &Past) -> Lie {
    let rules = past.rules.as_ref().filter(|_| registered(past))?;
    let tasks = ["t1", "t2", "t3", "t4", "t5", "t6", "u1", "u2"];
    let mut known = tasks.iter().filter_map(|id| rules.task_in(&past.slice, id));
    let undrawn = known.find(|task| rules.phase(&past.slice, task).is_none())?;
    started(past, &undrawn.id, "a", 0, 1)
}

fn unregistered(past: &Past) -> Lie {
    let (task, arm) = task_at(past, 0).filter(|_| !registered(past))?;
    started(past, &task, &arm, 0, 1)
}

fn pilot(past: &Past) -> Lie {
    registered(past).then(|| started(past, "p1", "a", 0, 1))?
}

/// Starts the last task of the plan before its turn.
fn another_task(past: &Past) -> Lie {
    let plan = plan(past)?;
    let first = plan.lane_start(plan.lanes() - 1);
    let (task, arm) = task_at(past, first)?;
    let is_free = is_not_next(past, &task, &arm) && !runs(past).any(|run| run.task == task);
    is_free.then(|| started(past, &task, &arm, first, 1))?
}

/// Starts the second arm of a task before the first.
fn other_arm(past: &Past) -> Lie {
    let plan = plan(past)?;
    let first = past.slice.standing.stages.first();
    let opened = first.map_or(0, |stage| stage.lanes_opened);
    let second = (opened < plan.lanes()).then(|| plan.lane_start(opened) + 1)?;
    let (task, arm) = task_at(past, second)?;
    is_not_next(past, &task, &arm).then(|| started(past, &task, &arm, second, 1))?
}

/// Starts the arm whose turn it is not.
fn out_of_turn(past: &Past) -> Lie {
    let standing = &past.slice.standing;
    if !registered(past) || standing.completed.is_some() || !standing.live.is_empty() {
        return None;
    }
    let last = runs(past).last()?;
    if last.state != State::Scored || standing.at.0 % 7 == 0 {
        return None;
    }
    started(past, &last.task, &last.arm, last.place?.position, 1)
}

fn scored(run: RunId) -> Lie {
    let action = Action::Score {
        run,
        diff: None,
        evidence: Some(Report::Pass.evidence()),
    };
    let outcomes = [("resolved".to_owned(), json!(true))].into();
    let outcomes = Some(outcomes);
    let exposed = None;
    Some((
        action,
        vec![Event::Scored {
            run,
            outcomes,
            exposed,
        }],
    ))
}

fn score_of_nothing(past: &Past) -> Lie {
    past.rules.as_ref()?;
    scored(RunId(past.slice.standing.runs + 1))
}

fn score_of_live(past: &Past) -> Lie {
    scored(*past.slice.standing.live.keys().next()?)
}

fn last_of(past: &Past, is_meant: impl Fn(&Run) -> bool) -> Option<&Run> {
    runs(past).filter(|run| is_meant(run)).last()
}

fn second_score(past: &Past) -> Lie {
    let failed = |run: &Run| {
        run.state == State::Scored
            && run
                .outcomes
                .as_ref()
                .is_some_and(|outcomes| outcomes["resolved"] == false)
    };
    scored(last_of(past, failed)?.run)
}

fn grant_second_score(past: &Past, command: &mut Command, answer: &mut Answer) -> bool {
    let Action::Score { run, .. } = &command.action else {
        return false;
    };
    let is_second = past
        .slice
        .run(*run)
        .is_some_and(|run| run.state == State::Scored);
    let refused = matches!(answer, Answer::Refused(_));
    let outcomes = [("resolved".to_owned(), json!(false))].into();
    if is_second && refused {
        *answer = Answer::Granted(vec![Event::Scored {
            run: *run,
            outcomes: Some(outcomes),
            exposed: None,
        }]);
    }
    is_second && refused
}

fn score_of_closed(past: &Past) -> Lie {
    scored(last_of(past, |run| run.cause == Some(Cause::Cancelled))?.run)
}

fn score_of_stale(past: &Past) -> Lie {
    scored(last_of(past, |run| run.cause == Some(Cause::Stale))?.run)
}

fn again(past: &Past, run: &Run, attempt: u32) -> Lie {
    let place = run.place?;
    let lane = past.slice.lane(place.lane)?;
    let ended = lane.has_ended(place.position) && is_not_next(past, &run.task, &run.arm);
    ended.then(|| started(past, &run.task, &run.arm, place.position, attempt))?
}

fn third_attempt(past: &Past) -> Lie {
    let twice = |run: &Run| {
        run.state == State::Unjudged && run.place.is_some_and(|place| place.attempt == 2)
    };
    again(past, last_of(past, twice)?, 3)
}

fn second_after_score(past: &Past) -> Lie {
    again(past, last_of(past, |run| run.state == State::Scored)?, 2)
}

fn second_while_live(past: &Past) -> Lie {
    let live = past
        .slice
        .standing
        .live
        .keys()
        .next()
        .filter(|_| free_place(past))?;
    let run = past.slice.run(*live).filter(|_| registered(past))?;
    started(past, &run.task, &run.arm, run.place?.position, 2)
}

fn over_cap(past: &Past) -> Lie {
    let plan = plan(past).filter(|_| !free_place(past))?;
    let is_taken = |position: &u64| {
        runs(past).any(|run| run.place.is_some_and(|place| place.position == *position))
    };
    let opened = past.slice.standing.stages.first()?.lanes_opened;
    let position = Some(plan.lane_start(opened)).filter(|_| opened < plan.lanes());
    let position = position.filter(|position| !is_taken(position))?;
    let (task, arm) = task_at(past, position)?;
    started(past, &task, &arm, position, 1)
}

fn start_in_outage(past: &Past) -> Lie {
    let plan = plan(past).filter(|_| registered(past) && free_place(past))?;
    let window = Window::of(past.slice.standing.at);
    let tally = past.slice.window(window)?;
    let errors: u64 = tally.errors.values().sum();
    let is_outage = tally.ended >= 2 && 2 * errors >= tally.ended;
    let waits = past.slice.ready_after(0, None).filter(|_| is_outage);
    let position = match waits {
        Some((turn, _)) => turn.position,
        None => {
            let opened = past.slice.standing.stages.first()?.lanes_opened;
            (is_outage && opened < plan.lanes()).then(|| plan.lane_start(opened))?
        }
    };
    let (task, arm) = task_at(past, position)?;
    started(past, &task, &arm, position, 1)
}

fn events(answer: &mut Answer) -> Option<&mut Vec<Event>> {
    match answer {
        Answer::Granted(events) => Some(events),
        Answer::Refused(_) => None,
    }
}

/// Says of an error stop that it was none in its window, or of a good ending that it was one.
fn turn_stop(answer: &mut Answer, from: bool) -> bool {
    let tallied = events(answer).and_then(|events| {
        events.iter_mut().find_map(|event| match event {
            Event::Tallied { tally, error, .. } if *error == from => Some((tally, error)),
            _ => None,
        })
    });
    let Some((tally, error)) = tallied else {
        return false;
    };
    *error = !from;
    if from {
        tally.errors.clear();
    } else {
        tally.errors.insert("a".to_owned(), 1);
    }
    true
}

fn uncounted_stop(_: &Past, _: &mut Command, answer: &mut Answer) -> bool {
    turn_stop(answer, true)
}

fn counted_stop(_: &Past, _: &mut Command, answer: &mut Answer) -> bool {
    turn_stop(answer, false)
}

fn unvoided(_: &Past, command: &mut Command, answer: &mut Answer) -> bool {
    let is_finish = matches!(command.action, Action::Finish { .. });
    let is_void = |event: &Event| {
        matches!(
            event,
            Event::Voided { .. } | Event::BlockVoided { .. } | Event::SlotAgain { .. }
        )
    };
    let Some(events) = events(answer).filter(|_| is_finish) else {
        return false;
    };
    let before = events.len();
    events.retain(|event| !is_void(event));
    events.len() < before
}

/// Voids a run that failed, without an outage.
fn voided(_: &Past, command: &mut Command, answer: &mut Answer) -> bool {
    let Action::Finish { run, .. } = command.action else {
        return false;
    };
    let Some(events) = events(answer) else {
        return false;
    };
    let calm = events
        .iter()
        .any(|event| matches!(event, Event::Tallied { error: false, .. }));
    if calm {
        events.push(Event::Voided { run });
    }
    calm
}

fn other_judge(past: &Past) -> Lie {
    let rules = past.rules.as_ref().filter(|_| registered(past))?;
    let mut registration = rules.registration().clone();
    let other = Digest::of(&[b"#!/bin/sh\necho '{}'\n"]);
    registration.files.insert("judge.sh".to_owned(), other);
    let opened = Event::Opened {
        registration: registration.digest(),
        draft: past.slice.standing.draft + 1,
    };
    let tasks = Design {
        tasks: 4,
        undrawn: 2,
        pilots: 2,
        ..Default::default()
    };
    let action = Action::Open {
        text: String::new(),
        registration: Box::new(registration),
        tasks: tasks.frame(),
    };
    Some((action, vec![opened]))
}

fn edited_judge(body: &mut Value) -> bool {
    match body.pointer_mut("/command/action/registration/files/judge.sh") {
        Some(digest) => {
            *digest = json!("0".repeat(64));
            true
        }
        None => false,
    }
}

fn no_cause(body: &mut Value) -> bool {
    let events = body["ruling"]["granted"].as_array_mut();
    let mut events = events.into_iter().flatten();
    let unjudged = events.find(|event| event["event"] == "unjudged");
    unjudged.is_some_and(|event| event.as_object_mut().unwrap().remove("cause").is_some())
}

fn other_cause(_: &Past, _: &mut Command, answer: &mut Answer) -> bool {
    let mut found = events(answer).into_iter().flatten();
    let cause = found.find_map(|event| match event {
        Event::Unjudged { cause, .. } => Some(cause),
        _ => None,
    });
    let found = cause.is_some();
    if let Some(cause) = cause {
        *cause = Cause::Infra;
    }
    found
}

fn unjudged(_: &Past, _: &mut Command, answer: &mut Answer) -> bool {
    let mut found = events(answer).into_iter().flatten();
    let scored = found.find(|event| matches!(event, Event::Scored { .. }));
    match scored {
        Some(event) => {
            if let Event::Scored { run, .. } = *event {
                let cause = Cause::NoReport;
                *event = Event::Unjudged { run, cause };
            }
            true
        }
        None => false,
    }
}

fn other_outcome(_: &Past, _: &mut Command, answer: &mut Answer) -> bool {
    let mut found = events(answer).into_iter().flatten();
    let outcomes = found.find_map(|event| match event {
        Event::Scored { outcomes, .. } => outcomes.as_mut(),
        _ => None,
    });
    let Some(outcomes) = outcomes else {
        return false;
    };
    let passed = outcomes["resolved"] == true;
    outcomes.insert("resolved".to_owned(), json!(!passed));
    true
}

fn concluded(past: &Past) -> Lie {
    let standing = &past.slice.standing;
    let open = standing.live.len() + standing.ended.len();
    let may = standing.registered.is_some() && !standing.has_ended() && open == 0;
    let code = "past-cutoff".to_owned();
    may.then(|| (Action::Conclude {}, vec![Event::Stopped { code }]))
}

fn other_draw(_: &Past, command: &mut Command, answer: &mut Answer) -> bool {
    let Action::Draw { tasks, .. } = &mut command.action else {
        return false;
    };
    let Some(Event::Drawn { tasks: drawn, .. }) =
        events(answer).and_then(|events| events.first_mut())
    else {
        return false;
    };
    tasks.reverse();
    drawn.reverse();
    true
}

fn other_seed(body: &mut Value) -> bool {
    let seed = body.pointer_mut("/command/action/registration/protocol/draw/seed");
    seed.map(|seed| *seed = json!("a seed that suits me better"))
        .is_some()
}

fn earlier(past: &Past, command: &mut Command, _: &mut Answer) -> bool {
    command.at = Time(past.slice.standing.at.0 - 1);
    past.rules.is_some()
}

fn expiry(_: &Past, command: &Command, answer: &Answer) -> bool {
    matches!(command.action, Action::Expire { .. }) && matches!(answer, Answer::Granted(_))
}

fn bad_run(past: &Past, command: &Command, answer: &Answer) -> bool {
    let is_first = matches!(command.action, Action::Start { .. });
    registered(past) && is_first && matches!(answer, Answer::Granted(_))
}

fn ending(_: &Past, command: &Command, _: &Answer) -> bool {
    matches!(command.action, Action::Finish { .. })
}

/// Says of a score that it was refused.
fn refused(past: &Past, command: &mut Command, answer: &mut Answer) -> bool {
    let Action::Score { run, .. } = command.action else {
        return false;
    };
    let was_granted = matches!(answer, Answer::Granted(_)) && registered(past);
    if was_granted {
        *answer = Answer::Refused(Refusal::NotEnded { run });
    }
    was_granted
}

/// That the right program was put back is left out where a start of it comes next.
fn put_back(past: &Past, command: &Command, answer: &Answer) -> bool {
    let standing = &past.slice.standing;
    let is_next = standing.live.is_empty() && standing.ended.is_empty() && !standing.has_ended();
    let is_right = |value: &Option<Value>| *value == Some(json!("v1"));
    let is_put_back = matches!(&command.action, Action::Probe { value, .. } if is_right(value));
    is_put_back && is_next && registered(past) && matches!(answer, Answer::Granted(_))
}

fn other_frame(body: &mut Value) -> bool {
    let task = body.pointer_mut("/command/action/tasks/0/id");
    task.map(|id| *id = json!("t0")).is_some()
}

/// Returns every place at which a kind can stand, each with the forged history.
fn forged(kind: &Kind, good: &Forgery) -> Vec<(u64, Forgery)> {
    let mut past = Past::new();
    let mut found = Vec::new();
    for seq in 1..=good.last() + 1 {
        let mut forgery = good.clone();
        if forge(kind, &past, &mut forgery, seq) {
            found.push((seq, forgery));
        }
        if let Some(entry) = good.entries.get(seq as usize - 1) {
            past.fold(entry);
        }
    }
    found
}

fn forge(kind: &Kind, past: &Past, forgery: &mut Forgery, seq: u64) -> bool {
    let stands = seq <= forgery.last();
    match kind.forge {
        Forge::Insert(lie) => {
            let Some((action, events)) = lie(past) else {
                return false;
            };
            let command = Command {
                clock: prereg::engine::command::Clock::default(),
                at: past.slice.standing.at,
                actor: "user:forger".to_owned(),
                key: format!("forged-{seq}"),
                action,
            };
            forgery.insert(seq, &command, Answer::Granted(events));
            true
        }
        Forge::Change(change) if stands => {
            let (mut command, mut answer) = forgery.said(seq);
            let changed = change(past, &mut command, &mut answer);
            if changed {
                forgery.say(seq, &command, answer);
            }
            changed
        }
        Forge::Edit(edit) if stands => {
            let mut body: Value =
                serde_json::from_str(&forgery.entries[seq as usize - 1].body).unwrap();
            let edited = edit(&mut body);
            if edited {
                forgery.edit(seq, |old| *old = body);
            }
            edited
        }
        Forge::Remove(goes) if stands => {
            let (command, answer) = forgery.said(seq);
            let goes = goes(past, &command, &answer);
            if goes {
                forgery.remove(seq);
            }
            goes
        }
        _ => false,
    }
}

/// Returns a forgery of a kind at the first, the middle and the last place at which it can stand, each
/// with the entry that it was made at.
pub fn three(kind: &Kind, good: &Forgery) -> Vec<(u64, Forgery)> {
    let mut places = forged(kind, good);
    let count = places.len();
    let mut kept = Vec::new();
    for (index, place) in places.drain(..).enumerate() {
        if index == 0 || index == count / 2 || index + 1 == count {
            kept.push(place);
        }
    }
    kept
}
