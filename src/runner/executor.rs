//! What is done for one run: lay its workspace, execute the arm, read the claim, run the judge.
//!
//! Nothing here decides anything: what was observed goes to the engine as it was found.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::children;
use super::clock;
use super::git::{Checkout, GitFault};
use super::process::{self, Captured, Ended, Interrupt, SpawnFault};
use super::supervisor::{
    self, Before, Given, Hidden, Order, Outcome, Seen, Spare, Tier, Tiers, Traces,
};
use super::tree::{self, TreeFault};
use crate::engine::command::{
    Action, Cause, EndedBy, Ending, Evidence, Execution, Judged, Stream, WorkspaceSeen,
};
use crate::engine::preflight;
use crate::engine::rules::Rules;
use crate::engine::scoring::EVIDENCE_MAX;
use crate::protocol::canonical;
use crate::protocol::frame::Task;
use crate::protocol::model::{Execution as Limits, Workspace};
use crate::protocol::template;
use crate::units::{Bytes, Digest, Micros, RunId, Time};

/// A limit for what has none: ten years.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

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
#[derive(Debug, Default)]
pub struct Bench {
    spare: Option<Spare>,
}

impl Bench {
    /// Puts a supervisor ready, which starts while something else is done.
    ///
    /// Where there is none to be had now, the next that needs it says so.
    pub fn make_ready(&mut self) {
        if self.spare.is_none() {
            self.spare = Spare::start().ok();
        }
    }

    fn take(&mut self) -> io::Result<Spare> {
        self.spare.take().map_or_else(Spare::start, Ok)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(spare) = self.spare.take() {
            spare.dismiss();
        }
    }
}

/// The world broke under a run.
#[derive(Debug, thiserror::Error)]
pub enum StepFault {
    /// A file is not what was registered.
    #[error("`{path}` is not what was registered; put it back and run again")]
    FileChanged {
        /// Its path beside the protocol.
        path: String,
    },
    /// A folder of the run cannot be used.
    #[error("`{}`: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be laid or read.
    #[error(transparent)]
    Tree(#[from] TreeFault),
    /// Output could not be kept.
    #[error(transparent)]
    Capture(#[from] process::CaptureFault),
    /// A supervisor could not be started, heard or waited for.
    #[error("a supervisor could not be had: {0}; mend that, and run again")]
    Supervisor(#[source] io::Error),
    /// A commit cannot be laid.
    #[error(transparent)]
    Git(#[from] GitFault),
    /// What is executed after a run has failed.
    #[error(
        "the clean-up after run {run} failed: {why}; make sure that nothing of it is left, mend the command's surroundings, and run again"
    )]
    CleanUp {
        /// The run.
        run: RunId,
        /// What happened.
        why: String,
    },
    /// The disk is too full to start anything.
    #[error(
        "{free} are free where runs are executed, and the protocol asks for {min}; free some, and run again"
    )]
    Space {
        /// What is free.
        free: Bytes,
        /// What must be.
        min: Bytes,
    },
    /// Somebody has ended the supervisor of a judge.
    #[error("the judge of run {0} was ended with its supervisor; run again to judge it")]
    JudgeLost(RunId),
    /// Nobody can tell whether a run is still being executed.
    #[error(
        "whether run {0} is still being executed cannot be proved; make sure that nothing of it is left, then say `prereg reconcile {0} --lost --reason TEXT`"
    )]
    Unproven(RunId),
    /// The machine had no place for another process, or for watching it.
    #[error("{0}; free processes, memory or files, and run again")]
    Shortage(SpawnFault),
}

impl StepFault {
    /// Makes the fault of a folder, or of a file in it, from what the system said.
    pub fn folder(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Folder {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FileChanged { .. } => "file-changed",
            Self::Folder { .. } => "run-folder",
            Self::Tree(fault) => fault.code(),
            Self::Capture(fault) => fault.code(),
            Self::Supervisor(_) => "supervisor",
            Self::Git(_) => "git-workspace",
            Self::CleanUp { .. } => "cleanup-failed",
            Self::Space { .. } => "free-space",
            Self::JudgeLost(_) => "judge-lost",
            Self::Unproven(_) => "end-unproven",
            Self::Shortage(fault) => fault.code(),
        }
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
        bench: &mut Bench,
        meanwhile: &dyn Fn(),
    ) -> (Option<Action>, Option<StepFault>) {
        let run = assignment.run;
        let started = self
            .prepare(assignment)
            .map_err(Unstarted::Fault)
            .and_then(|()| self.start_arm(assignment, bench));
        bench.make_ready();
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
                (lost(run), None)
            }
            Ok(Outcome::Ended(ended, ..)) if ended.interrupted => {
                let note = "the operator ended it".to_owned();
                (closed(run, Cause::Cancelled, note), None)
            }
            Ok(Outcome::Ended(ended, tier, before)) => self.ended(run, *ended, tier, before),
        };
        let cleaned = self.clean_up(assignment).err();
        (Some(action), fault.or(cleaned))
    }

    fn not_started(&self, run: RunId, fault: SpawnFault) -> (Option<Action>, Option<StepFault>) {
        let said = closed(run, Cause::Failed, fault.to_string());
        let shortage = fault.is_shortage().then_some(StepFault::Shortage(fault));
        (Some(said), shortage)
    }

    fn ended(
        &self,
        run: RunId,
        ended: Ended,
        tier: Tier,
        before: Before,
    ) -> (Action, Option<StepFault>) {
        let ending = Ending {
            error_stop: None,
            cost: None,
            wall: Some(Micros(ended.wall_us)),
            // A limit on its processor time is a limit on its time.
            timed_out: ended.timed_out || ended.over_limit,
        };
        let ended_by = ended_by(&ended);
        let fault = ended.capture_fault.map(StepFault::from);
        let execution = Execution {
            observed: self.observed(run),
            exit: ended.exit,
            signal: ended.signal,
            cpu_ms: ended.usage.cpu_ms(),
            user: ended.usage.user_us.map(Micros),
            system: ended.usage.system_us.map(Micros),
            memory: ended.usage.peak_bytes.map(Bytes),
            containment: Some(tier),
            ended_by: Some(ended_by),
            workspace: Some(self.seen(run, before)),
            leaked: ended.leaked,
            stdout: Some(stream(&ended.stdout)),
            stderr: Some(stream(&ended.stderr)),
        };
        let finish = Action::Finish {
            run,
            ending,
            execution: Some(execution),
        };
        (finish, fault)
    }

    /// Returns what a run has done to its workspace, now that nothing of it is left.
    fn seen(&self, run: RunId, before: Before) -> WorkspaceSeen {
        let since = before.at.unwrap_or(Time(i64::MIN));
        let after = tree::state(&self.workspace(run), since);
        WorkspaceSeen {
            before: before.digest,
            after: after.digest,
            first_write: after.first_write,
            last_write: after.last_write,
        }
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

    /// Reads what the arm's own output says: one JSON document, or nothing.
    fn observed(&self, run: RunId) -> Option<Value> {
        let observation = self.rules.protocol().observation.as_ref()?;
        let max = EVIDENCE_MAX as u64;
        let read = match observation.from.as_str() {
            "stdout" => tree::read_regular(self.runs, &format!("{run}.stdout"), max),
            file => tree::read_regular(&self.workspace(run), file, max),
        };
        canonical::read(&read.ok()??).ok()
    }

    /// Returns whether a run that ended earlier still has what it is judged by.
    pub fn is_judgeable(&self, run: RunId) -> bool {
        self.workspace(run).is_dir()
    }

    /// Reads the claim and runs the judge; returns what is to be recorded, or nothing when the
    /// operator ended the judge: the run is then judged again by the next session.
    pub fn judge(
        &self,
        assignment: &Assignment,
        bench: &mut Bench,
    ) -> Result<Option<Action>, StepFault> {
        let workspace = self.workspace(assignment.run);
        self.restore(&workspace)?;
        let protocol = self.rules.protocol();
        let claim = protocol.claim.as_ref().and_then(|claim| {
            text_of(tree::read_regular(
                &workspace,
                &claim.file,
                EVIDENCE_MAX as u64,
            ))
        });
        let mut evidence = Evidence {
            judge: None,
            report: None,
            claim,
        };
        if let Some(judge) = &protocol.judge {
            self.lay_for_judge(assignment, &workspace)?;
            match self.execute_judge(assignment, bench)? {
                Outcome::Ended(ended, ..) if ended.interrupted => return Ok(None),
                Outcome::Ended(ended, ..) => {
                    evidence.judge = Some(Judged {
                        exit: ended.exit,
                        signal: ended.signal,
                        timed_out: ended.timed_out,
                        fault: None,
                    });
                    if let Some(fault) = ended.capture_fault {
                        return Err(fault.into());
                    }
                }
                // Nobody is left who could judge it now.
                Outcome::Left => return Ok(None),
                // The run waits for a session that can judge it.
                Outcome::Lost => return Err(StepFault::JudgeLost(assignment.run)),
                Outcome::NotStarted(fault) if fault.is_shortage() => {
                    return Err(StepFault::Shortage(fault));
                }
                Outcome::NotStarted(fault) => {
                    evidence.judge = Some(Judged {
                        fault: Some(fault.to_string()),
                        ..Judged::default()
                    })
                }
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

    /// Removes the workspace of a run that is closed; captured output stays.
    pub fn clean(&self, run: RunId) -> Result<(), StepFault> {
        clean(self.runs, run)
    }

    /// Removes the workspace of a run that is closed, if it is empty; says whether it was.
    pub fn clean_if_empty(&self, run: RunId) -> bool {
        // What stays behind is put away with the rest.
        fs::remove_dir(self.workspace(run)).is_ok() && remove_traces(self.runs, run).is_ok()
    }

    /// Puts an empty workspace where the arm has left none, so that it is judged by nothing.
    fn restore(&self, workspace: &Path) -> Result<(), StepFault> {
        let fault = StepFault::folder(workspace);
        match fs::symlink_metadata(workspace) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => fs::remove_file(workspace).map_err(&fault)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fault(error)),
        }
        fs::create_dir(workspace).map_err(fault)
    }

    fn prepare(&self, assignment: &Assignment) -> Result<(), StepFault> {
        let workspace = self.workspace(assignment.run);
        // An earlier arm can have put something here; a run that is new has nothing to lose.
        self.clean(assignment.run)?;
        fs::create_dir(&workspace).map_err(StepFault::folder(&workspace))?;
        if let Some(copy) = self.limits(&assignment.arm).workspace.copied() {
            let path = self.fill(copy, assignment, false);
            let laid = tree::copy_tree(&self.base.join(&path), &workspace)?;
            self.unchanged(&path, laid)?;
        }
        if let Workspace::Git { url, commit } = &self.limits(&assignment.arm).workspace {
            let (url, commit) = (
                self.fill(url, assignment, false),
                self.fill(commit, assignment, false),
            );
            let checkout = Checkout {
                url: &url,
                commit: &commit,
                base: self.base,
                workspace: &workspace,
                env: self.env,
                interrupt: self.interrupt,
            };
            checkout.lay()?;
        }
        let arm = self
            .rules
            .protocol()
            .arm(&assignment.arm)
            .map(|arm| &self.rules.protocol().arms[arm]);
        for (to, from) in arm.iter().flat_map(|arm| &arm.files) {
            let laid = tree::lay(&self.base.join(from), &workspace, to)?;
            self.unchanged(from, laid)?;
        }
        self.unchanged_program(self.command(&assignment.arm), assignment)
    }

    fn lay_for_judge(&self, assignment: &Assignment, workspace: &Path) -> Result<(), StepFault> {
        let Some(judge) = &self.rules.protocol().judge else {
            return Ok(());
        };
        tree::clear(workspace, &judge.report)?;
        for (to, from) in &judge.files {
            let path = self.fill(from, assignment, false);
            let laid = tree::lay(&self.base.join(&path), workspace, to)?;
            self.unchanged(&path, laid)?;
        }
        self.unchanged_program(&judge.command, assignment)
    }

    /// Refuses a file whose digest is not the registered one.
    fn unchanged(&self, path: &str, found: [u8; 32]) -> Result<(), StepFault> {
        let path = path.trim_end_matches('/');
        match self.rules.registration().files.get(path) {
            Some(registered) if *registered == Digest(found) => Ok(()),
            _ => Err(StepFault::FileChanged {
                path: path.to_owned(),
            }),
        }
    }

    fn unchanged_program(
        &self,
        command: &[String],
        assignment: &Assignment,
    ) -> Result<(), StepFault> {
        let program = command.first().map_or("", String::as_str);
        let program = self.fill(program, assignment, false);
        let path = program.trim_start_matches("./");
        if self.rules.registration().files.contains_key(path) {
            self.unchanged(path, tree::file_digest(&self.base.join(path))?)?;
        }
        Ok(())
    }

    pub(super) fn limits(&self, arm: &str) -> &Limits {
        let protocol = self.rules.protocol();
        protocol
            .arm(arm)
            .map_or(&protocol.execution, |arm| &protocol.arms[arm].execution)
    }

    fn command(&self, arm: &str) -> &[String] {
        let protocol = self.rules.protocol();
        match (protocol.arm(arm), protocol.control(arm)) {
            (Some(arm), _) => &protocol.arms[arm].command,
            (None, Some(control)) => &control.command,
            (None, None) => &[],
        }
    }

    fn start_arm(&self, assignment: &Assignment, bench: &mut Bench) -> Result<Given, Unstarted> {
        let limits = self.limits(&assignment.arm);
        let [stdout, stderr, ..] = outputs(self.runs, assignment.run);
        let part = Part {
            command: self.command(&assignment.arm),
            limits,
            timeout: limits.timeout,
            sees_task: self.rules.protocol().control(&assignment.arm).is_some(),
            outlives: true,
            name: assignment.run.to_string(),
            stdout,
            stderr,
        };
        self.start_part(assignment, &part, bench)
    }

    fn execute_judge(
        &self,
        assignment: &Assignment,
        bench: &mut Bench,
    ) -> Result<Outcome, StepFault> {
        let protocol = self.rules.protocol();
        let (command, timeout) = protocol.judge.as_ref().map_or((&[][..], None), |judge| {
            (&judge.command[..], Some(judge.timeout))
        });
        let [.., stdout, stderr] = outputs(self.runs, assignment.run);
        let part = Part {
            command,
            limits: &protocol.execution,
            timeout,
            sees_task: true,
            outlives: false,
            name: judge_name(assignment.run),
            stdout,
            stderr,
        };
        if let Seen::Alive(given) = Traces::of(self.runs, &part.name).seen() {
            // That of a session which was killed ends by itself.
            given
                .wait(self.interrupt, None)
                .map_err(StepFault::Supervisor)?;
        }
        match self.start_part(assignment, &part, bench) {
            Ok(given) => {
                bench.make_ready();
                given
                    .wait(self.interrupt, Some(self.leave))
                    .map_err(StepFault::Supervisor)
            }
            Err(Unstarted::Spawn(fault)) => Ok(Outcome::NotStarted(fault)),
            Err(Unstarted::Fault(fault)) => Err(fault),
        }
    }

    /// Gives a supervisor its order. Whatever comes of it, nothing runs unless it is given.
    fn start_part(
        &self,
        assignment: &Assignment,
        part: &Part<'_>,
        bench: &mut Bench,
    ) -> Result<Given, Unstarted> {
        let command: Vec<String> = part
            .command
            .iter()
            .map(|word| self.fill(word, assignment, true))
            .collect();
        let env = self.environment(assignment, part.limits, part.sees_task);
        for path in [&part.stdout, &part.stderr] {
            // Left by a judge that a killed session had started, or put there by another arm.
            match fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => drop(fs::remove_dir_all(path)),
                Ok(()) => {}
            }
        }
        let traces = Traces::of(self.runs, &part.name);
        let supervisor = |error| Unstarted::Fault(StepFault::Supervisor(error));
        traces.remove().map_err(supervisor)?;
        let timeout = part.timeout.map_or(NO_LIMIT, Micros::std);
        let order = Order {
            base: self.base.into(),
            dir: self.workspace(assignment.run).into(),
            env: env
                .into_iter()
                .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
                .collect(),
            timeout_us: u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX),
            grace_us: part.limits.grace.0,
            output_max: part.limits.output_max.0,
            stdout: part.stdout.clone().into(),
            stderr: part.stderr.clone().into(),
            receipt: traces.receipt().into(),
            cancel: traces.cancel().into(),
            tier: self.tiers.tier,
            cgroup: self
                .tiers
                .cgroup(self.runs, &part.name)
                .map(PathBuf::into_os_string),
            outlives: part.outlives,
            hidden: Hidden {
                runs: self.runs.parent().unwrap_or(self.runs).into(),
                others: self.hidden_from(assignment, part),
            },
            limits: supervisor::Limits {
                name: format!("prereg-{}-{}", study_of(self.runs), part.name),
                memory: part.limits.memory_max.map(|max| max.0),
                processes: part.limits.processes_max,
                cpu_us: part.limits.cpu_time_max.map(|max| max.0),
            },
            before: Before {
                digest: tree::state(&self.workspace(assignment.run), Time(0)).digest,
                at: Some(clock::now()),
            },
            command,
        };
        let program = || order.command.first().cloned().unwrap_or_default();
        let spare = bench.take().map_err(|source| {
            Unstarted::Spawn(SpawnFault::Refused {
                program: program(),
                source,
            })
        })?;
        spare.give(&order, traces).map_err(supervisor)
    }

    /// Returns what a part of a run is not to see: what judges its task, too, if it is an arm.
    fn hidden_from(&self, assignment: &Assignment, part: &Part<'_>) -> Vec<OsString> {
        if !part.outlives {
            // A judge is told where everything is.
            return Vec::new();
        }
        let judge = self.rules.protocol().judge.iter();
        let files = judge.flat_map(|judge| judge.files.values());
        let files = files.filter(|_| !part.sees_task);
        let files = files.map(|file| self.base.join(self.fill(file, assignment, false)));
        let all = self.hidden.iter().cloned().chain(files);
        all.map(PathBuf::into_os_string).collect()
    }

    /// Returns the whole environment: PATH, what the protocol says, and prereg's own names.
    pub(super) fn environment(
        &self,
        assignment: &Assignment,
        limits: &Limits,
        sees_task: bool,
    ) -> BTreeMap<OsString, OsString> {
        let passed = limits.env_pass.iter().map(String::as_str).chain(["PATH"]);
        let passed = passed.filter_map(|name| self.env.get_key_value(&OsString::from(name)));
        let mut env: BTreeMap<OsString, OsString> = passed
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in &limits.env {
            env.insert(name.into(), self.fill(value, assignment, true).into());
        }
        env.insert(children::MARK.into(), self.workspace(assignment.run).into());
        if let Some(claim) = &self.rules.protocol().claim {
            env.insert(
                "PREREG_CLAIM".into(),
                self.workspace(assignment.run).join(&claim.file).into(),
            );
        }
        let dir = assignment.task.text("dir");
        if let (Some(dir), true) = (dir, sees_task) {
            env.insert("PREREG_TASK_DIR".into(), self.base.join(dir).into());
        }
        env
    }

    /// Fills a template; in commands `{task.dir}` is absolute, in paths it stays relative.
    pub(super) fn fill(&self, text: &str, assignment: &Assignment, absolute: bool) -> String {
        let task = &assignment.task;
        let value = |name: &str| -> Option<String> {
            match name {
                "arm.id" => Some(assignment.arm.clone()),
                "run.id" => Some(assignment.run.to_string()),
                "run.label" => Some(format!(
                    "prereg-{}-{}-{}",
                    self.rules.protocol().study.id,
                    study_of(self.runs),
                    assignment.run
                )),
                "run.seed" => Some(assignment.seed.unwrap_or_default().to_string()),
                "run.dir" => Some(self.workspace(assignment.run).display().to_string()),
                "task.dir" if absolute => task
                    .text("dir")
                    .map(|dir| self.base.join(dir).display().to_string()),
                _ => task.fill(name),
            }
        };
        // The checker saw every hole of every drawn task; an unknown one stays as it is written.
        template::fill(text, value).unwrap_or_else(|_| text.to_owned())
    }
}

/// What is executed for a run: its arm, or its judge.
struct Part<'a> {
    command: &'a [String],
    limits: &'a Limits,
    timeout: Option<Micros>,
    /// Whether it is told where the task's own folder is.
    sees_task: bool,
    /// Whether it goes on when its session has died.
    outlives: bool,
    /// How what its supervisor leaves is called.
    name: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// Returns the files that keep what a run has printed, beside its workspace: standard output and
/// error of the arm, then of the judge.
pub fn outputs(runs: &Path, run: RunId) -> [PathBuf; 4] {
    ["stdout", "stderr", "judge.stdout", "judge.stderr"]
        .map(|stream| runs.join(format!("{run}.{stream}")))
}

/// Why nothing of a run is executed.
enum Unstarted {
    /// The command could not be started.
    Spawn(SpawnFault),
    /// The world broke.
    Fault(StepFault),
}

/// Returns what is recorded of a run that will never be scored.
fn closed(run: RunId, cause: Cause, note: String) -> Action {
    Action::Close {
        run,
        cause,
        note: Some(note),
    }
}

/// Ends what supervisors of a run that is closed may still be at.
pub fn end_supervisors(runs: &Path, run: RunId) -> Result<(), StepFault> {
    for name in [run.to_string(), judge_name(run)] {
        let seen = Traces::of(runs, &name)
            .end()
            .map_err(StepFault::Supervisor)?;
        if let Seen::Alive(given) = seen {
            let never = Interrupt::new().map_err(StepFault::Supervisor)?;
            given.wait(&never, None).map_err(StepFault::Supervisor)?;
        }
    }
    Ok(())
}

/// Returns the name by which the runs of a study are told from those of others on the machine.
fn study_of(runs: &Path) -> std::borrow::Cow<'_, str> {
    runs.file_name().unwrap_or_default().to_string_lossy()
}

fn ended_by(ended: &Ended) -> EndedBy {
    match ended {
        Ended {
            timed_out: true, ..
        } => EndedBy::TimeLimit,
        Ended {
            over_limit: true, ..
        } => EndedBy::CpuLimit,
        Ended {
            was_short_of_memory: true,
            ..
        } => EndedBy::MemoryLimit,
        Ended {
            interrupted: true, ..
        } => EndedBy::Operator,
        Ended {
            signal: Some(_), ..
        } => EndedBy::Signal,
        _ => EndedBy::Itself,
    }
}

/// Says that nobody knows how a run ended.
pub fn lost(run: RunId) -> Action {
    closed(
        run,
        Cause::Lost,
        "its supervisor ended without a receipt".to_owned(),
    )
}

/// Returns how what the supervisor of a run's judge leaves is called.
fn judge_name(run: RunId) -> String {
    format!("{run}.judge")
}

/// Removes what the supervisors of a run have left.
fn remove_traces(runs: &Path, run: RunId) -> io::Result<()> {
    Traces::of(runs, &run.to_string()).remove()?;
    Traces::of(runs, &judge_name(run)).remove()
}

/// Returns the runs of which a workspace, or something of a supervisor, stands in the folder of the runs.
pub fn left(runs: &Path) -> io::Result<BTreeSet<RunId>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(runs)? {
        let name = entry?.file_name();
        let Some((run, of)) = name
            .to_str()
            .map(|name| name.split_once('.').unwrap_or((name, "")))
        else {
            continue;
        };
        // What runs have printed stays.
        let kept = ["stdout", "stderr", "judge.stdout", "judge.stderr"];
        if !kept.contains(&of) {
            found.extend(run.parse::<RunId>().ok());
        }
    }
    Ok(found)
}

/// Removes the workspace of a run, or what the arm has put in its place.
pub fn clean(runs: &Path, run: RunId) -> Result<(), StepFault> {
    let workspace = runs.join(run.to_string());
    match tree::remove_tree(&workspace) {
        Err(TreeFault::Link { .. } | TreeFault::NotDirectory { .. }) => {
            fs::remove_file(&workspace).map_err(StepFault::folder(&workspace))
        }
        removed => Ok(removed?),
    }?;
    remove_traces(runs, run).map_err(StepFault::folder(runs))
}

/// Returns a file's text; what cannot be read as text becomes a text that is not JSON.
fn text_of(read: Result<Option<Vec<u8>>, TreeFault>) -> Option<String> {
    match read {
        Ok(bytes) => bytes.map(|bytes| String::from_utf8(bytes).unwrap_or_default()),
        Err(_) => Some(String::new()),
    }
}

fn stream(captured: &Captured) -> Stream {
    Stream {
        bytes: captured.bytes,
        kept: captured.kept,
        tail: captured.tail,
        digest: (captured.bytes > 0).then_some(Digest(captured.digest)),
    }
}
