//! The process that supervisors are forked from: started once a session, small, and of one thread, so
//! that a supervisor costs a fork and not the start of a program.
//!
//! It knows no order. Whoever asks hands over the end of a socket; on that the supervisor says who it is,
//! with a descriptor that stays with it, and hears its order. Should this process die, what it has forked
//! goes on; who asked and hears nothing knows that nobody is there. It takes in what ends, and is there
//! until the last has, also without an engine.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitCode, Stdio};

use fork::{Fork, fork};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{PidfdFlags, WaitOptions, getpid, pidfd_open, wait};

use super::hello::{self, receive, send};
use super::spare::this_program;
use super::{ZYGOTE, serve};
use crate::units::Digest;

/// The engine's side of it.
#[derive(Debug)]
pub(super) struct Zygote {
    child: Child,
    control: OwnedFd,
}

impl Zygote {
    /// Starts one.
    pub(super) fn start() -> io::Result<Self> {
        let (control, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let mut command = this_program(ZYGOTE);
        command.stdin(theirs);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        Ok(Self { child, control })
    }

    /// Returns what tells it from others.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks for a supervisor; returns where it will say who it is. One that has died is not asked.
    pub(super) fn ask(&self) -> io::Result<UnixStream> {
        let (theirs, link) = UnixStream::pair()?;
        send(&self.control, b"?", Some(theirs.as_fd()))?;
        Ok(link)
    }

    /// Ends one that does not answer.
    pub(super) fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Lets it end, when the last that it has forked has ended; waits for that.
    pub(super) fn await_end(self) {
        let Self { mut child, control } = self;
        drop(control);
        let _ = child.wait();
    }
}

/// Forks a supervisor whenever the engine asks for one.
pub(super) fn stand() -> ExitCode {
    serve::stand_apart();
    let has_descriptors = pidfd_open(getpid(), PidfdFlags::empty()).is_ok();
    let Some(control) = take_control().filter(|_| has_descriptors) else {
        return ExitCode::FAILURE;
    };
    // What finds out about the processor does so once for all that are forked.
    let _ = Digest::of(&[]);
    while let Ok(Some((_, Some(link)))) = receive(&control) {
        take_in(WaitOptions::NOHANG);
        match fork() {
            Ok(Fork::Child) => {
                drop(control);
                serve::supervise_forked(File::from(link));
            }
            Ok(Fork::Parent(_)) => {}
            // Whoever has asked may be gone.
            Err(error) => drop(hello::refuse(&link, &error)),
        }
    }
    drop(control);
    take_in(WaitOptions::empty());
    ExitCode::SUCCESS
}

/// Takes the engine's socket from where it was put: what is forked has no standard input.
fn take_control() -> Option<OwnedFd> {
    let control = io::stdin().as_fd().try_clone_to_owned().ok()?;
    let nothing = File::open("/dev/null").ok()?;
    rustix::stdio::dup2_stdin(&nothing).ok()?;
    Some(control)
}

/// Takes in what has ended, or waits until all have.
fn take_in(options: WaitOptions) {
    while matches!(wait(options), Ok(Some(_)) | Err(Errno::INTR)) {}
}
