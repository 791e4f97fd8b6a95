//! The process that supervisors are forked from: started once a session, small, and of one thread, so
//! that a supervisor costs a fork and not the start of a program.
//!
//! It knows no order. Whoever asks hands over the end of a socket, on which the order comes to the
//! supervisor, and is told who that is, with a descriptor that stays with it. Should it die, what it has
//! forked goes on; who asked and got no answer lets go of the socket, and a supervisor without an order
//! ends. It takes in what ends, and is there until the last has, also without an engine.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitCode, Stdio};

use fork::{Fork, fork};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, wait};
use serde::{Deserialize, Serialize};

use super::spare::{Spare, this_program};
use super::{ZYGOTE, serve};
use crate::runner::process::ProcessIdentity;

/// What an answer is at most.
const ANSWER_MAX: usize = 512;

/// What is answered to whoever asks for a supervisor; its descriptor comes along.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// It is there, and waits for its order.
    Forked(ProcessIdentity),
    /// The system has refused it, by this number.
    Refused(i32),
}

/// Why there is no supervisor.
pub(super) enum NoSupervisor {
    /// The system has refused it.
    Refused(io::Error),
    /// Nobody answers.
    Silent,
}

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

    /// Asks for a supervisor.
    pub(super) fn fork(&self) -> Result<Spare, NoSupervisor> {
        let (theirs, link) = UnixStream::pair().map_err(NoSupervisor::Refused)?;
        let asked = send(&self.control, b"?", Some(&theirs.into()));
        let heard = asked.and_then(|()| receive(&self.control));
        let Ok(Some((said, descriptor))) = heard else {
            return Err(NoSupervisor::Silent);
        };
        match (serde_json::from_slice(&said), descriptor) {
            (Ok(Answer::Forked(identity)), Some(exit)) => Ok(Spare::new(identity, exit, link)),
            (Ok(Answer::Refused(errno)), _) => {
                Err(NoSupervisor::Refused(io::Error::from_raw_os_error(errno)))
            }
            _ => Err(NoSupervisor::Silent),
        }
    }

    /// Ends one that has nothing more to do, or does not answer.
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
    while let Ok(Some((_, Some(link)))) = receive(&control) {
        take_in(WaitOptions::NOHANG);
        let answered = match fork() {
            Ok(Fork::Child) => {
                drop(control);
                return serve::supervise(File::from(link));
            }
            Ok(Fork::Parent(pid)) => tell_of(&control, pid),
            Err(error) => refuse(&control, &error),
        };
        if answered.is_err() {
            // Whoever has asked is gone, and with it the other end of the socket.
            break;
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

/// Tells who was forked. Nobody else can be given its number before it is taken in.
fn tell_of(control: &OwnedFd, pid: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(exit) => {
            let answer = Answer::Forked(ProcessIdentity::of(pid));
            send(control, &serde_json::to_vec(&answer)?, Some(&exit))
        }
        Err(errno) => refuse(control, &errno.into()),
    }
}

fn refuse(control: &OwnedFd, error: &io::Error) -> io::Result<()> {
    let answer = Answer::Refused(error.raw_os_error().unwrap_or_default());
    send(control, &serde_json::to_vec(&answer)?, None)
}

/// Takes in what has ended, or waits until all have.
fn take_in(options: WaitOptions) {
    while matches!(wait(options), Ok(Some(_)) | Err(Errno::INTR)) {}
}

fn send(to: &OwnedFd, said: &[u8], along: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let along: Vec<_> = along.into_iter().map(AsFd::as_fd).collect();
    if !along.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&along));
    }
    sendmsg(to, &[IoSlice::new(said)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives what is said, and what comes along; nothing where nothing will be said any more.
fn receive(from: &OwnedFd) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let mut said = vec![0; ANSWER_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut into = [IoSliceMut::new(&mut said)];
        match recvmsg(from, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    said.truncate(received.bytes);
    let along = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    Ok(Some((said, along)))
}
