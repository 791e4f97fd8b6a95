//! A rehearsal: a scripted history, answered by the engine on a virtual clock, and never recorded.
//!
//! Answers have the form of the known answers that the project is tested on: `ok`, and for a refusal
//! its `reason` in snake case. A rehearsal takes reports at their word: a run is said to be scored or
//! unjudged, and what it was scored from is not asked for.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::command::{Action, Cause, Command, Ending, Executed};
use super::decide::{self, Ruling};
use super::event::Event;
use super::evolve;
use super::facts::{Fact, FactKey};
use super::refusal::Refusal;
use super::rules::Rules;
use super::scoring::Verdict;
use super::slice::{Run, Slice, State};
use crate::units::{Digest, RunId, Time};

/// A scripted operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Op {
    Clock {},
    Switch {
        value: Option<String>,
        #[serde(default = "yes")]
        readable: bool,
    },
    Breaker {
        open: bool,
    },
    Register {
        task: String,
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    Draw {
        #[serde(default)]
        registration: Map<String, Value>,
        from: Option<u64>,
        #[serde(default)]
        tasks: Vec<String>,
    },
    Reading {
        id: String,
        fields: Map<String, Value>,
    },
    Start(Wanted),
    StartPair {
        first: Wanted,
        second: Wanted,
    },
    Finish {
        run: String,
        #[serde(default)]
        observed: Option<Value>,
        #[serde(default)]
        timed_out: bool,
    },
    Score {
        run: String,
        outcome: Outcome,
        #[serde(default)]
        stopped_on_error: Option<bool>,
        #[serde(default)]
        diff: bool,
    },
    #[serde(alias = "receipt")]
    Checkpoint {
        run: String,
        #[serde(default = "yes")]
        passed: bool,
    },
}

#[derive(Clone, Debug, Deserialize)]
struct Wanted {
    task: String,
    arm: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Scored,
    Unjudged,
}

fn yes() -> bool {
    true
}

/// A rehearsal under way.
#[derive(Debug)]
pub struct Rehearsal<'r> {
    rules: &'r Rules,
    slice: Slice,
    at: Time,
    /// What the registration was said to be, by name.
    registered: Option<Map<String, Value>>,
}

/// An answer, and the rule that gave it, if one refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The answer.
    pub value: Value,
    /// The refusal.
    pub refusal: Option<Refusal>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self {
            value,
            refusal: None,
        }
    }
}

/// What is refused, with the facts that its rule tells.
struct Refused {
    refusal: Refusal,
    facts: Map<String, Value>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let facts = facts(&refusal);
        Self { refusal, facts }
    }
}

impl From<Result<Value, Refused>> for Answer {
    fn from(result: Result<Value, Refused>) -> Self {
        match result {
            Ok(value) => value.into(),
            Err(Refused { refusal, facts }) => {
                let mut value = Map::from_iter([
                    ("ok".to_owned(), Value::Bool(false)),
                    ("reason".to_owned(), reason(&refusal).into()),
                ]);
                value.extend(facts);
                Self {
                    value: Value::Object(value),
                    refusal: Some(refusal),
                }
            }
        }
    }
}

impl<'r> Rehearsal<'r> {
    /// Begins with the protocol on the record. A draw that is made at once is registered when there
    /// is no pilot to come before.
    pub fn new(rules: &'r Rules) -> Self {
        let mut rehearsal = Self {
            rules,
            slice: Slice::whole(),
            at: Time(0),
            registered: None,
        };
        let opened = Event::Opened {
            registration: rules.digest(),
            draft: 1,
        };
        evolve::evolve(&mut rehearsal.slice, Time(0), &opened);
        if !rules.grows() && rules.pilot_plan().is_empty() {
            let _ = rehearsal.register(Map::new());
        }
        rehearsal
    }

    /// Plays an operation; what cannot be read is said in one plain sentence.
    pub fn play(&mut self, op: &Value) -> Result<Answer, String> {
        let at = op.get("at").and_then(Value::as_str);
        let at = at.ok_or("an operation needs `at`, a time such as \"2026-12-01T10:00:00Z\"")?;
        let at: Time = at.parse()?;
        if at < self.at {
            return Err(format!("{at} is earlier than the operation before"));
        }
        let read = Op::deserialize(without(op, "at"));
        let op = read.map_err(|error| format!("this is no operation: {error}"))?;
        self.at = at;
        Ok(self.answer(op))
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

    fn answer(&mut self, op: Op) -> Answer {
        match op {
            Op::Clock {} => json!({ "ok": true }).into(),
            Op::Switch { value, readable } => {
                let text = readable.then(|| value.unwrap_or_default());
                self.plainly(Action::Switch { text })
            }
            Op::Breaker { open } => self.plainly(Action::Breaker { open }),
            Op::Register { task, fields } => self.add(task, fields).into(),
            Op::Draw {
                registration,
                from,
                tasks,
            } => self.draw(registration, from, tasks).into(),
            Op::Reading { id, fields } => self.plainly(Action::Read { id, fields }),
            Op::Start(wanted) => self.start(&wanted).into(),
            Op::StartPair { first, second } => self.start_pair(&first, &second),
            Op::Finish {
                run,
                observed,
                timed_out,
            } => {
                let ending = Ending {
                    timed_out,
                    ..Ending::default()
                };
                self.finish(&run, ending, observed).into()
            }
            Op::Score {
                run,
                outcome,
                stopped_on_error,
                diff,
            } => self.score(&run, outcome, stopped_on_error, diff).into(),
            Op::Checkpoint { run, passed } => {
                let action = Action::Checkpoint {
                    run: number(&run),
                    passed,
                    note: None,
                };
                self.plainly(action)
            }
        }
    }

    /// Answers what is granted or refused, and nothing more.
    fn plainly(&mut self, action: Action) -> Answer {
        let done = self.apply(action);
        done.map(|_| json!({ "ok": true }))
            .map_err(Refused::from)
            .into()
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
            actor: String::new(),
            key: String::new(),
            action,
        }
    }

    fn add(&mut self, task: String, mut fields: Map<String, Value>) -> Result<Value, Refused> {
        fields.insert("id".to_owned(), task.into());
        let task = Value::Object(fields);
        let added = self.apply(Action::AddTask { task })?;
        Ok(json!({ "ok": true, "new": !added.is_empty() }))
    }

    fn register(&mut self, said: Map<String, Value>) -> Result<(), Refused> {
        if let Some(registered) = &self.registered {
            let names = ["registration_sha256", "frame_sha256", "seed"];
            let differs = names
                .into_iter()
                .filter(|name| registered.get(*name) != said.get(*name));
            let differs: Vec<String> = differs.map(str::to_owned).collect();
            if !differs.is_empty() {
                let digest = |said: &Map<String, Value>| {
                    Digest::of(&[Value::Object(said.clone()).to_string().as_bytes()])
                };
                return Err(Refusal::RegistrationDiffers {
                    registered: digest(registered),
                    found: digest(&said),
                    differs,
                }
                .into());
            }
        }
        let registration = self.rules.digest();
        self.apply(Action::Register { registration })?;
        self.registered = Some(said);
        Ok(())
    }

    /// Two commands: the first stands when the second is refused.
    fn draw(
        &mut self,
        registration: Map<String, Value>,
        from: Option<u64>,
        tasks: Vec<String>,
    ) -> Result<Value, Refused> {
        self.register(registration)?;
        let Some(from) = from else {
            return Ok(json!({ "ok": true }));
        };
        let before = self.slice.standing.drawn;
        self.apply(Action::Draw { from, tasks })?;
        let size = self.slice.standing.drawn;
        Ok(json!({ "ok": true, "added": size - before, "size": size }))
    }

    fn start(&mut self, wanted: &Wanted) -> Result<Value, Refused> {
        let started = self.apply(start_of(wanted))?;
        Ok(self.started(&started))
    }

    /// Two starts that both decide before either commits.
    fn start_pair(&mut self, first: &Wanted, second: &Wanted) -> Answer {
        let admitted = [first, second].map(|wanted| {
            self.expire(&self.command(start_of(wanted)));
            let elsewhere = Executed::Elsewhere(None);
            decide::admit(
                self.rules,
                &self.slice,
                &wanted.task,
                &wanted.arm,
                &elsewhere,
                self.at,
            )
        });
        let mut answers = [first, second]
            .into_iter()
            .zip(admitted)
            .map(|(wanted, admitted)| {
                let command = self.command(start_of(wanted));
                let (task, arm, elsewhere) = (&wanted.task, &wanted.arm, Executed::Elsewhere(None));
                let ruling = admitted.and_then(|admitted| {
                    decide::commit(
                        self.rules,
                        &self.slice,
                        task,
                        arm,
                        &elsewhere,
                        admitted,
                        self.at,
                    )
                });
                let kept = self.keep(&command, ruling).map_err(Refused::from);
                Answer::from(kept.map(|events| self.started(&events))).value
            });
        json!({ "first": answers.next(), "second": answers.next() }).into()
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

    fn finish(
        &mut self,
        run: &str,
        ending: Ending,
        observed: Option<Value>,
    ) -> Result<Value, Refused> {
        let execution = observed.map(|observed| super::command::Execution {
            observed: Some(observed),
            ..Default::default()
        });
        self.apply(Action::Finish {
            run: number(run),
            ending,
            execution,
        })?;
        Ok(json!({ "ok": true }))
    }

    /// Ends a run that is live, and closes it as it is said.
    fn score(
        &mut self,
        run: &str,
        outcome: Outcome,
        error_stop: Option<bool>,
        diff: bool,
    ) -> Result<Value, Refused> {
        let id = number(run);
        let diff = diff.then(|| Digest::of(&[]));
        let known = self.slice.run(id).filter(|run| !run.is_closed());
        if let (Some(run), true) = (known, diff.is_some()) {
            decide::diff_kept(self.rules, &self.slice, run)?;
        }
        if known.is_none_or(|run| run.state == State::Live) {
            let ending = Ending {
                error_stop,
                ..Ending::default()
            };
            self.finish(run, ending, None)?;
        }
        let verdict = |_: &Run| match outcome {
            Outcome::Scored => Verdict::Scored(BTreeMap::new()),
            Outcome::Unjudged => Verdict::Unjudged(Cause::Infra),
        };
        let action = Action::Score {
            run: id,
            diff,
            evidence: None,
        };
        if self.slice.run(id).is_some_and(|run| !run.is_closed()) {
            let command = self.command(action);
            let ruling = decide::score(self.rules, &self.slice, id, diff, None, verdict);
            self.keep(&command, ruling)?;
        }
        let status = self.slice.run(id).map(|run| run.state.text());
        Ok(json!({ "ok": true, "status": status }))
    }
}

fn start_of(wanted: &Wanted) -> Action {
    Action::Start {
        task: wanted.task.clone(),
        arm: wanted.arm.clone(),
        executed: Executed::Elsewhere(None),
    }
}

fn without(op: &Value, key: &str) -> Value {
    let mut op = op.clone();
    if let Some(op) = op.as_object_mut() {
        op.remove(key);
    }
    op
}

fn named(run: RunId) -> String {
    format!("r{run}")
}

/// Returns the number of a run; 0, which no run has, where the text names none.
fn number(run: &str) -> RunId {
    let number = run.strip_prefix('r').and_then(|number| number.parse().ok());
    RunId(number.unwrap_or(0))
}

/// Returns the word for a refusal.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoCheckpoint { declared, .. } => format!("not_{}", declared.join("_or_")),
        Refusal::Stale { .. } => "already_closed".to_owned(),
        Refusal::CheckpointExists { .. } => "receipt_exists".to_owned(),
        Refusal::NotConfirmatory { .. } => "not_full_split".to_owned(),
        other => other.code().replace('-', "_"),
    }
}

/// Returns what a refusal tells beside its word.
fn facts(refusal: &Refusal) -> Map<String, Value> {
    let facts = match refusal {
        Refusal::RegistrationDiffers { differs, .. } => json!({ "fields": differs }),
        Refusal::TaskDiffers { fields, .. } => json!({ "fields": fields }),
        Refusal::DrawGap { size } => json!({ "size": size }),
        Refusal::DrawConflict { position } => json!({ "position": position }),
        Refusal::Stale { .. } => json!({ "status": State::Unjudged.text() }),
        Refusal::AlreadyClosed { state, .. } => json!({ "status": state.text() }),
        Refusal::EarlierTaskOpen { earlier } => {
            json!({ "rule": "earlier_task_open", "earlier": earlier })
        }
        Refusal::ArmTurn { before, need, has } => {
            json!({ "rule": "arm_turn", "before": before, "need": need, "has": has })
        }
        Refusal::OutOfOrder { next } => json!({ "next": next }),
        _ => json!({}),
    };
    match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    }
}
