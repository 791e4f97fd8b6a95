//! A session: workers that start, execute, judge and record until nothing is left to start.
//!
//! Each worker is a thread that does one run after another; between two it comes to the dispatcher.
//! There, in one transaction, it records what came of the last run and is granted the next: one
//! flush to disk for an end, a score and a start. Where the protocol has probes or readings that a
//! command takes, the worker looks at the world first, so that each run has a look before and after
//! it. A worker that finds nothing to start sleeps until another comes to the dispatcher; nobody
//! looks at a clock to see whether something changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

use super::children::{self, Note};
use super::clock;
use super::executor::{self, Assignment, Executor, StepFault};
use super::process::Interrupt;
use super::switch;
use super::world::{self, World};
use crate::engine::command::{Action, Cause, Executed};
use crate::engine::event::Event;
use crate::engine::preflight;
use crate::engine::refusal::{Next, Refusal};
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, Standing, State};
use crate::engine::start::Peek;
use crate::store::{Fault, Flush, Request, Response, Store, Writer};
use crate::units::RunId;

/// The most workers that a session has, whatever the protocol allows.
const WORKERS_MAX: usize = 256;
/// How many workspaces may wait to be removed before workers wait too.
const SWEEP_MAX: usize = 64;
/// How many runs' derived rows may lag behind the entries.
const LAG_MAX: usize = 64;

/// What is to be executed, where, and for whom.
#[derive(Debug)]
pub struct Session<'a> {
    /// The folder of the protocol file, absolute.
    pub base: &'a Path,
    /// Where runs have their folders, absolute.
    pub runs: &'a Path,
    /// What the arms' own environment is taken from.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Whether the pilot is executed and not the registered plan.
    pub pilot: bool,
    /// Whether slots are attempted again that wait for a person to ask so.
    pub retry_failed: bool,
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
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Every slot has ended.
    Complete,
    /// Every slot of the tasks that are drawn by now has ended; more may be drawn.
    DrawnOut,
    /// A registered rule lets nothing start, for now or for good.
    Refused(Refusal),
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
            Self::Worker(_) => "worker",
        }
    }
}

/// A session's handle for the operator's hand, usable from any thread.
#[derive(Clone, Debug)]
pub struct Brake {
    draining: Arc<Draining>,
    /// Ends looks at the world: nothing is lost by it.
    looks: Interrupt,
    interrupt: Interrupt,
}

#[derive(Debug, Default)]
struct Draining {
    asked: Mutex<bool>,
    /// Wakes who waits for it to be asked.
    told: Condvar,
    /// Wakes workers.
    changed: Condvar,
}

impl Brake {
    /// Makes a brake that nobody has touched.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            draining: Arc::default(),
            looks: Interrupt::new()?,
            interrupt: Interrupt::new()?,
        })
    }

    /// Starts nothing more, and ends looks at the world.
    ///
    /// A worker that has just looked and is about to sleep does not notice; whoever ends next wakes
    /// it, and where nothing is live no worker sleeps.
    pub fn drain(&self) {
        *lock(&self.draining.asked) = true;
        // A pipe that is broken has no reader left to tell.
        let _ = self.looks.fire();
        self.draining.told.notify_all();
        self.wake();
    }

    /// Lets whoever sleeps look again.
    fn wake(&self) {
        self.draining.changed.notify_all();
    }

    /// Sleeps until a time has passed, or nothing more is to start; says whether that is so.
    pub fn sleep(&self, time: Duration) -> bool {
        let asked = lock(&self.draining.asked);
        let slept = self
            .draining
            .told
            .wait_timeout_while(asked, time, |asked| !*asked);
        *slept.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Starts nothing more, and ends what is live.
    pub fn end(&self) {
        self.drain();
        // A pipe that is broken has no reader left to tell.
        let _ = self.interrupt.fire();
    }

    fn is_draining(&self) -> bool {
        *lock(&self.draining.asked)
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
    session: &Session<'_>,
    brake: &Brake,
    observer: &dyn Observer,
) -> Result<End, SessionFault> {
    fs::create_dir_all(session.runs).map_err(StepFault::folder(session.runs))?;
    let _held = hold(session.runs)?;
    let folder = StepFault::folder(session.runs);
    let was_killed = children::was_killed(session.runs);
    let note = Note::of_session(session.runs).map_err(&folder)?;
    children::end_orphans(session.runs).map_err(&folder)?;
    let executor = Executor {
        rules,
        base: session.base,
        runs: session.runs,
        env: session.env,
        interrupt: &brake.interrupt,
    };
    let world = World {
        protocol: rules.protocol(),
        base: session.base,
        env: session.env,
        interrupt: &brake.looks,
        runs: Some(session.runs),
    };
    store.keep_pace(clock::steady);
    let left = recover(store, &executor, session, was_killed)?;
    let refused = begin(store, &world, session)?;
    let workers = workers(rules, session, left.len());
    let flush = store.begin_session(LAG_MAX)?;
    let shared = Shared {
        store,
        left,
        busy: 0,
        end: End::Waiting,
        refused,
        fault: None,
        news: 0,
    };
    let dispatcher = Dispatcher {
        shared: Mutex::new(shared),
        flush,
        executor: &executor,
        world: &world,
        session,
        brake,
        observer,
        told: Mutex::default(),
    };
    dispatcher.work(workers);
    dispatcher.settle()?;
    note.remove().map_err(&folder)?;
    // An empty folder says nothing.
    let _ = fs::remove_dir(session.runs);
    let end = dispatcher.end()?;
    if matches!(end, End::Refused(_)) && is_over(store)? {
        // Refused where runs executed elsewhere are open: a later session ends the study.
        store.write(|writer| {
            writer
                .apply(request("engine", Action::Conclude {}))
                .map(drop)
        })?;
    }
    Ok(end)
}

/// Returns whether a rule has ended the study for good.
fn is_over(store: &mut Store) -> Result<bool, Fault> {
    let conclude = Action::Conclude {};
    let ruling = store.write(|writer| writer.foresee("engine", &conclude))?;
    Ok(ruling.is_ok_and(|events| !events.is_empty()))
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
    children::end_orphans(runs).map_err(StepFault::folder(runs))?;
    if children::was_killed(runs) {
        children::end_marked(runs);
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
    for run in executor::workspaces(runs).map_err(StepFault::folder(runs))? {
        if store.run(run)?.is_none_or(|run| run.is_closed()) {
            executor::clean(runs, run)?;
        }
    }
    Ok(())
}

/// Holds the session's lock: one session a record.
fn hold(runs: &Path) -> Result<File, SessionFault> {
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

/// Begins a session: looks at the switch and at every arm, and asks the stops that are looked at then;
/// returns the rule that lets this session start nothing.
fn begin(
    store: &mut Store,
    world: &World<'_>,
    session: &Session<'_>,
) -> Result<Option<Refusal>, SessionFault> {
    let mut looked = world.preflights(|_| true)?;
    looked.extend(world.look()?);
    if world.interrupt.has_fired() {
        // Nothing starts any more; who looks next sees everything.
        return Ok(None);
    }
    looked.extend(switch::look(world.protocol, world.base));
    let begun = store.write(|writer| {
        for action in looked {
            writer.apply(request(session.actor, action))?;
        }
        if session.retry_failed {
            retry_failed(writer, session.actor)?;
        }
        writer.apply(request(session.actor, Action::Session {}))
    })?;
    Ok(begun.ruling.err())
}

/// Lets the slots of failed runs wait for another attempt, where the protocol lets a person ask so.
fn retry_failed(writer: &mut Writer<'_>, actor: &str) -> Result<(), Fault> {
    for run in writer.unjudged_runs()? {
        let action = Action::Retry { run };
        if writer.foresee(actor, &action)?.is_ok() {
            writer.apply(request(actor, action))?;
        }
    }
    Ok(())
}

fn workers(rules: &Rules, session: &Session<'_>, left: usize) -> usize {
    let plan = if session.pilot {
        rules.pilot_plan()
    } else {
        rules.registered_plan()
    };
    // Tasks may come while the session is at work.
    let grows = rules.is_open() || rules.grows();
    let jobs = usize::try_from(plan.len())
        .ok()
        .filter(|_| !grows)
        .unwrap_or(usize::MAX)
        .saturating_add(left);
    let runs_max = usize::try_from(rules.protocol().allocation.runs_max).unwrap_or(usize::MAX);
    runs_max.min(jobs).clamp(1, WORKERS_MAX)
}

/// Sorts out what an earlier session left: what ended and can still be judged is returned; what
/// nobody knows the ending of is recorded as lost. Runs executed elsewhere are not touched.
fn recover(
    store: &mut Store,
    executor: &Executor<'_>,
    session: &Session<'_>,
    was_killed: bool,
) -> Result<VecDeque<Assignment>, SessionFault> {
    let ours = store
        .open_runs()?
        .into_iter()
        .filter(|run| run.executed == Executed::Here);
    let (judgeable, lost): (Vec<Run>, Vec<Run>) =
        ours.partition(|run| run.state == State::Ended && executor.is_judgeable(run.run));
    if was_killed || !(judgeable.is_empty() && lost.is_empty()) {
        // Perhaps before it could note whom it had just started; looks are never noted.
        children::end_marked(session.runs);
    }
    if !lost.is_empty() {
        store.write(|writer| {
            for run in &lost {
                let note = Some("the session that executed it was killed".to_owned());
                writer.apply(request(
                    session.actor,
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
    sweep(store, session.runs)?;
    let mut left = VecDeque::new();
    for run in judgeable {
        if let Some(task) = store.task(&run.task)? {
            left.push_back(Assignment {
                run: run.run,
                task,
                arm: run.arm,
                seed: run.seed,
            });
        }
    }
    Ok(left)
}

fn request(actor: &str, action: Action) -> Request {
    Request {
        actor: actor.to_owned(),
        key: None,
        expects: None,
        action,
    }
}

/// What a worker does next.
#[derive(Debug)]
enum Work {
    Execute(Assignment),
    Judge(Assignment),
}

/// What came of some work.
#[derive(Debug, Default)]
struct Report {
    /// What is to be recorded of it.
    actions: Vec<Action>,
    /// The run that is closed with it: nothing needs its workspace any more.
    closed: Option<RunId>,
}

/// Where workers come to between two runs.
struct Dispatcher<'a> {
    shared: Mutex<Shared<'a>>,
    flush: Flush,
    executor: &'a Executor<'a>,
    world: &'a World<'a>,
    session: &'a Session<'a>,
    brake: &'a Brake,
    observer: &'a dyn Observer,
    /// The number of the newest news that was told.
    told: Mutex<u64>,
}

/// How far a session has come, and the place of that among all news.
struct News {
    number: u64,
    progress: Progress,
}

/// What the workers share: the record, what is left over, and how it stands with the others.
struct Shared<'a> {
    store: &'a mut Store,
    left: VecDeque<Assignment>,
    busy: usize,
    end: End,
    /// The rule that lets this session start nothing.
    refused: Option<Refusal>,
    fault: Option<SessionFault>,
    /// How many news there were.
    news: u64,
}

impl Shared<'_> {
    fn news(&mut self, progress: Progress) -> News {
        self.news += 1;
        let number = self.news;
        News { number, progress }
    }
}

impl Dispatcher<'_> {
    fn work(&self, workers: usize) {
        // Removing a workspace may wait for the disk; it is nobody's next step.
        let (closed, sweep) = mpsc::sync_channel::<RunId>(SWEEP_MAX);
        std::thread::scope(|scope| {
            self.spawn(scope, "sweeper".to_owned(), move || {
                let swept = sweep.iter().try_for_each(|run| self.executor.clean(run));
                swept.unwrap_or_else(|fault| self.fail(fault.into()));
            });
            for worker in 0..workers {
                let closed = closed.clone();
                let work = move || {
                    self.worker(worker, &closed)
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
        Ok(lock(&self.shared).store.settle()?)
    }

    fn end(self) -> Result<End, SessionFault> {
        let shared = self
            .shared
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match (shared.fault, shared.end) {
            (Some(fault), _) => Err(fault),
            (None, End::Waiting) if self.brake.is_draining() => Ok(End::Interrupted),
            (None, end) => Ok(end),
        }
    }

    /// Keeps the first fault and starts nothing more; what is live ends and is recorded.
    fn fail(&self, fault: SessionFault) {
        lock(&self.shared).fault.get_or_insert(fault);
        self.brake.wake();
    }

    fn worker(&self, worker: usize, sweep: &SyncSender<RunId>) -> Result<(), SessionFault> {
        let note =
            Note::open(self.session.runs, worker).map_err(StepFault::folder(self.session.runs))?;
        let mut report = None;
        loop {
            let closed = report.as_ref().and_then(|report: &Report| report.closed);
            let work = self.exchange(report.take())?;
            let put_away = || closed.iter().for_each(|run| self.put_away(*run, sweep));
            match work {
                Some(work) => report = Some(self.perform(&note, work, &put_away)?),
                None => {
                    put_away();
                    break;
                }
            }
        }
        Ok(note
            .remove()
            .map_err(StepFault::folder(self.session.runs))?)
    }

    /// Removes a workspace: an empty one here, any other on the sweeper's time.
    fn put_away(&self, run: RunId, sweep: &SyncSender<RunId>) {
        if !self.executor.clean_if_empty(run) {
            // A sweeper that has gone left its fault behind.
            let _ = sweep.send(run);
        }
    }

    /// Performs some work; returns what is to be recorded of it.
    ///
    /// `meanwhile` is done once, while the arm is being executed.
    fn perform(
        &self,
        note: &Note,
        work: Work,
        meanwhile: &dyn Fn(),
    ) -> Result<Report, SessionFault> {
        let assignment = match work {
            Work::Judge(assignment) => {
                meanwhile();
                return self.judge(note, &assignment, Vec::new());
            }
            Work::Execute(assignment) => assignment,
        };
        let run = assignment.run;
        let (action, fault) = self.executor.execute(&assignment, note, meanwhile);
        if let Some(fault) = fault {
            self.fail(fault.into());
        }
        let is_judged = self.executor.rules.protocol().judge.is_some();
        match action {
            Action::Finish { .. } if !is_judged => self.judge(note, &assignment, vec![action]),
            // The ending is on the record before the judge starts; it may have closed the run.
            Action::Finish { .. } if self.record(vec![action.clone()])?.contains(&run) => {
                self.judge(note, &assignment, Vec::new())
            }
            Action::Finish { .. } => Ok(Report {
                actions: Vec::new(),
                closed: Some(run),
            }),
            _ => Ok(Report {
                actions: vec![action],
                closed: Some(run),
            }),
        }
    }

    fn judge(
        &self,
        note: &Note,
        assignment: &Assignment,
        mut actions: Vec<Action>,
    ) -> Result<Report, SessionFault> {
        let score = self.executor.judge(assignment, note)?;
        let closed = score.is_some().then_some(assignment.run);
        actions.extend(score);
        Ok(Report { actions, closed })
    }

    /// Records something at once; returns the runs that then wait for their score.
    fn record(&self, actions: Vec<Action>) -> Result<BTreeSet<RunId>, SessionFault> {
        let mut shared = lock(&self.shared);
        let (waiting, progress) = shared.store.write(|writer| {
            self.apply(writer, actions)?;
            let standing = writer.standing();
            Ok((standing.ended.clone(), self.progress(standing)))
        })?;
        let news = shared.news(progress);
        drop(shared);
        self.flush_and_tell(news)?;
        // A run that has ended may let another start.
        self.brake.wake();
        Ok(waiting)
    }

    /// Records what came of a run and grants the next, in one transaction; sleeps while there is
    /// none; returns nothing when there will be none. A worker that just came brings no report.
    ///
    /// What is returned is on the disk: nobody acts on a grant that a power cut could take back.
    fn exchange(&self, report: Option<Report>) -> Result<Option<Work>, SessionFault> {
        let was_busy = report.is_some();
        let mut report = report.unwrap_or_default().actions;
        let looks = world::is_looked_at(self.world.protocol);
        if looks {
            // A look takes its time; what a run has cost is on the record before.
            self.record(std::mem::take(&mut report))?;
            report = self.world.look()?;
        }
        let mut shared = lock(&self.shared);
        shared.busy -= usize::from(was_busy);
        loop {
            let may_start = shared.fault.is_none() && !self.brake.is_draining();
            let left = if may_start {
                shared.left.pop_front()
            } else {
                None
            };
            let news = !report.is_empty();
            let refused = shared.refused.clone();
            let (granted, ended, progress) = shared.store.write(|writer| {
                self.apply(writer, std::mem::take(&mut report))?;
                let granted = match (left, refused) {
                    (Some(assignment), _) => Granted::Work(Work::Judge(assignment)),
                    (None, Some(refusal)) if may_start => Granted::Refused(refusal),
                    (None, None) if may_start => self.grant(writer)?,
                    _ if self.is_complete(writer) => Granted::Complete,
                    _ => Granted::Nothing,
                };
                let standing = writer.standing();
                let ended = self.session.pilot || standing.completed.is_some();
                Ok((granted, ended, self.progress(standing)))
            })?;
            let told = shared.news(progress);
            if news {
                self.brake.wake();
            }
            let complete = matches!(granted, Granted::Complete);
            match granted {
                Granted::Work(work) => {
                    shared.busy += 1;
                    drop(shared);
                    self.flush_and_tell(told)?;
                    return Ok(Some(work));
                }
                Granted::Complete if ended => shared.end = End::Complete,
                Granted::Complete => shared.end = End::DrawnOut,
                Granted::Refused(refusal) => shared.end = End::Refused(refusal),
                Granted::Nothing if matches!(shared.end, End::Refused(_)) => {
                    shared.end = End::Waiting;
                }
                Granted::Nothing => {}
            }
            if complete || shared.busy == 0 || !may_start {
                // Whoever sleeps looks once more, and finds the same.
                self.brake.wake();
                drop(shared);
                self.flush_and_tell(told)?;
                return Ok(None);
            }
            if news {
                self.flush_and_tell(told)?;
            }
            shared = self
                .brake
                .draining
                .changed
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
            if looks {
                drop(shared);
                report = self.world.look()?;
                shared = lock(&self.shared);
            }
        }
    }

    /// Waits for the disk, and only then tells how far the session has come.
    fn flush_and_tell(&self, news: News) -> Result<(), Fault> {
        self.flush.flush()?;
        let mut told = lock(&self.told);
        // Another worker may have told what is newer.
        if *told < news.number {
            *told = news.number;
            self.observer.progress(news.progress);
        }
        Ok(())
    }

    fn is_complete(&self, writer: &Writer<'_>) -> bool {
        !self.session.pilot && writer.standing().completed.is_some()
    }

    /// Records actions in their order; a run that its ending has closed is not scored.
    fn apply(&self, writer: &mut Writer<'_>, actions: Vec<Action>) -> Result<(), Fault> {
        for action in actions {
            if let Action::Score { run, .. } = &action
                && !writer.standing().ended.contains(run)
            {
                continue;
            }
            writer.apply(request(self.session.actor, action))?;
        }
        Ok(())
    }

    /// Grants what may start now: controls of a task before its slots, then the plan.
    fn grant(&self, writer: &mut Writer<'_>) -> Result<Granted, Fault> {
        if let Some(switch) = switch::look(self.world.protocol, self.world.base) {
            // Read fresh before each start.
            writer.apply(request(self.session.actor, switch))?;
        }
        loop {
            let peek = match self.session.pilot {
                true => writer.peek_pilot()?,
                false => writer.peek()?,
            };
            match peek {
                Peek::Complete => return Ok(Granted::Complete),
                Peek::Wait => return Ok(Granted::Nothing),
                Peek::Refused(refusal) => return Ok(Granted::Refused(refusal)),
                Peek::Expire(run) => {
                    writer.apply(request("engine", Action::Expire { run }))?;
                }
                Peek::Start(next) => return self.grant_slot(writer, &next),
            }
        }
    }

    /// Grants a slot, or first a control of its task. Pilots have no controls before them.
    fn grant_slot(&self, writer: &mut Writer<'_>, next: &Next) -> Result<Granted, Fault> {
        if !self.is_ours(&next.arm) {
            return Ok(Granted::Nothing);
        }
        let controls = &self.executor.rules.protocol().controls;
        for control in controls.iter().filter(|_| !self.session.pilot) {
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

    /// Returns whether a session executes runs of an arm.
    fn is_ours(&self, arm: &str) -> bool {
        preflight::direct(self.executor.rules.protocol()).any(|here| here.id == arm)
    }

    fn start(&self, writer: &mut Writer<'_>, task: &str, arm: &str) -> Result<Granted, Fault> {
        let action = Action::Start {
            task: task.to_owned(),
            arm: arm.to_owned(),
            executed: Executed::Here,
        };
        let Response { ruling, .. } = writer.apply(request(self.session.actor, action))?;
        let started = ruling.iter().flatten().find_map(|event| match event {
            Event::Started { run, seed, .. } => Some((*run, *seed)),
            _ => None,
        });
        let (Some((run, seed)), Some(task)) = (started, writer.task(task)?) else {
            return Ok(Granted::Nothing);
        };
        let arm = arm.to_owned();
        let assignment = Assignment {
            run,
            task,
            arm,
            seed,
        };
        Ok(Granted::Work(Work::Execute(assignment)))
    }

    /// Returns how far the study has come.
    fn progress(&self, standing: &Standing) -> Progress {
        let arms = standing
            .arms
            .iter()
            .filter(|(arm, _)| self.executor.rules.protocol().arm(arm).is_some());
        Progress {
            slots: standing.slots,
            ended: standing.slots_ended,
            running: standing.live.len() as u64,
            unjudged: arms.map(|(_, tally)| tally.unjudged).sum(),
        }
    }
}

/// What a worker is granted.
enum Granted {
    Work(Work),
    Nothing,
    Refused(Refusal),
    Complete,
}
