//! Group commit: of the threads that wait to write, one commits the work of all.
//!
//! Who comes while nobody leads, leads: it takes every job that waits, does them in one transaction,
//! hands the lead over, waits for the disk, and tells each what came of its job. While it waits for
//! the disk the next leader is at work. A thread that waits is woken once: to lead, or with its answer.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads that write together: `J` is what is to be done, `A` what came of it.
#[derive(Debug)]
pub struct GroupCommit<J, A> {
    line: Mutex<Line<J, A>>,
}

/// Who waits.
#[derive(Debug)]
struct Line<J, A> {
    has_leader: bool,
    waiting: Vec<(J, SyncSender<Turn<A>>)>,
}

/// What a thread that waited does next.
enum Turn<A> {
    Lead,
    Return(A),
}

/// The lead; who drops it hands it over to the next in line.
#[derive(Debug)]
pub struct Lead<'g, J, A> {
    group: &'g GroupCommit<J, A>,
}

impl<J, A> Default for GroupCommit<J, A> {
    fn default() -> Self {
        Self {
            line: Mutex::new(Line {
                has_leader: false,
                waiting: Vec::new(),
            }),
        }
    }
}

impl<J, A> GroupCommit<J, A> {
    /// Hands in a job; returns what came of it, or nothing where the thread that led failed.
    ///
    /// Whoever leads answers with `serve` every job that is there, in order, and drops the lead once
    /// the next may begin. Its own fault is its own: the others learn only that there is no answer.
    pub fn submit<E>(
        &self,
        job: J,
        serve: impl FnOnce(Vec<J>, Lead<'_, J, A>) -> Result<Vec<A>, E>,
    ) -> Result<Option<A>, E> {
        let (tell, told) = mpsc::sync_channel(1);
        if !self.join(job, tell) {
            match told.recv() {
                Ok(Turn::Lead) => {}
                Ok(Turn::Return(answer)) => return Ok(Some(answer)),
                Err(_) => return Ok(None),
            }
        }
        self.lead(serve)?;
        Ok(answer_of(&told))
    }

    /// Stands in line; returns whether to lead at once.
    fn join(&self, job: J, tell: SyncSender<Turn<A>>) -> bool {
        let mut line = self.line();
        line.waiting.push((job, tell));
        !std::mem::replace(&mut line.has_leader, true)
    }

    fn lead<E>(
        &self,
        serve: impl FnOnce(Vec<J>, Lead<'_, J, A>) -> Result<Vec<A>, E>,
    ) -> Result<(), E> {
        let lead = Lead { group: self };
        let waiting = std::mem::take(&mut self.line().waiting);
        let (jobs, tell): (Vec<J>, Vec<_>) = waiting.into_iter().unzip();
        let answers = serve(jobs, lead)?;
        for (tell, answer) in tell.into_iter().zip(answers) {
            // Each has room for one turn, and whoever leads has had none.
            let _ = tell.try_send(Turn::Return(answer));
        }
        Ok(())
    }

    fn line(&self) -> MutexGuard<'_, Line<J, A>> {
        // Nothing is half done in a line, whoever panicked beside it.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer_of<A>(told: &Receiver<Turn<A>>) -> Option<A> {
    match told.try_recv() {
        Ok(Turn::Return(answer)) => Some(answer),
        Ok(Turn::Lead) | Err(_) => None,
    }
}

impl<J, A> Drop for Lead<'_, J, A> {
    fn drop(&mut self) {
        let mut line = self.group.line();
        let next = line.waiting.first();
        line.has_leader = next.is_some_and(|(_, tell)| tell.try_send(Turn::Lead).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_job_is_served_once_in_its_order_and_its_own_answer_returns() {
        const THREADS: u64 = 8;
        let group = GroupCommit::<(u64, u64), u64>::default();
        let (served, together) = (Mutex::new(Vec::new()), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (group, served, together) = (&group, &served, &together);
                scope.spawn(move || {
                    for job in 0..200 {
                        let serve = |jobs: Vec<(u64, u64)>, lead: Lead<'_, _, _>| {
                            let mut served = served.try_lock().expect("one leads at a time");
                            if served.is_empty() {
                                // The first leads until all others wait.
                                let others = THREADS as usize - jobs.len();
                                while group.line().waiting.len() < others {
                                    std::thread::yield_now();
                                }
                            }
                            together.fetch_max(jobs.len() as u64, Ordering::SeqCst);
                            served.extend(&jobs);
                            drop(served);
                            drop(lead);
                            let answer = |(thread, job)| thread * 1_000 + job;
                            Ok::<_, ()>(jobs.into_iter().map(answer).collect())
                        };
                        let answer = group.submit((thread, job), serve).unwrap();
                        assert_eq!(answer, Some(thread * 1_000 + job));
                    }
                });
            }
        });
        let served = served.into_inner().unwrap();
        for thread in 0..THREADS {
            let own = served.iter().filter(|(whose, _)| *whose == thread);
            assert!(own.map(|(_, job)| *job).eq(0..200), "in order, each once");
        }
        assert!(
            together.into_inner() >= THREADS / 2,
            "who waits is served together"
        );
    }

    #[test]
    fn a_leader_that_fails_or_panics_leaves_nobody_waiting() {
        let group = GroupCommit::<u64, u64>::default();
        let unanswered = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (group, unanswered) = (&group, &unanswered);
                scope.spawn(move || {
                    for job in 0..100 {
                        let submit = || {
                            group.submit(job, |jobs, _lead| {
                                std::thread::sleep(Duration::from_micros(20));
                                match (thread, job % 3) {
                                    (0, 0) => panic!("a leader that panics"),
                                    (1, 0) => Err("a leader that fails"),
                                    _ => Ok(jobs),
                                }
                            })
                        };
                        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(submit));
                        if !matches!(done, Ok(Ok(Some(_)))) {
                            unanswered.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(unanswered.into_inner() > 0);
        assert!(!group.line().has_leader && group.line().waiting.is_empty());
    }
}
