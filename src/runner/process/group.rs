//! The process group of one command: watched, signalled, reaped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use super::identity::Stat;
use super::watch::{Body, Status, Usage};

/// A group with the child that leads it. Dropping it ends the group and reaps the leader.
///
/// INVARIANT: the group is signalled only while the leader is not reaped. Until then the kernel
/// gives its number to nobody else.
pub(in crate::runner) struct Group {
    leader: Leader,
    exit: OwnedFd,
    usage: Usage,
}

impl Group {
    /// Takes a child that was spawned as the leader of its own group.
    pub(in crate::runner) fn new(child: Child) -> io::Result<Self> {
        // In its guard before anything can fail.
        let leader = Leader {
            pid: Pid::from_child(&child),
            child,
            reaped: false,
        };
        let exit = exit_of(leader.pid)?;
        let usage = Usage::default();
        Ok(Self {
            leader,
            exit,
            usage,
        })
    }

    pub(in crate::runner) fn pid(&self) -> Pid {
        self.leader.pid
    }
}

impl Body for Group {
    fn exit_fd(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }

    fn has_ended(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn terminate(&mut self) {
        self.leader.signal(Signal::TERM);
        self.leader.signal(Signal::CONT);
    }

    fn kill(&mut self) {
        self.leader.signal(Signal::KILL);
    }

    /// Ends what is left of the group. The leader is a zombie: until it is reaped nobody else can get
    /// its group's number.
    fn sweep(&mut self) -> io::Result<()> {
        self.usage = usage_of(self.leader.pid);
        self.leader.signal_group(Signal::KILL);
        Ok(())
    }

    fn reap(&mut self) -> io::Result<Status> {
        let status = self.leader.reap()?;
        Ok(Status {
            exit: status.code(),
            signal: status.signal(),
            usage: self.usage,
            ..Status::default()
        })
    }
}

/// Returns what a process that is not reaped has used, with the children that it waited for.
fn usage_of(pid: Pid) -> Usage {
    let stat = Stat::read(pid);
    Usage {
        user_us: stat.as_ref().map(Stat::user_us),
        system_us: stat.as_ref().map(Stat::system_us),
        peak_bytes: None,
    }
}

struct Leader {
    child: Child,
    pid: Pid,
    reaped: bool,
}

// A failed signal is not a fault: the group is gone then, or (macOS) holds nothing but the zombie.
impl Leader {
    fn signal_group(&self, signal: Signal) {
        if !self.reaped {
            let _ = kill_process_group(self.pid, signal);
        }
    }

    fn signal(&self, signal: Signal) {
        if self.reaped {
            return;
        }
        signal_with_group(self.pid, signal);
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        self.reaped = true;
        status
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::KILL);
            let _ = self.reap();
        }
    }
}

/// Signals a leader that is not reaped, and its group.
pub(in crate::runner) fn signal_with_group(leader: Pid, signal: Signal) {
    let _ = kill_process_group(leader, signal);
    // A leader can join another group of its session. It gets no signal twice: traps count.
    if group_of(leader).is_some_and(|group| group != leader.as_raw_nonzero().get()) {
        let _ = kill_process(leader, signal);
    }
}

/// Answers the group that a process is of: 0 where that one's leader is in an outer name space.
fn group_of(pid: Pid) -> Option<i32> {
    let pid = nix::unistd::Pid::from_raw(pid.as_raw_nonzero().get());
    nix::unistd::getpgid(Some(pid))
        .ok()
        .map(nix::unistd::Pid::as_raw)
}

/// Returns a descriptor that becomes ready when a child becomes a zombie.
pub(in crate::runner) fn exit_of(pid: Pid) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        // Old kernels do not have it and some sandboxes refuse it.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened.map_err(io::Error::from),
    }
    watch_by_thread(pid)
}

/// Does without a pidfd: a thread sleeps until the child is a zombie, leaves it one, and closes
/// its end of a pipe.
pub(super) fn watch_by_thread(pid: Pid) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    std::thread::Builder::new()
        .name("exit".to_owned())
        .stack_size(64 * 1024)
        .spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
            drop(writer);
        })?;
    Ok(reader.into())
}
