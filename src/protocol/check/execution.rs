//! Checks how arms and controls are executed.

use std::collections::BTreeMap;

use super::Checker;
use crate::protocol::defect::{Code, Place};
use crate::protocol::draft::{self, Draft};
use crate::protocol::model::{
    Arm, Containment, Control, Executed, Execution, OutcomeKind, Workspace,
};
use crate::protocol::source::child;
use crate::protocol::template;
use crate::units::{Bytes, Micros};

impl Checker<'_> {
    pub(super) fn execution(&mut self, draft: &Draft) -> Execution {
        let default = draft::Execution::default();
        let execution = draft.execution.as_ref().unwrap_or(&default);
        self.variables(
            "/execution",
            Some(&execution.env),
            Some(&execution.env_pass),
        );
        let timeout = self.duration("/execution/timeout", execution.timeout.as_ref());
        self.workspace("/execution", execution.workspace.as_ref());
        let memory_max = self.size("/execution/memory_max", execution.memory_max.as_ref());
        let free_space_min = self.size(
            "/execution/free_space_min",
            execution.free_space_min.as_ref(),
        );
        let cpu_time_max =
            self.duration("/execution/cpu_time_max", execution.cpu_time_max.as_ref());
        if let Some(cleanup) = &execution.cleanup {
            self.command("/execution/cleanup", &cleanup.0);
        }
        let resolved = Execution {
            workspace: workspace(execution.workspace.as_ref()),
            timeout,
            grace: self
                .duration("/execution/grace", execution.grace.as_ref())
                .unwrap_or(Micros(10_000_000)),
            env: execution.env.clone(),
            env_pass: passed(&execution.env_pass),
            requests: execution.requests.clone().unwrap_or_default(),
            output_max: self
                .size("/execution/output_max", execution.output_max.as_ref())
                .unwrap_or(Bytes(32 << 20)),
            memory_max,
            processes_max: execution.processes_max,
            cpu_time_max,
            free_space_min,
            containment: execution.containment.unwrap_or(Containment::Pgroup),
            cleanup: execution.cleanup.as_ref().map(|command| command.0.clone()),
        };
        // The default grace may be longer than a short limit; one that is written may not.
        if execution.grace.is_some() {
            self.grace_fits("/execution", &resolved);
        }
        resolved
    }

    fn grace_fits(&mut self, table: &str, execution: &Execution) {
        if execution
            .timeout
            .is_some_and(|timeout| execution.grace > timeout)
        {
            let message = format!(
                "the grace of {} is longer than the limit it follows; make it shorter",
                execution.grace
            );
            let place = Place::Value(format!("{table}/grace"));
            self.refuse(Code::Range, place, message);
        }
    }

    fn variables(
        &mut self,
        table: &str,
        env: Option<&BTreeMap<String, String>>,
        pass: Option<&Vec<String>>,
    ) {
        let valid = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with("PREREG_")
        };
        let message = |name: &str| match name {
            "" => "a variable needs a name".to_owned(),
            name if name.starts_with("PREREG_") => {
                format!("`{name}` is a name that prereg itself sets; choose another")
            }
            name if name.contains('=') => {
                format!("`{name}` is not the name of a variable; a name has no `=`")
            }
            name => format!(
                "`{name}` is not the name of a variable: use letters, digits and `_`, no digit first"
            ),
        };
        for name in env
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
            .filter(|name| !valid(name))
        {
            let place = Place::Key(child(&format!("{table}/env"), name));
            self.refuse(Code::Literal, place, message(name));
        }
        for (i, name) in pass
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, name)| !valid(name))
        {
            self.refuse(
                Code::Literal,
                Place::Value(format!("{table}/env_pass/{i}")),
                message(name),
            );
        }
        let passed = pass.map_or(&[][..], Vec::as_slice);
        self.once(&format!("{table}/env_pass"), passed);
        for (i, name) in passed.iter().enumerate() {
            if env.is_some_and(|env| env.contains_key(name)) {
                self.refuse(
                    Code::DuplicateId,
                    Place::Value(format!("{table}/env_pass/{i}")),
                    format!("`{name}` is set by `env` and passed on here; remove one of the two"),
                );
            }
        }
    }

    /// Refuses a commit that is a branch, a tag or cut short: they can move.
    fn workspace(&mut self, table: &str, workspace: Option<&draft::Workspace>) {
        let Some(draft::Workspace::Git(git)) = workspace else {
            return;
        };
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if !(matches!(git.commit.len(), 40 | 64) && git.commit.chars().all(hex)) {
            let message = format!(
                "`{}` is not a full commit of 40 lower-case hex digits; a branch or a tag can move",
                git.commit
            );
            let place = Place::Value(format!("{table}/workspace/git/commit"));
            self.refuse(Code::Literal, place, message);
        }
        if git.url.trim().is_empty() {
            let place = Place::Value(format!("{table}/workspace/git/url"));
            self.refuse(Code::Range, place, "the repository has no address");
        }
    }

    pub(super) fn arms(&mut self, draft: &Draft, base: &Execution) -> Vec<Arm> {
        let arms = draft.arms.iter().enumerate();
        let controls = draft.controls.iter().enumerate();
        let ids = arms
            .clone()
            .map(|(i, arm)| (format!("/arms/{i}/id"), arm.id.0.as_str()))
            .chain(
                controls.map(|(i, control)| (format!("/controls/{i}/id"), control.id.0.as_str())),
            );
        self.distinct(ids);
        if draft.arms.len() < 2 && !draft.is_matrix() {
            self.refuse(
                Code::Arms,
                Place::Key("/arms".to_owned()),
                "a comparison needs at least two arms; add the one to compare with",
            );
        }
        let execution = draft.execution.as_ref();
        let grace_written = execution.is_some_and(|execution| execution.grace.is_some());
        let mut resolved: Vec<Arm> = arms
            .map(|(i, arm)| self.arm(i, arm, base, grace_written))
            .collect();
        self.differences(draft, &resolved);
        for arm in &mut resolved {
            arm.differs = sorted(&arm.differs);
        }
        resolved
    }

    fn arm(&mut self, i: usize, arm: &draft::Arm, base: &Execution, grace_written: bool) -> Arm {
        let table = format!("/arms/{i}");
        self.portable(&format!("{table}/id"), &arm.id.0);
        self.command(&format!("{table}/command"), &arm.command.0);
        self.variables(&table, arm.env.as_ref(), arm.env_pass.as_ref());
        for (to, from) in &arm.files {
            let pointer = child(&format!("{table}/files"), to);
            let placed = self.inside(Place::Key(pointer.clone()), to);
            if placed
                && self.inside(Place::Value(pointer.clone()), &from.0)
                && let Err(fault) = self.bind(&from.0)
            {
                self.refuse_fault(Place::Value(pointer), &from.0, fault);
            }
        }
        let laid = arm.files.keys();
        self.apart(laid.map(|to| {
            (
                Place::Key(child(&format!("{table}/files"), to)),
                to.as_str(),
            )
        }));
        self.once(&format!("{table}/differs"), &arm.differs);
        self.workspace(&table, arm.workspace.as_ref());
        if let Some(cleanup) = &arm.cleanup {
            self.command(&format!("{table}/cleanup"), &cleanup.0);
        }
        let execution = self.arm_execution(&table, arm, base);
        if arm.grace.is_some() {
            self.grace_fits(&table, &execution);
        }
        self.inherited(&table, arm, &execution, grace_written);
        Arm {
            id: arm.id.0.clone(),
            command: arm.command.0.clone(),
            executed: arm.executed.unwrap_or(Executed::Here),
            files: arm
                .files
                .iter()
                .map(|(to, from)| (to.clone(), from.0.clone()))
                .collect(),
            differs: arm.differs.clone(),
            execution,
        }
    }

    /// Refuses what an arm says beside what it inherits, where the two do not go together.
    fn inherited(
        &mut self,
        table: &str,
        arm: &draft::Arm,
        execution: &Execution,
        grace_written: bool,
    ) {
        let both = |name: &&String| execution.env.contains_key(*name);
        match (&arm.env, &arm.env_pass) {
            (None, Some(names)) => {
                for name in names.iter().filter(both) {
                    let i = names.iter().position(|one| one == name).unwrap_or(0);
                    let place = Place::Value(format!("{table}/env_pass/{i}"));
                    let message = format!(
                        "`{name}` is passed on here and set by `env` under [execution]; give the arm an `env` without it"
                    );
                    self.refuse(Code::DuplicateId, place, message);
                }
            }
            (Some(_), None) => {
                for name in execution.env_pass.iter().filter(both) {
                    let place = Place::Key(child(&format!("{table}/env"), name));
                    let message = format!(
                        "`{name}` is set here and passed on by `env_pass` under [execution]; give the arm an `env_pass` without it"
                    );
                    self.refuse(Code::DuplicateId, place, message);
                }
            }
            _ => {}
        }
        let grace = execution.grace;
        let written = arm.grace.is_none() && grace_written;
        if written && arm.timeout.is_some() && execution.timeout.is_some_and(|limit| grace > limit)
        {
            let message = format!(
                "the limit is shorter than the grace of {grace} under [execution]; give the arm a shorter `grace`"
            );
            let place = Place::Value(format!("{table}/timeout"));
            self.refuse(Code::Range, place, message);
        }
    }

    /// Returns how an arm is executed: as all are, unless it says otherwise.
    fn arm_execution(&mut self, table: &str, arm: &draft::Arm, base: &Execution) -> Execution {
        let mut execution = base.clone();
        if arm.workspace.is_some() {
            execution.workspace = workspace(arm.workspace.as_ref());
        }
        execution.timeout = self
            .duration(&format!("{table}/timeout"), arm.timeout.as_ref())
            .or(base.timeout);
        execution.grace = self
            .duration(&format!("{table}/grace"), arm.grace.as_ref())
            .unwrap_or(base.grace);
        execution.output_max = self
            .size(&format!("{table}/output_max"), arm.output_max.as_ref())
            .unwrap_or(base.output_max);
        execution.memory_max = self
            .size(&format!("{table}/memory_max"), arm.memory_max.as_ref())
            .or(base.memory_max);
        execution.free_space_min = self
            .size(
                &format!("{table}/free_space_min"),
                arm.free_space_min.as_ref(),
            )
            .or(base.free_space_min);
        execution.cpu_time_max = self
            .duration(&format!("{table}/cpu_time_max"), arm.cpu_time_max.as_ref())
            .or(base.cpu_time_max);
        execution.processes_max = arm.processes_max.or(base.processes_max);
        execution.containment = arm.containment.unwrap_or(base.containment);
        execution.requests = arm.requests.clone().unwrap_or(execution.requests);
        if let Some(cleanup) = &arm.cleanup {
            execution.cleanup = Some(cleanup.0.clone());
        }
        execution.env = arm.env.clone().unwrap_or(execution.env);
        if let Some(names) = &arm.env_pass {
            execution.env_pass = passed(names);
        }
        execution
    }

    pub(super) fn controls(&mut self, draft: &Draft) -> Vec<Control> {
        let primary = draft
            .analysis
            .as_ref()
            .map(|analysis| analysis.primary.outcome.0.clone());
        let known = |id: &str| draft.outcomes.iter().find(|outcome| outcome.id.0 == id);
        let mut controls = Vec::new();
        for (i, control) in draft.controls.iter().enumerate() {
            let table = format!("/controls/{i}");
            self.portable(&format!("{table}/id"), &control.id.0);
            self.command(&format!("{table}/command"), &control.command.0);
            let named = control.outcome.as_ref().map(|outcome| outcome.0.clone());
            let place = match named {
                Some(_) => Place::Value(format!("{table}/outcome")),
                None => Place::Key(table),
            };
            let Some(outcome) = named.clone().or_else(|| primary.clone()) else {
                // That the analysis is missing is told there, unless it may be.
                if draft.is_matrix() {
                    let message = "without an analysis a control must name its `outcome`";
                    self.refuse(Code::UnknownOutcome, place, message);
                }
                continue;
            };
            match known(&outcome).map(|outcome| outcome.kind) {
                Some(OutcomeKind::Binary) => {}
                Some(_) => {
                    let message = format!(
                        "a control is judged by a binary outcome, and `{outcome}` is not; name one with `outcome`"
                    );
                    self.refuse(Code::UnknownOutcome, place, message);
                }
                // That the primary outcome is unknown is told there.
                None if named.is_none() => {}
                None => self.known_outcome(draft, place, &outcome),
            }
            controls.push(Control {
                id: control.id.0.clone(),
                command: control.command.0.clone(),
                expect: control.expect,
                outcome,
            });
        }
        controls
    }

    /// Checks a command's program, and binds it by its digest where it stands beside the protocol.
    pub(super) fn command(&mut self, pointer: &str, command: &[String]) {
        let place = Place::Value(child(pointer, 0));
        let Some(program) = command.first() else {
            return;
        };
        if program.is_empty() {
            let message = "the name of the program is empty; write what is to be executed";
            self.refuse(Code::Command, place, message);
            return;
        }
        if command.iter().map(String::len).sum::<usize>() > 128 * 1024 {
            self.refuse(Code::Command, place, "the command is longer than 128 KiB");
            return;
        }
        // One that tasks fill in is looked at for each of them.
        if template::holes(program).is_empty() {
            self.program(&place, program);
        }
    }
}

/// Returns the names that are passed on besides PATH, which always is.
fn passed(names: &[String]) -> Vec<String> {
    let mut passed = sorted(names);
    passed.retain(|name| name != "PATH");
    passed
}

/// Returns a list whose order means nothing in the one order that is registered.
fn sorted(names: &[String]) -> Vec<String> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Returns what a workspace holds at its start; nothing unless it is said.
fn workspace(draft: Option<&draft::Workspace>) -> Workspace {
    match draft {
        None | Some(draft::Workspace::Empty) => Workspace::Empty,
        Some(draft::Workspace::Copy(folder)) => Workspace::Copy(folder.clone()),
        Some(draft::Workspace::Git(git)) => Workspace::Git {
            url: git.url.clone(),
            commit: git.commit.clone(),
        },
    }
}
