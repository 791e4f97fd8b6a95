//! The operator's hand: the first Ctrl-C ends starting, the second ends what is live; TERM and a closed
//! terminal end the session and leave what is live to its supervisors.

use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};

/// Lets a write beyond the limit on the size of files fail as on a full disk, where the system would
/// end the process. Programs that are started are not told of it.
pub fn outlive_file_limit() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Lets what is started from here on have every signal as the system has it: one that whoever started
/// this program had it ignore would be ignored there, too, and one that is caught is not.
pub(super) fn unignore() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    for signal in 1..32 {
        let is_ignored = ignored.unwrap_or_default() >> (signal - 1) & 1 == 1;
        // The library sees to SIGPIPE where it starts a program.
        if is_ignored && signal != SIGPIPE && !signal_hook::consts::FORBIDDEN.contains(&signal) {
            // What cannot be caught cannot be ignored either.
            let _ = signal_hook::flag::register(signal, Arc::default());
        }
    }
}

/// What the operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Start nothing more; let what is live end.
    Drain,
    /// End what is live.
    End,
    /// Start nothing more; leave what is live to its supervisors.
    Leave,
}

/// Signals are being listened to until this is dropped.
#[derive(Debug)]
pub struct Listening {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Listens to signals; `wish` is called from a thread of its own.
pub fn listen(wish: impl Fn(Wish) + Send + 'static) -> std::io::Result<Listening> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let mut asked = false;
            for signal in &mut signals {
                wish(match signal {
                    SIGINT if std::mem::replace(&mut asked, true) => Wish::End,
                    SIGINT => Wish::Drain,
                    // Whoever ends the session, or closes its terminal, has said nothing of the runs.
                    _ => Wish::Leave,
                });
            }
        })?;
    Ok(Listening {
        handle,
        thread: Some(thread),
    })
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread only ends its loop; a panic there has nothing left to hurt.
            let _ = thread.join();
        }
    }
}
