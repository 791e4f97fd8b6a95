//! An arm in a name space of its own: the kernel ends everything there when the first process ends.
//!
//! The supervisor stands outside, where the arm cannot see it. The first process inside is forked from
//! it: it hides what an arm must not see, starts the arm, takes in what ends, and ends itself when the
//! arm has ended. Both talk over a socket.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use fork::{Fork, fork};
use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid,
};
use serde::{Deserialize, Serialize};

use super::heard;
use super::limits::Groups;
use super::order::Order;
use super::reaped::{Reaper, status_of, usage};
use super::receipt::Fault;
use super::serve::Asked;
use super::{hidden, user};
use crate::runner::process::{
    Body, Ended, Job, Pipes, SpawnFault, Status, Usage, await_readable, explain, prepare,
    signal_with_group, watch,
};

/// Asks the inner one to ask the arm to end.
const TERMINATE: u8 = b't';

/// What is read at once of what the inner one says.
const LINE_MAX: usize = 512;

/// What the inner one says, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Said {
    /// The arm is being executed.
    Started,
    /// The arm never ran.
    Fault(Fault),
    /// The arm has ended.
    Ended {
        exit: Option<i32>,
        signal: Option<i32>,
        wall_us: u64,
        usage: Usage,
    },
}

/// Executes a command in a name space of its own, and in a control group if one is ordered.
pub(super) fn execute(
    order: &Order,
    job: &Job<'_>,
    asked: &mut Asked,
) -> Result<Ended, SpawnFault> {
    let lost = |source| SpawnFault::lost(job, source);
    let refused = |source| SpawnFault::refused(job, source);
    let groups = Groups::make(order.cgroup(), &order.limits).map_err(refused)?;
    let (pipes, ends) = Pipes::new(job).map_err(refused)?;
    let (control, theirs) = UnixStream::pair().map_err(refused)?;
    user::unshare_with(CloneFlags::CLONE_NEWPID).map_err(refused)?;
    let first = match fork().map_err(refused)? {
        Fork::Parent(pid) => Pid::from_raw(pid),
        Fork::Child => {
            // While this end was open here, too, the death of who stands outside would not be seen.
            drop((control, pipes));
            asked.let_go();
            stand(order, job, &groups, theirs, ends)
        }
    };
    drop(theirs);
    // From here on an early return ends the name space.
    let mut inner = Inner {
        first: first.ok_or_else(|| lost(io::ErrorKind::NotFound.into()))?,
        control: BufReader::with_capacity(LINE_MAX, control),
        groups,
        status: None,
        is_over: false,
        was_short: false,
    };
    match inner.hear().map_err(lost)? {
        Some(Said::Started) => {}
        Some(Said::Fault(fault)) => return Err(fault.into()),
        _ => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
    }
    let started = Instant::now();
    keep_view(inner.first);
    watch(job, inner, pipes, ends, started, asked).map_err(lost)
}

/// Holds on to what is seen inside until this process ends: the kernel takes its time to take that down,
/// and nobody waits for it then.
fn keep_view(first: Pid) {
    let view = File::open(format!("/proc/{}/ns/mnt", first.as_raw_nonzero()));
    let _ = view.map(IntoRawFd::into_raw_fd);
}

/// The first process of the name space, from outside.
struct Inner {
    first: Pid,
    control: BufReader<UnixStream>,
    groups: Groups,
    was_short: bool,
    status: Option<Status>,
    is_over: bool,
}

impl Inner {
    /// Returns what is said next; nothing where nothing will come any more.
    fn hear(&mut self) -> io::Result<Option<Said>> {
        let mut line = Vec::new();
        match self.control.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            read => read?,
        };
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

impl Body for Inner {
    fn exit_fd(&self) -> BorrowedFd<'_> {
        self.control.get_ref().as_fd()
    }

    fn has_ended(&mut self) -> io::Result<bool> {
        self.status = match self.hear()? {
            Some(Said::Ended {
                exit,
                signal,
                wall_us,
                usage,
            }) => Some(Status {
                exit,
                signal,
                wall_us: Some(wall_us),
                usage,
                ..Status::default()
            }),
            _ => None,
        };
        Ok(true)
    }

    fn terminate(&mut self) {
        // One that has ended needs not be asked.
        let _ = self.control.get_mut().write_all(&[TERMINATE]);
    }

    fn kill(&mut self) {
        // A child that is not waited for is still that one.
        if !self.is_over {
            let _ = kill_process(self.first, Signal::KILL);
        }
    }

    fn sweep(&mut self) -> io::Result<()> {
        self.kill();
        // The first process is gone when all others of its name space are.
        while let Err(errno) = waitpid(Some(self.first), WaitOptions::empty()) {
            if errno != Errno::INTR {
                return Err(errno.into());
            }
        }
        self.is_over = true;
        self.was_short = self.groups.was_short_of_memory();
        self.groups.end()
    }

    fn reap(&mut self) -> io::Result<Status> {
        // One that could not say how the arm ended was killed with it.
        let status = self.status.unwrap_or_else(|| Status {
            signal: Some(Signal::KILL.as_raw()),
            usage: usage(),
            ..Status::default()
        });
        Ok(Status {
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

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.sweep();
        }
    }
}

/// Stands inside: the first process of a name space.
fn stand(
    order: &Order,
    job: &Job<'_>,
    groups: &Groups,
    mut control: UnixStream,
    output: [PipeWriter; 2],
) -> ! {
    // What is inside must not outlive who stands outside.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // A leader outside would be nobody inside: an arm that asks for its session is told of this one.
    let _ = rustix::process::setsid();
    // What is started here is to have no signal blocked, as whoever stands outside has.
    let _ = heard::unblock(nix::sys::signal::SIGTERM);
    if let Err(fault) = supervise(order, job, groups, &mut control, output) {
        // Whoever stands outside and hears nothing knows that, too.
        let _ = say(&mut control, &Said::Fault((&fault).into()));
    }
    signal_hook::low_level::exit(0)
}

fn say(control: &mut UnixStream, said: &Said) -> io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    control.write_all(&line)
}

fn supervise(
    order: &Order,
    job: &Job<'_>,
    groups: &Groups,
    control: &mut UnixStream,
    output: [PipeWriter; 2],
) -> Result<(), SpawnFault> {
    let refused = |source| SpawnFault::refused(job, source);
    // What is started from now on is in there.
    groups.enter().map_err(refused)?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(|errno| refused(errno.into()))?;
    hidden::hide(order).map_err(refused)?;
    let reaper = Reaper::new().map_err(refused)?;
    let mut command = prepare(job, output.map(Into::into))?;
    if is_alone(control) {
        return Err(refused(io::ErrorKind::BrokenPipe.into()));
    }
    let started = Instant::now();
    let child = command.spawn().map_err(|source| explain(source, job))?;
    let leader = Pid::from_child(&child);
    let lost = |source| SpawnFault::lost(job, source);
    reaper.listen().map_err(lost)?;
    say(control, &Said::Started).map_err(lost)?;
    let status = attend(&reaper, leader, control, started).map_err(lost)?;
    let ended = Said::Ended {
        exit: status.exit,
        signal: status.signal,
        wall_us: status.wall_us.unwrap_or_default(),
        usage: status.usage,
    };
    say(control, &ended).map_err(lost)
}

/// Returns whether nobody is left outside: nothing is said there before the arm has started.
fn is_alone(control: &UnixStream) -> bool {
    let mut fds = [PollFd::new(control, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Waits for the leader, and takes in what else ends.
fn attend(
    reaper: &Reaper,
    leader: Pid,
    control: &mut UnixStream,
    started: Instant,
) -> io::Result<Status> {
    loop {
        let ready = await_readable(&[reaper.fd(), control.as_fd()])?;
        if ready[0]
            && let Some(status) = reaper.take_up_to(leader)?
        {
            let wall = started.elapsed().as_micros();
            // What is left is ended here, so that what it has used counts; what cannot be ended here is
            // when this process ends.
            let _ = reaper.end_all();
            return Ok(Status {
                wall_us: u64::try_from(wall).ok(),
                ..status_of(status)
            });
        }
        if ready[1] {
            let mut asked = [0];
            if control.read(&mut asked)? == 0 {
                // Nobody is left outside.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if asked == [TERMINATE] {
                signal_with_group(leader, Signal::TERM);
                signal_with_group(leader, Signal::CONT);
            }
        }
    }
}
