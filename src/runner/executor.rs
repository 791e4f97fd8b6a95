//! What is done for one run: lay its workspace, execute the arm, read the claim, run the judge.
//!
//! Nothing here decides anything: what was observed goes to the engine as it was found.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::children::{self, Note};
use super::process::{self, Captured, Ended, Interrupt, Job};
use super::tree::{self, TreeFault};
use crate::engine::command::{Action, Cause, Ending, Evidence, Execution, Judged, Stream};
use crate::engine::rules::Rules;
use crate::engine::scoring::EVIDENCE_MAX;
use crate::protocol::canonical;
use crate::protocol::frame::Task;
use crate::protocol::model::Execution as Limits;
use crate::protocol::template;
use crate::units::{Digest, Micros, RunId};

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
    /// The machine had no place for another process, or for watching it.
    #[error("{0}; free processes, memory or files, and run again")]
    Shortage(process::SpawnFault),
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
    /// Returns what is to be recorded of the run: its ending, or that it is closed. A fault that
    /// would meet the next run too comes beside it. `meanwhile` is done while the arm is executed,
    /// and holds up reading its output.
    pub fn execute(
        &self,
        assignment: &Assignment,
        note: &Note,
        meanwhile: &dyn Fn(),
    ) -> (Action, Option<StepFault>) {
        let run = assignment.run;
        let closed = |cause, text: String| Action::Close {
            run,
            cause,
            note: Some(text),
        };
        if let Err(fault) = self.prepare(assignment) {
            meanwhile();
            return (closed(Cause::Failed, fault.to_string()), Some(fault));
        }
        match self.execute_arm(assignment, note, meanwhile) {
            Err(fault) => {
                meanwhile();
                let said = closed(Cause::Failed, fault.to_string());
                (
                    said,
                    fault.is_shortage().then_some(StepFault::Shortage(fault)),
                )
            }
            Ok(ended) if ended.interrupted => (
                closed(Cause::Cancelled, "the operator ended it".to_owned()),
                None,
            ),
            Ok(ended) => {
                let ending = Ending {
                    error_stop: None,
                    cost: None,
                    wall: Some(Micros(ended.wall_us)),
                    timed_out: ended.timed_out,
                };
                let fault = ended.capture_fault.map(StepFault::from);
                let execution = Execution {
                    observed: self.observed(run),
                    exit: ended.exit,
                    signal: ended.signal,
                    cpu_ms: ended.cpu_ms,
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
        }
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
    pub fn judge(&self, assignment: &Assignment, note: &Note) -> Result<Option<Action>, StepFault> {
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
            match self.execute_judge(assignment, note) {
                Ok(ended) if ended.interrupted => return Ok(None),
                Ok(ended) => {
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
                // The run waits for a session that can judge it.
                Err(fault) if fault.is_shortage() => return Err(StepFault::Shortage(fault)),
                Err(fault) => {
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
        fs::remove_dir(self.workspace(run)).is_ok()
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

    fn limits(&self, arm: &str) -> &Limits {
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

    fn execute_arm(
        &self,
        assignment: &Assignment,
        note: &Note,
        meanwhile: &dyn Fn(),
    ) -> Result<Ended, process::SpawnFault> {
        let limits = self.limits(&assignment.arm);
        let [stdout, stderr, ..] = outputs(self.runs, assignment.run);
        let part = Part {
            command: self.command(&assignment.arm),
            limits,
            timeout: limits.timeout,
            sees_task: self.rules.protocol().control(&assignment.arm).is_some(),
            stdout,
            stderr,
        };
        self.execute_part(assignment, &part, note, meanwhile)
    }

    fn execute_judge(
        &self,
        assignment: &Assignment,
        note: &Note,
    ) -> Result<Ended, process::SpawnFault> {
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
            stdout,
            stderr,
        };
        self.execute_part(assignment, &part, note, &|| ())
    }

    fn execute_part(
        &self,
        assignment: &Assignment,
        part: &Part<'_>,
        note: &Note,
        meanwhile: &dyn Fn(),
    ) -> Result<Ended, process::SpawnFault> {
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
        let job = Job {
            command: &command,
            base: self.base,
            dir: &self.workspace(assignment.run),
            env: &env,
            timeout: part.timeout.map_or(NO_LIMIT, Micros::std),
            grace: part.limits.grace.std(),
            output_max: part.limits.output_max.0,
            stdout: &part.stdout,
            stderr: &part.stderr,
        };
        process::execute(&job, self.interrupt, |identity| {
            // A note that cannot be written costs the next session its proof, nothing else.
            let _ = note.write(&identity);
            meanwhile();
        })
    }

    /// Returns the whole environment: PATH, what the protocol says, and prereg's own names.
    fn environment(
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
    fn fill(&self, text: &str, assignment: &Assignment, absolute: bool) -> String {
        let task = &assignment.task;
        let value = |name: &str| -> Option<String> {
            match name {
                "arm.id" => Some(assignment.arm.clone()),
                "run.id" => Some(assignment.run.to_string()),
                "run.label" => Some(format!(
                    "prereg-{}-{}",
                    self.rules.protocol().study.id,
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
    stdout: PathBuf,
    stderr: PathBuf,
}

/// Returns the files that keep what a run has printed, beside its workspace: standard output and
/// error of the arm, then of the judge.
pub fn outputs(runs: &Path, run: RunId) -> [PathBuf; 4] {
    ["stdout", "stderr", "judge.stdout", "judge.stderr"]
        .map(|stream| runs.join(format!("{run}.{stream}")))
}

/// Returns the workspaces that stand in the folder of the runs.
pub fn workspaces(runs: &Path) -> io::Result<Vec<RunId>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(runs)? {
        // Beside workspaces there are only files, whose names are no numbers.
        found.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<RunId>().ok()),
        );
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
    }
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
        digest: (captured.bytes > 0).then_some(Digest(captured.digest)),
    }
}
