//! Group commit: of the threads that wait to write, one commits the work of all.
//!
//! Who comes while nobody leads, leads: it does the job of everybody who waits or comes meanwhile in one
//! transaction, hands the lead over, waits for the disk, and tells each what came of its job. While it
//! waits for the disk the next leader is at work, unless it has few to serve: then it lets the disk come
//! first. A thread that waits is woken once: to lead, or with its answer.

use std::collections::VecDeque;
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
    /// How many were served and have no answer yet: they wait for the disk.
    unanswered: usize,
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
    jobs: VecDeque<J>,
    /// Who waits for the answers, in the order of the jobs.
    tell: Vec<SyncSender<Turn<A>>>,
    has_waited: bool,
    is_over: bool,
}

impl<J, A> Default for GroupCommit<J, A> {
    fn default() -> Self {
        Self {
            line: Mutex::new(Line {
                has_leader: false,
                waiting: Vec::new(),
                unanswered: 0,
            }),
        }
    }
}

impl<J, A> GroupCommit<J, A> {
    /// Hands in a job; returns what came of it, or nothing where the thread that led failed.
    ///
    /// Whoever leads answers with `serve` every job that the lead gives it, in order, and hands the lead
    /// over once the next may begin. Its own fault is its own: the others learn only that there is no answer.
    pub fn submit<E>(
        &self,
        job: J,
        serve: impl FnOnce(&mut Lead<'_, J, A>) -> Result<Vec<A>, E>,
    ) -> Result<Option<A>, E> {
        let (tell, told) = mpsc::sync_channel(1);
        if !self.join(job, tell) {
            match told.recv() {
                Ok(Turn::Lead) => {}
                Ok(Turn::Return(answer)) => return Ok(Some(answer)),
                Err(_) => return Ok(None),
            }
        }
        let mut lead = Lead::of(self);
        let answers = serve(&mut lead)?;
        lead.answer(answers);
        Ok(answer_of(&told))
    }

    /// Stands in line; returns whether to lead at once.
    fn join(&self, job: J, tell: SyncSender<Turn<A>>) -> bool {
        let mut line = self.line();
        line.waiting.push((job, tell));
        !std::mem::replace(&mut line.has_leader, true)
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

impl<'g, J, A> Lead<'g, J, A> {
    /// Takes the lead, and every job that is there: the leader's own is the first.
    fn of(group: &'g GroupCommit<J, A>) -> Self {
        let mut lead = Self {
            group,
            jobs: VecDeque::new(),
            tell: Vec::new(),
            has_waited: false,
            is_over: false,
        };
        lead.take_waiting();
        lead
    }

    /// Returns the next job; nothing once nobody waits. Each thread has one job, so there is an end.
    ///
    /// Once a lead, where nobody waits and more than twice as many wait for the disk as are served, the disk comes
    /// first, with `wait_for_disk`: then they are back, and served with the few. Else few are served alone again and
    /// again, each time for the price of many.
    pub fn next(&mut self, wait_for_disk: impl FnOnce()) -> Option<J> {
        if self.jobs.is_empty() {
            self.take_waiting();
        }
        if self.jobs.is_empty() && !self.has_waited && self.is_outnumbered() {
            self.has_waited = true;
            wait_for_disk();
            self.take_waiting();
        }
        self.jobs.pop_front()
    }

    /// Takes every job that waits.
    fn take_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.group.line().waiting);
        for (job, tell) in waiting {
            self.jobs.push_back(job);
            self.tell.push(tell);
        }
    }

    /// Returns whether few are served beside those who wait for the disk.
    fn is_outnumbered(&self) -> bool {
        2 * self.tell.len() < self.group.line().unanswered
    }

    /// Lets the next in line lead.
    pub fn hand_over(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let mut line = self.group.line();
        line.unanswered += self.tell.len();
        let next = line.waiting.first();
        line.has_leader = next.is_some_and(|(_, tell)| tell.try_send(Turn::Lead).is_ok());
    }

    /// Tells each what came of its job.
    fn answer(mut self, answers: Vec<A>) {
        let tell = self.end();
        for (tell, answer) in tell.into_iter().zip(answers) {
            // Each has room for one turn, and whoever leads has had none.
            let _ = tell.try_send(Turn::Return(answer));
        }
    }

    /// Hands the lead over, if it was not, and waits for nothing more; returns who waits for an answer.
    fn end(&mut self) -> Vec<SyncSender<Turn<A>>> {
        self.hand_over();
        let tell = std::mem::take(&mut self.tell);
        self.group.line().unanswered -= tell.len();
        tell
    }
}

impl<J, A> Drop for Lead<'_, J, A> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
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
                        let serve = |lead: &mut Lead<'_, _, _>| {
                            let mut served = served.try_lock().expect("one leads at a time");
                            if served.is_empty() {
                                // The first leads until all others wait.
                                let others = THREADS as usize - lead.tell.len();
                                while group.line().waiting.len() < others {
                                    std::thread::yield_now();
                                }
                            }
                            let jobs: Vec<(u64, u64)> =
                                std::iter::from_fn(|| lead.next(|| {})).collect();
                            together.fetch_max(jobs.len() as u64, Ordering::SeqCst);
                            served.extend(&jobs);
                            drop(served);
                            lead.hand_over();
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
                            group.submit(job, |lead| {
                                std::thread::sleep(Duration::from_micros(20));
                                match (thread, job % 3) {
                                    (0, 0) => panic!("a leader that panics"),
                                    (1, 0) => Err("a leader that fails"),
                                    _ => Ok(std::iter::from_fn(|| lead.next(|| {})).collect()),
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
        let line = group.line();
        assert!(!line.has_leader && line.waiting.is_empty());
        assert_eq!(line.unanswered, 0);
    }

    #[test]
    fn who_leads_few_waits_for_the_many_that_come_back_from_the_disk() {
        const MANY: u64 = 4;
        let group = GroupCommit::<u64, u64>::default();
        let (on_disk, served_with_few) = (Barrier::new(2), AtomicU64::new(0));
        let serve = |lead: &mut Lead<'_, u64, u64>| {
            // All of the many are served at once.
            while lead.tell.len() + group.line().waiting.len() < MANY as usize {
                std::thread::yield_now();
            }
            let jobs = std::iter::from_fn(|| lead.next(|| {})).collect();
            lead.hand_over();
            on_disk.wait();
            // It comes to an end once somebody waits for it.
            on_disk.wait();
            Ok::<Vec<u64>, ()>(jobs)
        };
        let serve_few = |lead: &mut Lead<'_, u64, u64>| {
            let next = || {
                lead.next(|| {
                    on_disk.wait();
                    while group.line().waiting.len() < MANY as usize {
                        std::thread::yield_now();
                    }
                })
            };
            let jobs: Vec<u64> = std::iter::from_fn(next).collect();
            served_with_few.store(jobs.len() as u64, Ordering::SeqCst);
            Ok::<_, ()>(jobs)
        };
        std::thread::scope(|scope| {
            for thread in 0..MANY {
                let (group, serve) = (&group, &serve);
                scope.spawn(move || {
                    for job in [thread, MANY + thread] {
                        assert_eq!(group.submit(job, serve), Ok(Some(job)));
                    }
                });
            }
            on_disk.wait();
            assert_eq!(group.submit(99, serve_few), Ok(Some(99)));
        });
        assert_eq!(served_with_few.into_inner(), 1 + MANY);
    }
}
