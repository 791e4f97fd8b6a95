//! A session: workers that start, execute, judge and record until nothing is left to start.
//!
//! Each worker is a thread that does one run after another; between two it comes to the dispatcher.
//! Where the protocol has probes or readings that a
//! command takes, the worker looks at the world first, so that each run has a look before and after
//! it. A worker that finds nothing to start sleeps until another comes to the dispatcher; nobody
//! looks at a clock to see whether something changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::children::{self, Note};
use super::clock;
use super::dispatcher::{Dispatcher, Shared};
use super::executor::{Executor, StepFault};
use super::process::Interrupt;
use super::recovery::{Recovered, hold, recover};
use super::supervisor::{Supervisors, Tiers, Unavailable};
use super::switch;
use super::world::World;
use crate::engine::command::Action;
use crate::engine::preflight;
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::protocol::model::{Containment, Execution, Protocol};
use crate::store::{Fault, GroupCommit, Request, Store, Writer};

/// The most workers that a session has, whatever the protocol allows.
const WORKERS_MAX: usize = 256;
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
    /// The machine cannot hold arms together as registered.
    #[error(transparent)]
    Containment(#[from] Unavailable),
}

impl SessionFault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy => "already-running",
            Self::Store(fault) => fault.code(),
            Self::Step(fault) => fault.code(),
            Self::Worker(_) => "worker",
            Self::Containment(_) => "containment-unavailable",
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
    leave: Interrupt,
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
            leave: Interrupt::new()?,
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
    pub(super) fn wake(&self) {
        self.draining.changed.notify_all();
    }

    /// Sleeps until it is woken.
    pub(super) fn wait<'m, T>(&self, shared: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        let woken = self.draining.changed.wait(shared);
        woken.unwrap_or_else(PoisonError::into_inner)
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

    /// Starts nothing more, and leaves what is live to its supervisors: the next session finds it.
    pub fn leave(&self) {
        self.drain();
        // A pipe that is broken has no reader left to tell.
        let _ = self.leave.fire();
    }

    pub(super) fn is_draining(&self) -> bool {
        *lock(&self.draining.asked)
    }
}

/// Locks; a worker that panicked left nothing half done that the record would not show.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
    let supervisors = Supervisors::start();
    let (least, all) = (least_tier(rules.protocol()), executions(rules.protocol()));
    let tiers = Tiers::best(least, &supervisors, all)?;
    let hidden = hidden(store, rules.protocol(), session);
    let was_killed = children::was_killed(session.runs);
    let note = Note::of_session(session.runs).map_err(&folder)?;
    let executor = Executor {
        rules,
        base: session.base,
        runs: session.runs,
        env: session.env,
        interrupt: &brake.interrupt,
        leave: &brake.leave,
        tiers: &tiers,
        hidden: &hidden,
    };
    let world = World {
        protocol: rules.protocol(),
        base: session.base,
        env: session.env,
        interrupt: &brake.looks,
        runs: Some(session.runs),
    };
    store.keep_pace(clock::steady);
    let Recovered { left, unproven } = recover(store, &executor, session.actor, was_killed)?;
    let refused = begin(store, &world, session)?;
    let workers = workers(rules, session, left.len());
    let flush = store.begin_session(LAG_MAX)?;
    let dispatcher = Dispatcher {
        shared: Mutex::new(Shared::new(store, left, refused)),
        group: GroupCommit::default(),
        flush,
        executor: &executor,
        supervisors: &supervisors,
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
    if !brake.leave.has_fired() {
        // Nothing is live, and nothing of it is to be seen when this session has ended.
        supervisors.await_end();
    }
    if matches!(end, End::Refused(_)) {
        // Refused where runs executed elsewhere are open: a later session ends the study.
        store.write(|writer| writer.conclude())?;
    }
    match (unproven.first(), &end) {
        // Everything else was done; what it holds up, a person must say.
        (Some(run), End::Waiting) => Err(StepFault::Unproven(*run).into()),
        _ => Ok(end),
    }
}

/// Returns how everything that a session executes is executed.
fn executions(protocol: &Protocol) -> impl Iterator<Item = &Execution> + Clone {
    let arms: Vec<&Execution> = preflight::direct(protocol)
        .map(|arm| &arm.execution)
        .collect();
    arms.into_iter().chain([&protocol.execution])
}

/// Returns the least tier by which all that a session executes may be held together.
fn least_tier(protocol: &Protocol) -> Containment {
    // The best come first.
    let least = executions(protocol)
        .map(|execution| execution.containment)
        .min();
    least.unwrap_or(Containment::Pgroup)
}

/// Returns what an arm is not to see, whatever its task: the record, and the program that judges it.
fn hidden(store: &Store, protocol: &Protocol, session: &Session<'_>) -> Vec<PathBuf> {
    // One that cannot be made absolute stands in no folder that could be hidden.
    let record = std::path::absolute(store.path()).unwrap_or_default();
    let beside = |end: &str| {
        let mut name = record.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let mut found = ["", "-wal", "-shm", "-lock"].map(beside).to_vec();
    let own = protocol.arms.iter().map(|arm| &arm.command);
    let own = own.chain(protocol.controls.iter().map(|control| &control.command));
    let used: Vec<&String> = own.flatten().collect();
    let judge = protocol
        .judge
        .iter()
        .filter_map(|judge| judge.command.first());
    // What an arm is told to use is not kept from it.
    let only_judge = judge.filter(|program| program.contains('/') && !used.contains(program));
    found.extend(only_judge.map(|program| session.base.join(program)));
    found
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

pub(super) fn request(actor: &str, action: Action) -> Request {
    Request {
        actor: actor.to_owned(),
        key: None,
        expects: None,
        action,
    }
}
