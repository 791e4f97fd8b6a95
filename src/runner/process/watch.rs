//! The loop that watches one command: its output, its end, its limits and the operator's hand.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use super::capture::Capture;
use super::steps::{Phase, Step};
use super::{Ended, Interrupt, Job};

/// How long the pipes are read after everything is dead, unless they end before.
const DRAIN_MAX: Duration = Duration::from_millis(200);

/// What is watched: a leader, and whatever is ended with it.
pub(in crate::runner) trait Body {
    /// Returns the descriptor that is ready when [`Self::has_ended`] may have something to say.
    fn exit_fd(&self) -> BorrowedFd<'_>;
    /// Returns whether the leader has ended.
    fn has_ended(&mut self) -> io::Result<bool>;
    /// Asks it to end. CONT follows TERM, which a stopped process would not see.
    fn terminate(&mut self);
    /// Ends it.
    fn kill(&mut self);
    /// Ends everything that a leader which has ended has left, and waits until that is gone.
    fn sweep(&mut self) -> io::Result<()>;
    /// Returns how the leader ended; gives up what was held of it.
    fn reap(&mut self) -> io::Result<Status>;
    /// Returns when a limit on what it uses is to be looked at next, where there is one.
    fn next_look(&self) -> Option<Instant> {
        None
    }
    /// Returns whether it has used more than it may.
    fn is_over_limit(&mut self) -> bool {
        false
    }
}

/// How a leader ended, and what it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::runner) struct Status {
    pub(in crate::runner) exit: Option<i32>,
    pub(in crate::runner) signal: Option<i32>,
    /// The time from its start to its end, where whoever was closer to it has measured.
    pub(in crate::runner) wall_us: Option<u64>,
    pub(in crate::runner) usage: Usage,
    /// Whether something of it was ended because its memory was not enough.
    pub(in crate::runner) was_short_of_memory: bool,
}

/// What a command used, with the children that were waited for. Unknown is never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Processor time of its own, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_us: Option<u64>,
    /// Processor time of the system for it, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_us: Option<u64>,
    /// The most memory that one of its processes had, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

impl Usage {
    /// Returns the processor time in milliseconds.
    pub fn cpu_ms(&self) -> Option<u64> {
        Some(self.user_us?.saturating_add(self.system_us?) / 1000)
    }
}

/// Whoever may end a command before its time.
pub(in crate::runner) trait Hand {
    /// Returns what is ready when it may ask so.
    fn fds(&self) -> Vec<BorrowedFd<'_>>;
    /// Returns whether it asks so.
    fn asks(&mut self) -> bool;
}

impl Hand for &Interrupt {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.as_fd()]
    }

    fn asks(&mut self) -> bool {
        self.has_fired()
    }
}

/// Both streams of a command.
pub(in crate::runner) struct Pipes<'a> {
    stdout: Capture<'a>,
    stderr: Capture<'a>,
}

impl<'a> Pipes<'a> {
    /// Makes the pipes of a job; returns the ends that it writes to, too.
    pub(in crate::runner) fn new(job: &Job<'a>) -> io::Result<(Self, [PipeWriter; 2])> {
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let pipes = Self {
            stdout: Capture::new(stdout, job.stdout, job.output_max)?,
            stderr: Capture::new(stderr, job.stderr, job.output_max)?,
        };
        Ok((pipes, [stdout_end, stderr_end]))
    }

    fn is_open(&self) -> bool {
        self.stdout.fd().is_some() || self.stderr.fd().is_some()
    }

    /// Reads once of each stream that is ready: a flood may not hold up the look at the clock.
    fn read(&mut self, ready: [bool; 2]) {
        for (stream, ready) in [&mut self.stdout, &mut self.stderr].into_iter().zip(ready) {
            if ready {
                stream.read();
            }
        }
    }

    /// Reads what is left: to the end, or for as long as [`DRAIN_MAX`].
    fn drain(&mut self) -> io::Result<()> {
        let end = Instant::now() + DRAIN_MAX;
        while self.is_open() && Instant::now() < end {
            let fds = [self.stdout.fd(), self.stderr.fd()];
            let ready = wait(&fds, Some(end))?;
            self.read([ready[0], ready[1]]);
        }
        Ok(())
    }
}

/// Why a command is being ended before its time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Timeout,
    Interrupt,
    Limit,
}

/// Watches a command that has started until nothing of it is left.
///
/// `ends` keeps the writing ends of the pipes open until then.
pub(in crate::runner) fn watch<B: Body>(
    job: &Job<'_>,
    mut body: B,
    mut pipes: Pipes<'_>,
    ends: impl Sized,
    started: Instant,
    hand: &mut impl Hand,
) -> io::Result<Ended> {
    let cause = await_leader(job, &mut body, &mut pipes, started, hand)?;
    let wall = started.elapsed();
    // What is left of it holds up nothing else: what is known is told, and that it is there.
    let remains = body.sweep().err();
    drop(ends);
    pipes.drain()?;
    let status = body.reap()?;
    let leaked = pipes.is_open();
    let (stdout, stdout_fault) = pipes.stdout.finish();
    let (stderr, stderr_fault) = pipes.stderr.finish();
    let wall = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
    Ok(Ended {
        exit: status.exit,
        signal: status.signal,
        timed_out: cause == Some(Cause::Timeout),
        interrupted: cause == Some(Cause::Interrupt),
        over_limit: cause == Some(Cause::Limit),
        was_short_of_memory: status.was_short_of_memory,
        wall_us: status.wall_us.unwrap_or(wall),
        usage: status.usage,
        remains: remains.map(|error| error.to_string()),
        leaked,
        stdout,
        stderr,
        capture_fault: stdout_fault.or(stderr_fault),
    })
}

/// Waits until the leader has ended, ending it when a limit is reached.
fn await_leader<B: Body>(
    job: &Job<'_>,
    body: &mut B,
    pipes: &mut Pipes<'_>,
    started: Instant,
    hand: &mut impl Hand,
) -> io::Result<Option<Cause>> {
    let mut cause = None;
    let mut phase = Phase::started(started, job.timeout);
    loop {
        let look = body.next_look().filter(|_| cause.is_none());
        let ready = {
            let mut fds = vec![Some(body.exit_fd()), pipes.stdout.fd(), pipes.stderr.fd()];
            if cause.is_none() {
                fds.extend(hand.fds().into_iter().map(Some));
            }
            wait(&fds, phase.due().into_iter().chain(look).min())?
        };
        // An end that came together with the limit is an end, not a time-out.
        if ready[0] && body.has_ended()? {
            return Ok(cause);
        }
        let now = Instant::now();
        if cause.is_none() {
            cause = if phase.is_due(now) {
                Some(Cause::Timeout)
            } else if ready[3..].contains(&true) && hand.asks() {
                Some(Cause::Interrupt)
            } else if look.is_some_and(|at| at <= now) && body.is_over_limit() {
                Some(Cause::Limit)
            } else {
                None
            };
        }
        match phase.step(now, cause.is_some(), job.grace) {
            Some(Step::Terminate) => body.terminate(),
            Some(Step::Kill) => body.kill(),
            None => {}
        }
        pipes.read([ready[1], ready[2]]);
    }
}

/// Sleeps until something can be read, or has ended.
pub(in crate::runner) fn await_readable(fds: &[BorrowedFd<'_>]) -> io::Result<Vec<bool>> {
    let fds: Vec<Option<BorrowedFd<'_>>> = fds.iter().copied().map(Some).collect();
    wait(&fds, None)
}

/// Sleeps until something is ready or a time has come; says what is. A stream is ready also at its end.
fn wait(sources: &[Option<BorrowedFd<'_>>], until: Option<Instant>) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd<'_>> = sources
        .iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    let left = until.map(|at| at.saturating_duration_since(Instant::now()));
    // A time beyond the clock's range is no limit.
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut fds, left.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(vec![false; sources.len()]),
        Err(errno) => return Err(errno.into()),
    }
    let mut polled = fds.iter();
    let is_ready = |source: &Option<_>| {
        source.is_some() && polled.next().is_some_and(|fd| !fd.revents().is_empty())
    };
    Ok(sources.iter().map(is_ready).collect())
}
