//! What the supervisor of an arm or a judge is ordered, down to the last variable.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::beside::{judge_name, outputs, study_of};
use super::{Assignment, Bench, Executor, StepFault};
use crate::protocol::model::Execution as Limits;
use crate::protocol::template;
use crate::runner::process::SpawnFault;
use crate::runner::supervisor::{self, Before, Given, Hidden, Order, Outcome, Seen, Traces};
use crate::runner::{children, clock, tree};
use crate::units::{Digest, Micros, Time};

/// A limit for what has none: ten years.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What is executed for a run: its arm, or its judge.
struct Part<'a> {
    command: &'a [String],
    /// The digest of its program, where one is registered and recorded.
    program: Option<Digest>,
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

/// Why nothing of a run is executed.
pub(super) enum Unstarted {
    /// The command could not be started.
    Spawn(SpawnFault),
    /// The world broke.
    Fault(StepFault),
}

impl Executor<'_> {
    pub(in crate::runner) fn limits(&self, arm: &str) -> &Limits {
        self.rules.protocol().execution_of(arm)
    }

    pub(super) fn command(&self, arm: &str) -> &[String] {
        let protocol = self.rules.protocol();
        match (protocol.arm(arm), protocol.control(arm)) {
            (Some(arm), _) => &protocol.arms[arm].command,
            (None, Some(control)) => &control.command,
            (None, None) => &[],
        }
    }

    pub(super) fn start_arm(
        &self,
        assignment: &Assignment,
        program: Option<Digest>,
        bench: &mut Bench<'_>,
    ) -> Result<Given, Unstarted> {
        let limits = self.limits(&assignment.arm);
        let [stdout, stderr, ..] = outputs(self.runs, assignment.run);
        let part = Part {
            command: self.command(&assignment.arm),
            program,
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

    pub(super) fn execute_judge(
        &self,
        assignment: &Assignment,
        bench: &mut Bench<'_>,
    ) -> Result<Outcome, StepFault> {
        let protocol = self.rules.protocol();
        let (command, timeout) = protocol.judge.as_ref().map_or((&[][..], None), |judge| {
            (&judge.command[..], Some(judge.timeout))
        });
        let [.., stdout, stderr] = outputs(self.runs, assignment.run);
        let part = Part {
            command,
            program: None,
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
            Ok(given) => given
                .wait(self.interrupt, Some(self.leave))
                .map_err(StepFault::Supervisor),
            Err(Unstarted::Spawn(fault)) => Ok(Outcome::NotStarted(fault)),
            Err(Unstarted::Fault(fault)) => Err(fault),
        }
    }

    /// Gives a supervisor its order. Whatever comes of it, nothing runs unless it is given.
    fn start_part(
        &self,
        assignment: &Assignment,
        part: &Part<'_>,
        bench: &mut Bench<'_>,
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
        let hidden = self.hidden_from(assignment, part);
        let order = Order {
            base: self.base.into(),
            dir: self.workspace(assignment.run).into(),
            env: env
                .into_iter()
                .map(|(name, value)| (name.to_string_lossy().into_owned(), value.into()))
                .collect(),
            timeout_us: u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX),
            grace_us: part.limits.grace.0,
            output_max: part.limits.output_max.0,
            stdout: part.stdout.clone().into(),
            stderr: part.stderr.clone().into(),
            receipt: traces.receipt().into(),
            cancel: traces.cancel().into(),
            tier: self.tiers.tier,
            cgroup: self.tiers.cgroup(self.runs, &part.name).map(Into::into),
            outlives: part.outlives,
            hidden: Hidden {
                runs: self.runs.parent().unwrap_or(self.runs).into(),
                others: hidden.into_iter().map(Into::into).collect(),
            },
            limits: supervisor::Limits {
                name: format!("prereg-{}-{}", study_of(self.runs), part.name),
                memory: part.limits.memory_max.map(|max| max.0),
                processes: part.limits.processes_max,
                cpu_us: part.limits.cpu_time_max.map(|max| max.0),
            },
            before: Before {
                // What a judge changes is nothing that is recorded.
                digest: part
                    .outlives
                    .then(|| tree::state(&self.workspace(assignment.run), Time(0)).digest)
                    .flatten(),
                at: Some(clock::now()),
                program: part.program,
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
    fn hidden_from(&self, assignment: &Assignment, part: &Part<'_>) -> Vec<PathBuf> {
        if !part.outlives {
            // A judge is told where everything is.
            return Vec::new();
        }
        let judge = self.rules.protocol().judge.iter();
        let files = judge.flat_map(|judge| judge.files.values());
        let files = files.filter(|_| !part.sees_task);
        let files = files.map(|file| self.base.join(self.fill(file, assignment, false)));
        self.hidden.iter().cloned().chain(files).collect()
    }

    /// Returns the whole environment: PATH, what the protocol says, and prereg's own names.
    pub(in crate::runner) fn environment(
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
    pub(in crate::runner) fn fill(
        &self,
        text: &str,
        assignment: &Assignment,
        absolute: bool,
    ) -> String {
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
