//! Flushing outside the transaction: a session's workers share their waits for the disk.
//!
//! SQLite's FULL flushes the log inside every commit, while the record is locked. A session lets
//! SQLite commit without (NORMAL) and each worker flushes the same log itself, before it acts on
//! what it committed. What is acknowledged is as durable, with one flush a commit at the most; but
//! the next commit need not wait for the disk. The log is one file in order, so a flush covers all
//! commits before it. Two flushes at once hinder each other, so one follows another: who comes while
//! one is under way waits for it, and then the first of those who wait flushes for them all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::fault::Fault;
use super::{LOG, beside};

/// Flushes the log of a record.
#[derive(Debug)]
pub struct Flush {
    log: File,
    path: PathBuf,
    turn: Mutex<Turn>,
    ended: Condvar,
}

/// How far the flushes have come; each that is asked for has a number.
#[derive(Debug, Default)]
struct Turn {
    asked: u64,
    flushed: u64,
    under_way: bool,
    /// What the system said of one that failed. Whatever it says afterwards, nobody knows what is
    /// on the disk then: no later flush is believed.
    failed: Option<io::ErrorKind>,
}

impl Flush {
    /// Opens the log of a record that is being written.
    ///
    /// The log is not the record's file nor its index: SQLite's locks are not on it, so a handle of
    /// our own loses none.
    pub(super) fn of(record: &Path) -> Result<Self, Fault> {
        let path = beside(record, LOG);
        let log = File::open(&path).map_err(|source| Fault::file(&path, source))?;
        Ok(Self {
            log,
            path,
            turn: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// Returns once everything that was committed before is on the disk.
    pub fn flush(&self) -> Result<(), Fault> {
        self.flush_by(|| self.log.sync_data())
            .map_err(|source| Fault::NotFlushed {
                path: self.path.clone(),
                source,
            })
    }

    /// Waits until what others flush already is on the disk, or cannot be brought there.
    pub fn wait_for_others(&self) {
        let turn = self.turn();
        let asked = turn.asked;
        let waits = |turn: &mut Turn| turn.flushed < asked && turn.failed.is_none();
        drop(self.ended.wait_while(turn, waits));
    }

    fn flush_by(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut turn = self.turn();
        turn.asked += 1;
        let mine = turn.asked;
        while turn.under_way && turn.flushed < mine {
            turn = self
                .ended
                .wait(turn)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failed) = turn.failed {
            return Err(failed.into());
        }
        if turn.flushed >= mine {
            return Ok(());
        }
        turn.under_way = true;
        let covered = turn.asked;
        drop(turn);
        let synced = sync();
        let mut turn = self.turn();
        turn.under_way = false;
        match &synced {
            Ok(()) => turn.flushed = covered,
            Err(error) => turn.failed = Some(error.kind()),
        }
        self.ended.notify_all();
        synced
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        // Who panicked here held numbers alone, and they are never half written.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    fn flush() -> Flush {
        Flush {
            log: File::open("Cargo.toml").unwrap(),
            path: PathBuf::from("log"),
            turn: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    #[test]
    fn a_flush_covers_what_was_written_before_it_began_and_no_two_are_at_once() {
        let flush = flush();
        let (written, on_disk, at_once) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let flushes = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mine = written.fetch_add(1, Ordering::SeqCst) + 1;
                        let sync = || {
                            assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0);
                            flushes.fetch_add(1, Ordering::SeqCst);
                            let covered = written.load(Ordering::SeqCst);
                            std::thread::sleep(Duration::from_micros(50));
                            on_disk.fetch_max(covered, Ordering::SeqCst);
                            at_once.fetch_sub(1, Ordering::SeqCst);
                            Ok(())
                        };
                        flush.flush_by(sync).unwrap();
                        assert!(on_disk.load(Ordering::SeqCst) >= mine);
                    }
                });
            }
        });
        assert!(flushes.load(Ordering::SeqCst) < 800, "flushes are shared");
    }

    #[test]
    fn who_waits_for_others_goes_on_when_what_they_flush_is_on_the_disk() {
        let flush = flush();
        flush.wait_for_others();
        let (begun, let_go) = (Barrier::new(2), Barrier::new(2));
        let (is_synced, were_synced) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sync = || {
                    begun.wait();
                    let_go.wait();
                    is_synced.store(true, Ordering::SeqCst);
                    Ok(())
                };
                flush.flush_by(sync).unwrap();
            });
            begun.wait();
            let waiting = scope.spawn(|| {
                flush.wait_for_others();
                were_synced.store(is_synced.load(Ordering::SeqCst), Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            let_go.wait();
        });
        assert!(were_synced.into_inner());
    }

    #[test]
    fn after_a_flush_that_failed_none_is_believed() {
        let flush = flush();
        let full = || Err(io::ErrorKind::StorageFull.into());
        let kind = |result: io::Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(flush.flush_by(full)), io::ErrorKind::StorageFull);
        assert_eq!(kind(flush.flush_by(|| Ok(()))), io::ErrorKind::StorageFull);
        // Nor waited for.
        flush.wait_for_others();
    }
}
