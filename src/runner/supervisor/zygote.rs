//! The process that supervisors are forked from: started once a session, small, and of one thread, so
//! that a supervisor costs a fork and not the start of a program.
//!
//! It knows no order. Whoever asks hands over the end of a socket; on that it says who the supervisor is,
//! with a descriptor that stays with that one, which hears its order there. Should this process die, what
//! it has forked goes on; who asked and hears that, instead of who is there, lets go of whoever is, who then
//! ends. It takes in what ends, and is there until the last has, also without an engine.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;

use fork::{Fork, fork};
use nix::sys::signal::SIGTERM;
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::process::{Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, wait};

use super::heard;
use super::hello::{self, receive, send};
use super::spare::this_program;
use super::{ZYGOTE, serve};
use crate::runner::process::boot_id;
use crate::units::Digest;

/// The engine's side of it.
#[derive(Debug)]
pub(super) struct Zygote {
    child: Child,
    control: Arc<OwnedFd>,
}

/// A supervisor that was asked for.
#[derive(Debug)]
pub(super) struct Awaited {
    /// Where it is said who that is, and where that one hears its order.
    pub(super) link: UnixStream,
    /// What ends when nobody will say so any more.
    pub(super) control: Arc<OwnedFd>,
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
        let control = Arc::new(control);
        Ok(Self { child, control })
    }

    /// Returns what tells it from others.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks for a supervisor. One that has died is not asked.
    pub(super) fn ask(&self) -> io::Result<Awaited> {
        let (theirs, link) = UnixStream::pair()?;
        send(&*self.control, b"?", Some(theirs.as_fd()))?;
        let control = Arc::clone(&self.control);
        Ok(Awaited { link, control })
    }

    /// Ends one that does not answer.
    pub(super) fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Lets it end, when the last that it has forked has ended; waits for that.
    pub(super) fn await_end(self) {
        let Self { mut child, control } = self;
        // Also where somebody still waits for an answer.
        let _ = shutdown(&*control, Shutdown::Both);
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
    // What finds out about the processor, or the machine's start, does so once for all that are forked.
    let _ = (Digest::of(&[]), boot_id());
    while let Ok(Some((_, Some(link)))) = receive(&control) {
        take_in(WaitOptions::NOHANG);
        // A supervisor may be asked to end before it has come to listen.
        let _ = heard::block(SIGTERM);
        match fork() {
            Ok(Fork::Child) => {
                drop(control);
                serve::supervise_forked(File::from(link));
            }
            Ok(Fork::Parent(child)) => introduce(&link, child),
            // Whoever has asked may be gone.
            Err(error) => drop(hello::refuse(&link, &error)),
        }
        let _ = heard::unblock(SIGTERM);
    }
    drop(control);
    take_in(WaitOptions::empty());
    ExitCode::SUCCESS
}

/// Says who a supervisor is, to whoever has asked for it; who may be gone, and then the supervisor ends.
fn introduce(link: &OwnedFd, child: i32) {
    let said = match Pid::from_raw(child) {
        Some(child) => hello::say(link, child),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    if let Err(error) = said {
        let _ = hello::refuse(link, &error);
    }
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
