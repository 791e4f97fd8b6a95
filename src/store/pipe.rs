//! Several hands on one table: one takes rows out of the file, others read and write what they say.

use std::sync::mpsc::sync_channel;
use std::thread;

use super::derived::Kept;
use super::{Fault, Result, abreast, rows};

/// How many bytes of rows go from hand to hand at once.
const BATCH_BYTES: usize = 1 << 18;
/// How much longer a batch may become by its last row, nearly always.
const ROW_BYTES: usize = BATCH_BYTES / 8;
/// How many rows go at once at most: of those that have no facts, too.
const BATCH_ROWS: usize = BATCH_BYTES / 16;
/// How many batches may wait: what is in memory is bounded.
const WAITING: usize = 4;

/// Rows on their way, each with what it is for; one that is not there has no facts.
pub(super) struct Batch<T> {
    facts: String,
    ends: Vec<(T, Option<usize>)>,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self {
            facts: String::with_capacity(BATCH_BYTES + ROW_BYTES),
            ends: Vec::new(),
        }
    }
}

impl<T> Batch<T> {
    /// Returns how many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Hands every row to a function; stops at the first fault.
    pub(super) fn each(self, mut each: impl FnMut(T, Option<&str>) -> Result<()>) -> Result<()> {
        let Self { facts, ends } = self;
        let mut start = 0;
        for (what, end) in ends {
            let found = end.and_then(|end| facts.get(start..end));
            start = end.unwrap_or(start);
            each(what, found)?;
        }
        Ok(())
    }
}

/// Takes the rows of the first hand.
pub(super) struct Sender<'s, T> {
    batch: Batch<T>,
    /// Returns whether anybody still takes batches.
    send: &'s mut dyn FnMut(Batch<T>) -> bool,
}

impl<T> Sender<'_, T> {
    /// Hands a row on; returns whether more are wanted.
    pub(super) fn row(&mut self, what: T, kept: Option<Kept<'_>>) -> bool {
        match kept {
            None => {}
            Some(Kept::Saved(facts)) => self.batch.facts.push_str(facts),
            Some(Kept::Newer(run)) => self.batch.facts.push_str(&rows::write(run)),
        }
        let end = kept.map(|_| self.batch.facts.len());
        self.batch.ends.push((what, end));
        self.batch.facts.len() < BATCH_BYTES && self.batch.ends.len() < BATCH_ROWS || self.flush()
    }

    fn flush(&mut self) -> bool {
        (self.send)(std::mem::take(&mut self.batch))
    }
}

/// Lets one hand take rows out while the other does something with each; stops at the first fault.
pub(super) fn through<T: Send>(
    take: impl FnOnce(&mut Sender<'_, T>) -> Result<()>,
    mut each: impl FnMut(T, Option<&str>) -> Result<()> + Send,
) -> Result<()> {
    let (into, out) = sync_channel::<Batch<T>>(WAITING);
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, move || {
            let mut batches = out.iter();
            batches.try_for_each(|batch: Batch<T>| batch.each(&mut each))
        });
        let other = other.map_err(Fault::Threads)?;
        let mut send = |batch| into.send(batch).is_ok();
        let mut sender = Sender {
            batch: Batch::default(),
            send: &mut send,
        };
        let taken = take(&mut sender);
        if taken.is_ok() {
            sender.flush();
        }
        drop(into);
        let done = match other.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // Whoever stopped first says why.
        done.and(taken)
    })
}

/// Lets one hand take rows out while others work on several batches of them at once; what comes of these is taken in
/// their order. Stops at the first fault.
pub(super) fn abreast<T: Send, R: Send>(
    take: impl FnOnce(&mut Sender<'_, T>) -> Result<()>,
    work: impl Fn(Batch<T>) -> Result<R> + Sync,
    mut each: impl FnMut(&R) -> Result<()> + Send,
) -> Result<()> {
    let mut taken = Ok(());
    let done = abreast::from_here(
        |gate| {
            let mut send = |batch| gate.hand(batch).is_ok();
            let mut sender = Sender {
                batch: Batch::default(),
                send: &mut send,
            };
            taken = take(&mut sender);
            if taken.is_ok() {
                sender.flush();
            }
        },
        work,
        |made: Result<R>| {
            let made = made?;
            each(&made)?;
            Ok(Ok(made))
        },
    );
    done.and(taken)
}
