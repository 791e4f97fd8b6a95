//! Who a process is beyond its number, so that a later runner ends its own orphans and nobody else.

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
    pub(super) fn of(pid: Pid) -> Self {
        Self {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            start_ticks: Stat::read(pid).map(|stat| stat.start_ticks),
            boot_id: boot_id().map(str::to_owned),
        }
    }
}

/// Ends the group of a leader that a killed runner left behind, if it is provably still that one.
///
/// Waits some seconds at most until the leader is dead. No TERM comes first: nobody reads the
/// orphan's output any more, and its run is over.
pub fn end_orphan(identity: &ProcessIdentity) -> Orphan {
    let ProcessIdentity {
        pid,
        start_ticks: Some(start_ticks),
        boot_id: Some(boot),
    } = identity
    else {
        return Orphan::Unproven;
    };
    let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
    match (pid, boot_id()) {
        // A group of number 1 would be everybody.
        (Some(pid), Some(current)) if !pid.is_init() => {
            if current == boot {
                end_if_same(pid, *start_ticks)
            } else {
                Orphan::Gone
            }
        }
        _ => Orphan::Unproven,
    }
}

#[cfg(target_os = "linux")]
fn end_if_same(pid: Pid, start_ticks: u64) -> Orphan {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, Signal, kill_process_group, pidfd_open};

    // Opened first: a pidfd stays with its process, so if that one is alive after the comparison,
    // it is the one that was compared.
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Orphan::Gone,
        Err(_) => return Orphan::Unproven,
    };
    match Stat::read(pid) {
        None => return Orphan::Gone,
        Some(stat) if stat.start_ticks != start_ticks => return Orphan::Stranger,
        Some(_) => {}
    }
    if ends_within(&process, std::time::Duration::ZERO) {
        return Orphan::Gone;
    }
    // The group's number is its leader's: between the look above and this signal it could pass on
    // only if the leader ended and all other numbers were handed out, which takes seconds. A
    // process that leads no group has none of its number.
    if kill_process_group(pid, Signal::KILL).is_err_and(|errno| errno != Errno::SRCH) {
        return Orphan::Remains;
    }
    // For one that has left its group.
    let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
    if ends_within(&process, ORPHAN_WAIT_MAX) {
        Orphan::Ended
    } else {
        Orphan::Remains
    }
}

/// How long KILL may take on a machine that is short of everything.
#[cfg(target_os = "linux")]
const ORPHAN_WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(10);

#[cfg(target_os = "linux")]
fn ends_within(process: &std::os::fd::OwnedFd, limit: std::time::Duration) -> bool {
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
fn end_if_same(_: Pid, _: u64) -> Orphan {
    Orphan::Unproven
}

/// Returns the name of the machine's present start, read once.
fn boot_id() -> Option<&'static str> {
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
pub(super) struct Stat {
    cpu_ticks: u64,
    start_ticks: u64,
}

/// The unit of the times in `/proc`, which is the same on all of Linux's current platforms.
const MS_PER_TICK: u64 = 10;

impl Stat {
    /// Reads it. `None` when there is no such process, or no `/proc`.
    #[cfg(target_os = "linux")]
    pub(super) fn read(pid: Pid) -> Option<Self> {
        use std::io::Read;

        // One read is one consistent answer, and the 52 numbers fit.
        let mut buffer = [0; 2048];
        let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
        let length = std::fs::File::open(path).ok()?.read(&mut buffer).ok()?;
        Self::parse(&buffer[..length])
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn read(_: Pid) -> Option<Self> {
        None
    }

    /// Returns the processor time of the process and of the children it waited for.
    pub(super) fn cpu_ms(&self) -> u64 {
        self.cpu_ticks.saturating_mul(MS_PER_TICK)
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
        let cpu_ticks = field(14)? + field(15)? + field(16)? + field(17)?;
        Some(Self {
            cpu_ticks,
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
                cpu_ticks: 100,
                start_ticks: 12345
            })
        );
        assert_eq!(Stat::parse(b"7 (a) S 1"), None);
        assert_eq!(Stat::parse(b""), None);
    }
}
