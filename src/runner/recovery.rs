//! What an earlier session has left: found, waited for, recorded, put away.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::path::Path;

use super::artefacts;
use super::children::{self, Note};
use super::dispatcher::Work;
use super::executor::{self, Assignment, Executor, StepFault};
use super::session::{SessionFault, request};
use super::supervisor::Seen;
use crate::engine::command::{Action, Executed, Execution};
use crate::engine::slice::{Run, State};
use crate::store::{Request, Response, Store};
use crate::units::RunId;

/// Puts away what a session that was killed left behind, unless one is at work.
pub fn tidy(store: &mut Store, runs: &Path) -> Result<(), SessionFault> {
    if !runs.is_dir() {
        return Ok(());
    }
    let _held = match hold(runs) {
        Err(SessionFault::Busy) => return Ok(()),
        held => held?,
    };
    if children::was_killed(runs) {
        children::end_marked(runs, &BTreeSet::new());
        let note = Note::of_session(runs).and_then(Note::remove);
        note.map_err(StepFault::folder(runs))?;
    }
    sweep(store, runs)?;
    // An empty folder says nothing.
    let _ = fs::remove_dir(runs);
    Ok(())
}

/// Removes the workspaces of runs that are closed.
fn sweep(store: &mut Store, runs: &Path) -> Result<(), SessionFault> {
    for run in executor::left(runs).map_err(StepFault::folder(runs))? {
        let found = store.run(run)?;
        if found.as_ref().is_none_or(Run::is_closed) {
            executor::end_supervisors(runs, run)?;
            let released = found.map(|found| artefacts::release(runs, &found));
            released.transpose()?;
            executor::clean(runs, run)?;
        }
    }
    Ok(())
}

/// Holds the session's lock: one session a record.
pub(super) fn hold(runs: &Path) -> Result<File, SessionFault> {
    let path = runs.with_extension("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(StepFault::folder(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(SessionFault::Busy),
        Err(fs::TryLockError::Error(source)) => Err(StepFault::folder(&path)(source).into()),
    }
}

/// Sorts out what an earlier session left: what is still being executed, has a receipt, or can still be
/// judged is returned; what nobody knows the ending of is recorded as lost. What cannot be proved to have
/// ended is as live as it was. Runs executed elsewhere are
/// not touched.
pub(super) fn recover(
    store: &mut Store,
    executor: &Executor<'_>,
    actor: &str,
    was_killed: bool,
) -> Result<Recovered, SessionFault> {
    let mut work = VecDeque::new();
    let mut unproven = Vec::new();
    // What is alive, and what may not be taken for something else.
    let (mut lost, mut alive) = (Vec::new(), BTreeSet::new());
    for run in ours(store)? {
        match fate(executor, &run) {
            Fate::Unproven => {
                alive.insert(run.run);
                unproven.push(run.run);
            }
            Fate::Lost => {
                clean_up(store, executor, &run)?;
                lost.push(executor::lost(run.run));
            }
            Fate::Rebooted => {
                alive.insert(run.run);
                clean_up(store, executor, &run)?;
                lost.push(executor::rebooted(run.run));
            }
            Fate::Alive => {
                alive.insert(run.run);
                work.push_back((run, false));
            }
            Fate::Told => work.push_back((run, false)),
            Fate::Judgeable => work.push_back((run, true)),
        }
    }
    if was_killed || !(work.is_empty() && lost.is_empty()) {
        // What only a supervisor held together that was killed, too; and looks, which have none.
        children::end_marked(executor.runs, &alive);
    }
    if !lost.is_empty() {
        store.write(|writer| {
            for said in lost {
                writer.apply(request(actor, said))?;
            }
            Ok(())
        })?;
    }
    sweep(store, executor.runs)?;
    let mut left = VecDeque::new();
    for (run, has_ended) in work {
        let digest = run.execution.as_ref().and_then(Execution::left);
        left.extend(assignment(store, &run)?.map(|assignment| match has_ended {
            true => Work::Judge(assignment, digest),
            false => Work::Adopt(assignment),
        }));
    }
    Ok(Recovered { left, unproven })
}

/// What an earlier session has left.
pub(super) struct Recovered {
    /// What is to be waited for, or judged.
    pub(super) left: VecDeque<Work>,
    /// The runs of which nobody can tell whether they have ended: they keep their places.
    pub(super) unproven: Vec<RunId>,
}

/// What became of a run that an earlier session has left open.
enum Fate {
    /// Its supervisor is at work.
    Alive,
    /// Its supervisor has left a receipt.
    Told,
    /// It has ended, and what it is judged by is there.
    Judgeable,
    /// Nobody knows how it ended.
    Lost,
    /// The machine was started anew while it was live: nothing of it is left, and nothing is its.
    Rebooted,
    /// Whether it has ended cannot be proved.
    Unproven,
}

fn fate(executor: &Executor<'_>, run: &Run) -> Fate {
    if run.state == State::Ended {
        return match executor.is_judgeable(run.run) {
            true => Fate::Judgeable,
            false => Fate::Lost,
        };
    }
    let traces = executor.traces(run.run);
    match traces.seen() {
        Seen::Alive(_) => Fate::Alive,
        _ if traces.says_that_some_remains() => Fate::Unproven,
        _ if traces.has_receipt() => Fate::Told,
        Seen::Nobody if traces.are_of_another_boot() => Fate::Rebooted,
        Seen::Nobody => {
            executor.end_rest(run.run);
            Fate::Lost
        }
        Seen::Unproven => Fate::Unproven,
    }
}

/// What was found of a run that an earlier session has left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is being executed.
    Running,
    /// Its end was recorded.
    Recorded,
    /// It has ended and waits to be judged.
    Waits,
    /// Nobody knows how it ended: that was recorded.
    Lost,
    /// Whether it has ended cannot be proved.
    Unproven,
}

/// Records what became of the runs that an earlier session has left, and starts nothing.
pub fn reconcile(
    store: &mut Store,
    executor: &Executor<'_>,
    actor: &str,
) -> Result<Vec<(RunId, Found)>, SessionFault> {
    if !executor.runs.is_dir() {
        return Ok(Vec::new());
    }
    let _held = hold(executor.runs)?;
    let (mut found, mut alive) = (Vec::new(), BTreeSet::new());
    for run in ours(store)? {
        let id = run.run;
        found.push(match fate(executor, &run) {
            Fate::Unproven => {
                alive.insert(id);
                (id, Found::Unproven)
            }
            Fate::Alive => {
                alive.insert(id);
                (id, Found::Running)
            }
            Fate::Judgeable => (id, Found::Waits),
            Fate::Told => {
                if let Some(assignment) = assignment(store, &run)? {
                    let (action, fault) = executor.adopt(&assignment);
                    record(store, actor, action)?;
                    fault.map_or(Ok(()), Err)?;
                }
                (id, Found::Recorded)
            }
            Fate::Lost => {
                clean_up(store, executor, &run)?;
                record(store, actor, Some(executor::lost(id)))?;
                (id, Found::Lost)
            }
            Fate::Rebooted => {
                alive.insert(id);
                clean_up(store, executor, &run)?;
                record(store, actor, Some(executor::rebooted(id)))?;
                (id, Found::Lost)
            }
        });
    }
    if children::was_killed(executor.runs) {
        children::end_marked(executor.runs, &alive);
        let note = Note::of_session(executor.runs).and_then(Note::remove);
        note.map_err(StepFault::folder(executor.runs))?;
    }
    sweep(store, executor.runs)?;
    Ok(found)
}

/// Ends what may be left of a run that somebody says is lost, and records that; refuses one that is
/// provably still being executed.
pub fn give_up(
    store: &mut Store,
    executor: &Executor<'_>,
    lost: Request,
) -> Result<Option<Response>, SessionFault> {
    let _held = executor
        .runs
        .is_dir()
        .then(|| hold(executor.runs))
        .transpose()?;
    if let Some(run) = lost.action.run() {
        if matches!(executor.traces(run).seen(), Seen::Alive(_)) {
            return Ok(None);
        }
        executor.end_rest(run);
        if let Some(run) = store.run(run)?.filter(|run| !run.is_closed()) {
            clean_up(store, executor, &run)?;
        }
    }
    let response = store.write(|writer| writer.apply(lost))?;
    if executor.runs.is_dir() {
        sweep(store, executor.runs)?;
    }
    Ok(Some(response))
}

fn record(store: &mut Store, actor: &str, action: Option<Action>) -> Result<(), SessionFault> {
    if let Some(action) = action {
        store.write(|writer| writer.apply(request(actor, action)).map(drop))?;
    }
    Ok(())
}

/// Returns what a run that an earlier session was granted is.
fn assignment(store: &mut Store, run: &Run) -> Result<Option<Assignment>, SessionFault> {
    let task = store.task(&run.task)?;
    Ok(task.map(|task| Assignment {
        run: run.run,
        task,
        arm: run.arm.clone(),
        seed: run.seed,
    }))
}

fn clean_up(store: &mut Store, executor: &Executor<'_>, run: &Run) -> Result<(), SessionFault> {
    if let Some(assignment) = assignment(store, run)? {
        executor.clean_up(&assignment)?;
    }
    Ok(())
}

/// Returns the open runs that sessions execute.
fn ours(store: &mut Store) -> Result<Vec<Run>, SessionFault> {
    let open = store.open_runs()?.into_iter();
    Ok(open.filter(|run| run.executed == Executed::Here).collect())
}
