//! A signal that is heard through a descriptor, with whatever else is waited for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

#[cfg(target_os = "linux")]
use nix::sys::signal::{SigSet, Signal};
#[cfg(target_os = "linux")]
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// A signal that is heard.
pub(super) enum Heard {
    /// It is read: nothing of this process is interrupted by it, and next to nothing needs be prepared.
    #[cfg(target_os = "linux")]
    Read(SignalFd),
    /// It is caught: what is started meanwhile does not have it blocked.
    Caught(UnixStream),
}

impl Heard {
    /// Makes what a signal is read from, once it is blocked.
    #[cfg(target_os = "linux")]
    pub(super) fn read(signal: Signal) -> io::Result<Self> {
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Self::Read(SignalFd::with_flags(&only(signal), flags)?))
    }

    /// Catches a signal.
    pub(super) fn caught(signal: i32) -> io::Result<Self> {
        let (reader, sender) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal, sender)?;
        Ok(Self::Caught(reader))
    }

    /// Takes what came: one look answers as many as there were.
    pub(super) fn take(&self) {
        use std::io::Read;

        match self {
            #[cfg(target_os = "linux")]
            Self::Read(signals) => while matches!(signals.read_signal(), Ok(Some(_))) {},
            Self::Caught(signals) => {
                let mut taken = [0; 16];
                while matches!((&mut &*signals).read(&mut taken), Ok(1..)) {}
            }
        }
    }
}

impl AsFd for Heard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Read(signals) => signals.as_fd(),
            Self::Caught(signals) => signals.as_fd(),
        }
    }
}

/// Blocks a signal, so that it waits until it is read.
#[cfg(target_os = "linux")]
pub(super) fn block(signal: Signal) -> io::Result<()> {
    Ok(only(signal).thread_block()?)
}

/// Lets a signal through, one that has waited at once.
#[cfg(target_os = "linux")]
pub(super) fn unblock(signal: Signal) -> io::Result<()> {
    Ok(only(signal).thread_unblock()?)
}

#[cfg(target_os = "linux")]
fn only(signal: Signal) -> SigSet {
    let mut set = SigSet::empty();
    set.add(signal);
    set
}
