//! Who a process is beyond its number, so that a later runner ends its own orphans and nobody else.

use std::os::fd::OwnedFd;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// Names a process for as long as the machine has not been started anew, and after.
///
/// A number alone is no identity: it is given to another process soon after the first has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process, and its group.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did. Known on Linux only.
    pub start_ticks: Option<u64>,
    /// The machine's start that `pid` and `start_ticks` belong to. Known on Linux only.
    pub boot_id: Option<String>,
    /// What its pidfd is called where each process has one of its own.
    #[serde(default)]
    pub pidfd: Option<u64>,
}

/// Tells what became of an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Orphan {
    /// It had ended before. What may be left of its group cannot be proved to be ours.
    Gone,
    /// It and its group have been ended.
    Ended,
    /// Its number belongs to another process by now. Nothing was done.
    Stranger,
    /// Whether it is ours cannot be proved: the identity is incomplete, or this is not Linux.
    /// Nothing was done.
    Unproven,
    /// It is ours, but may not be signalled, or had not ended some seconds after KILL.
    Remains,
}

impl ProcessIdentity {
    /// Reads the identity of a process by its number; `None` where that is no process's.
    pub fn of_pid(pid: i32) -> Option<Self> {
        let identity = Self::of(Pid::from_raw(pid)?);
        identity.start_ticks.is_some().then_some(identity)
    }

    /// Returns the identity of a child that is not reaped.
    pub(in crate::runner) fn of(pid: Pid) -> Self {
        Self::named(pid, pidfd_name(pid))
    }

    /// Returns the identity of a process that is not reaped, and whose pidfd is open.
    #[cfg(target_os = "linux")]
    pub(in crate::runner) fn of_open(pid: Pid, process: &OwnedFd) -> Self {
        Self::named(pid, name_of(process))
    }

    fn named(pid: Pid, pidfd: Option<u64>) -> Self {
        Self {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            start_ticks: Stat::read(pid).map(|stat| stat.start_ticks),
            boot_id: boot_id().map(str::to_owned),
            pidfd,
        }
    }

    /// Returns whether the machine was started anew since, so that nothing of that time is left.
    pub fn is_of_another_boot(&self) -> bool {
        match (&self.boot_id, boot_id()) {
            (Some(then), Some(now)) => then != now,
            _ => false,
        }
    }

    /// Opens the process if it is provably still that one, and has not ended.
    pub(in crate::runner) fn open(&self) -> Result<OwnedFd, Orphan> {
        let Self {
            pid,
            start_ticks: Some(start_ticks),
            boot_id: Some(boot),
            pidfd,
        } = self
        else {
            return Err(Orphan::Unproven);
        };
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        match (pid, boot_id()) {
            // A group of number 1 would be everybody.
            (Some(pid), Some(current)) if !pid.is_init() => {
                if current == boot {
                    open_same(pid, *start_ticks, *pidfd)
                } else {
                    Err(Orphan::Gone)
                }
            }
            _ => Err(Orphan::Unproven),
        }
    }
}

/// Ends the group of a leader that a killed runner left behind, if it is provably still that one.
///
/// Waits some seconds at most until the leader is dead. No TERM comes first: nobody reads the
/// orphan's output any more, and its run is over.
pub fn end_orphan(identity: &ProcessIdentity) -> Orphan {
    match identity.open() {
        Ok(process) => end_process(&process, identity.pid),
        Err(why) => why,
    }
}

#[cfg(target_os = "linux")]
fn open_same(pid: Pid, start_ticks: u64, name: Option<u64>) -> Result<OwnedFd, Orphan> {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open};

    // Opened first: a pidfd stays with its process, so if that one is alive after the comparison,
    // it is the one that was compared.
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Err(Orphan::Gone),
        Err(_) => return Err(Orphan::Unproven),
    };
    let differs = name.is_some_and(|name| name_of(&process).is_some_and(|found| found != name));
    match Stat::read(pid) {
        None => return Err(Orphan::Gone),
        Some(stat) if stat.start_ticks != start_ticks || differs => return Err(Orphan::Stranger),
        Some(_) => {}
    }
    if ends_within(&process, std::time::Duration::ZERO) {
        return Err(Orphan::Gone);
    }
    Ok(process)
}

/// Returns the number of what a pidfd stands for. Old kernels have one number for all of them, which
/// then tells nothing, and is no harm.
#[cfg(target_os = "linux")]
fn name_of(process: &OwnedFd) -> Option<u64> {
    rustix::fs::fstat(process).ok().map(|stat| stat.st_ino)
}

#[cfg(target_os = "linux")]
fn pidfd_name(pid: Pid) -> Option<u64> {
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    name_of(&process.ok()?)
}

#[cfg(not(target_os = "linux"))]
fn pidfd_name(_: Pid) -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
fn end_process(process: &OwnedFd, pid: u32) -> Orphan {
    use rustix::io::Errno;
    use rustix::process::{Signal, kill_process_group, pidfd_send_signal};

    let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Orphan::Unproven;
    };
    // The group's number is its leader's: between the look above and this signal it could pass on
    // only if the leader ended and all other numbers were handed out, which takes seconds. A
    // process that leads no group has none of its number.
    if kill_process_group(group, Signal::KILL).is_err_and(|errno| errno != Errno::SRCH) {
        return Orphan::Remains;
    }
    // For one that has left its group.
    let _ = pidfd_send_signal(process, Signal::KILL);
    if ends_within(process, ORPHAN_WAIT_MAX) {
        Orphan::Ended
    } else {
        Orphan::Remains
    }
}

/// How long KILL may take on a machine that is short of everything.
#[cfg(target_os = "linux")]
const ORPHAN_WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(10);

#[cfg(target_os = "linux")]
fn ends_within(process: &OwnedFd, limit: std::time::Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let end = std::time::Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            polled => return polled.is_ok_and(|ready| ready > 0),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_same(_: Pid, _: u64, _: Option<u64>) -> Result<OwnedFd, Orphan> {
    Err(Orphan::Unproven)
}

#[cfg(not(target_os = "linux"))]
fn end_process(_: &OwnedFd, _: u32) -> Orphan {
    Orphan::Unproven
}

/// Returns the name of the machine's present start, read once.
pub(in crate::runner) fn boot_id() -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        static BOOT_ID: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        let read = || {
            let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            Some(text.trim().to_owned())
        };
        BOOT_ID.get_or_init(read).as_deref()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// What `/proc/<pid>/stat` says of a process, also when it is a zombie.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::runner) struct Stat {
    user_ticks: u64,
    system_ticks: u64,
    start_ticks: u64,
}

/// The unit of the times in `/proc`, which is the same on all of Linux's current platforms.
const US_PER_TICK: u64 = 10_000;

impl Stat {
    /// Reads it. `None` when there is no such process, or no `/proc`.
    #[cfg(target_os = "linux")]
    pub(in crate::runner) fn read(pid: Pid) -> Option<Self> {
        use std::io::Read;

        // One read is one consistent answer, and the 52 numbers fit.
        let mut buffer = [0; 2048];
        let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
        let length = std::fs::File::open(path).ok()?.read(&mut buffer).ok()?;
        Self::parse(&buffer[..length])
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::runner) fn read(_: Pid) -> Option<Self> {
        None
    }

    /// Returns the processor time of its own, and of the children that it waited for.
    pub(in crate::runner) fn user_us(&self) -> u64 {
        self.user_ticks.saturating_mul(US_PER_TICK)
    }

    /// Returns the processor time of the system for it and for the children that it waited for.
    pub(in crate::runner) fn system_us(&self) -> u64 {
        self.system_ticks.saturating_mul(US_PER_TICK)
    }

    /// Parses the line. The second field is the program's name and may hold blanks and brackets,
    /// so fields are counted from its last bracket: the first after it is field 3.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux only"))]
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&line[name_end + 1..]).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        // utime, stime, cutime, cstime
        Some(Self {
            user_ticks: field(14)? + field(16)?,
            system_ticks: field(15)? + field(17)?,
            start_ticks: field(22)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn a_name_with_brackets_and_blanks_shifts_no_field() {
        let line = b"7 (a) R (b) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 12345 1 1\n";
        assert_eq!(
            Stat::parse(line),
            Some(Stat {
                user_ticks: 40,
                system_ticks: 60,
                start_ticks: 12345,
            })
        );
        assert_eq!(Stat::parse(b"7 (a) S 1"), None);
        assert_eq!(Stat::parse(b""), None);
    }
}
