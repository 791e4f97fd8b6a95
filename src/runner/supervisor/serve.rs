//! The supervisor itself. It starts light: no command line is parsed, no record is opened.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGTERM;

#[cfg(target_os = "linux")]
use super::heard;
use super::heard::Heard;
use super::order::Order;
use super::receipt::Receipt;
use super::tier::Tier;
use crate::runner::process::{Ended, Hand, SpawnFault, in_group};

/// Supervises one command; the order comes on standard input.
pub(super) fn stand() -> ExitCode {
    stand_apart();
    // Without the library's buffer around it.
    let link = std::io::stdin().as_fd().try_clone_to_owned().ok();
    match link.and_then(|link| supervise(File::from(link))) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// Supervises one command in a process that was forked for it.
#[cfg(target_os = "linux")]
pub(super) fn supervise_forked(link: File) -> ! {
    supervise(link);
    // Nothing of this process is anybody's: what was registered for the end of a program is left out.
    signal_hook::low_level::exit(0)
}

/// Keeps what whoever started the engine had open, or had it ignore, from what is started from now on.
pub(super) fn stand_apart() {
    close_fds::set_fds_cloexec(3, &[]);
    crate::runner::signals::unignore();
    // A session of its own: what a terminal does to the engine's reaches neither this nor the arm.
    let _ = rustix::process::setsid();
}

/// Supervises one command; the order comes on a socket, whose end tells that the engine has died.
/// Returns nothing where there is no receipt: the run is lost, which is what is known of it.
fn supervise(link: File) -> Option<()> {
    let mut asked = Asked::new().ok()?;
    let order = Order::read(&link)?;
    asked.heed(&order, link);
    let became = execute(&order, &mut asked);
    let receipt = Receipt::new(&order, &became);
    let put = receipt.put(order.receipt(), asked.is_alone());
    // The engine waits for this.
    asked.let_go();
    put.ok()
}

/// Executes what is ordered, in the tier that is ordered.
fn execute(order: &Order, asked: &mut Asked) -> Result<Ended, SpawnFault> {
    let env = order.environment();
    let job = order.job(&env);
    if order.tier == Tier::Pgroup && !order.limits.is_none() {
        let none = std::io::Error::from(std::io::ErrorKind::Unsupported);
        return Err(SpawnFault::refused(&job, none));
    }
    if !matches!(order.tier, Tier::PidnsCgroup | Tier::Pidns) {
        asked
            .start_here()
            .map_err(|source| SpawnFault::refused(&job, source))?;
    }
    match order.tier {
        Tier::Pgroup => in_group(&job, asked, drop),
        #[cfg(target_os = "linux")]
        Tier::Cgroup | Tier::Subreaper => super::reaped::execute(order, &job, asked),
        #[cfg(target_os = "linux")]
        Tier::PidnsCgroup | Tier::Pidns => super::within::execute(order, &job, asked),
        #[cfg(not(target_os = "linux"))]
        _ => in_group(&job, asked, drop),
    }
}

/// Whether the command is to be ended: TERM came, and the file that says so is there. An arm of the
/// same user can send the signal, but in most tiers it does not reach that file.
pub(super) struct Asked {
    signal: Heard,
    /// What tells that whoever gave the order has died.
    link: Option<File>,
    cancel: PathBuf,
    outlives: bool,
}

impl Asked {
    fn new() -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        let signal = {
            heard::block(nix::sys::signal::SIGTERM)?;
            Heard::read(nix::sys::signal::SIGTERM)?
        };
        #[cfg(not(target_os = "linux"))]
        let signal = Heard::caught(SIGTERM)?;
        Ok(Self {
            signal,
            link: None,
            cancel: PathBuf::new(),
            outlives: true,
        })
    }

    /// Gets ready to start the command from this very process: it must not have TERM blocked, and is to be
    /// in a session that no other supervisor is in.
    fn start_here(&mut self) -> std::io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let _ = rustix::process::setsid();
            self.signal = Heard::caught(SIGTERM)?;
            heard::unblock(nix::sys::signal::SIGTERM)?;
        }
        Ok(())
    }

    /// Closes the link: the engine waits until nobody holds it any more.
    pub(super) fn let_go(&mut self) {
        self.link = None;
    }

    fn heed(&mut self, order: &Order, link: File) {
        self.link = Some(link);
        self.cancel = order.cancel.as_path().to_owned();
        self.outlives = order.outlives;
    }

    /// Returns whether whoever gave the order has died.
    fn is_alone(&self) -> bool {
        let Some(link) = &self.link else {
            return true;
        };
        // The end of it is the only thing that can still come there.
        let mut fds = [PollFd::new(link, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl Hand for Asked {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let link = self.link.as_ref().filter(|_| !self.outlives);
        let link = link.map(AsFd::as_fd);
        std::iter::once(self.signal.as_fd()).chain(link).collect()
    }

    fn asks(&mut self) -> bool {
        self.signal.take();
        self.cancel.exists() || (!self.outlives && self.is_alone())
    }
}
