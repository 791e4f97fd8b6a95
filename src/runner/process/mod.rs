//! Executes one command in its own process group and says how it ended.
//!
//! * [`Job`] is what to execute, [`Ended`] how it ended, [`SpawnFault`] why it never ran.
//! * `program` finds the program; `group` signals, watches and reaps it; `capture` reads its output.
//! * [`Interrupt`] ends every running job at once; [`ProcessIdentity`] and [`end_orphan`] end what a
//!   killed runner left behind.
//!
//! One thread sleeps in one `poll` on both pipes, the leader's exit and the interrupt, with the
//! deadline as its time-out: nothing wakes up while a command computes. A command is over when its
//! leader is, never when its output ends, because a process that left the group may hold the pipes.
//!
//! Limits. A process that leaves the group (`setsid`) is not ended; it shows as [`Ended::leaked`]
//! while it holds a pipe, and not at all once it has closed them. Ignored signals and descriptors
//! that the runner inherited without close-on-exec are passed on. Time spent in a system suspend
//! does not count towards the time-out on Linux.

mod capture;
mod group;
mod identity;
mod interrupt;
mod program;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use capture::Capture;
pub use capture::{CaptureFault, Captured};
use group::Group;
pub use identity::{Orphan, ProcessIdentity, end_orphan};
pub use interrupt::Interrupt;
pub use program::{SpawnFault, must_exist};

/// How long the pipes are read after the leader is dead, unless they end before.
const DRAIN_MAX: Duration = Duration::from_millis(200);

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
    /// The wall time from before the spawn to the leader's end, in microseconds.
    pub wall_us: u64,
    /// The processor time of the leader and the children it waited for, in steps of 10 ms.
    /// Known on Linux only.
    pub cpu_ms: Option<u64>,
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
    let spawned = spawn(job)?;
    on_spawn(ProcessIdentity::of(spawned.group.pid()));
    spawned.supervise(job, interrupt)
}

/// A running command. Dropping it ends the group.
struct Spawned<'a> {
    group: Group,
    stdout: Capture<'a>,
    stderr: Capture<'a>,
    /// Holds the writing ends of both pipes: while we hold them no pipe ends, so that output and
    /// the exit wake us and each closed descriptor does not.
    ends: Option<Command>,
    started: Instant,
}

fn spawn<'a>(job: &Job<'a>) -> Result<Spawned<'a>, SpawnFault> {
    let lost = |source| SpawnFault::lost(job, source);
    let (stdout, stdout_end) = io::pipe().map_err(lost)?;
    let (stderr, stderr_end) = io::pipe().map_err(lost)?;
    let mut command = program::prepare(job, [stdout_end, stderr_end])?;
    let started = Instant::now();
    let child = command
        .spawn()
        .map_err(|source| program::explain(source, job))?;
    // From here on an early return drops the group, which ends it.
    let group = Group::new(child).map_err(lost)?;
    Ok(Spawned {
        group,
        stdout: Capture::new(stdout, job.stdout, job.output_max).map_err(lost)?,
        stderr: Capture::new(stderr, job.stderr, job.output_max).map_err(lost)?,
        ends: Some(command),
        started,
    })
}

/// Why a command is being ended before its time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Timeout,
    Interrupt,
}

/// What is done to a command, and when the next step is due. `None` is never.
enum Phase {
    Running { term_at: Option<Instant> },
    Ending { kill_at: Option<Instant> },
    Killed,
}

impl Phase {
    fn due(&self) -> Option<Instant> {
        match self {
            Self::Running { term_at: at } | Self::Ending { kill_at: at } => *at,
            Self::Killed => None,
        }
    }
}

/// What `poll` found. A stream is ready also at its end.
#[derive(Default)]
struct Ready {
    exited: bool,
    interrupted: bool,
    stdout: bool,
    stderr: bool,
}

impl Spawned<'_> {
    fn supervise(mut self, job: &Job<'_>, interrupt: &Interrupt) -> Result<Ended, SpawnFault> {
        let lost = |source| SpawnFault::lost(job, source);
        let cause = self.await_leader(job, interrupt).map_err(lost)?;
        let wall = self.started.elapsed();
        // The leader is a zombie: until it is reaped nobody else can get its group's number.
        self.group.kill_rest();
        self.ends = None;
        let cpu_ms = self.group.cpu_ms();
        self.drain().map_err(lost)?;
        let status = self.group.reap().map_err(lost)?;
        Ok(self.ended(status, cause, wall, cpu_ms))
    }

    /// Waits until the leader is a zombie, ending it when a limit is reached.
    fn await_leader(&mut self, job: &Job<'_>, interrupt: &Interrupt) -> io::Result<Option<Cause>> {
        let mut cause = None;
        let mut phase = Phase::Running {
            term_at: self.started.checked_add(job.timeout),
        };
        loop {
            let heeded = cause.is_none().then(|| interrupt.as_fd());
            let ready = self.wait(Some(self.group.exit_fd()), heeded, phase.due())?;
            // An end that came together with the limit is an end, not a time-out.
            if ready.exited {
                return Ok(cause);
            }
            let due = phase.due().is_some_and(|at| at <= Instant::now());
            match phase {
                Phase::Running { .. } if due || ready.interrupted => {
                    cause = Some(if due {
                        Cause::Timeout
                    } else {
                        Cause::Interrupt
                    });
                    self.group.terminate();
                    phase = Phase::Ending {
                        kill_at: Instant::now().checked_add(job.grace),
                    };
                }
                Phase::Ending { .. } if due => {
                    self.group.kill();
                    phase = Phase::Killed;
                }
                _ => {}
            }
            self.read(&ready);
        }
    }

    /// Reads what is left in the pipes: to their end, or for as long as [`DRAIN_MAX`].
    fn drain(&mut self) -> io::Result<()> {
        let end = Instant::now() + DRAIN_MAX;
        while self.is_open() && Instant::now() < end {
            let ready = self.wait(None, None, Some(end))?;
            self.read(&ready);
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.stdout.fd().is_some() || self.stderr.fd().is_some()
    }

    fn read(&mut self, ready: &Ready) {
        // One read each: a flood of output may not hold up the look at the clock.
        if ready.stdout {
            self.stdout.read();
        }
        if ready.stderr {
            self.stderr.read();
        }
    }

    fn wait(
        &self,
        exit: Option<BorrowedFd<'_>>,
        interrupt: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
    ) -> io::Result<Ready> {
        let sources = [exit, interrupt, self.stdout.fd(), self.stderr.fd()];
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(sources.len());
        fds.extend(
            sources
                .iter()
                .flatten()
                .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)),
        );
        let left = until.map(|at| at.saturating_duration_since(Instant::now()));
        // A time beyond the clock's range is no limit.
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut fds, left.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            Err(errno) => return Err(errno.into()),
        }
        let mut polled = fds.iter();
        let [exited, interrupted, stdout, stderr] = sources.map(|source| {
            source.is_some() && polled.next().is_some_and(|fd| !fd.revents().is_empty())
        });
        Ok(Ready {
            exited,
            interrupted,
            stdout,
            stderr,
        })
    }

    fn ended(
        self,
        status: ExitStatus,
        cause: Option<Cause>,
        wall: Duration,
        cpu_ms: Option<u64>,
    ) -> Ended {
        let leaked = self.is_open();
        let (stdout, stdout_fault) = self.stdout.finish();
        let (stderr, stderr_fault) = self.stderr.finish();
        Ended {
            exit: status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&status),
            timed_out: cause == Some(Cause::Timeout),
            interrupted: cause == Some(Cause::Interrupt),
            wall_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX),
            cpu_ms,
            leaked,
            stdout,
            stderr,
            capture_fault: stdout_fault.or(stderr_fault),
        }
    }
}
