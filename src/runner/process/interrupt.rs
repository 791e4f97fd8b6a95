//! Ends every running command at once.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks all commands that are being executed to end. Clones are the same interrupt.
///
/// It is a pipe that gets one byte which nobody reads: once fired it stays fired, for those that
/// run now and for those that start later.
#[derive(Debug, Clone)]
pub struct Interrupt {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    fired: AtomicBool,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Interrupt {
    /// Returns one that has not fired. Fails when the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self {
            inner: Arc::new(Inner {
                fired: AtomicBool::new(false),
                reader,
                writer,
            }),
        })
    }

    /// Returns whether it has fired.
    pub fn has_fired(&self) -> bool {
        self.inner.fired.load(Ordering::SeqCst)
    }

    /// Fires. A second time does nothing. Fails only when the pipe is broken.
    pub fn fire(&self) -> io::Result<()> {
        if self.inner.fired.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        (&self.inner.writer).write_all(b"!")
    }
}

impl AsFd for Interrupt {
    /// Returns the descriptor that is readable from the fire on. Nobody may read from it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.reader.as_fd()
    }
}
