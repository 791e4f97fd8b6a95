//! A history that shows a weakness, told on a virtual clock: a line for each run and what follows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::event::Event;
use crate::engine::outage::{self, Window};
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, State};
use crate::units::{RunId, Time};

use super::search::{is_blind, stuck};
use super::world::{How, Step, World};
use super::{Weakness, names};

/// When a history begins: nine in the morning of the first day of 2026.
const BEGIN: Time = Time(1_767_258_000_000_000);
const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// How many minutes lie between two things that happen, if there are so many.
const PACE_MAX: i64 = 10;

/// A history that was played, and what it ends in.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What happened, in order.
    pub rows: Vec<Row>,
    /// The same as the operations of a rehearsal of the small instance.
    pub operations: Vec<Value>,
}

/// One thing that happened, or follows from what did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When; none for what follows from the row before.
    pub at: Option<Time>,
    /// Who: an arm and its slot, or a start that is asked for.
    pub subject: String,
    /// What happened.
    pub what: String,
}

impl History {
    /// Returns the rows as lines of text, in columns.
    pub fn lines(&self) -> Vec<String> {
        let times: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.at.map_or_else(String::new, clock))
            .collect();
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
        let time = width(&mut times.iter().map(String::len));
        let subject = width(&mut self.rows.iter().map(|row| row.subject.chars().count()));
        let rows = self.rows.iter().zip(&times);
        rows.map(|(row, at)| format!("{at:<time$}  {:<subject$}  {}", row.subject, row.what))
            .collect()
    }
}

/// Returns the time of day, and the day after the first.
fn clock(at: Time) -> String {
    let of_day = at.0.rem_euclid(DAY) / MINUTE;
    let time = format!("{:02}:{:02}", of_day / 60, of_day % 60);
    match at.0.div_euclid(DAY) - BEGIN.0.div_euclid(DAY) {
        0 => time,
        days => format!("day {} {time}", days + 1),
    }
}

/// Tells a history; none if it does not end in what it is to show.
pub(super) fn tell(rules: &Rules, weakness: Weakness, steps: &[Step]) -> Option<History> {
    let mut teller = Teller {
        rules,
        steps,
        world: World::new(rules, BEGIN),
        tasks: several_tasks(steps),
        rows: Vec::new(),
        operations: Vec::new(),
    };
    let mut last = Vec::new();
    for place in 0..steps.len() {
        last = teller.play(place)?;
    }
    match weakness {
        Weakness::CanGetStuck => teller.refused()?,
        Weakness::OutageNotBlind => teller.blind(&last)?,
    }
    Some(History {
        rows: teller.rows,
        operations: teller.operations,
    })
}

/// Returns whether a history starts runs on more than one task.
fn several_tasks(steps: &[Step]) -> bool {
    let starts = |step: &Step| matches!(step, Step::Start { task, .. } if *task > 0);
    steps.iter().any(starts)
}

struct Teller<'a> {
    rules: &'a Rules,
    steps: &'a [Step],
    world: World,
    /// Whether tasks are named.
    tasks: bool,
    rows: Vec<Row>,
    operations: Vec<Value>,
}

impl Teller<'_> {
    /// Plays a step and tells it; none where nothing happens.
    fn play(&mut self, place: usize) -> Option<Vec<Event>> {
        let step = self.steps[place];
        let at = self.time(place)?;
        let passes = match step {
            Step::Deadline => self.world.deadline(self.rules).map(|(run, _)| run),
            _ => None,
        };
        let was_late = matches!(step, Step::End { run, .. } if self.world.is_late(self.rules, run));
        let (after, events) = self.world.step_at(self.rules, step, at)?;
        let before = std::mem::replace(&mut self.world, after);
        self.operate(step, at);
        self.closed_on_the_way(step, &events);
        match step {
            Step::Start { task, arm } => self.started(place, task, arm, &events),
            Step::End { run, how } => self.row(run, self.ended(run, how, was_late)),
            Step::Deadline => self.row(passes?, "passes its deadline".to_owned()),
            Step::NextHour => {}
        }
        self.rows
            .extend(follows(self.rules, &before, &self.world, &events));
        Some(events)
    }

    /// Returns when a step happens: some minutes after the one before, so that the hour has room for
    /// all that happens in it.
    fn time(&self, place: usize) -> Option<Time> {
        let now = self.world.at;
        match self.steps[place] {
            Step::Deadline => return self.world.deadline(self.rules).map(|(_, at)| at.max(now)),
            Step::NextHour => return Some(Window::of(now).end()),
            _ => {}
        }
        if self.follows_its_start(place) || place == 0 || self.steps[place - 1] == Step::NextHour {
            return Some(now);
        }
        let to_come = self.steps[place..].iter().enumerate();
        let in_the_hour = to_come
            .take_while(|(_, step)| !matches!(step, Step::Deadline | Step::NextHour))
            .filter(|(more, _)| !self.follows_its_start(place + more))
            .count();
        let room = (Window::of(now).end().0 - now.0) / MINUTE;
        let pace = room / (i64::try_from(in_the_hour).ok()? + 1);
        Some(Time(now.0 + pace.clamp(1, PACE_MAX) * MINUTE))
    }

    /// Returns whether a step ends the run that the step before it started: both are told at once.
    fn follows_its_start(&self, place: usize) -> bool {
        let starts = |steps: &[Step]| {
            let starts = steps
                .iter()
                .filter(|step| matches!(step, Step::Start { .. }));
            starts.count() as u64
        };
        match (
            self.steps[place],
            place.checked_sub(1).map(|before| self.steps[before]),
        ) {
            (Step::End { run, .. }, Some(Step::Start { .. })) => {
                run.0 == starts(&self.steps[..place])
            }
            _ => false,
        }
    }

    fn operate(&mut self, step: Step, at: Time) {
        let (tasks, arms) = names(self.rules);
        let at = at.to_string();
        let operation = match step {
            Step::Start { task, arm } => {
                json!({ "op": "start", "at": at, "task": tasks[task], "arm": arms[arm] })
            }
            Step::End { run, how } => json!({
                "op": "score",
                "at": at,
                "run": format!("r{run}"),
                "outcome": if how.is_unjudged() { "unjudged" } else { "scored" },
                "stopped_on_error": how.is_error(),
            }),
            Step::Deadline | Step::NextHour => json!({ "op": "clock", "at": at }),
        };
        self.operations.push(operation);
    }

    /// Tells which runs a start closes before it is answered.
    fn closed_on_the_way(&mut self, step: Step, events: &[Event]) {
        if !matches!(step, Step::Start { .. }) {
            return;
        }
        for event in events {
            if let Event::Unjudged { run, .. } | Event::Voided { run } = event {
                self.row(*run, "is closed as stale".to_owned());
            }
        }
    }

    fn started(&mut self, place: usize, task: usize, arm: usize, events: &[Event]) {
        let run = events.iter().find_map(|event| match event {
            Event::Started { run, .. } => Some(*run),
            _ => None,
        });
        let told_at_its_end = place + 1 < self.steps.len() && self.follows_its_start(place + 1);
        match run {
            Some(_) if told_at_its_end => {}
            Some(run) => self.row(run, "starts".to_owned()),
            None => {
                let (tasks, arms) = names(self.rules);
                self.rows.push(Row {
                    at: Some(self.world.at),
                    subject: format!("start {}", self.named(arms[arm], tasks[task])),
                    what: "refused".to_owned(),
                });
            }
        }
    }

    /// Says how a run ended.
    fn ended(&self, run: RunId, how: How, was_late: bool) -> String {
        let closed = self.world.slice.run(run);
        let state = closed.map_or(State::Unjudged, |run| run.state);
        let what = match how {
            _ if was_late => "its report comes too late: closed as stale",
            How::Scored => "scored",
            How::Unjudged => "unjudged",
            How::ErrorStop if state == State::Unjudged => "ends with an error stop, unjudged",
            How::ErrorStop => "ends with an error stop",
            How::ErrorUnjudged => "ends with an error stop, unjudged",
        };
        let is_stale = closed.is_some_and(|run| self.rules.is_stale(run.started_at, self.world.at));
        match is_stale && !was_late {
            true => format!("{what}: a late report counts"),
            false => what.to_owned(),
        }
    }

    fn row(&mut self, run: RunId, what: String) {
        let Some(run) = self.world.slice.run(run) else {
            return;
        };
        self.rows.push(Row {
            at: Some(self.world.at),
            subject: self.subject(run),
            what,
        });
    }

    /// Names a run: its arm, its task where there are several, its slot and attempt.
    fn subject(&self, run: &Run) -> String {
        let (slot, attempt) = run
            .place
            .map_or((0, 0), |place| (place.repeat, place.attempt));
        let again = match attempt {
            0 | 1 => String::new(),
            more => format!(", attempt {more}"),
        };
        format!("{}  slot {slot}{again}", self.named(&run.arm, &run.task))
    }

    fn named(&self, arm: &str, task: &str) -> String {
        let (_, arms) = names(self.rules);
        let width = arms.iter().map(|arm| arm.chars().count()).max();
        let width = width.unwrap_or_default();
        match self.tasks {
            true => format!("{arm:<width$}  {task}"),
            false => format!("{arm:<width$}"),
        }
    }

    /// Tells that every start is refused; none if one is granted or no slot is left.
    fn refused(&mut self) -> Option<()> {
        let refusals = stuck(self.rules, &self.world)?;
        let at = Window::of(self.world.at).end();
        // Of a task that nothing has started on, the line would say no more than that it comes later.
        let told = |task: &str| self.tasks || task == super::instance::TASKS[0];
        let rows = refusals.iter().filter(|(task, ..)| told(task));
        let rows: Vec<Row> = rows
            .map(|(task, arm, refusal)| self.refusal(at, task, arm, refusal))
            .collect();
        self.rows.extend(rows);
        let starts = refusals.iter();
        self.operations.extend(starts.map(|(task, arm, _)| {
            json!({ "op": "start", "at": at.to_string(), "task": task, "arm": arm })
        }));
        Some(())
    }

    fn refusal(&self, at: Time, task: &str, arm: &str, refusal: &Refusal) -> Row {
        Row {
            at: Some(at),
            subject: format!("start {}", self.named(arm, task))
                .trim_end()
                .to_owned(),
            what: format!("refused: {}", refusal.to_string().replace('`', "")),
        }
    }

    /// Tells that one arm alone had error stops; none if that is not so.
    fn blind(&mut self, last: &[Event]) -> Option<()> {
        if !is_blind(self.rules, &self.world, last) {
            return None;
        }
        let tally = self.world.slice.window(Window::of(self.world.at))?;
        let arm = tally.errors.keys().next()?;
        self.rows.push(Row {
            at: None,
            subject: String::new(),
            what: format!("no arm but {arm} had an error stop"),
        });
        Some(())
    }
}

/// Tells what follows for the hour: whether it is an outage now, and what is void.
fn follows(rules: &Rules, before: &World, after: &World, events: &[Event]) -> Option<Row> {
    let window = Window::of(after.at);
    let [was, is] = [before, after].map(|world| outage::holds(rules, &world.slice, window));
    let void = void(rules, after, window, events);
    let what = match (was, is, void) {
        (false, true, None) => "the hour is an outage now".to_owned(),
        (false, true, Some(void)) => format!("the hour is an outage now: {void}"),
        (true, false, _) => "the hour is no outage any more".to_owned(),
        (true, true, Some(void)) if !events.is_empty() => format!("in the outage: {void}"),
        _ => return None,
    };
    Some(Row {
        at: None,
        subject: String::new(),
        what,
    })
}

/// Says what is void: the runs that an order by counts does not count, or what a step voids.
fn void(rules: &Rules, after: &World, window: Window, events: &[Event]) -> Option<String> {
    let blocks = events
        .iter()
        .filter(|event| matches!(event, Event::BlockVoided { .. }))
        .count();
    match blocks {
        0 => {}
        1 => return Some("a block is void".to_owned()),
        more => return Some(format!("{more} blocks are void")),
    }
    let slice = &after.slice;
    let by_counts = rules.goes_by_counts();
    let runs: Vec<&Run> = if by_counts {
        let stops = slice.error_stops(window).filter_map(|run| slice.run(run));
        stops
            .filter(|run| outage::is_no_attempt(rules, slice, run))
            .collect()
    } else {
        let voided = events.iter().filter_map(|event| match event {
            Event::Voided { run } => slice.run(*run),
            _ => None,
        });
        voided.collect()
    };
    let mut arms: BTreeMap<&str, u64> = BTreeMap::new();
    for run in runs {
        *arms.entry(&run.arm).or_default() += 1;
    }
    let said = arms.iter().map(|(arm, count)| match count {
        1 => format!("1 run of {arm} is void"),
        more => format!("{more} runs of {arm} are void"),
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}
