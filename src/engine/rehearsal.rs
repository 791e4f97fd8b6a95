//! A rehearsal: a scripted history, answered by the engine on a virtual clock, and never recorded.
//!
//! Answers have the form of the known answers that the project is tested on: `ok`, and for a refusal
//! its `reason` in snake case. A rehearsal takes reports at their word: a run is said to be scored or
//! unjudged, and what it was scored from is not asked for.

mod answer;
mod fields;
pub mod history;
pub mod op;

use serde_json::{Map, Value, json};

pub use answer::{Answer, Said};
use answer::{Refused, named};
use op::{Op, Outcome, Timed, Wanted};

use super::command::{Action, Cause, Clock, Command, Ending, Executed};
use super::decide::{self, Ruling};
use super::durations;
use super::ending;
use super::event::Event;
use super::evolve;
use super::facts::{Fact, FactKey};
use super::refusal::Refusal;
use super::rules::Rules;
use super::scoring::{Scores, Verdict};
use super::slice::{Run, Slice, State};
use super::start;
use crate::units::{Digest, RunId, Time};

/// A rehearsal under way.
#[derive(Debug)]
pub struct Rehearsal<'r> {
    rules: &'r Rules,
    slice: Slice,
    at: Time,
    /// Who does everything: somebody who may.
    actor: String,
    /// What the registration was said to be, by name.
    registered: Option<Map<String, Value>>,
}

impl<'r> Rehearsal<'r> {
    /// Begins with the protocol on the record. A draw that is made at once is registered when there
    /// is no pilot to come before.
    pub fn new(rules: &'r Rules) -> Self {
        let kind = rules.protocol().actors.first();
        let mut rehearsal = Self {
            rules,
            slice: Slice::whole(),
            at: Time(0),
            actor: kind.map_or(String::new(), |kind| format!("{kind}:rehearsal")),
            registered: None,
        };
        let opened = Event::Opened {
            registration: rules.digest(),
            draft: 1,
        };
        evolve::evolve(&mut rehearsal.slice, Time(0), &opened);
        if !rules.grows() && rules.pilot_plan().is_empty() {
            let _ = rehearsal.register(None);
        }
        rehearsal
    }

    /// Plays an operation. Time never goes back: what would be earlier happens now.
    pub fn play(&mut self, Timed { at, op }: &Timed) -> Answer {
        self.at = self.at.max(*at);
        match op {
            Op::Clock => Ok(json!({ "ok": true })).into(),
            Op::Act(action) => self.act(action).into(),
            Op::Draw {
                registration,
                batch,
            } => self.draw(registration.as_ref(), batch.as_ref()).into(),
            Op::Start(wanted) => self.start(wanted).into(),
            Op::StartPair(pair) => self.start_pair(pair),
            Op::Score {
                run,
                outcome,
                stopped_on_error,
                diff,
            } => self.score(*run, *outcome, *stopped_on_error, *diff).into(),
        }
    }

    /// Returns the end of the rehearsal: the draw, whether there is a registration, and every run.
    pub fn end(&self) -> Value {
        let time = |time: Option<Time>| time.map(Time::millis);
        let runs = self.slice.runs.values().flatten().map(|run| {
            let status = match run.state {
                State::Live | State::Ended => "running",
                other => other.text(),
            };
            json!([
                named(run.run),
                run.task,
                run.arm,
                status,
                run.started_at.millis(),
                time(run.closed_at)
            ])
        });
        let runs: Vec<Value> = runs.collect();
        let places = 0..self.slice.standing.drawn;
        let drawn = places.filter_map(|place| match self.slice.fact(&FactKey::Drawn(place)) {
            Some(Fact::Place(task)) => Some(task.as_str()),
            _ => None,
        });
        json!({
            "draw": drawn.collect::<Vec<_>>(),
            "registered": self.slice.standing.registered.is_some(),
            "runs": runs,
        })
    }

    /// Answers one command, and says what became of the run that it closes.
    fn act(&mut self, action: &Action) -> Result<Value, Refused> {
        let events = self.apply(action.clone())?;
        Ok(match action {
            Action::AddTask { .. } => json!({ "ok": true, "new": !events.is_empty() }),
            Action::Close { run, .. } => json!({ "ok": true, "status": self.status(*run) }),
            _ => json!({ "ok": true }),
        })
    }

    fn status(&self, run: RunId) -> Option<&'static str> {
        self.slice.run(run).map(|run| run.state.text())
    }

    fn apply(&mut self, action: Action) -> Ruling {
        let command = self.command(action);
        self.expire(&command);
        let ruling = decide::decide(Some(self.rules), &self.slice, &command);
        self.keep(&command, ruling)
    }

    fn keep(&mut self, command: &Command, ruling: Ruling) -> Ruling {
        if let Ok(events) = &ruling {
            evolve::apply(&mut self.slice, command, events);
        }
        ruling
    }

    /// Closes the runs whose deadline a command notices.
    fn expire(&mut self, command: &Command) {
        for run in decide::due(Some(self.rules), &self.slice, command) {
            let expiry = self.command(Action::Expire { run });
            let ruling = decide::decide(Some(self.rules), &self.slice, &expiry);
            let _ = self.keep(&expiry, ruling);
        }
    }

    fn command(&self, action: Action) -> Command {
        Command {
            at: self.at,
            clock: Clock::default(),
            actor: self.actor.clone(),
            key: String::new(),
            action,
        }
    }

    /// Registers, unless it is said to be another registration than it was said to be before.
    fn register(&mut self, said: Option<&Map<String, Value>>) -> Result<(), Refused> {
        if let (Some(registered), Some(said)) = (&self.registered, said) {
            let differs: Vec<String> = op::REGISTRATION
                .iter()
                .filter(|name| registered.get(**name) != said.get(**name))
                .map(|name| (*name).to_owned())
                .collect();
            if !differs.is_empty() {
                let digest = |said: &Map<String, Value>| {
                    Digest::of(&[Value::Object(said.clone()).to_string().as_bytes()])
                };
                return Err(Refusal::RegistrationDiffers {
                    registered: digest(registered),
                    found: digest(said),
                    differs,
                }
                .into());
            }
        }
        let registration = self.rules.digest();
        self.apply(Action::Register { registration })?;
        if self.registered.is_none() {
            self.registered = said.cloned();
        }
        Ok(())
    }

    /// Two commands: the first stands when the second is refused.
    fn draw(
        &mut self,
        registration: Option<&Map<String, Value>>,
        batch: Option<&(u64, Vec<String>)>,
    ) -> Result<Value, Refused> {
        self.register(registration)?;
        let Some((from, tasks)) = batch else {
            return Ok(json!({ "ok": true }));
        };
        let before = self.slice.standing.drawn;
        self.apply(Action::Draw {
            from: *from,
            tasks: tasks.clone(),
        })?;
        let size = self.slice.standing.drawn;
        Ok(json!({ "ok": true, "added": size - before, "size": size }))
    }

    fn start(&mut self, wanted: &Wanted) -> Result<Value, Refused> {
        let started = self.apply(start_of(&wanted.task, &wanted.arm))?;
        Ok(self.started(&started))
    }

    /// Two starts that both decide before either commits.
    fn start_pair(&mut self, pair: &[Wanted; 2]) -> Answer {
        let elsewhere = Executed::Elsewhere(None);
        let admitted = pair.each_ref().map(|Wanted { task, arm }| {
            self.expire(&self.command(start_of(task, arm)));
            start::admit(self.rules, &self.slice, task, arm, &elsewhere, self.at)
        });
        let [first, second] = pair;
        let [one, other] = admitted;
        let said = [(first, one), (second, other)].map(|(Wanted { task, arm }, admitted)| {
            let command = self.command(start_of(task, arm));
            let (rules, slice, at) = (self.rules, &self.slice, self.at);
            let commit =
                |admitted| start::commit(rules, slice, task, arm, &elsewhere, admitted, at);
            let ruling = admitted.and_then(commit);
            let kept = self.keep(&command, ruling).map_err(Refused::from);
            Said::from(kept.map(|events| self.started(&events)))
        });
        Answer::Pair(Box::new(said))
    }

    fn started(&self, events: &[Event]) -> Value {
        match events.first() {
            Some(Event::Started { run, place, .. }) => match place {
                None => json!({ "ok": true, "run": named(*run) }),
                Some(place) => json!({
                    "ok": true,
                    "run": named(*run),
                    "slot": place.repeat,
                    "attempt": place.attempt,
                }),
            },
            _ => json!({ "ok": true }),
        }
    }

    /// Ends a run that is live, and closes it as it is said.
    fn score(
        &mut self,
        run: RunId,
        outcome: Outcome,
        error_stop: Option<bool>,
        diff: bool,
    ) -> Result<Value, Refused> {
        let diff = diff.then(|| Digest::of(&[]));
        let known = self.slice.run(run).filter(|run| !run.is_closed());
        if let (Some(known), Some(_)) = (known, diff) {
            ending::diff_kept(self.rules, &self.slice, known)?;
        }
        if known.is_none_or(|run| run.state == State::Live) {
            let ending = Ending {
                error_stop,
                ..Ending::default()
            };
            self.apply(Action::Finish {
                run,
                ending,
                execution: None,
            })?;
        }
        let verdict = |_: &Run| match outcome {
            Outcome::Scored => Verdict::Scored(Scores::default()),
            Outcome::Unjudged => Verdict::Unjudged(Cause::Infra),
        };
        // The ending may have closed it.
        if self.slice.run(run).is_some_and(|run| !run.is_closed()) {
            let command = self.command(Action::Score {
                run,
                diff,
                evidence: None,
            });
            let ruling = ending::score(self.rules, &self.slice, run, diff, || None, verdict);
            let ruling = durations::noted(self.rules, &self.slice, self.at, ruling);
            self.keep(&command, ruling)?;
        }
        Ok(json!({ "ok": true, "status": self.status(run) }))
    }
}

fn start_of(task: &str, arm: &str) -> Action {
    Action::Start {
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: Executed::Elsewhere(None),
    }
}
