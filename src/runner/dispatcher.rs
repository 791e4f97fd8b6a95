//! The dispatcher: where the workers of a session come to between two runs.
//!
//! There, in one transaction, what came of the last run is recorded and the next is granted: one flush
//! to disk for an end, a score and a start, and for all workers who come at once.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope};

use super::artefacts;
use super::executor::{Assignment, Bench, Executor};
use super::session::{Brake, End, Observer, Progress, Session, SessionFault, lock, request};
use super::supervisor::Supervisors;
use super::switch;
use super::world::{self, World};
use crate::engine::command::{Action, Cause, Executed};
use crate::engine::event::Event;
use crate::engine::preflight;
use crate::engine::refusal::{Next, Refusal};
use crate::engine::slice::Standing;
use crate::engine::start::Peek;
use crate::protocol::model::Retain;
use crate::store::{Fault, Flush, GroupCommit, Lead, Response, Store, Writer};
use crate::units::{Digest, RunId};

/// How many workspaces may wait to be removed before workers wait too.
const SWEEP_MAX: usize = 64;

/// Where workers come to between two runs.
pub(super) struct Dispatcher<'a> {
    pub(super) shared: Mutex<Shared<'a>>,
    pub(super) group: GroupCommit<Job, Answer>,
    pub(super) flush: Flush,
    pub(super) executor: &'a Executor<'a>,
    pub(super) supervisors: &'a Supervisors,
    pub(super) world: &'a World<'a>,
    pub(super) session: &'a Session<'a>,
    pub(super) brake: &'a Brake,
    pub(super) observer: &'a dyn Observer,
    /// The number of the newest news that was told.
    pub(super) told: Mutex<u64>,
}

/// What the workers share: the record, what is left over, and how it stands with the others.
pub(super) struct Shared<'a> {
    store: &'a mut Store,
    left: VecDeque<Work>,
    busy: usize,
    end: End,
    /// The rule that lets this session start nothing.
    refused: Option<Refusal>,
    fault: Option<SessionFault>,
    /// How many news there were.
    news: u64,
    /// How often something changed that may let another run start.
    changes: u64,
}

/// What of it a transaction changes.
struct Floor<'s> {
    left: &'s mut VecDeque<Work>,
    busy: &'s mut usize,
    end: &'s mut End,
    refused: &'s Option<Refusal>,
    changes: &'s mut u64,
    may_start: bool,
}

/// What a worker does next.
#[derive(Debug)]
pub(super) enum Work {
    Execute(Assignment),
    /// One that an earlier session has started is waited for.
    Adopt(Assignment),
    /// It has ended, and has left what has this digest.
    Judge(Assignment, Option<Digest>),
}

/// What came of some work.
#[derive(Debug, Default)]
struct Report {
    /// What is to be recorded of it.
    actions: Vec<Action>,
    /// The run that is closed with it: nothing needs its workspace any more.
    closed: Option<RunId>,
}

/// What a worker hands in.
#[derive(Debug)]
pub(super) enum Job {
    /// Something is recorded.
    Record(Vec<Action>),
    /// What came of a run is recorded, if the worker was busy with one, and the next is granted.
    Exchange { report: Vec<Action>, was_busy: bool },
}

/// What came of what a worker handed in.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is recorded; these runs now wait for their score.
    Recorded(BTreeSet<RunId>),
    /// The next run, or one that was left over to be judged.
    Work(Work),
    /// Nothing may start until there were more changes than so many.
    Wait(u64),
    /// There will be nothing more.
    Leave,
}

/// What a worker is granted.
enum Granted {
    Work(Work),
    Nothing,
    Refused(Refusal),
    Complete,
}

/// How far a session has come, and the place of that among all news.
struct News {
    number: u64,
    progress: Progress,
}

impl Job {
    /// Returns whether there is something to record that others may wait for.
    fn has_news(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Exchange { report, .. } => !report.is_empty(),
        }
    }
}

impl<'a> Shared<'a> {
    /// Takes a record, what an earlier session left to be judged, and the rule that lets nothing start.
    pub(super) fn new(
        store: &'a mut Store,
        left: VecDeque<Work>,
        refused: Option<Refusal>,
    ) -> Self {
        Self {
            store,
            left,
            busy: 0,
            end: End::Waiting,
            refused,
            fault: None,
            news: 0,
            changes: 0,
        }
    }

    fn news(&mut self, progress: Progress) -> News {
        self.news += 1;
        let number = self.news;
        News { number, progress }
    }
}

impl Dispatcher<'_> {
    /// Lets so many workers work until nothing is left to start.
    pub(super) fn work(&self, workers: usize) {
        // Removing a workspace may wait for the disk; it is nobody's next step.
        let (closed, sweep) = mpsc::sync_channel::<RunId>(SWEEP_MAX);
        std::thread::scope(|scope| {
            self.spawn(scope, "sweeper".to_owned(), move || {
                let swept = sweep.iter().try_for_each(|run| self.executor.clean(run));
                swept.unwrap_or_else(|fault| self.fail(fault.into()));
            });
            for worker in 0..workers {
                let closed = closed.clone();
                let work = move || {
                    self.worker(&closed)
                        .unwrap_or_else(|fault| self.fail(fault))
                };
                self.spawn(scope, format!("worker-{worker}"), work);
            }
            drop(closed);
        });
    }

    /// Starts a thread; where that fails, the session ends with what it has.
    fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: String,
        work: impl FnOnce() + Send + 'scope,
    ) {
        if let Err(source) = Builder::new().name(name).spawn_scoped(scope, work) {
            self.fail(SessionFault::Worker(source));
        }
    }

    /// Saves the derived rows; without it the next reader would fold what is missing.
    pub(super) fn settle(&self) -> Result<(), SessionFault> {
        Ok(lock(&self.shared).store.settle()?)
    }

    /// Returns how the session ended.
    pub(super) fn end(self) -> Result<End, SessionFault> {
        let shared = self
            .shared
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match (shared.fault, shared.end) {
            (Some(fault), _) => Err(fault),
            (None, End::Waiting) if self.brake.is_draining() => Ok(End::Interrupted),
            (None, end) => Ok(end),
        }
    }

    /// Keeps the first fault and starts nothing more; what is live ends and is recorded.
    fn fail(&self, fault: SessionFault) {
        let mut shared = lock(&self.shared);
        shared.fault.get_or_insert(fault);
        shared.changes += 1;
        self.brake.wake();
    }

    fn worker(&self, sweep: &SyncSender<RunId>) -> Result<(), SessionFault> {
        let mut bench = Bench::new(self.supervisors);
        let mut report = None;
        loop {
            let closed = report.as_ref().and_then(|report: &Report| report.closed);
            bench.make_ready();
            let work = self.exchange(report.take())?;
            let put_away = || {
                if let Some(run) = closed {
                    self.release(run).unwrap_or_else(|fault| self.fail(fault));
                    self.put_away(run, sweep);
                }
            };
            match work {
                Some(work) => report = Some(self.perform(&mut bench, work, &put_away)?),
                None => {
                    put_away();
                    break;
                }
            }
        }
        Ok(())
    }

    /// Puts away what was taken of a closed run, where what became of it decides that.
    fn release(&self, run: RunId) -> Result<(), SessionFault> {
        let rule = self.executor.rules.protocol().artefacts.as_ref();
        if rule.is_some_and(|rule| rule.retain == Retain::OnFailure) {
            let found = lock(&self.shared).store.run(run)?;
            let released = found.map(|run| artefacts::release(self.session.runs, &run));
            released.transpose()?;
        }
        Ok(())
    }

    /// Removes a workspace: an empty one here, any other on the sweeper's time.
    fn put_away(&self, run: RunId, sweep: &SyncSender<RunId>) {
        if !self.executor.clean_if_empty(run) {
            // A sweeper that has gone left its fault behind.
            let _ = sweep.send(run);
        }
    }

    /// Performs some work; returns what is to be recorded of it.
    ///
    /// `meanwhile` is done once, while the arm is being executed.
    fn perform(
        &self,
        bench: &mut Bench<'_>,
        work: Work,
        meanwhile: &dyn Fn(),
    ) -> Result<Report, SessionFault> {
        let (assignment, (action, fault)) = match work {
            Work::Judge(assignment, left) => {
                meanwhile();
                return self.judge(bench, &assignment, left, Vec::new());
            }
            Work::Adopt(assignment) => {
                meanwhile();
                let became = self.executor.adopt(&assignment);
                (assignment, became)
            }
            Work::Execute(assignment) => {
                let became = self.executor.execute(&assignment, bench, meanwhile);
                (assignment, became)
            }
        };
        let run = assignment.run;
        if let Some(fault) = fault {
            self.fail(fault.into());
        }
        let Some(action) = action else {
            return Ok(Report::default());
        };
        let left = left_by(&action);
        let is_judged = self.executor.rules.protocol().judge.is_some();
        if is_judged {
            bench.make_ready();
        }
        match action {
            Action::Finish { .. } if !is_judged => {
                self.judge(bench, &assignment, left, vec![action])
            }
            // The ending is on the record before the judge starts; it may have closed the run.
            Action::Finish { .. } if self.record(vec![action.clone()])?.contains(&run) => {
                self.judge(bench, &assignment, left, Vec::new())
            }
            Action::Finish { .. } => Ok(Report {
                actions: Vec::new(),
                closed: Some(run),
            }),
            _ => Ok(Report {
                actions: vec![action],
                closed: Some(run),
            }),
        }
    }

    fn judge(
        &self,
        bench: &mut Bench<'_>,
        assignment: &Assignment,
        left: Option<Digest>,
        mut actions: Vec<Action>,
    ) -> Result<Report, SessionFault> {
        let score = self.executor.judge(assignment, left, bench)?;
        let closed = score.is_some().then_some(assignment.run);
        actions.extend(score);
        Ok(Report { actions, closed })
    }

    /// Records something at once; returns the runs that then wait for their score.
    fn record(&self, actions: Vec<Action>) -> Result<BTreeSet<RunId>, SessionFault> {
        match self.submit(Job::Record(actions))? {
            Some(Answer::Recorded(waiting)) => Ok(waiting),
            // Who led has failed and says so; nothing more is done.
            _ => Ok(BTreeSet::new()),
        }
    }

    /// Records what came of a run and grants the next, in one transaction; sleeps while there is
    /// none; returns nothing when there will be none. A worker that just came brings no report.
    fn exchange(&self, report: Option<Report>) -> Result<Option<Work>, SessionFault> {
        let mut was_busy = report.is_some();
        let mut report = report.unwrap_or_default().actions;
        let looks = world::is_looked_at(self.world.protocol);
        if looks {
            // A look takes its time; what a run has cost is on the record before.
            self.record(std::mem::take(&mut report))?;
        }
        loop {
            if looks {
                report = self.world.look()?;
            }
            if let Err(fault) = self.executor.must_have_space() {
                self.fail(fault.into());
            }
            let report = std::mem::take(&mut report);
            match self.submit(Job::Exchange { report, was_busy })? {
                Some(Answer::Work(work)) => return Ok(Some(work)),
                Some(Answer::Wait(changes)) => self.sleep(changes),
                _ => return Ok(None),
            }
            was_busy = false;
        }
    }

    /// Sleeps until there was another change than so many.
    fn sleep(&self, changes: u64) {
        let shared = lock(&self.shared);
        if shared.changes == changes {
            drop(self.brake.wait(shared));
        }
    }

    /// Hands in a job, and does those of all who wait where nobody else does.
    fn submit(&self, job: Job) -> Result<Option<Answer>, SessionFault> {
        self.group.submit(job, |lead| self.serve(lead))
    }

    /// Does the jobs of several workers in one transaction.
    ///
    /// What is answered is on the disk: nobody acts on a grant that a power cut could take back.
    fn serve(&self, lead: &mut Lead<'_, Job, Answer>) -> Result<Vec<Answer>, SessionFault> {
        let mut has_news = false;
        let mut shared = lock(&self.shared);
        let before = shared.changes;
        let may_start = shared.fault.is_none() && !self.brake.is_draining();
        let Shared {
            store,
            left,
            busy,
            end,
            refused,
            changes,
            ..
        } = &mut *shared;
        let mut floor = Floor {
            left,
            busy,
            end,
            refused,
            changes,
            may_start,
        };
        let (answers, progress) = store.write(|writer| {
            let mut answers = Vec::new();
            while let Some(job) = lead.next(|| self.flush.wait_for_others()) {
                has_news |= job.has_news();
                answers.push(self.answer(writer, &mut floor, job)?);
            }
            Ok((answers, self.progress(writer.standing())))
        })?;
        let told = shared.news(progress);
        if shared.changes != before {
            self.brake.wake();
        }
        drop(shared);
        lead.hand_over();
        let waits = |answer| matches!(answer, &Answer::Wait(_));
        if has_news || !answers.iter().all(waits) {
            self.flush_and_tell(told)?;
        }
        Ok(answers)
    }

    /// Does a job.
    fn answer(
        &self,
        writer: &mut Writer<'_>,
        floor: &mut Floor<'_>,
        job: Job,
    ) -> Result<Answer, Fault> {
        // What has ended may let another start.
        *floor.changes += u64::from(job.has_news());
        match job {
            Job::Record(actions) => {
                self.apply(writer, actions)?;
                Ok(Answer::Recorded(writer.standing().ended.clone()))
            }
            Job::Exchange { report, was_busy } => {
                *floor.busy -= usize::from(was_busy);
                self.apply(writer, report)?;
                self.next(writer, floor)
            }
        }
    }

    /// Says what a worker does next.
    fn next(&self, writer: &mut Writer<'_>, floor: &mut Floor<'_>) -> Result<Answer, Fault> {
        let granted = self.grant_next(writer, floor)?;
        let is_complete = matches!(granted, Granted::Complete);
        match granted {
            Granted::Work(work) => {
                *floor.busy += 1;
                return Ok(Answer::Work(work));
            }
            Granted::Complete => {
                let has_ended = self.session.pilot || writer.standing().completed.is_some();
                *floor.end = if has_ended {
                    End::Complete
                } else {
                    End::DrawnOut
                };
            }
            Granted::Refused(refusal) => *floor.end = End::Refused(refusal),
            Granted::Nothing if matches!(floor.end, End::Refused(_)) => *floor.end = End::Waiting,
            Granted::Nothing => {}
        }
        if is_complete || *floor.busy == 0 || !floor.may_start {
            // Whoever sleeps looks once more, and finds the same.
            *floor.changes += 1;
            return Ok(Answer::Leave);
        }
        Ok(Answer::Wait(*floor.changes))
    }

    /// Grants what was left over before anything new, and nothing where nothing may start.
    fn grant_next(&self, writer: &mut Writer<'_>, floor: &mut Floor<'_>) -> Result<Granted, Fault> {
        if !floor.may_start {
            return Ok(match self.is_complete(writer) {
                true => Granted::Complete,
                false => Granted::Nothing,
            });
        }
        match (floor.left.pop_front(), floor.refused) {
            (Some(work), _) => Ok(Granted::Work(work)),
            (None, Some(refusal)) => Ok(Granted::Refused(refusal.clone())),
            (None, None) => self.grant(writer),
        }
    }

    /// Waits for the disk, and only then tells how far the session has come.
    fn flush_and_tell(&self, news: News) -> Result<(), Fault> {
        self.flush.flush()?;
        let mut told = lock(&self.told);
        // Another worker may have told what is newer.
        if *told < news.number {
            *told = news.number;
            self.observer.progress(news.progress);
        }
        Ok(())
    }

    fn is_complete(&self, writer: &Writer<'_>) -> bool {
        !self.session.pilot && writer.standing().completed.is_some()
    }

    /// Records actions in their order; a run that its ending has closed is not scored.
    fn apply(&self, writer: &mut Writer<'_>, actions: Vec<Action>) -> Result<(), Fault> {
        for action in actions {
            if let Action::Score { run, .. } = &action
                && !writer.standing().ended.contains(run)
            {
                continue;
            }
            writer.apply(request(self.session.actor, action))?;
        }
        Ok(())
    }

    /// Grants what may start now: controls of a task before its slots, then the plan.
    fn grant(&self, writer: &mut Writer<'_>) -> Result<Granted, Fault> {
        if let Some(switch) = switch::look(self.world.protocol, self.world.base) {
            // Read fresh before each start.
            writer.apply(request(self.session.actor, switch))?;
        }
        loop {
            let peek = match self.session.pilot {
                true => writer.peek_pilot()?,
                false => writer.peek()?,
            };
            match peek {
                Peek::Complete => return Ok(Granted::Complete),
                Peek::Wait => return Ok(Granted::Nothing),
                Peek::Refused(refusal) => return Ok(Granted::Refused(refusal)),
                Peek::Expire(run) => {
                    writer.apply(request("engine", Action::Expire { run }))?;
                }
                Peek::Look(_) => drop(writer.look()?),
                Peek::Start(next) => return self.grant_slot(writer, &next),
            }
        }
    }

    /// Grants a slot, or first a control of its task. Pilots have no controls before them.
    fn grant_slot(&self, writer: &mut Writer<'_>, next: &Next) -> Result<Granted, Fault> {
        if !self.is_ours(&next.arm) {
            return Ok(Granted::Nothing);
        }
        let controls = &self.executor.rules.protocol().controls;
        for control in controls.iter().filter(|_| !self.session.pilot) {
            match writer.newest_control(&next.task, &control.id)? {
                Some(run) if !run.is_closed() => return Ok(Granted::Nothing),
                Some(run)
                    if !matches!(
                        run.cause,
                        Some(Cause::Lost | Cause::Cancelled | Cause::Stale)
                    ) => {}
                _ => return self.start(writer, &next.task, &control.id),
            }
        }
        self.start(writer, &next.task, &next.arm)
    }

    /// Returns whether a session executes runs of an arm.
    fn is_ours(&self, arm: &str) -> bool {
        preflight::direct(self.executor.rules.protocol()).any(|here| here.id == arm)
    }

    fn start(&self, writer: &mut Writer<'_>, task: &str, arm: &str) -> Result<Granted, Fault> {
        let action = Action::Start {
            task: task.to_owned(),
            arm: arm.to_owned(),
            executed: Executed::Here,
        };
        let Response { ruling, .. } = writer.apply(request(self.session.actor, action))?;
        let started = ruling.iter().flatten().find_map(|event| match event {
            Event::Started { run, seed, .. } => Some((*run, *seed)),
            _ => None,
        });
        let (Some((run, seed)), Some(task)) = (started, writer.task(task)?) else {
            return Ok(Granted::Nothing);
        };
        let arm = arm.to_owned();
        let assignment = Assignment {
            run,
            task,
            arm,
            seed,
        };
        Ok(Granted::Work(Work::Execute(assignment)))
    }

    /// Returns how far the study has come.
    fn progress(&self, standing: &Standing) -> Progress {
        let arms = standing
            .arms
            .iter()
            .filter(|(arm, _)| self.executor.rules.protocol().arm(arm).is_some());
        Progress {
            slots: standing.slots,
            ended: standing.slots_ended,
            running: standing.live.len() as u64,
            unjudged: arms.map(|(_, tally)| tally.unjudged).sum(),
        }
    }
}

/// Returns the digest of what a run has left in its workspace, by what is recorded of its end.
fn left_by(finish: &Action) -> Option<Digest> {
    match finish {
        Action::Finish {
            execution: Some(execution),
            ..
        } => execution.left(),
        _ => None,
    }
}
