//! An arm whose descendants all come to its supervisor when their parents end, and are ended there.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
};

use super::cgroup::END_MAX;
use super::heard::{self, Heard};
use super::limits::Groups;
use super::order::Order;
use super::serve::Asked;
use crate::runner::process::{
    Body, Ended, Job, Pipes, SpawnFault, Status, Usage, explain, prepare, signal_with_group, watch,
};

/// How long is slept between two looks at children that are ending.
const LOOK: Duration = Duration::from_millis(1);

/// Executes a command whose descendants are all ended with it, in a control group if one is ordered.
pub(super) fn execute(
    order: &Order,
    job: &Job<'_>,
    asked: &mut Asked,
) -> Result<Ended, SpawnFault> {
    let lost = |source| SpawnFault::lost(job, source);
    let refused = |source| SpawnFault::refused(job, source);
    let reaper = Reaper::new().map_err(refused)?;
    let groups = Groups::make(order.cgroup(), &order.limits).map_err(refused)?;
    let (pipes, ends) = Pipes::new(job).map_err(refused)?;
    let mut command = prepare(job, ends.map(Into::into))?;
    let started = Instant::now();
    let leader = match groups.within(|| command.spawn()).map_err(lost)? {
        Ok(child) => Pid::from_child(&child),
        Err(source) => {
            // What is left of them the next run of that name removes.
            let _ = groups.end();
            return Err(explain(source, job));
        }
    };
    let body = Reaped {
        reaper,
        leader,
        groups,
        status: None,
        was_short: false,
    };
    // From here on an early return drops the body, which ends it.
    body.reaper.listen().map_err(lost)?;
    watch(job, body, pipes, command, started, asked).map_err(lost)
}

/// Takes in children that end, its own and those whose parents have ended.
pub(super) struct Reaper {
    ended: Heard,
}

impl Reaper {
    pub(super) fn new() -> io::Result<Self> {
        set_child_subreaper(Some(Pid::INIT))?;
        let ended = Heard::read(nix::sys::signal::SIGCHLD)?;
        Ok(Self { ended })
    }

    /// Listens from now on, when the leader has been started, which would have the signal blocked.
    pub(super) fn listen(&self) -> io::Result<()> {
        heard::block(nix::sys::signal::SIGCHLD)?;
        // What has ended before said so to nobody: it is looked at once.
        Ok(kill_process(getpid(), Signal::CHILD)?)
    }

    /// Returns what is ready when a child may have ended.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Takes in what has ended, up to a leader; returns how that one ended if it has.
    pub(super) fn take_up_to(&self, leader: Pid) -> io::Result<Option<WaitStatus>> {
        self.ended.take();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == leader => return Ok(Some(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) | Err(Errno::CHILD) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Ends children, and what comes to this process as they end, until there are none.
    ///
    /// Only children are signalled: nobody else can get their numbers before they are taken in.
    pub(super) fn end_all(&self) -> io::Result<()> {
        let began = Instant::now();
        // Most leave nobody, and then nobody is looked for.
        while !has_taken_all()? {
            for child in children()? {
                // One that has ended is taken in below.
                let _ = kill_process(child, Signal::KILL);
            }
            if has_taken_all()? {
                break;
            }
            if began.elapsed() > END_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Takes in what has ended; returns whether no child is left.
fn has_taken_all() -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Returns the children of this process.
fn children() -> io::Result<Vec<Pid>> {
    let text = fs::read_to_string("/proc/thread-self/children")?;
    let numbers = text.split_ascii_whitespace();
    Ok(numbers
        .filter_map(|number| Pid::from_raw(number.parse().ok()?))
        .collect())
}

/// Returns what children that were taken in have used, with those that they had taken in.
pub(super) fn usage() -> Usage {
    let Ok(used) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Usage::default();
    };
    let micros = |time: nix::sys::time::TimeVal| {
        let micros = time.tv_sec().checked_mul(1_000_000)?;
        u64::try_from(micros.checked_add(time.tv_usec())?).ok()
    };
    Usage {
        user_us: micros(used.user_time()),
        system_us: micros(used.system_time()),
        peak_bytes: u64::try_from(used.max_rss())
            .ok()
            .and_then(|kibibytes| kibibytes.checked_mul(1024)),
    }
}

/// Returns how a leader ended.
pub(super) fn status_of(status: WaitStatus) -> Status {
    Status {
        exit: status.exit_status(),
        signal: status.terminating_signal(),
        usage: usage(),
        ..Status::default()
    }
}

/// A leader and its descendants.
struct Reaped {
    reaper: Reaper,
    leader: Pid,
    groups: Groups,
    status: Option<Status>,
    was_short: bool,
}

impl Body for Reaped {
    fn exit_fd(&self) -> BorrowedFd<'_> {
        self.reaper.fd()
    }

    fn has_ended(&mut self) -> io::Result<bool> {
        self.status = self.reaper.take_up_to(self.leader)?.map(status_of);
        Ok(self.status.is_some())
    }

    fn terminate(&mut self) {
        signal_with_group(self.leader, Signal::TERM);
        signal_with_group(self.leader, Signal::CONT);
    }

    fn kill(&mut self) {
        signal_with_group(self.leader, Signal::KILL);
        self.groups.kill();
    }

    fn sweep(&mut self) -> io::Result<()> {
        self.groups.kill();
        self.reaper.end_all()?;
        self.was_short = self.groups.was_short_of_memory();
        self.groups.end()
    }

    fn reap(&mut self) -> io::Result<Status> {
        let status = self.status.unwrap_or_default();
        // What was killed at the end counts, too.
        Ok(Status {
            usage: usage(),
            was_short_of_memory: self.was_short,
            ..status
        })
    }

    fn next_look(&self) -> Option<Instant> {
        self.groups.next_look()
    }

    fn is_over_limit(&mut self) -> bool {
        self.groups.is_over_limit()
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.kill();
            let _ = self.sweep();
        }
    }
}
