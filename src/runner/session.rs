//! A session: workers that start, execute, judge and record until nothing is left to start.
//!
//! Each worker is a thread with one job after another; between two jobs it comes to the desk. There,
//! in one transaction, it records what came of the last job and is granted the next: one flush to
//! disk for an end, a score and a start. A worker that finds nothing to start sleeps until another
//! comes to the desk; nobody looks at a clock to see whether something changed.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use super::children::{self, Note};
use super::process::Interrupt;
use super::steps::{self, Assignment, Outcome, Site, StepFault};
use crate::engine::command::{Action, Cause, Executed};
use crate::engine::decide::Peek;
use crate::engine::event::Event;
use crate::engine::refusal::Next;
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, Standing, State};
use crate::store::{Fault, Flush, Receipt, Request, Store, Writer};
use crate::units::RunId;

/// The most workers that a session has, whatever the protocol allows.
const WORKERS_MAX: usize = 256;
/// How many workspaces may wait to be removed before workers wait too.
const SWEEP_MAX: usize = 64;
/// How many runs' derived rows may lag behind the entries.
const LAG_MAX: usize = 64;

/// What a session is to do, and where.
#[derive(Debug)]
pub struct Task<'a> {
    /// The folder of the protocol file, absolute.
    pub base: &'a Path,
    /// Where runs have their folders, absolute.
    pub runs: &'a Path,
    /// What the arms' own environment is taken from.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Whether the pilot is executed and not the registered plan.
    pub pilot: bool,
    /// Who asks.
    pub actor: &'a str,
}

/// How far a session has come; told after every step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many slots the plan has.
    pub slots: u64,
    /// How many of them have ended.
    pub ended: u64,
    /// How many runs are live.
    pub running: u64,
    /// How many runs are unjudged.
    pub unjudged: u64,
}

/// Who is told of a session's progress.
pub trait Observer: Sync {
    /// Is told after every step.
    fn progress(&self, progress: Progress);
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every slot has ended.
    Complete,
    /// Nothing may start until runs that are executed elsewhere have ended.
    Waiting,
    /// The operator ended it.
    Interrupted,
}

/// The world broke under a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionFault {
    /// Another session executes this study.
    #[error("another `prereg run` is executing this study; only one may at a time")]
    Busy,
    /// The record cannot be used.
    #[error(transparent)]
    Store(#[from] Fault),
    /// A run could not be executed or judged.
    #[error(transparent)]
    Step(#[from] StepFault),
    /// The folder of the runs cannot be used.
    #[error("`{}`: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A worker could not be started.
    #[error("a worker could not be started: {0}")]
    Worker(io::Error),
}

impl SessionFault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy => "already-running",
            Self::Store(fault) => fault.code(),
            Self::Step(fault) => fault.code(),
            Self::Folder { .. } => "run-folder",
            Self::Worker(_) => "worker",
        }
    }
}

/// A session's handle for the operator's hand, usable from any thread.
#[derive(Clone, Debug)]
pub struct Brake {
    shared: Arc<Shared>,
    interrupt: Interrupt,
}

#[derive(Debug, Default)]
struct Shared {
    draining: Mutex<bool>,
    changed: Condvar,
}

impl Brake {
    /// Makes a brake that nobody has touched.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            shared: Arc::default(),
            interrupt: Interrupt::new()?,
        })
    }

    /// Starts nothing more.
    pub fn drain(&self) {
        *lock(&self.shared.draining) = true;
        self.shared.changed.notify_all();
    }

    /// Starts nothing more, and ends what is live.
    pub fn end(&self) {
        self.drain();
        // A pipe that is broken has no reader left to tell.
        let _ = self.interrupt.fire();
    }

    fn is_draining(&self) -> bool {
        *lock(&self.shared.draining)
    }
}

/// Locks; a worker that panicked left nothing half done that the record would not show.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Executes what a registration allows until nothing is left to start.
///
/// The session holds a lock beside the record; it dies with the process.
pub fn run(
    store: &mut Store,
    rules: &Rules,
    task: &Task<'_>,
    brake: &Brake,
    observer: &dyn Observer,
) -> Result<End, SessionFault> {
    let folder = |source| SessionFault::Folder {
        path: task.runs.to_owned(),
        source,
    };
    fs::create_dir_all(task.runs).map_err(folder)?;
    let _held = hold(task.runs)?;
    children::end_orphans(task.runs).map_err(folder)?;
    let site = Site {
        rules,
        base: task.base,
        runs: task.runs,
        env: task.env,
        interrupt: &brake.interrupt,
    };
    let left = recover(store, &site, task)?;
    let workers = workers(rules, task, left.len());
    let flush = store.begin_session(LAG_MAX)?;
    let desk = Desk::new(store, flush, rules, task, brake, observer, left);
    desk.work(&site, workers);
    desk.settle()?;
    // An empty folder says nothing.
    let _ = fs::remove_dir(task.runs);
    desk.end()
}

/// Puts away what a session that was killed left behind, unless one is at work.
pub fn tidy(store: &mut Store, runs: &Path) -> Result<(), SessionFault> {
    if !runs.is_dir() {
        return Ok(());
    }
    let _held = match hold(runs) {
        Err(SessionFault::Busy) => return Ok(()),
        held => held?,
    };
    children::end_orphans(runs).map_err(|source| SessionFault::Folder {
        path: runs.to_owned(),
        source,
    })?;
    sweep(store, runs)?;
    // An empty folder says nothing.
    let _ = fs::remove_dir(runs);
    Ok(())
}

/// Removes the workspaces of runs that are closed.
fn sweep(store: &mut Store, runs: &Path) -> Result<(), SessionFault> {
    let standing = steps::workspaces(runs).map_err(|source| SessionFault::Folder {
        path: runs.to_owned(),
        source,
    })?;
    for run in standing {
        if store.run(run)?.is_none_or(|run| run.is_closed()) {
            steps::clean(runs, run)?;
        }
    }
    Ok(())
}

/// Holds the session's lock: one session a record.
fn hold(runs: &Path) -> Result<File, SessionFault> {
    let path = runs.with_extension("lock");
    let fault = |source| SessionFault::Folder {
        path: path.clone(),
        source,
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(fault)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(SessionFault::Busy),
        Err(fs::TryLockError::Error(source)) => Err(fault(source)),
    }
}

fn workers(rules: &Rules, task: &Task<'_>, left: usize) -> usize {
    let plan = if task.pilot {
        rules.pilot_plan()
    } else {
        rules.registered_plan()
    };
    let jobs = usize::try_from(plan.len())
        .unwrap_or(usize::MAX)
        .saturating_add(left);
    let runs_max = usize::try_from(rules.protocol().allocation.runs_max).unwrap_or(usize::MAX);
    runs_max.min(jobs).clamp(1, WORKERS_MAX)
}

/// Sorts out what an earlier session left: what ended and can still be judged is returned; what
/// nobody knows the ending of is recorded as lost. Runs executed elsewhere are not touched.
fn recover(
    store: &mut Store,
    site: &Site<'_>,
    task: &Task<'_>,
) -> Result<VecDeque<Assignment>, SessionFault> {
    let ours = store
        .open_runs()?
        .into_iter()
        .filter(|run| run.executed == Executed::Here);
    let (judgeable, lost): (Vec<Run>, Vec<Run>) =
        ours.partition(|run| run.state == State::Ended && site.is_judgeable(run.run));
    if !(judgeable.is_empty() && lost.is_empty()) {
        // A session was killed, perhaps before it could note whom it had just started.
        children::end_marked(task.runs);
    }
    if !lost.is_empty() {
        store.write(|writer| {
            for run in &lost {
                let note = Some("the session that executed it was killed".to_owned());
                writer.apply(request(
                    task.actor,
                    Action::Close {
                        run: run.run,
                        cause: Cause::Lost,
                        note,
                    },
                ))?;
            }
            Ok(())
        })?;
    }
    sweep(store, task.runs)?;
    Ok(judgeable
        .into_iter()
        .map(|run| Assignment {
            run: run.run,
            task: run.task,
            arm: run.arm,
            seed: run.seed,
        })
        .collect())
}

fn request(actor: &str, action: Action) -> Request {
    Request {
        actor: actor.to_owned(),
        key: None,
        action,
    }
}

/// What a worker does next.
#[derive(Debug)]
enum Job {
    Execute(Assignment),
    Judge(Assignment),
}

/// Where workers come to between two jobs.
struct Desk<'a> {
    shift: Mutex<Shift<'a>>,
    flush: Flush,
    rules: &'a Rules,
    task: &'a Task<'a>,
    brake: &'a Brake,
    observer: &'a dyn Observer,
}

/// What the workers share: the record, what is left over, and how it stands with the others.
struct Shift<'a> {
    store: &'a mut Store,
    left: VecDeque<Assignment>,
    busy: usize,
    end: End,
    fault: Option<SessionFault>,
}

impl<'a> Desk<'a> {
    fn new(
        store: &'a mut Store,
        flush: Flush,
        rules: &'a Rules,
        task: &'a Task<'a>,
        brake: &'a Brake,
        observer: &'a dyn Observer,
        left: VecDeque<Assignment>,
    ) -> Self {
        let shift = Shift {
            store,
            left,
            busy: 0,
            end: End::Waiting,
            fault: None,
        };
        Self {
            shift: Mutex::new(shift),
            flush,
            rules,
            task,
            brake,
            observer,
        }
    }

    fn work(&self, site: &Site<'_>, workers: usize) {
        // Removing a workspace may wait for the disk; it is nobody's next step.
        let (closed, sweep) = mpsc::sync_channel::<RunId>(SWEEP_MAX);
        std::thread::scope(|scope| {
            self.spawn(scope, "sweeper".to_owned(), move || {
                let swept = sweep.iter().try_for_each(|run| site.clean(run));
                swept.unwrap_or_else(|fault| self.fail(fault.into()));
            });
            for worker in 0..workers {
                let closed = closed.clone();
                let work = move || {
                    self.worker(site, worker, &closed)
                        .unwrap_or_else(|fault| self.fail(fault))
                };
                self.spawn(scope, format!("worker-{worker}"), work);
            }
            drop(closed);
        });
    }

    /// Starts a thread; where that fails, the session ends with what it has.
    fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: String,
        work: impl FnOnce() + Send + 'scope,
    ) {
        if let Err(source) = Builder::new().name(name).spawn_scoped(scope, work) {
            self.fail(SessionFault::Worker(source));
        }
    }

    /// Saves the derived rows; without it the next reader would fold what is missing.
    fn settle(&self) -> Result<(), SessionFault> {
        Ok(lock(&self.shift).store.settle()?)
    }

    fn end(self) -> Result<End, SessionFault> {
        let shift = self
            .shift
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match (shift.fault, shift.end) {
            (Some(fault), _) => Err(fault),
            (None, End::Waiting) if self.brake.is_draining() => Ok(End::Interrupted),
            (None, end) => Ok(end),
        }
    }

    /// Keeps the first fault and starts nothing more; what is live ends and is recorded.
    fn fail(&self, fault: SessionFault) {
        lock(&self.shift).fault.get_or_insert(fault);
        self.brake.shared.changed.notify_all();
    }

    fn worker(
        &self,
        site: &Site<'_>,
        worker: usize,
        sweep: &SyncSender<RunId>,
    ) -> Result<(), SessionFault> {
        let note = Note::open(self.task.runs, worker).map_err(|source| SessionFault::Folder {
            path: self.task.runs.to_owned(),
            source,
        })?;
        let mut report = None;
        loop {
            let closed = closed_runs(report.as_deref().unwrap_or_default());
            let job = self.exchange(report.take())?;
            for run in closed {
                // A sweeper that has gone left its fault behind.
                let _ = sweep.send(run);
            }
            match job {
                Some(job) => report = Some(self.perform(site, &note, job)?),
                None => break,
            }
        }
        note.remove().map_err(|source| SessionFault::Folder {
            path: self.task.runs.to_owned(),
            source,
        })
    }

    /// Performs a job; returns what is to be recorded of it.
    fn perform(&self, site: &Site<'_>, note: &Note, job: Job) -> Result<Vec<Action>, SessionFault> {
        let assignment = match job {
            Job::Judge(assignment) => return self.judge(site, note, &assignment, Vec::new()),
            Job::Execute(assignment) => assignment,
        };
        let (outcome, fault) = site.execute(&assignment, note);
        if let Some(fault) = fault {
            self.fail(fault.into());
        }
        match outcome {
            None => Ok(Vec::new()),
            Some(Outcome::Closed(action)) => Ok(vec![action]),
            Some(Outcome::Ended(finish)) if !site.is_scored_after(&finish) => Ok(vec![finish]),
            Some(Outcome::Ended(finish)) if self.rules.protocol().judge.is_some() => {
                // The ending is on the record before the judge starts.
                self.record(vec![finish])?;
                self.judge(site, note, &assignment, Vec::new())
            }
            Some(Outcome::Ended(finish)) => self.judge(site, note, &assignment, vec![finish]),
        }
    }

    fn judge(
        &self,
        site: &Site<'_>,
        note: &Note,
        assignment: &Assignment,
        mut reports: Vec<Action>,
    ) -> Result<Vec<Action>, SessionFault> {
        reports.extend(site.judge(assignment, note)?);
        Ok(reports)
    }

    fn record(&self, actions: Vec<Action>) -> Result<(), SessionFault> {
        let mut shift = lock(&self.shift);
        let standing = shift.store.write(|writer| {
            self.apply(writer, actions)?;
            Ok(writer.standing().clone())
        })?;
        self.tell(&standing);
        drop(shift);
        Ok(self.flush.flush()?)
    }

    /// Records what came of a job and grants the next, in one transaction; sleeps while there is
    /// none; returns nothing when there will be none. A worker that just came brings no report.
    ///
    /// What is returned is on the disk: nobody acts on a grant that a power cut could take back.
    fn exchange(&self, report: Option<Vec<Action>>) -> Result<Option<Job>, SessionFault> {
        let mut shift = lock(&self.shift);
        shift.busy -= usize::from(report.is_some());
        let mut report = report.unwrap_or_default();
        loop {
            let may_start = shift.fault.is_none() && !self.brake.is_draining();
            let left = if may_start {
                shift.left.pop_front()
            } else {
                None
            };
            let news = !report.is_empty();
            let (granted, standing) = shift.store.write(|writer| {
                self.apply(writer, std::mem::take(&mut report))?;
                let granted = match left {
                    Some(assignment) => Granted::Job(Job::Judge(assignment)),
                    None if may_start => self.grant(writer)?,
                    None if self.is_complete(writer) => Granted::Complete,
                    None => Granted::Nothing,
                };
                Ok((granted, writer.standing().clone()))
            })?;
            self.tell(&standing);
            if news {
                self.brake.shared.changed.notify_all();
            }
            let complete = matches!(granted, Granted::Complete);
            if let Granted::Job(job) = granted {
                shift.busy += 1;
                drop(shift);
                self.flush.flush()?;
                return Ok(Some(job));
            }
            if complete {
                shift.end = End::Complete;
            }
            if complete || shift.busy == 0 || !may_start {
                // Whoever sleeps looks once more, and finds the same.
                self.brake.shared.changed.notify_all();
                drop(shift);
                self.flush.flush()?;
                return Ok(None);
            }
            if news {
                self.flush.flush()?;
            }
            shift = self
                .brake
                .shared
                .changed
                .wait(shift)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn is_complete(&self, writer: &Writer<'_>) -> bool {
        !self.task.pilot && writer.standing().completed.is_some()
    }

    fn apply(&self, writer: &mut Writer<'_>, actions: Vec<Action>) -> Result<(), Fault> {
        actions
            .into_iter()
            .try_for_each(|action| writer.apply(request(self.task.actor, action)).map(drop))
    }

    /// Grants what may start now: controls of a task before its slots, then the plan.
    fn grant(&self, writer: &mut Writer<'_>) -> Result<Granted, Fault> {
        if self.task.pilot {
            return match writer.peek_pilot()? {
                Some(next) => self.start(writer, &next.task, &next.arm),
                None if writer.standing().live.is_empty() => Ok(Granted::Complete),
                None => Ok(Granted::Nothing),
            };
        }
        loop {
            match writer.peek()? {
                Peek::Complete => return Ok(Granted::Complete),
                Peek::Wait => return Ok(Granted::Nothing),
                Peek::Expire(run) => {
                    writer.apply(request("engine", Action::Expire { run }))?;
                }
                Peek::Start(next) => return self.grant_slot(writer, &next),
            }
        }
    }

    fn grant_slot(&self, writer: &mut Writer<'_>, next: &Next) -> Result<Granted, Fault> {
        for control in &self.rules.protocol().controls {
            match writer.newest_control(&next.task, &control.id)? {
                Some(run) if !run.is_closed() => return Ok(Granted::Nothing),
                Some(run)
                    if !matches!(
                        run.cause,
                        Some(Cause::Lost | Cause::Cancelled | Cause::Stale)
                    ) => {}
                _ => return self.start(writer, &next.task, &control.id),
            }
        }
        self.start(writer, &next.task, &next.arm)
    }

    fn start(&self, writer: &mut Writer<'_>, task: &str, arm: &str) -> Result<Granted, Fault> {
        let action = Action::Start {
            task: task.to_owned(),
            arm: arm.to_owned(),
            executed: Executed::Here,
        };
        let Receipt { ruling, .. } = writer.apply(request(self.task.actor, action))?;
        Ok(match ruling.as_deref() {
            Ok(
                [
                    Event::Started {
                        run,
                        task,
                        arm,
                        seed,
                        ..
                    },
                ],
            ) => {
                let assignment = Assignment {
                    run: *run,
                    task: task.clone(),
                    arm: arm.clone(),
                    seed: *seed,
                };
                Granted::Job(Job::Execute(assignment))
            }
            _ => Granted::Nothing,
        })
    }

    fn tell(&self, standing: &Standing) {
        let arms = standing
            .arms
            .iter()
            .filter(|(arm, _)| self.rules.protocol().arm(arm).is_some());
        self.observer.progress(Progress {
            slots: standing.slots,
            ended: standing.slots_ended,
            running: standing.live.len() as u64,
            unjudged: arms.map(|(_, tally)| tally.unjudged).sum(),
        });
    }
}

/// What a worker is granted.
enum Granted {
    Job(Job),
    Nothing,
    Complete,
}

/// Returns the runs that are closed once these reports are on the record.
fn closed_runs(reports: &[Action]) -> Vec<RunId> {
    let closing = |action: &Action| match action {
        Action::Score { run, .. } | Action::Close { run, .. } => Some(*run),
        _ => None,
    };
    reports.iter().filter_map(closing).collect()
}
