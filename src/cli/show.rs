//! The verb `show`: everything that is known of a run.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::Show;
use super::by_hand;
use super::reply::{Failure, Reply, visible};
use super::results;
use super::run::runs_folder;
use super::seal::{is_sealed, look};
use super::study::find_record;
use crate::engine::artefacts::Artefacts;
use crate::engine::blocks::Flag;
use crate::engine::command::{Cause, Executed, Judged, Stream};
use crate::engine::evidence::{self, Known, Slip};
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::engine::scoring;
use crate::engine::slice::Run;
use crate::protocol::frame::Task;
use crate::runner::{executor, tail};
use crate::store::Store;
use crate::units::Bytes;

/// Shows a run.
pub(super) fn show(args: &Show) -> Result<Reply, Failure> {
    let record = find_record(args.which.db.as_deref())?;
    // Before it is recorded that somebody looked: where there is no run, nothing is seen.
    let Some(run) = Store::read(&record)?.run(args.run)? else {
        let refusal = Refusal::UnknownRun { run: args.run };
        return Err(Failure::Refused {
            refusal,
            text: None,
        });
    };
    let mut store = look(&record, &args.looks)?;
    let standing = store.standing()?;
    let rules = store.rules()?;
    let of_plan = run.place.is_some_and(|place| place.lane.is_registered());
    let sealed = of_plan
        && !args.looks.unblind
        && rules
            .as_ref()
            .is_some_and(|rules| is_sealed(rules, &standing));
    let task = store.task(&run.task)?;
    let flag = store.block_of(&run)?;
    let void = store.void_of(&run)?;
    let mut text = run_text(&run, rules.as_deref(), task.as_ref(), flag, sealed);
    text.push_str(&void.as_ref().map(by_hand::void_line).unwrap_or_default());
    let outputs = outputs(&record, &store, &run)?;
    let mut tails = Map::new();
    for output in &outputs {
        let path = &output.path;
        text.push_str(&format!("  output    {path}\n"));
        // What an arm prints may tell what it achieved.
        if let Some(max) = args.tail.filter(|_| !sealed) {
            let said = output.end(max)?;
            text.push_str(&quoted(&said));
            tails.insert(path.clone(), Value::from(said));
        }
    }
    let outputs = outputs.into_iter().map(|output| output.path).collect();
    let mut json = run_json(run, flag, sealed, outputs);
    json["void"] = json!(void);
    if args.tail.is_some() {
        json["tails"] = Value::Object(tails);
    }
    Ok(Reply::done(text, json))
}

/// Says where a run stands in the plan.
fn place_text(run: &Run) -> String {
    match run.place {
        None => "control".to_owned(),
        Some(place) if !place.lane.is_registered() => format!(
            "pilot of draft {}, repeat {}, attempt {}",
            place.lane.draft, place.repeat, place.attempt
        ),
        Some(place) => format!(
            "position {}, repeat {}, turn {}, attempt {}",
            place.position + 1,
            place.repeat,
            place.turn,
            place.attempt
        ),
    }
}

fn run_text(
    run: &Run,
    rules: Option<&Rules>,
    task: Option<&Task>,
    flag: Option<Flag>,
    sealed: bool,
) -> String {
    let cause = run
        .cause
        .map_or(String::new(), |cause| format!(" ({})", cause.text()));
    let mut text = format!(
        "run {}   {} on `{}`, {}\n  state     {}{cause}\n  started   {}\n",
        run.run,
        run.arm,
        run.task,
        place_text(run),
        run.state.text(),
        run.started_at
    );
    if let Executed::Elsewhere(reference) = &run.executed {
        let reference = reference.as_deref().map(|at| format!(", {at}"));
        let reference = reference.unwrap_or_default();
        text.push_str(&format!("  executed  elsewhere{reference}\n"));
    }
    text.push_str(&flag.and_then(block_text).unwrap_or_default());
    if let Some(reason) = reason(run, rules, task) {
        text.push_str(&format!("  reason    {reason}\n"));
    }
    if let Some(at) = run.ended_at {
        text.push_str(&format!("  ended     {at}\n"));
    }
    if let Some(ending) = &run.ending {
        let wall = ending.wall.map_or("unknown".to_owned(), |wall| {
            format!("{}.{} ms", wall.millis(), wall.0 % 1000 / 100)
        });
        let limit = if ending.timed_out {
            ", ended by its limit"
        } else {
            ""
        };
        text.push_str(&format!("  wall time {wall}{limit}\n"));
    }
    let asked = rules.map(|rules| &rules.protocol().execution_of(&run.arm).requests);
    for (name, used) in &run.used {
        let requested = asked.and_then(|asked| asked.get(name));
        text.push_str(&setting(name, requested, used));
    }
    if sealed {
        text.push_str("  outcomes  sealed until the study has ended\n");
    } else {
        text.push_str(&sealed_text(run, rules));
    }
    text
}

/// Says what a run was asked to use of a setting, and what it reports that it used.
fn setting(name: &str, requested: Option<&String>, used: &Value) -> String {
    let requested = requested.map_or("nothing".to_owned(), |text| format!("{text:?}"));
    let used = match used {
        Value::Null => "what was used is unknown".to_owned(),
        used => format!("used {used}"),
    };
    format!("  setting   {name}: {requested} requested, {used}\n")
}

/// Says which block a run is in, counted from 1 as `plan` prints it.
fn block_text(flag: Flag) -> Option<String> {
    let state = if flag.incomplete {
        "not complete"
    } else {
        "complete"
    };
    Some(format!("  block     {}, {state}\n", flag.block? + 1))
}

/// Says what is sealed while a study runs: how a run ended, and its outcomes.
fn sealed_text(run: &Run, rules: Option<&Rules>) -> String {
    let mut text = String::new();
    if let Some(execution) = &run.execution {
        let exit = execution.exit.map(|exit| format!("exit {exit}"));
        let signal = execution.signal.map(|signal| format!("signal {signal}"));
        text.push_str(&format!(
            "  execution {}\n",
            exit.or(signal).unwrap_or_else(|| "unknown".to_owned())
        ));
    }
    let seen = run
        .execution
        .as_ref()
        .and_then(|one| one.workspace.as_ref());
    if seen.is_some_and(|seen| seen.after.is_none()) {
        text.push_str("  workspace more than is digested: a judge works where it stands\n");
    }
    if let Some(artefacts) = run
        .execution
        .as_ref()
        .and_then(|one| one.artefacts.as_ref())
    {
        text.push_str(&artefacts_text(artefacts));
    }
    let width = run
        .outcomes
        .iter()
        .flatten()
        .map(|(id, _)| id.len())
        .max()
        .unwrap_or(0)
        .max(9);
    let checked = rules.map(|rules| &rules.protocol().manipulation_check);
    if checked.is_some_and(|checked| checked.contains_key(&run.arm)) && run.outcomes.is_some() {
        let exposed = run
            .exposed
            .map_or("unknown".to_owned(), |flag| flag.to_string());
        text.push_str(&format!("  {:<width$} {exposed}\n", "exposed"));
    }
    let declared = rules.map_or(&[][..], |rules| &rules.protocol().outcomes);
    for (id, value) in run.outcomes.iter().flatten() {
        let outcome = declared.iter().find(|outcome| outcome.id == *id);
        let value = results::value(outcome.map(|outcome| outcome.kind), value);
        text.push_str(&format!("  {id:<width$} {value}\n"));
    }
    text
}

/// Says which files of a run's workspace are kept, each by its digest, and what was left out.
fn artefacts_text(artefacts: &Artefacts) -> String {
    let mut text = String::new();
    for file in &artefacts.files {
        text.push_str(&format!(
            "  artefact  {} {} bytes, {:?}\n",
            file.digest.short(),
            file.bytes,
            file.path
        ));
    }
    for (why, count) in &artefacts.left_out {
        text.push_str(&format!("  left out  {count} ({})\n", why.text()));
    }
    text
}

/// Returns what is known of why a run is unjudged.
fn reason(run: &Run, rules: Option<&Rules>, task: Option<&Task>) -> Option<String> {
    if run.note.is_some() {
        return run.note.clone();
    }
    if run.cause? == Cause::Evidence {
        return lack(run, rules?).map(|slip| slip.to_string());
    }
    let left = run.left.as_ref()?;
    match (run.cause?, &left.judge) {
        (
            Cause::JudgeError,
            Some(Judged {
                fault: Some(fault), ..
            }),
        ) => Some(fault.clone()),
        (
            Cause::JudgeError,
            Some(Judged {
                exit: Some(exit), ..
            }),
        ) => Some(format!("the judge ended with exit status {exit}")),
        (
            Cause::JudgeError,
            Some(Judged {
                signal: Some(signal),
                ..
            }),
        ) => Some(format!("signal {signal} ended the judge")),
        (Cause::OutcomeError, _) => scoring::outcome_fault(rules?, task, run, left),
        (Cause::BadReport, _) => {
            let scorer = rules?.scorer().ok()?;
            let read = scorer.read_report(left.report.as_deref()?.as_bytes());
            Some(read.err()?.to_string())
        }
        _ => None,
    }
}

/// Returns what was wrong with the evidence of a run, as it was found when it ended.
fn lack(run: &Run, rules: &Rules) -> Option<Slip> {
    let known = Known {
        run,
        ending: run.ending.as_ref()?,
        execution: run.execution.as_ref(),
        at: run.ended_at?,
        // What needs them is said last, so that it is said only where nothing else is wrong.
        clocks_are_right: true,
    };
    evidence::slip(rules, known)
}

/// A file that keeps what a run or its judge has printed.
struct Output {
    path: String,
    /// How many of its last bytes follow one another, where something was left out before them.
    tail: Option<u64>,
}

impl Output {
    /// Returns the last lines of it.
    fn end(&self, max: Bytes) -> Result<String, Failure> {
        let path = Path::new(&self.path);
        let last = tail::read(path, self.tail, max.0);
        let last = last.map_err(|error| Failure::file(path, &error))?;
        Ok(String::from_utf8_lossy(&last).into_owned())
    }
}

/// Returns the files that keep what a run and its judge have printed.
fn outputs(record: &Path, store: &Store, run: &Run) -> Result<Vec<Output>, Failure> {
    let runs = runs_folder(store, record)?;
    let said = run.execution.as_ref();
    let streams = [
        said.and_then(|said| said.stdout.as_ref()),
        said.and_then(|said| said.stderr.as_ref()),
        // What a judge prints is on no record: its end is the file's.
        None,
        None,
    ];
    let gap = |stream: &Stream| (stream.kept < stream.bytes).then_some(stream.tail);
    let found = executor::outputs(&runs, run.run).into_iter().zip(streams);
    let found = found.filter(|(path, _)| path.is_file());
    Ok(found
        .map(|(path, stream)| Output {
            path: path.display().to_string(),
            tail: stream.and_then(gap),
        })
        .collect())
}

/// Sets lines that somebody else has written apart from ours; what a terminal would obey is shown as what it
/// is, wherever it goes.
fn quoted(said: &str) -> String {
    visible(said)
        .lines()
        .map(|line| format!("          | {line}\n"))
        .collect()
}

fn run_json(run: Run, flag: Option<Flag>, sealed: bool, outputs: Vec<String>) -> Value {
    let run = if sealed {
        Run {
            execution: None,
            evidence: None,
            exposed: None,
            outcomes: None,
            left: None,
            ..run
        }
    } else {
        run
    };
    let mut json = serde_json::to_value(&run).unwrap_or_default();
    if let Some(object) = json.as_object_mut() {
        object.insert("sealed".to_owned(), Value::from(sealed));
        object.insert("outputs".to_owned(), Value::from(outputs));
        // Counted from 1, as `plan` prints it.
        let block = flag.and_then(|flag| flag.block).map(|block| block + 1);
        object.insert("block".to_owned(), Value::from(block));
        let incomplete = flag.is_some_and(|flag| flag.incomplete);
        object.insert("block_incomplete".to_owned(), Value::from(incomplete));
    }
    json
}
