//! The operations of a history: which there are, and how one is read.
//!
//! Each reader asks for its fields by name, so what nobody asked for is known to be a slip. All that
//! is wrong with an operation is told, in the words of JSON; a field that is null is absent.

use serde_json::{Map, Value};

use super::fields::{
    ANY, DURATION, EXIT, FLAG, Fields, MONEY, OBJECT, RUN, TEXT, TEXTS, TIME, WHOLE,
};
use crate::engine::command::{Action, Cause, Ending, Execution};
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::shape::found_in_words;
use crate::units::{RunId, Time};

/// An operation, and when it happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// When.
    pub at: Time,
    /// What.
    pub op: Op,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Lets time pass.
    Clock,
    /// Asks for one thing, or reports it.
    Act(Box<Action>),
    /// Registers the study, then appends to its draw if there is something to append.
    Draw {
        /// What the registration is said to be, by name; nothing where that is not said.
        registration: Option<Map<String, Value>>,
        /// The place of the first task, from 1, and the tasks.
        batch: Option<(u64, Vec<String>)>,
    },
    /// Asks for a run.
    Start(Wanted),
    /// Asks for two runs at once: both are decided before either is committed.
    StartPair([Wanted; 2]),
    /// Ends a run if it is live, and closes it.
    Score {
        /// The run.
        run: RunId,
        /// How it is closed.
        outcome: Outcome,
        /// Whether an error of the world stopped it, if it is live.
        stopped_on_error: Option<bool>,
        /// Whether what it changed is to be kept.
        diff: bool,
    },
}

/// The run that a start asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The task.
    pub task: String,
    /// The arm or control.
    pub arm: String,
}

/// How a run is closed; what it is scored from is not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is scored.
    Scored,
    /// It is not.
    Unjudged,
}

/// What a registration is said to be, by name.
pub(super) const REGISTRATION: &[&str] = &["registration_sha256", "frame_sha256", "seed"];

/// Reads the fields of an operation; nothing where one of them is wrong.
type Reader = fn(&mut Fields<'_>) -> Option<Op>;

/// Every operation and its reader. Where two have the same reader, they are two names of one.
const OPS: &[(&str, Reader)] = &[
    ("start", start),
    ("start_pair", start_pair),
    ("finish", finish),
    ("score", score),
    ("close", close),
    ("retry", retry),
    ("checkpoint", checkpoint),
    ("receipt", checkpoint),
    ("task_add", task_add),
    ("register", task_add),
    ("draw_append", draw),
    ("draw", draw),
    ("switch", switch),
    ("breaker", breaker),
    ("reading", reading),
    ("preflight", preflight),
    ("probe", probe),
    ("session", session),
    ("void", void),
    ("deviate", deviate),
    ("clock", clock),
];

/// Returns the name of every operation.
pub fn names() -> impl Iterator<Item = &'static str> {
    OPS.iter().map(|(name, _)| *name)
}

impl Timed {
    /// Reads an operation; otherwise returns all that is wrong with it, each at its place in it.
    pub fn read(value: &Value) -> Result<Self, Vec<Defect>> {
        let Some(object) = value.as_object() else {
            let found = found_in_words(value);
            let message = format!("an operation is an object with `op` and `at`, and not {found}");
            return Err(vec![Defect::new(Code::Operation, Place::File, message)]);
        };
        let reader = reader(object);
        let of = object.get("op").and_then(Value::as_str);
        let mut fields = Fields::of(of.unwrap_or_default(), String::new(), object);
        fields.know("op");
        let at = fields.required("at", &TIME);
        match reader {
            Ok(reader) => {
                let op = reader(&mut fields);
                let defects = fields.close();
                match (at, op) {
                    (Some(at), Some(op)) if defects.is_empty() => Ok(Self { at, op }),
                    _ => Err(defects),
                }
            }
            // What other fields there may be depends on the operation.
            Err(defect) => {
                let mut defects = vec![*defect];
                defects.extend(fields.defects());
                Err(defects)
            }
        }
    }
}

fn reader(object: &Map<String, Value>) -> Result<Reader, Box<Defect>> {
    let all = || {
        format!(
            "the operations are {}",
            names().collect::<Vec<_>>().join(", ")
        )
    };
    let op = match object.get("op") {
        None | Some(Value::Null) => {
            let message = "the operation has no `op`, which says what it is";
            let defect = Defect::new(Code::MissingKey, Place::File, message);
            return Err(Box::new(defect.note(all())));
        }
        Some(op) => op,
    };
    let named = |name: &str| OPS.iter().find(|(known, _)| *known == name);
    if let Some((_, reader)) = op.as_str().and_then(named) {
        return Ok(*reader);
    }
    let message = format!("{} is not an operation", found_in_words(op));
    let defect = Defect::new(Code::Word, Place::Value("/op".to_owned()), message);
    let near = op.as_str().and_then(|name| nearest(name, names()));
    Err(Box::new(match near {
        Some(near) => defect.label(format!("did you mean `{near}`?")),
        None => defect.note(all()),
    }))
}

fn act(action: Action) -> Op {
    Op::Act(Box::new(action))
}

fn clock(_: &mut Fields<'_>) -> Option<Op> {
    Some(Op::Clock)
}

fn session(_: &mut Fields<'_>) -> Option<Op> {
    Some(act(Action::Session {}))
}

fn wanted(fields: &mut Fields<'_>) -> Option<Wanted> {
    let (task, arm) = (
        fields.required("task", &TEXT),
        fields.required("arm", &TEXT),
    );
    Some(Wanted {
        task: task?,
        arm: arm?,
    })
}

fn start(fields: &mut Fields<'_>) -> Option<Op> {
    wanted(fields).map(Op::Start)
}

fn start_pair(fields: &mut Fields<'_>) -> Option<Op> {
    let pair = ["first", "second"].map(|name| fields.within(name, wanted));
    let [Some(first), Some(second)] = pair else {
        return None;
    };
    Some(Op::StartPair([first, second]))
}

fn finish(fields: &mut Fields<'_>) -> Option<Op> {
    let run = fields.required("run", &RUN);
    let observed = fields.optional("observed", &ANY);
    let exit = fields.optional("exit", &EXIT);
    let ending = Ending {
        wall: fields.optional("wall", &DURATION),
        timed_out: fields.optional("timed_out", &FLAG).unwrap_or(false),
        error_stop: fields.optional("stopped_on_error", &FLAG),
        cost: fields.optional("cost", &MONEY),
    };
    let told = observed.is_some() || exit.is_some();
    let execution = told.then(|| Execution {
        observed,
        exit,
        ..Execution::default()
    });
    Some(act(Action::Finish {
        run: run?,
        ending,
        execution,
    }))
}

fn score(fields: &mut Fields<'_>) -> Option<Op> {
    let words = [("scored", Outcome::Scored), ("unjudged", Outcome::Unjudged)];
    let (run, outcome) = (fields.required("run", &RUN), fields.word("outcome", &words));
    let stopped_on_error = fields.optional("stopped_on_error", &FLAG);
    let diff = fields.optional("diff", &FLAG).unwrap_or(false);
    Some(Op::Score {
        run: run?,
        outcome: outcome?,
        stopped_on_error,
        diff,
    })
}

fn close(fields: &mut Fields<'_>) -> Option<Op> {
    let words = [Cause::Failed, Cause::Cancelled, Cause::Lost].map(|cause| (cause.text(), cause));
    let (run, cause) = (fields.required("run", &RUN), fields.word("cause", &words));
    Some(act(Action::Close {
        run: run?,
        cause: cause?,
        note: None,
    }))
}

fn retry(fields: &mut Fields<'_>) -> Option<Op> {
    let run = fields.required("run", &RUN)?;
    Some(act(Action::Retry { run }))
}

fn checkpoint(fields: &mut Fields<'_>) -> Option<Op> {
    let run = fields.required("run", &RUN);
    let passed = fields.optional("passed", &FLAG).unwrap_or(true);
    Some(act(Action::Checkpoint {
        run: run?,
        passed,
        note: None,
    }))
}

/// Whatever else stands there is a field of the task.
fn task_add(fields: &mut Fields<'_>) -> Option<Op> {
    let id = fields.required("task", &TEXT);
    let mut task = fields.rest(&["id"]);
    task.insert("id".to_owned(), id?.into());
    Some(act(Action::AddTask {
        task: Value::Object(task),
    }))
}

fn draw(fields: &mut Fields<'_>) -> Option<Op> {
    let registration = match fields.has("registration") {
        true => Some(fields.within("registration", registration)?),
        false => None,
    };
    let appends = fields.has("from") | fields.has("tasks");
    let batch = match appends {
        true => {
            let from = fields.required("from", &WHOLE);
            Some((from?, fields.required("tasks", &TEXTS)?))
        }
        false => None,
    };
    Some(Op::Draw {
        registration,
        batch,
    })
}

fn registration(fields: &mut Fields<'_>) -> Option<Map<String, Value>> {
    let said = REGISTRATION
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fields.optional(name, &ANY)?)));
    Some(said.collect())
}

/// A switch that can be read and has no text says nothing, which is not `on`.
fn switch(fields: &mut Fields<'_>) -> Option<Op> {
    let value = fields.optional("value", &TEXT);
    let readable = fields.optional("readable", &FLAG).unwrap_or(true);
    let text = readable.then(|| value.unwrap_or_default());
    Some(act(Action::Switch { text }))
}

fn breaker(fields: &mut Fields<'_>) -> Option<Op> {
    let open = fields.required("open", &FLAG)?;
    Some(act(Action::Breaker { open }))
}

fn reading(fields: &mut Fields<'_>) -> Option<Op> {
    let (id, said) = (
        fields.required("id", &TEXT),
        fields.required("fields", &OBJECT),
    );
    Some(act(Action::Read {
        id: id?,
        fields: said?,
    }))
}

fn preflight(fields: &mut Fields<'_>) -> Option<Op> {
    let (arm, status) = (
        fields.required("arm", &TEXT),
        fields.required("status", &TEXT),
    );
    Some(act(Action::Preflight {
        arm: arm?,
        status: status?,
    }))
}

/// A probe without a value could not be observed.
fn probe(fields: &mut Fields<'_>) -> Option<Op> {
    let id = fields.required("id", &TEXT);
    let value = fields.optional("value", &ANY);
    Some(act(Action::Probe { id: id?, value }))
}

fn void(fields: &mut Fields<'_>) -> Option<Op> {
    let (block, reason) = (
        fields.required("block", &WHOLE),
        fields.required("reason", &TEXT),
    );
    Some(act(Action::Void {
        block: block?,
        reason: reason?,
    }))
}

fn deviate(fields: &mut Fields<'_>) -> Option<Op> {
    let note = fields.required("note", &TEXT)?;
    let arm = fields.optional("arm", &TEXT);
    Some(act(Action::Deviate { note, arm }))
}
