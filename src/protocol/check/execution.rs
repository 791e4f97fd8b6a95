//! Checks how arms and controls are executed, and that arms differ only in what they declare.

use std::collections::BTreeMap;

use super::{Checker, SHOWN_MAX, task_value};
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{self, Draft, DurationText, SizeText, Workspace};
use crate::protocol::frame::Task;
use crate::protocol::model::{Arm, Control, Execution, OutcomeKind};
use crate::protocol::source::child;
use crate::protocol::template;
use crate::units::{Bytes, Micros};

/// Holes that the run itself fills.
const RUN_HOLES: &[&str] = &["arm.id", "run.id", "run.label", "run.seed", "run.dir"];
/// Keys in which arms can differ.
const DIFFERENCES: &[&str] = &[
    "command",
    "files",
    "executed",
    "workspace",
    "timeout",
    "grace",
    "env",
    "env_pass",
    "requests",
    "output_max",
    "memory_max",
    "processes_max",
    "cpu_time_max",
    "free_space_min",
    "containment",
    "cleanup",
];

impl Checker<'_> {
    /// Reads a duration that the shape accepted; above zero and at most thirty days.
    pub(super) fn duration(
        &mut self,
        pointer: &str,
        text: Option<&DurationText>,
    ) -> Option<Micros> {
        let duration: Micros = text?.0.parse().ok()?;
        if duration.0 == 0 || duration > Micros::MAX {
            self.refuse(
                Code::Range,
                Place::Value(pointer.to_owned()),
                format!("`{duration}` must be more than zero and at most thirty days"),
            );
            return None;
        }
        Some(duration)
    }

    fn size(&mut self, pointer: &str, text: Option<&SizeText>) -> Option<Bytes> {
        match text?.0.parse() {
            Ok(size) => Some(size),
            Err(message) => {
                self.refuse(Code::Range, Place::Value(pointer.to_owned()), message);
                None
            }
        }
    }

    pub(super) fn execution(&mut self, draft: &Draft) -> Execution {
        let default = draft::Execution::default();
        let execution = draft.execution.as_ref().unwrap_or(&default);
        self.variables(
            "/execution",
            Some(&execution.env),
            Some(&execution.env_pass),
        );
        let timeout = self.duration("/execution/timeout", execution.timeout.as_ref());
        if let (Some(table), None) = (&draft.execution, &execution.timeout)
            && table.timeout.is_none()
        {
            self.refuse(
                Code::MissingKey,
                Place::Key("/execution".to_owned()),
                "`execution` needs the key `timeout`: how long a run may take",
            );
        }
        let resolved = Execution {
            copy: copy_of(execution.workspace.as_ref()),
            timeout,
            grace: self
                .duration("/execution/grace", execution.grace.as_ref())
                .unwrap_or(Micros(10_000_000)),
            env: execution.env.clone(),
            env_pass: execution.env_pass.clone(),
            output_max: self
                .size("/execution/output_max", execution.output_max.as_ref())
                .unwrap_or(Bytes(32 << 20)),
        };
        self.grace_fits("/execution", &resolved);
        resolved
    }

    fn grace_fits(&mut self, table: &str, execution: &Execution) {
        if execution
            .timeout
            .is_some_and(|timeout| execution.grace > timeout)
        {
            let message = format!(
                "the grace of {} is longer than the limit it follows",
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
        let message = |name: &str| {
            format!("`{name}` is not a variable's name, or is one of prereg's own (PREREG_)")
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
        let matrix = draft
            .allocation
            .nest
            .as_ref()
            .is_some_and(|nest| nest.len() == 2);
        if draft.arms.len() < 2 && !matrix {
            self.refuse(
                Code::Arms,
                Place::Key("/arms".to_owned()),
                "a comparison needs at least two arms",
            );
        }
        let resolved = arms.map(|(i, arm)| self.arm(i, arm, base)).collect();
        self.differences(draft, &resolved);
        resolved
    }

    fn arm(&mut self, i: usize, arm: &draft::Arm, base: &Execution) -> Arm {
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
        let mut execution = base.clone();
        if arm.workspace.is_some() {
            execution.copy = copy_of(arm.workspace.as_ref());
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
        execution.env = arm.env.clone().unwrap_or(execution.env);
        execution.env_pass = arm.env_pass.clone().unwrap_or(execution.env_pass);
        if arm.grace.is_some() || arm.timeout.is_some() {
            self.grace_fits(&table, &execution);
        }
        Arm {
            id: arm.id.0.clone(),
            command: arm.command.0.clone(),
            files: arm
                .files
                .iter()
                .map(|(to, from)| (to.clone(), from.0.clone()))
                .collect(),
            differs: arm.differs.clone(),
            execution,
        }
    }

    /// Refuses a difference from the reference that the arm does not declare.
    fn differences(&mut self, draft: &Draft, arms: &Vec<Arm>) {
        let reference = draft
            .analysis
            .as_ref()
            .map(|analysis| analysis.reference.0.as_str());
        let Some(reference) = arms
            .iter()
            .position(|arm| Some(arm.id.as_str()) == reference)
            .or((!arms.is_empty()).then_some(0))
        else {
            return;
        };
        for (i, arm) in arms.iter().enumerate() {
            for (j, word) in arm
                .differs
                .iter()
                .enumerate()
                .filter(|(_, word)| !DIFFERENCES.contains(&word.as_str()))
            {
                let message = format!("`{word}` is not a key in which arms can differ");
                self.unknown(
                    Code::Word,
                    Place::Value(format!("/arms/{i}/differs/{j}")),
                    message,
                    word,
                    DIFFERENCES,
                );
            }
            if i == reference {
                continue;
            }
            for (key, differs) in differing(
                &arms[reference],
                arm,
                &draft.arms[reference],
                &draft.arms[i],
            ) {
                if !differs || arm.differs.iter().any(|word| word == key) {
                    continue;
                }
                let declared = if arm.differs.is_empty() {
                    "nothing".to_owned()
                } else {
                    arm.differs.join(", ")
                };
                let message = format!(
                    "`{}` may differ from `{}` in {declared}, but its {key} differs too",
                    arm.id, arms[reference].id
                );
                let mut words = arm.differs.clone();
                words.push(key.to_owned());
                self.push(
                    Defect::new(
                        Code::ArmsDiffer,
                        Place::Key(format!("/arms/{i}/{key}")),
                        message,
                    )
                    .note(format!(
                        "make them equal, or declare it: differs = {words:?}"
                    )),
                );
            }
        }
    }

    pub(super) fn controls(&mut self, draft: &Draft) -> Vec<Control> {
        let primary = draft
            .analysis
            .as_ref()
            .map(|analysis| analysis.primary.outcome.0.clone());
        let binary: Vec<&str> = draft
            .outcomes
            .iter()
            .filter(|outcome| outcome.kind == OutcomeKind::Binary)
            .map(|outcome| outcome.id.0.as_str())
            .collect();
        let mut controls = Vec::new();
        for (i, control) in draft.controls.iter().enumerate() {
            let table = format!("/controls/{i}");
            self.portable(&format!("{table}/id"), &control.id.0);
            self.command(&format!("{table}/command"), &control.command.0);
            let (place, outcome) = match &control.outcome {
                Some(outcome) => (
                    Place::Value(format!("{table}/outcome")),
                    Some(outcome.0.clone()),
                ),
                None => (Place::Key(table), primary.clone()),
            };
            match outcome {
                Some(outcome) if binary.contains(&outcome.as_str()) => controls.push(Control {
                    id: control.id.0.clone(),
                    command: control.command.0.clone(),
                    expect: control.expect,
                    outcome,
                }),
                Some(outcome) => {
                    let message = format!("`{outcome}` is not a binary outcome of this protocol");
                    self.unknown(Code::UnknownOutcome, place, message, &outcome, &binary);
                }
                None => self.refuse(
                    Code::UnknownOutcome,
                    place,
                    "without a primary outcome a control must name its `outcome`",
                ),
            }
        }
        controls
    }

    /// Checks a command's program, and binds it by its digest where it stands beside the protocol.
    pub(super) fn command(&mut self, pointer: &str, command: &[String]) {
        let place = Place::Value(child(pointer, 0));
        let Some(program) = command.first() else {
            return;
        };
        if program.is_empty() || command.iter().any(|part| part.contains('\0')) {
            self.refuse(
                Code::Command,
                place,
                "a command is a program and its arguments, without empty program or NUL",
            );
            return;
        }
        if command.iter().map(String::len).sum::<usize>() > 128 * 1024 {
            self.refuse(Code::Command, place, "the command is longer than 128 KiB");
            return;
        }
        if program.contains('/') && !program.starts_with('/') && template::holes(program).is_empty()
        {
            let path = program.trim_start_matches("./");
            if self.inside(place.clone(), path)
                && let Err(fault) = self.bind(path)
            {
                self.refuse_fault(place, program, fault);
            }
        }
    }

    /// Checks every template's holes against the run's names and the frame's fields.
    pub(super) fn templates(&mut self, draft: &Draft, tasks: &[Task]) {
        for (pointer, text) in template_texts(draft) {
            self.template(&pointer, &text, tasks);
        }
        for (to, _) in draft.judge.iter().flat_map(|judge| &judge.files) {
            self.inside(Place::Key(child("/judge/files", to)), to);
        }
    }

    fn template(&mut self, pointer: &str, text: &str, tasks: &[Task]) {
        for hole in template::holes(text) {
            if RUN_HOLES.contains(&hole.name) {
                continue;
            }
            let place = Place::Within(pointer.to_owned(), hole.range.clone());
            if hole.name.strip_prefix("task.").is_none() {
                let near = nearest(hole.name, RUN_HOLES.iter().copied());
                let defect = Defect::new(
                    Code::Template,
                    place,
                    format!("`{{{}}}` is not a name that templates know", hole.name),
                );
                self.push(match near {
                    Some(near) => defect.label(format!("did you mean `{{{near}}}`?")),
                    None => defect.note(format!(
                        "they know {{task.<field>}}, {}",
                        RUN_HOLES
                            .iter()
                            .map(|name| format!("{{{name}}}"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    )),
                });
                continue;
            }
            let without: Vec<&str> = tasks
                .iter()
                .filter(|task| task_value(task, hole.name).is_none())
                .map(|task| task.id.as_str())
                .take(SHOWN_MAX)
                .collect();
            if !without.is_empty() {
                let field = hole.name.trim_start_matches("task.");
                let message = format!(
                    "`{{{}}}` needs the field `{field}` in every task; {} has none",
                    hole.name,
                    without.join(", ")
                );
                self.refuse(Code::Template, place, message);
            }
        }
    }
}

/// Returns every template of a protocol with its place.
fn template_texts(draft: &Draft) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for (i, arm) in draft.arms.iter().enumerate() {
        texts.extend(list_texts(&format!("/arms/{i}/command"), &arm.command.0));
        texts.extend(env_texts(&format!("/arms/{i}/env"), arm.env.as_ref()));
        texts.extend(copy_text(
            &format!("/arms/{i}/workspace"),
            arm.workspace.as_ref(),
        ));
    }
    for (i, control) in draft.controls.iter().enumerate() {
        texts.extend(list_texts(
            &format!("/controls/{i}/command"),
            &control.command.0,
        ));
    }
    if let Some(execution) = &draft.execution {
        texts.extend(env_texts("/execution/env", Some(&execution.env)));
        texts.extend(copy_text(
            "/execution/workspace",
            execution.workspace.as_ref(),
        ));
    }
    if let Some(judge) = &draft.judge {
        texts.extend(list_texts("/judge/command", &judge.command.0));
        texts.extend(
            judge
                .files
                .iter()
                .map(|(to, from)| (child("/judge/files", to), from.clone())),
        );
    }
    texts
}

fn list_texts(pointer: &str, parts: &[String]) -> impl Iterator<Item = (String, String)> {
    parts
        .iter()
        .enumerate()
        .map(move |(i, part)| (child(pointer, i), part.clone()))
}

fn copy_of(workspace: Option<&Workspace>) -> Option<String> {
    match workspace {
        Some(Workspace::Copy(folder)) => Some(folder.clone()),
        _ => None,
    }
}

fn env_texts(pointer: &str, env: Option<&BTreeMap<String, String>>) -> Vec<(String, String)> {
    env.into_iter()
        .flatten()
        .map(|(name, text)| (child(pointer, name), text.clone()))
        .collect()
}

fn copy_text(pointer: &str, workspace: Option<&Workspace>) -> Option<(String, String)> {
    copy_of(workspace).map(|text| (format!("{pointer}/copy"), text))
}

/// Returns for each key in which arms can differ whether two arms do.
fn differing(
    a: &Arm,
    b: &Arm,
    a_draft: &draft::Arm,
    b_draft: &draft::Arm,
) -> Vec<(&'static str, bool)> {
    let (x, y) = (&a.execution, &b.execution);
    vec![
        ("command", a.command != b.command),
        ("files", a.files != b.files),
        ("executed", a_draft.executed != b_draft.executed),
        (
            "workspace",
            x.copy != y.copy || a_draft.workspace != b_draft.workspace,
        ),
        ("timeout", x.timeout != y.timeout),
        ("grace", x.grace != y.grace),
        ("env", x.env != y.env),
        ("env_pass", x.env_pass != y.env_pass),
        ("output_max", x.output_max != y.output_max),
        ("requests", a_draft.requests != b_draft.requests),
        ("memory_max", a_draft.memory_max != b_draft.memory_max),
        (
            "processes_max",
            a_draft.processes_max != b_draft.processes_max,
        ),
        ("cpu_time_max", a_draft.cpu_time_max != b_draft.cpu_time_max),
        (
            "free_space_min",
            a_draft.free_space_min != b_draft.free_space_min,
        ),
        ("containment", a_draft.containment != b_draft.containment),
        ("cleanup", a_draft.cleanup != b_draft.cleanup),
    ]
}
