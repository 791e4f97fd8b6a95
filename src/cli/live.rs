//! Verbs for runs that a session executes or has left: `cancel`, `reconcile`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::args::{Cancel, Reconcile};
use super::elsewhere::{open, request};
use super::operator::told;
use super::reply::{Failure, Reply};
use super::run::{environment, runs_folder};
use super::study::{apply, folder_of, granted};
use crate::engine::command::{Action, Cause, Executed};
use crate::engine::slice::State;
use crate::runner::executor::Executor;
use crate::runner::process::Interrupt;
use crate::runner::recovery::{self, Found};
use crate::runner::session::SessionFault;
use crate::runner::supervisor::{Seen, Tiers, Traces};
use crate::store::Store;
use crate::units::RunId;

/// How long a session may take to record what its run came to.
const RECORD_MAX: Duration = Duration::from_secs(30);
/// How long is slept between two looks whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// Ends a run.
pub(super) fn cancel(args: &Cancel) -> Result<Reply, Failure> {
    let run = args.run;
    let mut store = open(&args.which)?;
    let found = store.run(run)?;
    let is_ours = found
        .as_ref()
        .is_some_and(|found| found.executed == Executed::Here && found.state == State::Live);
    if !is_ours {
        // A run executed elsewhere has no process here that would be ours to end; any other run is
        // refused by name.
        let action = Action::Close {
            run,
            cause: Cause::Cancelled,
            note: args.reason.clone(),
        };
        let response = apply(&mut store, request(&args.writes, action))?;
        let text = format!("cancelled   run {run}: whoever executes it is to end it\n");
        return Ok(told(text, &response, json!({ "run": run, "ended": false })));
    }
    let record = store.path().to_owned();
    let runs = absolute(&runs_folder(&store, &record)?);
    let fault = |error: std::io::Error| Failure::file(&runs, &error);
    let traces = Traces::of(&runs, &run.to_string());
    let ended = match traces.end().map_err(fault)? {
        Seen::Alive(given) => {
            given.await_end().map_err(fault)?;
            true
        }
        Seen::Nobody => false,
        Seen::Unproven => return Err(unproven(run)),
    };
    let closed = settle(&mut store, &runs, &args.writes.actor, run)?;
    let text = match (ended, &closed) {
        (true, Some(cause)) => {
            format!("ended       run {run}: {cause}, and nothing of it is left\n")
        }
        (true, None) => {
            format!("ended       run {run}: nothing of it is left; it had ended by itself\n")
        }
        (false, _) => format!("unchanged   run {run} was not being executed any more\n"),
    };
    let json = json!({ "run": run, "ended": ended, "cause": closed });
    Ok(Reply::done(text, json))
}

/// Waits until a session has recorded what a run came to, or records it where none is at work; returns
/// the cause if it is unjudged.
fn settle(
    store: &mut Store,
    runs: &Path,
    actor: &str,
    run: RunId,
) -> Result<Option<&'static str>, Failure> {
    let began = Instant::now();
    loop {
        match store.run(run)? {
            Some(found) if found.state == State::Live => {}
            found => return Ok(found.and_then(|found| found.cause).map(Cause::text)),
        }
        match with_executor(store, runs, |store, executor| {
            recovery::reconcile(store, executor, actor)
        }) {
            Ok(_) => {}
            Err(Failure::Busy { .. }) if began.elapsed() < RECORD_MAX => {}
            Err(failure) => return Err(failure),
        }
        if began.elapsed() > RECORD_MAX {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Does something with what the runs of a record are executed by.
fn with_executor<T>(
    store: &mut Store,
    runs: &Path,
    work: impl FnOnce(&mut Store, &Executor<'_>) -> Result<T, SessionFault>,
) -> Result<T, Failure> {
    let Some(rules) = store.rules()? else {
        return Err(super::run::no_protocol());
    };
    let never = || Interrupt::new().map_err(|error| Failure::file(runs, &error));
    let (interrupt, leave) = (never()?, never()?);
    let base = absolute(&folder_of(store.path()));
    let executor = Executor {
        rules: &rules,
        base: &base,
        runs,
        env: &environment(),
        interrupt: &interrupt,
        leave: &leave,
        tiers: &Tiers::untried(),
        hidden: &[],
    };
    Ok(work(store, &executor)?)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn unproven(run: RunId) -> Failure {
    SessionFault::Step(crate::runner::executor::StepFault::Unproven(run)).into()
}

/// Records what became of runs that a session has left, or of one that a person says is lost.
pub(super) fn reconcile(args: &Reconcile) -> Result<Reply, Failure> {
    let mut store = open(&args.which)?;
    let record = store.path().to_owned();
    let runs = absolute(&runs_folder(&store, &record)?);
    match (args.run, &args.reason) {
        (Some(run), Some(reason)) if args.lost => give_up(args, &mut store, &runs, run, reason),
        _ => {
            let found = with_executor(&mut store, &runs, |store, executor| {
                recovery::reconcile(store, executor, &args.writes.actor)
            })?;
            Ok(said(&found))
        }
    }
}

fn give_up(
    args: &Reconcile,
    store: &mut Store,
    runs: &Path,
    run: RunId,
    reason: &str,
) -> Result<Reply, Failure> {
    let action = Action::Close {
        run,
        cause: Cause::Lost,
        note: Some(reason.to_owned()),
    };
    let lost = request(&args.writes, action);
    let given_up = with_executor(store, runs, |store, executor| {
        recovery::give_up(store, executor, lost)
    })?;
    let Some(response) = given_up else {
        return Err(Failure::Declined {
            code: "still-executed",
            message: format!(
                "run {run} is still being executed; end it with `prereg cancel {run}`, or let it end"
            ),
        });
    };
    let response = granted(store, response)?;
    Ok(told(
        format!("lost        run {run}, by the word of whoever says so\n"),
        &response,
        json!({ "run": run }),
    ))
}

/// Says what was found, a run a line.
fn said(found: &[(RunId, Found)]) -> Reply {
    let line = |(run, found): &(RunId, Found)| match found {
        Found::Running => format!("running     run {run}: the next `prereg run` takes it up\n"),
        Found::Recorded => format!("recorded    how run {run} ended\n"),
        Found::Waits => format!("ended       run {run}: `prereg run` judges it\n"),
        Found::Lost => format!("lost        run {run}: its supervisor ended without a receipt\n"),
        Found::Unproven => format!(
            "unproven    run {run}: make sure that nothing of it is left, then say\n            prereg reconcile {run} --lost --reason TEXT\n"
        ),
    };
    let text: String = found.iter().map(line).collect();
    let text = match text.is_empty() {
        true => "unchanged   no run was left open\n".to_owned(),
        false => text,
    };
    let word = |found: &Found| match found {
        Found::Running => "running",
        Found::Recorded => "recorded",
        Found::Waits => "ended",
        Found::Lost => "lost",
        Found::Unproven => "unproven",
    };
    let runs = found
        .iter()
        .map(|(run, found)| json!({ "run": run, "found": word(found) }));
    Reply::done(text, json!({ "runs": runs.collect::<Vec<Value>>() }))
}
