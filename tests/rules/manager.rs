//! Jobs of the arm manager: launched, cancelled, resumed, and the end of what they print.

use std::io::Write;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use prereg::engine::attempts::Fate;
use prereg::engine::command::{Action, Cause};
use prereg::engine::refusal::Refusal;
use prereg::runner::process::{Phase, ProcessIdentity, Step};
use prereg::runner::supervisor::{Seen, Traces};
use prereg::runner::tail;
use prereg::units::RunId;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::attempts::{CELL, Open, Slot, session};
use super::shapes::Shape;

/// How long a job may take to end once it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Ends a job by the steps of the product. That a stored number is signalled is foreign: nobody is told
/// when such a process leaves, and the row is marked at once.
pub(super) fn cancel(case: &Value) -> Value {
    let is_child = case["managed"] == true;
    if !is_child && case["row"]["pid"].is_null() {
        return json!({ "cancelled": false, "signals": [], "marked": [] });
    }
    let leaves = case["exits_at_ms"].as_u64().filter(|_| is_child);
    let (signals, left) = end(leaves.map(Duration::from_millis));
    let mark = |at: Duration, exit: &Value| json!({ "at_ms": at.as_millis() as u64, "cancelled": true, "exit_code": exit });
    let marked = match left {
        _ if !is_child => vec![mark(Duration::ZERO, &Value::Null)],
        Some(at) => vec![mark(at, &case["exit_code"])],
        None => vec![],
    };
    json!({ "cancelled": true, "signals": signals, "marked": marked })
}

/// Plays the ending of a command that leaves at a time, or never; returns what it was sent, and when it
/// left.
fn end(leaves: Option<Duration>) -> (Vec<Value>, Option<Duration>) {
    let asked = Instant::now();
    let mut phase = Phase::started(asked, Duration::MAX);
    let mut now = asked;
    let mut signals = Vec::new();
    loop {
        // An end that comes together with a step is an end.
        let has_left = leaves.is_some_and(|at| asked + at <= now);
        if has_left && !signals.is_empty() {
            return (signals, leaves);
        }
        let signal = match phase.step(now, true, GRACE) {
            Some(Step::Terminate) => Some("SIGTERM"),
            Some(Step::Kill) => Some("SIGKILL"),
            None => None,
        };
        let at = now - asked;
        signals.extend(
            signal.map(|signal| json!({ "at_ms": at.as_millis() as u64, "signal": signal })),
        );
        let next = [phase.due(), leaves.map(|at| asked + at)];
        match next.into_iter().flatten().filter(|at| *at >= now).min() {
            Some(at) => now = at,
            None => return (signals, None),
        }
    }
}

/// Returns whether the supervisor that a run's note names is at work, as a session finds out.
fn is_at_work(it_is: bool) -> bool {
    /// Somebody who was there, and is not any more.
    static GONE: LazyLock<ProcessIdentity> = LazyLock::new(|| {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let identity = ProcessIdentity::of_pid(i32::try_from(child.id()).unwrap()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        identity
    });
    let this = ProcessIdentity::of_pid(i32::try_from(std::process::id()).unwrap()).unwrap();
    let noted = if it_is { &this } else { &*GONE };
    let folder = tempfile::tempdir().unwrap();
    let note = serde_json::to_vec(noted).unwrap();
    std::fs::write(folder.path().join("1.supervisor"), note).unwrap();
    matches!(Traces::of(folder.path(), "1").seen(), Seen::Alive(_))
}

/// A job is an attempt at its slot: one that is over is attempted again on request, one that is live is
/// not, and one whose process is gone is closed first. A job of another benchmark is executed elsewhere;
/// one without its configuration is not ready.
pub(super) fn resume(case: &Value) -> Value {
    let refused = |reason: &str, marked: bool| json!({ "ok": false, "reason": reason, "marked_exited": marked });
    let row = &case["row"];
    let mut slot = Slot::new();
    let run = RunId(1);
    let says_running = row["status"] == "running";
    let is_open = says_running || case["managed"] == true;
    if !row.is_null() {
        slot.begin(1);
        if !is_open {
            slot.close(run, Fate::Unjudged(Cause::Cancelled));
        }
    }
    let asked = slot.give(Action::Retry { run });
    if matches!(asked, Err(Refusal::UnknownRun { .. })) {
        return refused("not_found", false);
    }
    let is_here = row["benchmark"] == "harbor";
    if matches!(session(is_here), Err(Refusal::NoDirectCell {})) {
        return refused("not_harbor", false);
    }
    if asked.is_err() {
        let lives = case["managed"] == true || case["pid_alive"] == true;
        if is_at_work(lives) {
            return refused("already_running", false);
        }
        slot.close(run, Fate::Unjudged(Cause::Cancelled));
        slot.give(Action::Retry { run }).unwrap();
    }
    if case["config_present"] != true {
        let status = "implementation_gap".to_owned();
        let arm = CELL.to_owned();
        slot.give(Action::Preflight { arm, status }).unwrap();
    }
    match slot.give(super::attempts::start()) {
        Ok(_) => json!({ "ok": true, "retry_types": retry_types(case), "marked_exited": is_open }),
        Err(Refusal::NotReady { .. }) => refused("no_config", is_open),
        Err(other) => panic!("{other:?}"),
    }
}

/// What the job is told to attempt again is its own affair, and so foreign: a list of texts.
fn retry_types(case: &Value) -> Vec<String> {
    if let Some(given) = case["filter_error_types"].as_array() {
        return given
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect();
    }
    let read = serde_json::from_str::<JobResult>(case["result_json"].as_str().unwrap_or_default());
    let evals = read.unwrap_or_default().stats.evals.0;
    let mut found: Vec<String> = Vec::new();
    for name in evals
        .into_iter()
        .flat_map(|(_, eval)| eval.exception_stats.0)
    {
        if !found.contains(&name.0) {
            found.push(name.0);
        }
    }
    found
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobResult {
    stats: Stats,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stats {
    evals: Listed<Eval>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Eval {
    exception_stats: Listed<IgnoredAny>,
}

/// The fields of an object in the order in which they stand.
struct Listed<T>(Vec<(String, T)>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Listed<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Listed<T>, M::Error> {
                let mut listed = Vec::new();
                while let Some(field) = map.next_entry()? {
                    listed.push(field);
                }
                Ok(Listed(listed))
            }
        }
        deserializer.deserialize_map(Fields(std::marker::PhantomData))
    }
}

/// What is asked for has a registered shape, and a job that is live keeps its slot. How a job and its
/// dataset are called where nothing was said is foreign.
pub(super) fn launch_guard(case: &Value) -> Value {
    static SHAPES: LazyLock<[(&str, Shape); 2]> = LazyLock::new(|| {
        let model = json!({
            "required": ["model"],
            "properties": { "model": { "type": "string", "minLength": 1 } },
        });
        let benchmark = json!({
            "properties": { "benchmark": { "enum": ["harbor", "edit", "snapcompact", null] } },
        });
        [
            ("no_model", Shape::of(model)),
            ("bad_benchmark", Shape::of(benchmark)),
        ]
    });
    let request = &case["request"];
    if let Some((reason, _)) = SHAPES.iter().find(|(_, shape)| !shape.fits(request)) {
        return json!({ "ok": false, "reason": reason });
    }
    let name = match request["jobName"].as_str() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => called(
            request["model"].as_str().unwrap(),
            case["now"].as_str().unwrap(),
        ),
    };
    let rows = case["runs"].as_array().unwrap().iter();
    let of_that_name = rows.filter(|row| row["jobName"] == *name);
    let mut is_live: Vec<bool> = of_that_name.map(|row| row["status"] == "running").collect();
    let children = case["managed"].as_array().unwrap();
    is_live.extend(children.contains(&json!(name)).then_some(true));
    let mut slot = Slot::new();
    for (number, is_live) in (1..).zip(is_live) {
        let run = slot.begin(number);
        if !is_live {
            slot.close(run, Fate::Unjudged(Cause::Cancelled));
        }
    }
    if let Err(Open) = slot.start(true) {
        return json!({ "ok": false, "reason": "already_running" });
    }
    let dataset = match (request["dataset"].as_str(), request["benchmark"].as_str()) {
        (Some(dataset), _) if !dataset.is_empty() => dataset,
        (_, Some("edit")) => "typescript-edit",
        (_, Some("snapcompact")) => "squad-dev",
        _ => "terminal-bench@2.0",
    };
    json!({ "ok": true, "job_name": name, "dataset": dataset })
}

/// Calls a job after its model and the time.
fn called(model: &str, now: &str) -> String {
    let parts = model.split(|c: char| !c.is_ascii_alphanumeric());
    let mut name = String::new();
    for (i, part) in parts.enumerate() {
        if i > 0 && !name.ends_with('-') {
            name.push('-');
        }
        name.push_str(part);
    }
    format!("{name}-{}", now[..19].replace(':', "-"))
}

pub(super) fn read_tail(case: &Value) -> Value {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(case["text"].as_str().unwrap().as_bytes())
        .unwrap();
    let read = tail::read(file.path(), None, case["cap"].as_u64().unwrap()).unwrap();
    Value::from(String::from_utf8_lossy(&read))
}
