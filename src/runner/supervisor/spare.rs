//! Where supervisors come from, and one that has no order yet.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
#[cfg(target_os = "linux")]
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

use super::SUPERVISE;
use super::engine::{Given, Traces};
#[cfg(target_os = "linux")]
use super::hello::{self, NoSupervisor};
use super::order::Order;
#[cfg(target_os = "linux")]
use super::zygote::{Awaited, Zygote};
use crate::runner::process::{ProcessIdentity, exit_of};

/// Returns this very program with a hidden verb, also when its file has been replaced by now.
pub(super) fn this_program(verb: &str) -> Command {
    #[cfg(target_os = "linux")]
    let program = std::path::PathBuf::from("/proc/self/exe");
    #[cfg(not(target_os = "linux"))]
    let program = std::env::current_exe().unwrap_or_default();
    let mut command = Command::new(program);
    command
        .arg0("prereg")
        .arg(verb)
        .env_clear()
        .current_dir("/");
    command
}

/// Where supervisors come from: forked from one small process, or started one by one where the system
/// has no descriptors that stay with a process.
#[derive(Debug)]
pub struct Supervisors {
    #[cfg(target_os = "linux")]
    zygote: Mutex<Option<Zygote>>,
}

impl Supervisors {
    /// Starts what they come from.
    pub fn start() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            zygote: Mutex::new(Zygote::start().ok()),
        }
    }

    /// Asks for a supervisor, which comes to be while something else is done.
    pub(in crate::runner) fn ask(&self) -> Coming {
        #[cfg(target_os = "linux")]
        let coming = Coming(self.held().as_ref().and_then(|zygote| zygote.ask().ok()));
        #[cfg(not(target_os = "linux"))]
        let coming = Coming();
        coming
    }

    /// Returns a supervisor that has no order yet.
    #[cfg(target_os = "linux")]
    pub(in crate::runner) fn spare(&self, coming: Coming) -> io::Result<Spare> {
        self.forked(coming.0).unwrap_or_else(Spare::start)
    }

    /// Returns a supervisor that has no order yet.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::runner) fn spare(&self, _coming: Coming) -> io::Result<Spare> {
        Spare::start()
    }

    /// Returns one that is forked; nothing where that cannot be done. What has died is started anew.
    #[cfg(target_os = "linux")]
    fn forked(&self, coming: Option<Awaited>) -> Option<io::Result<Spare>> {
        if let Some(heard) = coming.and_then(heard) {
            return Some(heard);
        }
        for is_last in [false, true] {
            let (id, asked) = {
                let held = self.held();
                let zygote = held.as_ref()?;
                (zygote.id(), zygote.ask())
            };
            if let Some(heard) = asked.ok().and_then(heard) {
                return Some(heard);
            }
            let mut held = self.held();
            // Another worker may have seen to that.
            if let Some(silent) = held.take_if(|held| held.id() == id) {
                silent.end();
                if !is_last {
                    *held = Zygote::start().ok();
                }
            }
        }
        None
    }

    #[cfg(target_os = "linux")]
    fn held(&self) -> MutexGuard<'_, Option<Zygote>> {
        self.zygote.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what they come from has ended, which it does when the last of them has.
    pub fn await_end(self) {
        #[cfg(target_os = "linux")]
        if let Some(zygote) = self
            .zygote
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            zygote.await_end();
        }
    }
}

/// Hears who a supervisor is; nothing where nobody is there.
#[cfg(target_os = "linux")]
fn heard(Awaited { link, control }: Awaited) -> Option<io::Result<Spare>> {
    match hello::hear(&link, &*control) {
        Ok((identity, exit)) => Some(Ok(Spare {
            identity,
            exit,
            link,
            child: None,
        })),
        Err(NoSupervisor::Refused(error)) => Some(Err(error)),
        Err(NoSupervisor::Silent) => None,
    }
}

/// A supervisor that was asked for, if it was. Dropping it ends it.
#[derive(Debug, Default)]
pub struct Coming(#[cfg(target_os = "linux")] Option<Awaited>);

/// A supervisor that has no order yet. Dropping it ends it.
#[derive(Debug)]
pub(in crate::runner) struct Spare {
    identity: ProcessIdentity,
    exit: OwnedFd,
    link: UnixStream,
    /// The process, where it is this one's child.
    child: Option<Child>,
}

impl Spare {
    /// Starts one.
    fn start() -> io::Result<Self> {
        let (theirs, link) = UnixStream::pair()?;
        let mut command = this_program(SUPERVISE);
        command.stdin(OwnedFd::from(theirs));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        match exit_of(pid) {
            Ok(exit) => Ok(Self {
                identity: ProcessIdentity::of(pid),
                exit,
                link,
                child: Some(child),
            }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Gives it its order: whoever it is, is noted before.
    pub(in crate::runner) fn give(mut self, order: &Order, traces: Traces) -> io::Result<Given> {
        let given = traces
            .note(&self.identity)
            .and_then(|()| order.write(&mut self.link));
        match given {
            Ok(()) => Ok(Given::new(self.exit, self.link, self.child, traces)),
            Err(error) => {
                // What is told of no order ends; half of one is none.
                drop(self.link);
                if let Some(mut child) = self.child {
                    let _ = child.wait();
                }
                Err(error)
            }
        }
    }
}
