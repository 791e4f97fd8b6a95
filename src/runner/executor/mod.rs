//! What is done for one run: lay its workspace, execute the arm, read the claim, run the judge.
//!
//! Nothing here decides anything: what was observed goes to the engine as it was found.
//!
//! - `laying`: what is laid into a workspace; `staging`: the copy that is judged; `orders`: what a
//!   supervisor is told;
//! - `ending`: what is recorded of an end; `beside`: what stands beside a workspace; `fault`.

mod beside;
mod ending;
mod fault;
mod laying;
mod orders;
mod staging;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use beside::{clean, end_supervisors, left, outputs};
use beside::{judge_traces, set_aside};
use ending::{closed, text_of};
pub use ending::{lost, rebooted};
pub use fault::StepFault;
use orders::Unstarted;
use staging::Staged;
pub(super) use staging::remove;

use super::process::{Interrupt, SpawnFault};
use super::supervisor::{self, Coming, Given, Outcome, Seen, Spare, Supervisors, Tiers, Traces};
use super::{children, tree};
use crate::engine::command::{Action, Cause, Evidence, Judged};
use crate::engine::preflight;
use crate::engine::rules::Rules;
use crate::engine::scoring::EVIDENCE_MAX;
use crate::protocol::frame::Task;
use crate::units::{Digest, RunId};

/// A run that was granted and is to be executed.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: Task,
    /// The arm or control.
    pub arm: String,
    /// `{run.seed}`.
    pub seed: Option<u32>,
}

/// Executes and judges the runs of a study, one at a time for each caller.
#[derive(Debug)]
pub struct Executor<'a> {
    /// The registered rules.
    pub rules: &'a Rules,
    /// The folder of the protocol file, absolute.
    pub base: &'a Path,
    /// The folder of the runs, absolute.
    pub runs: &'a Path,
    /// What the arms' own environment is taken from.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Ends everything that is live.
    pub interrupt: &'a Interrupt,
    /// Leaves everything that is live to its supervisor.
    pub leave: &'a Interrupt,
    /// What holds arms and judges together.
    pub tiers: &'a Tiers,
    /// Files and folders that an arm is not to see.
    pub hidden: &'a [PathBuf],
}

/// What a worker has at hand: the supervisor of what it executes next.
#[derive(Debug)]
pub struct Bench<'a> {
    supervisors: &'a Supervisors,
    coming: Option<Coming>,
}

impl<'a> Bench<'a> {
    /// Makes one with nothing at hand.
    pub fn new(supervisors: &'a Supervisors) -> Self {
        Self {
            supervisors,
            coming: None,
        }
    }

    /// Asks for a supervisor, which comes to be while something else is done: before the record waits
    /// for the disk.
    pub fn make_ready(&mut self) {
        self.coming.get_or_insert_with(|| self.supervisors.ask());
    }

    fn take(&mut self) -> io::Result<Spare> {
        self.supervisors
            .spare(self.coming.take().unwrap_or_default())
    }
}

impl Executor<'_> {
    /// Returns the workspace of a run.
    fn workspace(&self, run: RunId) -> PathBuf {
        self.runs.join(run.to_string())
    }

    /// Lays a fresh workspace and executes the arm in it.
    ///
    /// Returns what is to be recorded of the run: its ending, or that it is closed; nothing where that
    /// is not known yet. A fault that would meet the next run too comes beside it. `meanwhile` is done
    /// while the arm is executed.
    pub fn execute(
        &self,
        assignment: &Assignment,
        bench: &mut Bench<'_>,
        meanwhile: &dyn Fn(),
    ) -> (Option<Action>, Option<StepFault>) {
        let run = assignment.run;
        let started = self
            .prepare(assignment)
            .map_err(Unstarted::Fault)
            .and_then(|program| self.start_arm(assignment, program, bench));
        meanwhile();
        match started {
            Ok(given) => self.wait(assignment, given),
            Err(Unstarted::Fault(fault)) => (
                Some(closed(run, Cause::Failed, fault.to_string())),
                Some(fault),
            ),
            Err(Unstarted::Spawn(fault)) => self.not_started(run, fault),
        }
    }

    /// Waits for a run that an earlier session has started.
    pub fn adopt(&self, assignment: &Assignment) -> (Option<Action>, Option<StepFault>) {
        let traces = self.traces(assignment.run);
        match traces.seen() {
            Seen::Alive(given) => self.wait(assignment, given),
            _ => self.became(assignment, traces.outcome()),
        }
    }

    fn wait(&self, assignment: &Assignment, given: Given) -> (Option<Action>, Option<StepFault>) {
        self.became(assignment, given.wait(self.interrupt, Some(self.leave)))
    }

    /// Returns what is to be recorded of a run whose supervisor has ended.
    fn became(
        &self,
        assignment: &Assignment,
        outcome: io::Result<Outcome>,
    ) -> (Option<Action>, Option<StepFault>) {
        let run = assignment.run;
        let (action, fault) = match outcome {
            // The run is as live as it was: the next session looks again.
            Err(error) => return (None, Some(StepFault::Supervisor(error))),
            Ok(Outcome::Left) => return (None, None),
            Ok(Outcome::NotStarted(fault)) => return self.not_started(run, fault),
            Ok(Outcome::Lost) => {
                self.end_rest(run);
                (Some(lost(run)), None)
            }
            // It is as live as it was, as long as something of it may be.
            Ok(Outcome::Ended(ended, ..)) if ended.remains.is_some() => {
                return (None, Some(StepFault::Unproven(run)));
            }
            Ok(Outcome::Ended(ended, ..)) if ended.interrupted => {
                let note = "the operator ended it".to_owned();
                (Some(closed(run, Cause::Cancelled, note)), None)
            }
            Ok(Outcome::Ended(ended, tier, before)) => self.ended(run, *ended, tier, before),
        };
        let cleaned = self.clean_up(assignment).err();
        (action, fault.or(cleaned))
    }

    fn not_started(&self, run: RunId, fault: SpawnFault) -> (Option<Action>, Option<StepFault>) {
        let text = fault.to_string();
        if fault.is_shortage() {
            let said = closed(run, Cause::Failed, text);
            return (Some(said), Some(StepFault::Shortage(fault)));
        }
        if fault.is_lost() {
            // Whatever it was would meet the next run, too.
            let said = closed(run, Cause::Lost, text);
            return (Some(said), Some(StepFault::Supervision(fault)));
        }
        (Some(closed(run, Cause::Failed, text)), None)
    }

    /// Refuses to start anything on a disk that is as full as the protocol does not allow.
    pub fn must_have_space(&self) -> Result<(), StepFault> {
        let arms = preflight::direct(self.rules.protocol()).map(|arm| &arm.execution);
        let all = arms.chain([&self.rules.protocol().execution]);
        let Some(min) = all.filter_map(|limits| limits.free_space_min).max() else {
            return Ok(());
        };
        let free = tree::free_space(self.runs).map_err(StepFault::folder(self.runs))?;
        match free < min {
            true => Err(StepFault::Space { free, min }),
            false => Ok(()),
        }
    }

    /// Ends what a supervisor that was killed has left, where the kernel has not.
    pub fn end_rest(&self, run: RunId) {
        children::end_marked_run(self.runs, run);
        if let Some(cgroup) = self.tiers.cgroup(self.runs, &run.to_string()) {
            // What cannot be ended is left; the next that needs the name says so.
            let _ = supervisor::end_cgroup(&cgroup);
        }
    }

    /// Returns the files by which the supervisor of a run is found.
    pub fn traces(&self, run: RunId) -> Traces {
        Traces::of(self.runs, &run.to_string())
    }

    /// Returns whether a run that ended earlier still has what it is judged by.
    pub fn is_judgeable(&self, run: RunId) -> bool {
        self.workspace(run).is_dir() || set_aside(self.runs, run).is_dir()
    }

    /// Reads the claim and runs the judge; returns what is to be recorded, or nothing when the
    /// operator ended the judge: the run is then judged again by the next session.
    ///
    /// `left` is the digest of what the run has left in its workspace, as it was recorded.
    pub fn judge(
        &self,
        assignment: &Assignment,
        left: Option<Digest>,
        bench: &mut Bench<'_>,
    ) -> Result<Option<Action>, StepFault> {
        let workspace = self.workspace(assignment.run);
        let protocol = self.rules.protocol();
        let staged = match &protocol.judge {
            Some(_) => self.stage(assignment.run, left)?,
            None => self.restore(&workspace).map(|()| Staged::InPlace)?,
        };
        let claim = protocol.claim.as_ref().and_then(|claim| {
            // What is no file is not copied, and is not as if there were none.
            let left = match staged {
                Staged::InPlace => workspace.clone(),
                Staged::Copy | Staged::Changed => set_aside(self.runs, assignment.run),
            };
            text_of(tree::read_regular(&left, &claim.file, EVIDENCE_MAX as u64))
        });
        let mut evidence = Evidence {
            claim,
            ..Evidence::default()
        };
        if let Some(judge) = &protocol.judge {
            match self.judged(assignment, &workspace, staged, bench)? {
                Some(judged) => evidence.judge = Some(judged),
                None => return Ok(None),
            }
            evidence.report = text_of(tree::read_regular(
                &workspace,
                &judge.report,
                EVIDENCE_MAX as u64,
            ));
        }
        Ok(Some(Action::Score {
            diff: None,
            run: assignment.run,
            evidence: Some(evidence),
        }))
    }

    /// Executes the judge; returns how it ended, or nothing where that is for the next session to see.
    fn judged(
        &self,
        assignment: &Assignment,
        workspace: &Path,
        staged: Staged,
        bench: &mut Bench<'_>,
    ) -> Result<Option<Judged>, StepFault> {
        if staged == Staged::Changed {
            let fault =
                "what the run had left was changed between its end and its judgement".to_owned();
            return Ok(Some(Judged {
                fault: Some(fault),
                ..Judged::default()
            }));
        }
        self.lay_for_judge(assignment, workspace)?;
        let in_place = staged == Staged::InPlace;
        match self.execute_judge(assignment, bench)? {
            Outcome::Ended(ended, ..) if ended.remains.is_some() => Ok(Some(Judged {
                fault: ended.remains,
                ..Judged::default()
            })),
            Outcome::Ended(ended, ..) if ended.interrupted => Ok(None),
            Outcome::Ended(ended, ..) => match ended.capture_fault {
                Some(fault) => Err(fault.into()),
                None => Ok(Some(Judged {
                    exit: ended.exit,
                    signal: ended.signal,
                    timed_out: ended.timed_out,
                    in_place,
                    fault: None,
                })),
            },
            // Nobody is left who could judge it now.
            Outcome::Left => Ok(None),
            // The run waits for a session that can judge it.
            Outcome::Lost => Err(StepFault::JudgeLost(assignment.run)),
            Outcome::NotStarted(fault) if fault.is_shortage() => Err(StepFault::Shortage(fault)),
            Outcome::NotStarted(fault) => Ok(Some(Judged {
                fault: Some(fault.to_string()),
                ..Judged::default()
            })),
        }
    }

    /// Removes the workspace of a run that is closed; captured output stays.
    pub fn clean(&self, run: RunId) -> Result<(), StepFault> {
        clean(self.runs, run)
    }

    /// Removes the workspace of a run that is closed, if it is empty; says whether it was.
    pub fn clean_if_empty(&self, run: RunId) -> bool {
        // What stays behind is put away with the rest.
        let is_gone = |path: PathBuf| match fs::remove_dir(path) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        is_gone(set_aside(self.runs, run))
            && is_gone(self.workspace(run))
            && self.traces(run).remove().is_ok()
            && (self.rules.protocol().judge.is_none()
                || judge_traces(self.runs, run).remove().is_ok())
    }
}
