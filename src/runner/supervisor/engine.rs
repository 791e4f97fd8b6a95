//! The engine's side of a supervisor that has its order: waited for, ended; and found again later.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;

#[cfg(not(target_os = "linux"))]
use rustix::process::Pid;
use rustix::process::Signal;

use super::order::Before;
use super::receipt::{Became, Receipt};
use super::tier::Tier;
use crate::runner::process::{
    Ended, Interrupt, Orphan, ProcessIdentity, SpawnFault, await_readable,
};

/// A supervisor that has its order: one's own, or one that an earlier session has started.
#[derive(Debug)]
pub struct Given {
    exit: OwnedFd,
    /// The socket whose end tells it that the engine has died, and the engine that its receipt is there;
    /// none where an earlier session has started it.
    link: Option<UnixStream>,
    /// The process, where it is this one's child.
    child: Option<Child>,
    traces: Traces,
}

/// What became of an order.
#[derive(Debug)]
pub(in crate::runner) enum Outcome {
    /// The command has ended, and nothing of it is left unless that is said.
    Ended(Box<Ended>, Tier, Before),
    /// It never ran.
    NotStarted(SpawnFault),
    /// The supervisor has ended without a receipt.
    Lost,
    /// It was left to its supervisor: nothing is known yet.
    Left,
}

impl Given {
    pub(super) fn new(
        exit: OwnedFd,
        link: UnixStream,
        child: Option<Child>,
        traces: Traces,
    ) -> Self {
        Self {
            exit,
            link: Some(link),
            child,
            traces,
        }
    }

    /// Waits until the supervisor has come to its end; ends what it supervises when the interrupt fires,
    /// and waits no longer when it is to be left.
    ///
    /// One that has put its receipt lets go of the link: what the kernel then takes down of it concerns
    /// nobody. One that lets go without a receipt was killed, and what it held ends with it.
    pub(in crate::runner) fn wait(
        self,
        interrupt: &Interrupt,
        leave: Option<&Interrupt>,
    ) -> io::Result<Outcome> {
        let mut cancelled = false;
        loop {
            let over = self.link.as_ref().map_or(self.exit.as_fd(), AsFd::as_fd);
            let mut fds = vec![over];
            fds.extend(leave.map(AsFd::as_fd));
            fds.extend((!cancelled).then(|| interrupt.as_fd()));
            let ready = await_readable(&fds)?;
            if ready[0] {
                break;
            }
            if leave.is_some_and(Interrupt::has_fired) {
                return Ok(Outcome::Left);
            }
            if interrupt.has_fired() && !cancelled {
                cancelled = true;
                self.cancel()?;
            }
        }
        let mut outcome = self.traces.outcome()?;
        if matches!(outcome, Outcome::Lost) {
            self.await_end()?;
            outcome = self.traces.outcome()?;
        }
        if let Some(mut child) = self.child {
            child.wait()?;
        }
        Ok(outcome)
    }

    /// Waits until the supervisor has ended.
    pub fn await_end(&self) -> io::Result<()> {
        while !await_readable(&[self.exit.as_fd()])?.contains(&true) {}
        Ok(())
    }

    fn cancel(&self) -> io::Result<()> {
        fs::write(&self.traces.cancel, "")?;
        signal(&self.exit, self.child.as_ref());
        Ok(())
    }
}

/// Sends TERM through what stays with its process.
fn signal(exit: &OwnedFd, child: Option<&Child>) {
    #[cfg(target_os = "linux")]
    // One that has ended, has.
    let _ = rustix::process::pidfd_send_signal(exit, Signal::TERM);
    #[cfg(not(target_os = "linux"))]
    if let Some(child) = child {
        // A child that is not waited for is still that one.
        let _ = rustix::process::kill_process(Pid::from_child(child), Signal::TERM);
    }
    let _ = (exit, child);
}

/// The files by which a supervisor is found, ended and heard, beside the workspace of its run.
#[derive(Clone, Debug)]
pub struct Traces {
    note: PathBuf,
    cancel: PathBuf,
    receipt: PathBuf,
}

impl Traces {
    /// Returns where those of a run are; `name` is the run's, or its judge's.
    pub fn of(runs: &Path, name: &str) -> Self {
        let beside = |what: &str| runs.join(format!("{name}.{what}"));
        Self {
            note: beside("supervisor"),
            cancel: beside("cancel"),
            receipt: beside("receipt"),
        }
    }

    pub(in crate::runner) fn cancel(&self) -> &Path {
        &self.cancel
    }

    pub(in crate::runner) fn receipt(&self) -> &Path {
        &self.receipt
    }

    pub(super) fn note(&self, identity: &ProcessIdentity) -> io::Result<()> {
        fs::write(&self.note, serde_json::to_vec(identity)?)
    }

    /// Returns who was noted as the supervisor; nobody where nothing was, or not to the end of the line.
    fn noted(&self) -> io::Result<Option<ProcessIdentity>> {
        match fs::read(&self.note) {
            // What was cut off while it was written was written before any order.
            Ok(noted) => Ok(serde_json::from_slice(&noted).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the machine was started anew since the supervisor was noted.
    pub fn are_of_another_boot(&self) -> bool {
        let noted = self.noted();
        noted.is_ok_and(|noted| noted.is_some_and(|noted| noted.is_of_another_boot()))
    }

    /// Returns the supervisor that was noted, if there is proof that it is still at work.
    pub fn seen(&self) -> Seen {
        let identity = match self.noted() {
            Ok(Some(identity)) => identity,
            Ok(None) => return Seen::Nobody,
            Err(_) => return Seen::Unproven,
        };
        match identity.open() {
            Ok(exit) => Seen::Alive(Given {
                exit,
                link: None,
                child: None,
                traces: self.clone(),
            }),
            Err(Orphan::Gone | Orphan::Stranger) => Seen::Nobody,
            Err(_) => Seen::Unproven,
        }
    }

    /// Returns what became of an order whose supervisor has ended.
    pub(in crate::runner) fn outcome(&self) -> io::Result<Outcome> {
        Ok(match Receipt::read(&self.receipt)? {
            None => Outcome::Lost,
            Some(Receipt {
                tier,
                before,
                became,
            }) => match became {
                Became::Ended(told) => Outcome::Ended(Box::new(told.into()), tier, before),
                Became::Fault(fault) => Outcome::NotStarted(fault.into()),
            },
        })
    }

    /// Returns whether there is a receipt.
    pub fn has_receipt(&self) -> bool {
        self.receipt.exists()
    }

    /// Returns whether the receipt says that something may be left of the run.
    pub fn says_that_some_remains(&self) -> bool {
        let told = self.outcome();
        matches!(told, Ok(Outcome::Ended(ended, ..)) if ended.remains.is_some())
    }

    /// Asks a supervisor to end what it supervises; says whether there is one.
    pub fn end(&self) -> io::Result<Seen> {
        let seen = self.seen();
        if let Seen::Alive(given) = &seen {
            given.cancel()?;
        }
        Ok(seen)
    }

    /// Removes them: what they told is on the record.
    pub fn remove(&self) -> io::Result<()> {
        for path in [&self.note, &self.cancel, &self.receipt] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a supervisor that was noted is still at work.
#[derive(Debug)]
pub enum Seen {
    /// It is.
    Alive(Given),
    /// It has ended, or nobody was given an order.
    Nobody,
    /// It cannot be proved either way.
    Unproven,
}
