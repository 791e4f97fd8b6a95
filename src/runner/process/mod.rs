//! Executes one command in its own process group and says how it ended.
//!
//! * [`Job`] is what to execute, [`Ended`] how it ended, [`SpawnFault`] why it never ran.
//! * `program` finds the program; `group` signals, watches and reaps it; `capture` reads its output.
//! * [`Interrupt`] ends every running job at once; [`ProcessIdentity`] and [`end_orphan`] end what a
//!   killed runner left behind.
//!
//! `watch` is the loop: one thread sleeps in one `poll` on both pipes, the leader's exit and the
//! operator's hand, with the deadline as its time-out (`steps`): nothing wakes up while a command computes. A
//! command is over when its leader is, never when its output ends, because a process that left the
//! group may hold the pipes. What is ended with the leader is for its `Body` to say: here the group,
//! which is enough for looks at the world; what runs is executed by a supervisor.
//!
//! Limits. A process that leaves the group (`setsid`) is not ended here; it shows as
//! [`Ended::leaked`] while it holds a pipe, and not at all once it has closed them. Time spent in a
//! system suspend does not count towards the time-out on Linux.

mod capture;
mod group;
mod identity;
mod interrupt;
mod keep;
mod program;
mod steps;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

pub use capture::{CaptureFault, Captured};
#[cfg(target_os = "linux")]
pub(super) use group::signal_with_group;
pub(super) use group::{Group, exit_of};
#[cfg(target_os = "linux")]
pub(super) use identity::boot_id;
pub use identity::{Orphan, ProcessIdentity, end_orphan};
pub use interrupt::Interrupt;
pub use program::{SpawnFault, must_exist};
pub(super) use program::{explain, prepare};
pub use steps::{Phase, Step};
#[cfg(target_os = "linux")]
pub(super) use watch::{Body, Status};
pub(super) use watch::{Hand, Pipes, Usage, await_readable, watch};

/// Describes one command, completely: nothing is taken from the runner's own surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The program and its arguments, already expanded.
    ///
    /// A program with a slash is a path, relative to `base`; one without is looked up on the PATH
    /// of `env`, whose relative entries are passed over.
    pub command: &'a [String],
    /// The protocol's folder.
    pub base: &'a Path,
    /// The working directory.
    pub dir: &'a Path,
    /// The whole environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The time from the spawn to TERM.
    pub timeout: Duration,
    /// The time from TERM to KILL.
    pub grace: Duration,
    /// The most bytes kept of each stream.
    pub output_max: u64,
    /// The file for standard output. Created when there is any; must not exist.
    pub stdout: &'a Path,
    /// The file for standard error. Created when there is any; must not exist.
    pub stderr: &'a Path,
}

/// Tells how a command ended.
#[derive(Debug)]
#[must_use]
pub struct Ended {
    /// The exit code, unless a signal ended the leader.
    pub exit: Option<i32>,
    /// The signal that ended the leader.
    pub signal: Option<i32>,
    /// Whether the time-out ended it.
    pub timed_out: bool,
    /// Whether the interrupt ended it. Never together with `timed_out`: the first cause counts.
    pub interrupted: bool,
    /// Whether it was ended because it used more processor time than it may.
    pub over_limit: bool,
    /// Whether something of it was ended because its memory was not enough.
    pub was_short_of_memory: bool,
    /// The wall time from before the spawn to the leader's end, in microseconds.
    pub wall_us: u64,
    /// What it used, as far as the system tells.
    pub usage: Usage,
    /// Why nobody can tell that nothing of it is left, where that is so.
    pub remains: Option<String>,
    /// Whether a process outside the group still held a pipe when reading it was given up.
    /// `stdout` and `stderr` are then what had come by that time.
    pub leaked: bool,
    /// What came on standard output.
    pub stdout: Captured,
    /// What came on standard error.
    pub stderr: Captured,
    /// Why output that should have been kept was not.
    ///
    /// The command was still executed to its end, and its output counted and hashed.
    pub capture_fault: Option<CaptureFault>,
}

/// Executes a command to its end. Refuses with a [`SpawnFault`] when it never ran.
///
/// `on_spawn` is called once, when the command already runs, with who it is; it holds up reading
/// the output. On return the leader is reaped and every process of its group has been sent KILL.
/// An interrupt that fired before is seen at once: the command starts and is ended.
pub fn execute(
    job: &Job<'_>,
    interrupt: &Interrupt,
    on_spawn: impl FnOnce(ProcessIdentity),
) -> Result<Ended, SpawnFault> {
    let ended = in_group(job, &mut { interrupt }, on_spawn)?;
    match ended.remains {
        Some(why) => Err(SpawnFault::lost(job, std::io::Error::other(why))),
        None => Ok(ended),
    }
}

/// Executes a command in a process group of its own; any hand may end it.
pub(super) fn in_group(
    job: &Job<'_>,
    hand: &mut impl Hand,
    on_spawn: impl FnOnce(ProcessIdentity),
) -> Result<Ended, SpawnFault> {
    let lost = |source| SpawnFault::lost(job, source);
    let (pipes, ends) = Pipes::new(job).map_err(lost)?;
    let mut command = prepare(job, ends.map(Into::into))?;
    let started = Instant::now();
    let child = command.spawn().map_err(|source| explain(source, job))?;
    // From here on an early return drops the group, which ends it.
    let group = Group::new(child).map_err(lost)?;
    on_spawn(ProcessIdentity::of(group.pid()));
    // While we hold the writing ends no pipe ends: output and the exit wake us, and each closed
    // descriptor does not.
    watch(job, group, pipes, command, started, hand).map_err(lost)
}
