//! The engine's side of a supervisor: started, ordered, waited for, ended; and found again later.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use super::SUPERVISE;
use super::order::{Before, Hidden, Limits, Order};
use super::receipt::{Became, Receipt};
use super::tier::{Tier, Tiers};
use crate::runner::process::{
    Ended, Interrupt, Orphan, ProcessIdentity, SpawnFault, await_readable, exit_of,
};

/// Returns this very program with a hidden verb, also when its file has been replaced by now.
pub(super) fn this_program(verb: &str) -> Command {
    #[cfg(target_os = "linux")]
    let program = PathBuf::from("/proc/self/exe");
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

/// A supervisor that has no order yet. Dropping it ends it.
#[derive(Debug)]
pub struct Spare {
    child: Child,
    orders: ChildStdin,
    exit: OwnedFd,
}

impl Spare {
    /// Starts a supervisor.
    pub fn start() -> io::Result<Self> {
        let mut command = this_program(SUPERVISE);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let watched = exit_of(Pid::from_child(&child));
        match (child.stdin.take(), watched) {
            (Some(orders), Ok(exit)) => Ok(Self {
                child,
                orders,
                exit,
            }),
            (_, watched) => {
                end(&mut child);
                Err(watched.err().unwrap_or(io::ErrorKind::BrokenPipe.into()))
            }
        }
    }

    /// Gives it its order: whoever it is, is noted before.
    pub(in crate::runner) fn give(mut self, order: &Order, traces: Traces) -> io::Result<Given> {
        let identity = ProcessIdentity::of(Pid::from_child(&self.child));
        let given = traces
            .note(&identity)
            .and_then(|()| order.write(&mut self.orders));
        match given {
            Ok(()) => Ok(Given {
                exit: self.exit,
                own: Some((self.child, self.orders)),
                traces,
            }),
            Err(error) => {
                drop(self.orders);
                end(&mut self.child);
                Err(error)
            }
        }
    }

    /// Ends it, for it gets no order.
    pub fn dismiss(mut self) {
        drop(self.orders);
        end(&mut self.child);
    }
}

/// Ends a child and takes it in; what has ended is fine.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A supervisor that has its order: one's own, or one that an earlier session has started.
#[derive(Debug)]
pub struct Given {
    exit: OwnedFd,
    /// The process and the pipe whose end tells it that the engine has died.
    own: Option<(Child, ChildStdin)>,
    traces: Traces,
}

/// What became of an order.
#[derive(Debug)]
pub(in crate::runner) enum Outcome {
    /// The command has ended, and nothing of it is left.
    Ended(Box<Ended>, Tier, Before),
    /// It never ran.
    NotStarted(SpawnFault),
    /// The supervisor has ended without a receipt.
    Lost,
    /// It was left to its supervisor: nothing is known yet.
    Left,
}

impl Given {
    /// Waits until the supervisor has ended; ends what it supervises when the interrupt fires, and
    /// waits no longer when it is to be left.
    pub(in crate::runner) fn wait(
        self,
        interrupt: &Interrupt,
        leave: Option<&Interrupt>,
    ) -> io::Result<Outcome> {
        let mut cancelled = false;
        loop {
            let mut fds = vec![self.exit.as_fd()];
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
        if let Some((mut child, orders)) = self.own {
            child.wait()?;
            drop(orders);
        }
        self.traces.outcome()
    }

    /// Waits until the supervisor has ended.
    pub fn await_end(&self) -> io::Result<()> {
        while !await_readable(&[self.exit.as_fd()])?.contains(&true) {}
        Ok(())
    }

    fn cancel(&self) -> io::Result<()> {
        fs::write(&self.traces.cancel, "")?;
        signal(&self.exit, self.own.as_ref().map(|(child, _)| child));
        Ok(())
    }
}

/// Sends TERM through what stays with its process.
fn signal(exit: &OwnedFd, own: Option<&Child>) {
    #[cfg(target_os = "linux")]
    // One that has ended, has.
    let _ = rustix::process::pidfd_send_signal(exit, Signal::TERM);
    #[cfg(not(target_os = "linux"))]
    if let Some(child) = own {
        // A child that is not waited for is still that one.
        let _ = rustix::process::kill_process(Pid::from_child(child), Signal::TERM);
    }
    let _ = (exit, own);
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

    fn note(&self, identity: &ProcessIdentity) -> io::Result<()> {
        fs::write(&self.note, serde_json::to_vec(identity)?)
    }

    /// Returns the supervisor that was noted, if there is proof that it is still at work.
    pub fn seen(&self) -> Seen {
        let noted = match fs::read(&self.note) {
            Ok(noted) => serde_json::from_slice::<ProcessIdentity>(&noted),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Seen::Nobody,
            Err(_) => return Seen::Unproven,
        };
        // What was cut off while it was written was written before any order.
        let Ok(identity) = noted else {
            return Seen::Nobody;
        };
        match identity.open() {
            Ok(exit) => Seen::Alive(Given {
                exit,
                own: None,
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

/// A command that does nothing, to see whether a tier works.
pub(super) struct Trial {
    folder: TempDir,
}

impl Trial {
    pub(super) fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("prereg-").tempdir();
        let folder = folder.map_err(|error| error.to_string())?;
        fs::create_dir_all(folder.path().join("runs/trial")).map_err(|error| error.to_string())?;
        Ok(Self { folder })
    }

    /// Executes it in a tier; says why that does not work.
    pub(super) fn execute(&self, tiers: &Tiers, limits: Limits) -> Result<(), String> {
        let runs = self.folder.path().join("runs");
        let traces = Traces::of(&runs, "trial");
        let beside = |name: &str| runs.join(name).into_os_string();
        let unique = self.folder.path().file_name().unwrap_or_default();
        let order = Order {
            command: vec!["/proc/self/exe".to_owned(), "--version".to_owned()],
            base: "/".into(),
            dir: beside("trial"),
            env: Default::default(),
            timeout_us: 10_000_000,
            grace_us: 0,
            output_max: 0,
            stdout: beside("stdout"),
            stderr: beside("stderr"),
            receipt: traces.receipt.clone().into(),
            cancel: traces.cancel.clone().into(),
            tier: tiers.tier,
            cgroup: tiers
                .cgroup(Path::new("trial"), &unique.to_string_lossy())
                .map(PathBuf::into_os_string),
            outlives: false,
            hidden: Hidden {
                runs: runs.clone().into(),
                others: Vec::new(),
            },
            limits: Limits {
                name: format!("prereg-{}", unique.to_string_lossy()),
                ..limits
            },
            before: Before::default(),
        };
        let outcome = Interrupt::new().and_then(|never| {
            let given = Spare::start()?.give(&order, traces)?;
            given.wait(&never, None)
        });
        match outcome {
            Ok(Outcome::Ended(ended, ..)) if ended.exit == Some(0) => Ok(()),
            Ok(Outcome::Ended(..)) => Err("a command that does nothing fails there".to_owned()),
            Ok(Outcome::NotStarted(fault)) => Err(fault.reason()),
            Ok(Outcome::Lost | Outcome::Left) => Err("its supervisor ends".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
