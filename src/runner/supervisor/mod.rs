//! One supervisor a run: a process of this same program that outlives its engine.
//!
//! * `spare` is where supervisors come from, and one that has no order yet; `zygote` is the small
//!   process that they are forked from, `hello` what those say first.
//! * `engine` is the engine's side of one at work: waits for it, ends it, finds it again.
//! * `serve` is the supervisor itself: it owns the pipes, the timer, the kill and the receipt.
//! * `within` is what stands around an arm in a name space of its own: the first process there.
//! * `order` is what a supervisor is told, with paths as `os_text` spells them, `receipt` what it leaves;
//!   `heard` is a signal that is waited for with the rest.
//! * `tier` says how an arm is held together: `cgroup`, `reaped` and `hidden` are how; `trial` sees whether
//!   it can be.
//!
//! # What holds
//!
//! - An arm is executed only by an order, and an order is given only when its start is on the disk. A
//!   supervisor that is given none, because its engine has died, ends without executing anything.
//! - Whoever the supervisor is, is noted beside the run's folder before the order is given: the next
//!   session finds it there by number, start time, machine start and pidfd, and waits for it.
//! - A receipt is written when nothing of the run is left: first the leader ends, then everything else
//!   is killed and waited for, then the pipes are drained, then comes the receipt, then the judge.
//! - A receipt is written aside and renamed. While the engine is there its commit makes the ending
//!   durable; a supervisor that is alone flushes the receipt itself.
//! - A run whose supervisor died without a receipt is lost: nobody knows how it ended. In a name space
//!   the kernel has ended what was left, elsewhere whoever finds it does.

#[cfg(target_os = "linux")]
mod cgroup;
mod engine;
mod heard;
#[cfg(target_os = "linux")]
mod hello;
#[cfg(target_os = "linux")]
mod hidden;
#[cfg(target_os = "linux")]
mod limits;
mod order;
mod os_text;
#[cfg(target_os = "linux")]
mod reaped;
mod receipt;
mod serve;
mod spare;
mod tier;
mod trial;
#[cfg(target_os = "linux")]
mod user;
#[cfg(target_os = "linux")]
mod within;
#[cfg(target_os = "linux")]
mod zygote;

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;

pub(in crate::runner) use engine::Outcome;
pub use engine::{Given, Seen, Traces};
pub(in crate::runner) use order::{Before, Hidden, Limits, Order};
pub(in crate::runner) use spare::Spare;
pub use spare::{Coming, Supervisors};
pub use tier::{ALL, Tier, Tiers, Unavailable, word};

/// The hidden verb of a supervisor.
const SUPERVISE: &str = "__supervise";
/// The hidden verb of the process that supervisors are forked from.
#[cfg(target_os = "linux")]
const ZYGOTE: &str = "__supervisors";

/// Does what a hidden verb says, if that is one.
pub fn main(verb: &OsStr) -> Option<ExitCode> {
    match verb.to_str()? {
        SUPERVISE => Some(serve::stand()),
        #[cfg(target_os = "linux")]
        ZYGOTE => Some(zygote::stand()),
        _ => None,
    }
}

/// Ends everything in the control group of a run and removes it; one that is gone is fine.
#[cfg(target_os = "linux")]
pub(in crate::runner) fn end_cgroup(path: &Path) -> io::Result<()> {
    cgroup::end(path)
}

/// Does nothing where the system has no control groups.
#[cfg(not(target_os = "linux"))]
pub(in crate::runner) fn end_cgroup(_path: &Path) -> io::Result<()> {
    Ok(())
}
