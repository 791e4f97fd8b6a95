//! Work that is done on several batches at once, and handed on in their order.
//!
//! What was taken goes back to the thread that made it and is freed there: threads that free what others allocate
//! wait for one another.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope, scope};

use super::Fault;

/// How many threads work on batches, beside the one that reads them and the one that takes them.
const WORKERS: usize = 2;
/// How many batches may be under way.
const AHEAD: usize = 4;

/// A batch, and where to send what comes of it.
type Order<B, R> = (B, SyncSender<Made<R>>);

/// What came of a batch, and where it goes once it was taken.
type Made<R> = (R, Sender<R>);

/// Where batches are handed in.
pub(super) struct In<B, R> {
    orders: SyncSender<Order<B, R>>,
    promises: SyncSender<Receiver<Made<R>>>,
}

/// Nobody takes batches any more.
pub(super) struct Closed;

impl<B, R> In<B, R> {
    /// Hands in the next batch; waits while enough are under way.
    pub(super) fn hand(&self, batch: B) -> Result<(), Closed> {
        let (sender, receiver) = sync_channel(1);
        self.promises.send(receiver).map_err(|_| Closed)?;
        self.orders.send((batch, sender)).map_err(|_| Closed)
    }
}

/// Reads batches on one thread, works on them on others, and takes what comes of them on this one, in
/// the order in which they were read; what is taken first ends it first. What is left of it is given back.
pub(super) fn in_order<B: Send, R: Send, E: From<Fault>>(
    read: impl FnOnce(&In<B, R>) -> Result<(), Closed> + Send,
    work: impl Fn(B) -> R + Sync,
    take: impl FnMut(R) -> Result<R, E>,
) -> Result<(), E> {
    let (orders, ordered) = sync_channel(AHEAD);
    let (promises, promised) = sync_channel(AHEAD);
    let ordered = Mutex::new(ordered);
    scope(|scope| {
        // Moved in, so that it is closed before the threads are waited for.
        let promised: Receiver<Receiver<Made<R>>> = promised;
        let gate = In { orders, promises };
        for _ in 0..WORKERS {
            spawn(scope, || fill_all(&ordered, &work))?;
        }
        spawn(scope, move || {
            let _ = read(&gate);
        })?;
        take_all(promised, take)
    })
}

/// Does the same with what must be read on this thread: what comes of it is taken on another.
pub(super) fn from_here<B: Send, R: Send>(
    read: impl FnOnce(&In<B, R>),
    work: impl Fn(B) -> R + Sync,
    take: impl FnMut(R) -> Result<R, Fault> + Send,
) -> Result<(), Fault> {
    let (orders, ordered) = sync_channel(AHEAD);
    let (promises, promised) = sync_channel(AHEAD);
    let ordered = Mutex::new(ordered);
    scope(|scope| {
        let gate = In { orders, promises };
        for _ in 0..WORKERS {
            spawn(scope, || fill_all(&ordered, &work))?;
        }
        let taker = Builder::new().spawn_scoped(scope, move || take_all(promised, take));
        let taker = taker.map_err(Fault::Threads)?;
        read(&gate);
        drop(gate);
        taker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Takes whatever was promised, in order.
fn take_all<R, E>(
    promised: Receiver<Receiver<Made<R>>>,
    mut take: impl FnMut(R) -> Result<R, E>,
) -> Result<(), E> {
    for (made, maker) in promised.iter().flatten() {
        // A maker that has ended leaves it to this thread.
        let _ = maker.send(take(made)?);
    }
    Ok(())
}

fn spawn<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) -> Result<(), Fault> {
    let spawned = Builder::new().spawn_scoped(scope, work);
    spawned.map(|_| ()).map_err(Fault::Threads)
}

/// Works on whatever was handed in, until nothing more is.
fn fill_all<B, R>(ordered: &Mutex<Receiver<Order<B, R>>>, work: impl Fn(B) -> R) {
    let (maker, taken) = channel();
    loop {
        taken.try_iter().for_each(drop);
        let next = ordered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((batch, sender)) = next else { return };
        // Nobody may wait for it any more.
        let _ = sender.send((work(batch), maker.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(numbers: u64, take: impl FnMut(u64) -> Result<u64, Fault>) -> Result<(), Fault> {
        let read = |gate: &In<u64, u64>| (0..numbers).try_for_each(|number| gate.hand(number));
        let work = |number: u64| {
            // Some take longer than those after them.
            (0..(number % 7) * 1_000).fold(number, |sum, _| std::hint::black_box(sum)) * number
        };
        in_order(read, work, take)
    }

    #[test]
    fn what_was_read_first_is_taken_first() {
        let mut taken = Vec::new();
        squares(500, |square| {
            taken.push(square);
            Ok(square)
        })
        .unwrap();
        let expected: Vec<u64> = (0..500).map(|number| number * number).collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn what_is_read_here_is_taken_in_order_elsewhere() {
        let (here, mut taken) = (std::thread::current().id(), Vec::new());
        let read = |gate: &In<u64, u64>| {
            let handed = (0..500).try_for_each(|number| gate.hand(number));
            assert!(handed.is_ok() && std::thread::current().id() == here);
        };
        let take = |number| {
            assert_ne!(std::thread::current().id(), here);
            taken.push(number);
            Ok(number)
        };
        from_here(read, |number| number, take).unwrap();
        assert!(taken.into_iter().eq(0..500));
    }

    #[test]
    fn whoever_takes_may_stop_in_the_middle() {
        let mut taken = 0;
        let stopped = squares(u64::MAX >> 33, |square| {
            taken += 1;
            match taken {
                40 => Err(Fault::NotFile("enough".into())),
                _ => Ok(square),
            }
        });
        assert!(matches!(stopped, Err(Fault::NotFile(_))));
        assert_eq!(taken, 40);
    }
}
