//! The process group of one command: watched, signalled, reaped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group, waitid,
};

use super::identity::Stat;

/// A group with the child that leads it. Dropping it ends the group and reaps the leader.
///
/// INVARIANT: the group is signalled only while the leader is not reaped. Until then the kernel
/// gives its number to nobody else.
pub(super) struct Group {
    leader: Leader,
    exit: OwnedFd,
}

impl Group {
    /// Takes a child that was spawned as the leader of its own group.
    pub(super) fn new(child: Child) -> io::Result<Self> {
        // In its guard before anything can fail.
        let leader = Leader {
            pid: Pid::from_child(&child),
            child,
            reaped: false,
        };
        let exit = watch(leader.pid)?;
        Ok(Self { leader, exit })
    }

    pub(super) fn pid(&self) -> Pid {
        self.leader.pid
    }

    /// Returns the descriptor that is ready once the leader is a zombie.
    pub(super) fn exit_fd(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }

    /// Asks the group to end. CONT follows because a stopped process would not see the TERM.
    pub(super) fn terminate(&self) {
        self.leader.signal(Signal::TERM);
        self.leader.signal(Signal::CONT);
    }

    /// Ends the group.
    pub(super) fn kill(&self) {
        self.leader.signal(Signal::KILL);
    }

    /// Ends what is left of the group of a leader that is a zombie.
    pub(super) fn kill_rest(&self) {
        self.leader.signal_group(Signal::KILL);
    }

    /// Returns the processor time so far of the leader and of the children it waited for.
    pub(super) fn cpu_ms(&self) -> Option<u64> {
        Stat::read(self.leader.pid).map(|stat| stat.cpu_ms())
    }

    /// Waits for the leader and gives up the group's number.
    pub(super) fn reap(&mut self) -> io::Result<ExitStatus> {
        self.leader.reap()
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
        self.signal_group(signal);
        // A leader can join another group of its session. It gets no signal twice: traps count.
        if getpgid(Some(self.pid)).is_ok_and(|group| group != self.pid) {
            let _ = kill_process(self.pid, signal);
        }
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

/// Returns a descriptor that becomes ready when a child becomes a zombie.
fn watch(pid: Pid) -> io::Result<OwnedFd> {
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
