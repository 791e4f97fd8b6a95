//! The operator's hand: the first Ctrl-C ends starting, the second ends what is live.

use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};

/// Lets a write beyond the limit on the size of files fail as on a full disk, where the system would
/// end the process. Programs that are started are not told of it.
pub fn outlive_file_limit() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// What the operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Start nothing more; let what is live end.
    Drain,
    /// End what is live.
    End,
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
                let again = std::mem::replace(&mut asked, true);
                wish(if signal == SIGINT && !again {
                    Wish::Drain
                } else {
                    Wish::End
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
