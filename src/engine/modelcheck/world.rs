//! A state of the play, and the steps that lead on from it.

use std::collections::BTreeMap;

use crate::engine::budget::Cost;
use crate::engine::command::{Action, Cause, Clock, Command, Ending, Executed};
use crate::engine::decide::{self, Ruling};
use crate::engine::ending;
use crate::engine::event::Event;
use crate::engine::evolve;
use crate::engine::observation::Facts;
use crate::engine::outage::Window;
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::engine::scoring::{Scores, Verdict};
use crate::engine::settings::Settings;
use crate::engine::slice::{Slice, State};
use crate::protocol::model::{LateReport, ScoreWord};
use crate::units::{Micros, RunId, Time};

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A start of an arm on a task is asked for.
    Start { task: usize, arm: usize },
    /// A run ends and is closed.
    End { run: RunId, how: How },
    /// The oldest live run whose deadline has not passed passes it.
    Deadline,
    /// The hour ends.
    NextHour,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It is scored.
    Scored,
    /// An error stops it, and it is closed as the protocol says: scored, or failed.
    ErrorStop,
    /// It cannot be judged.
    Unjudged,
    /// An error stops it, and what it left cannot be judged.
    ErrorUnjudged,
}

impl How {
    /// Returns whether an error stops the run.
    pub(super) fn is_error(self) -> bool {
        matches!(self, Self::ErrorStop | Self::ErrorUnjudged)
    }

    /// Returns whether what the run left cannot be judged.
    pub(super) fn is_unjudged(self) -> bool {
        matches!(self, Self::Unjudged | Self::ErrorUnjudged)
    }
}

/// A state of the play.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) slice: Slice,
    pub(super) at: Time,
}

/// How far the clock goes on at a step of the search, so that no two runs start at once.
const TICK: Micros = Micros(1);

impl World {
    /// Makes the state in which the small instance is registered and nothing has started.
    pub(super) fn new(rules: &Rules, at: Time) -> Self {
        let mut world = Self {
            slice: Slice::whole(),
            at,
        };
        let registration = rules.digest();
        let opened = Event::Opened {
            registration,
            draft: 1,
        };
        world.evolve(&[opened]);
        if let Ok(events) = world.ask(rules, Action::Register { registration }) {
            world.evolve(&events);
        }
        world
    }

    fn evolve(&mut self, events: &[Event]) {
        for event in events {
            evolve::evolve(&mut self.slice, self.at, event);
        }
    }

    fn command(&self, action: Action) -> Command {
        Command {
            at: self.at,
            clock: Clock::default(),
            actor: String::new(),
            key: String::new(),
            action,
        }
    }

    fn ask(&self, rules: &Rules, action: Action) -> Ruling {
        decide::decide(Some(rules), &self.slice, &self.command(action))
    }

    /// Returns the answer to a start at the beginning of the next hour.
    pub(super) fn refusal_later(&self, rules: &Rules, task: &str, arm: &str) -> Option<Refusal> {
        let action = start(task, arm);
        let command = Command {
            at: Window::of(self.at).end(),
            ..self.command(action)
        };
        decide::decide(Some(rules), &self.slice, &command).err()
    }

    /// Returns the state after a step a moment later, with what happened; none where nothing does.
    pub(super) fn step(&self, rules: &Rules, step: Step) -> Option<(Self, Vec<Event>)> {
        let at = match step {
            Step::Start { .. } | Step::End { .. } => self.at.plus(TICK),
            Step::Deadline => self.deadline(rules)?.1,
            Step::NextHour => Window::of(self.at).end(),
        };
        self.step_at(rules, step, at)
    }

    /// Returns the state after a step at a time, with what happened; none where nothing does.
    pub(super) fn step_at(
        &self,
        rules: &Rules,
        step: Step,
        at: Time,
    ) -> Option<(Self, Vec<Event>)> {
        match step {
            Step::Start { task, arm } => {
                let (tasks, arms) = super::names(rules);
                self.start(rules, start(tasks[task], arms[arm]), at)
            }
            Step::End { run, how } => Some(self.end(rules, run, how, at)),
            Step::Deadline | Step::NextHour => {
                let slice = self.slice.clone();
                Some((Self { slice, at }, Vec::new()))
            }
        }
    }

    /// Asks for a start; runs that are stale may be closed before, whatever the answer.
    fn start(&self, rules: &Rules, action: Action, at: Time) -> Option<(Self, Vec<Event>)> {
        let command = Command {
            at,
            ..self.command(action)
        };
        let due = decide::due(Some(rules), &self.slice, &command);
        if due.is_empty() {
            let events = decide::decide(Some(rules), &self.slice, &command).ok()?;
            let mut after = self.later(at);
            after.evolve(&events);
            return Some((after, events));
        }
        let mut after = self.later(at);
        let mut all = after.expire(rules, due);
        if let Ok(events) = after.ask(rules, command.action) {
            after.evolve(&events);
            all.extend(events);
        }
        Some((after, all))
    }

    fn later(&self, at: Time) -> Self {
        let slice = self.slice.clone();
        Self { slice, at }
    }

    fn expire(&mut self, rules: &Rules, due: Vec<RunId>) -> Vec<Event> {
        let mut all = Vec::new();
        for run in due {
            let events = self.ask(rules, Action::Expire { run }).unwrap_or_default();
            self.evolve(&events);
            all.extend(events);
        }
        all
    }

    /// Ends a run and closes it; one whose report comes too late is closed as stale.
    fn end(&self, rules: &Rules, run: RunId, how: How, at: Time) -> (Self, Vec<Event>) {
        let mut after = self.later(at);
        if after.is_late(rules, run) {
            let events = after.expire(rules, vec![run]);
            return (after, events);
        }
        let facts = Facts {
            used: Settings::new(),
            evident: true,
            error_stop: Some(how.is_error()),
            error: how.is_error(),
            cost: Cost::Unknown,
            readings: BTreeMap::new(),
        };
        let ending = Ending::default();
        let ended = ending::finish(rules, &after.slice, run, &ending, at, |_| facts);
        let mut all = ended.unwrap_or_default();
        after.evolve(&all);
        let is_open = |world: &Self| {
            let run = world.slice.run(run);
            run.is_some_and(|run| run.state == State::Ended)
        };
        if is_open(&after) {
            let verdict = match how.is_unjudged() {
                true => Verdict::Unjudged(Cause::Infra),
                false => Verdict::Scored(Scores::default()),
            };
            let scored = ending::score(rules, &after.slice, run, None, || None, |_| verdict);
            let events = scored.unwrap_or_default();
            after.evolve(&events);
            all.extend(events);
        }
        (after, all)
    }

    /// Returns whether the report of a run is refused because its deadline has passed.
    pub(super) fn is_late(&self, rules: &Rules, run: RunId) -> bool {
        let refuses = rules.protocol().attempts.late_report == LateReport::Refuse;
        let started_at = self.slice.standing.live.get(&run);
        refuses && started_at.is_some_and(|started_at| rules.is_stale(*started_at, self.at))
    }

    /// Returns the live run whose deadline passes next, and when.
    pub(super) fn deadline(&self, rules: &Rules) -> Option<(RunId, Time)> {
        let live = self.slice.standing.live.iter();
        let fresh = live.filter(|(_, started_at)| !rules.is_stale(**started_at, self.at));
        let (run, started_at) = fresh.min_by_key(|(run, started_at)| (**started_at, **run))?;
        let stale_after = rules.protocol().attempts.stale_after;
        Some((*run, started_at.plus(stale_after)))
    }

    /// Returns the ways in which a live run may end, such as lead to different states.
    pub(super) fn ways(&self, rules: &Rules, run: RunId) -> &'static [How] {
        let protocol = rules.protocol();
        let fails = protocol.scoring.on_error_stop == ScoreWord::Unjudged;
        match (self.is_late(rules, run), protocol.outage.is_some(), fails) {
            (true, ..) => &[How::Scored],
            (_, true, false) => &[
                How::Scored,
                How::ErrorStop,
                How::Unjudged,
                How::ErrorUnjudged,
            ],
            (.., true) => &[How::Scored, How::ErrorStop, How::Unjudged],
            (_, false, false) => &[How::Scored, How::Unjudged],
        }
    }

    /// Returns whether every slot has ended.
    pub(super) fn is_complete(&self) -> bool {
        let standing = &self.slice.standing;
        standing.slots_ended >= standing.slots
    }
}

fn start(task: &str, arm: &str) -> Action {
    Action::Start {
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: Executed::Elsewhere(None),
    }
}
