//! Verbs for runs that are executed elsewhere, and for arms: `start`, `finish`, `score`, `claim`.

use std::path::Path;

use serde_json::json;

use super::args::{Claim, Claimed, Finish, Score, Start, Which, Writes};
use super::input;
use super::looks;
use super::reply::{Failure, Reply};
use super::study::{apply, find_record, granted};
use crate::engine::command::{Action, Ending, Evidence, Executed, Execution, Judged};
use crate::engine::event::Event;
use crate::engine::refusal::Refusal;
use crate::protocol::defect::{Code, Defect, Place};
use crate::runner::clock;
use crate::store::{Fault, Request, Response, Store, Writer};
use crate::units::RunId;

pub(super) fn open(which: &Which) -> Result<Store, Failure> {
    Ok(Store::open(&find_record(which.db.as_deref())?, clock::now)?)
}

pub(super) fn request(writes: &Writes, action: Action) -> Request {
    Request {
        actor: writes.actor.clone(),
        key: writes.key.clone(),
        expects: writes.if_head,
        action,
    }
}

/// Asks for a run.
pub(super) fn start(args: &Start) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    let looked = looks::before_start(&mut store, &args.arm, args.writes.key.as_deref())?;
    let executed = Executed::Elsewhere(args.reference.clone());
    let action = Action::Start {
        task: args.task.clone(),
        arm: args.arm.clone(),
        executed,
    };
    let asked = request(&args.writes, action);
    let response = store.write(|writer| after_looks(writer, looked, asked))?;
    let response = granted(&store, response)?;
    let Ok(
        [
            Event::Started {
                run,
                task,
                arm,
                place,
                seed,
                ..
            },
            ..,
        ],
    ) = response.ruling.as_deref()
    else {
        return Ok(unchanged());
    };
    let slot = place.map_or("control".to_owned(), |place| {
        format!("repeat {}, attempt {}", place.repeat, place.attempt)
    });
    let text = format!(
        "started     run {run}   {arm} on `{task}`, {slot}\n            when it has ended: prereg finish {run} --exit STATUS\n"
    );
    let json = json!({ "run": run, "task": task, "arm": arm, "place": place, "seed": seed, "entry": response.seq, "repeated": response.repeated });
    Ok(Reply::done(text, json))
}

/// Records what was seen, then answers what is asked. A reading that cannot be read leaves the newest
/// as it is; any other refusal is about whoever asks.
fn after_looks(
    writer: &mut Writer<'_>,
    looked: Vec<Action>,
    mut asked: Request,
) -> Result<Response, Fault> {
    for action in looked {
        let look = Request {
            actor: asked.actor.clone(),
            key: None,
            // What comes before it is no news to whoever asks.
            expects: asked.expects.take(),
            action,
        };
        let seen = writer.apply(look)?;
        if !matches!(seen.ruling, Ok(_) | Err(Refusal::BadReading { .. })) {
            return Ok(seen);
        }
    }
    writer.apply(asked)
}

/// Refuses to report on a run that `prereg run` executes.
fn must_be_elsewhere(store: &mut Store, run: RunId) -> Result<(), Failure> {
    match store.run(run)? {
        Some(found) if found.executed == Executed::Here => Err(Failure::Refused {
            refusal: Refusal::ExecutedHere { run },
            text: None,
        }),
        _ => Ok(()),
    }
}

/// Reports an ending.
pub(super) fn finish(args: &Finish) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    must_be_elsewhere(&mut store, args.run)?;
    let observed = args.observed.as_deref().map(input::json).transpose()?;
    let ending = Ending {
        error_stop: args.error_stop.then_some(true),
        cost: args.cost,
        wall: args.wall,
        timed_out: args.timed_out,
    };
    let execution = Execution {
        exit: args.exit,
        signal: args.signal,
        observed,
        ..Execution::default()
    };
    let action = Action::Finish {
        run: args.run,
        ending,
        execution: Some(execution),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    let mut said = told(args.run, &response, "ended");
    let closes = |event: &Event| matches!(event, Event::Unjudged { .. } | Event::Voided { .. });
    let events = response.ruling.as_deref();
    if events.is_ok_and(|events| !events.is_empty() && !events.iter().any(closes)) {
        let judged = store.rules()?;
        let judged = judged.is_some_and(|rules| rules.protocol().judge.is_some());
        let report = if judged { " --report FILE" } else { "" };
        let next = format!("            then: prereg score {}{report}\n", args.run);
        said.text.push_str(&next);
    }
    Ok(said)
}

/// Reports what a run is scored from. A report that breaks its schema is a defect: nothing is written.
pub(super) fn score(args: &Score) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    must_be_elsewhere(&mut store, args.run)?;
    let rules = store.rules()?;
    let judged = rules
        .as_ref()
        .is_some_and(|rules| rules.protocol().judge.is_some());
    if judged && args.report.is_none() && !args.no_report {
        let message =
            "this protocol has a judge: name its --report, or say --no-report if it left none";
        return Err(Failure::Usage {
            code: "no-report",
            message: message.to_owned(),
        });
    }
    let report = args.report.as_deref().map(input::text).transpose()?;
    let claim = args.claim.as_deref().map(input::text).transpose()?;
    if let (Some(rules), Some(path), Some(text)) = (&rules, &args.report, &report) {
        let scorer = rules.scorer().map_err(|message| Failure::Fault {
            code: "scorer",
            message: message.to_owned(),
        })?;
        if let Err(fault) = scorer.read_report(text.as_bytes()) {
            let place = if fault.pointer.is_some() {
                Place::File
            } else {
                Place::Span(fault.offset..fault.offset + 1)
            };
            let slip = Defect::new(Code::BadReport, place, fault.to_string());
            return Err(input::defect(path, text, slip));
        }
    }
    let judge = judged.then(|| Judged {
        exit: Some(0),
        ..Judged::default()
    });
    let diff = args.diff.as_deref().map(input::digest).transpose()?;
    let action = Action::Score {
        diff,
        run: args.run,
        evidence: Some(Evidence {
            judge,
            report,
            claim,
        }),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    Ok(told(args.run, &response, "scored"))
}

fn told(run: RunId, response: &Response, word: &str) -> Reply {
    let events = response.ruling.as_deref().unwrap_or_default();
    let cause = events.iter().find_map(|event| match event {
        Event::Unjudged { cause, .. } => Some(cause.text()),
        _ => None,
    });
    if response.seq.is_none() {
        return unchanged();
    }
    let text = match cause {
        Some(cause) => format!("unjudged    run {run}   {cause}\n"),
        None => format!("{word:<11} run {run}\n"),
    };
    Reply::done(
        text,
        json!({ "run": run, "cause": cause, "entry": response.seq, "repeated": response.repeated }),
    )
}

pub(super) fn unchanged() -> Reply {
    Reply::done(
        "unchanged   the record says so already\n",
        json!({ "entry": null, "repeated": true }),
    )
}

/// Writes an arm's claim.
pub(super) fn claim(args: &Claim) -> Result<Reply, Failure> {
    let Some(path) = &args.file else {
        return Err(Failure::Usage {
            code: "not-in-a-run",
            message: "PREREG_CLAIM is not set: this is not a run of a protocol with [claim]; name the file with --file".to_owned(),
        });
    };
    let claim = json!({ "done": args.claim == Claimed::Done });
    write_claim(path, &format!("{claim}\n")).map_err(|error| Failure::file(path, &error))?;
    Ok(Reply::done(
        "",
        json!({ "claim": claim, "file": path.display().to_string() }),
    ))
}

/// Writes the whole claim or nothing: beside it first, then in its place.
fn write_claim(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}
