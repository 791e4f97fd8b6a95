//! The checker: from a text to a protocol that cannot be wrong, or to all its defects at once.
//!
//! Shape first (`shape`), then meaning, table by table; each finding goes on one pile. What the
//! shape already refused is left out of the meaning, so that one slip makes one defect.

mod design;
mod enforced;
mod execution;
mod judgement;
mod weakness;

use std::collections::BTreeMap;

use serde_json::Value;

use super::defect::{Code, Defect, Place, nearest};
use super::draft::Draft;
use super::folder::{Folder, FolderFault};
use super::frame::{self, Task};
use super::model::Protocol;
use super::registration::Registration;
use super::shape;
use super::source::{self, Source};
use super::template;
use crate::units::Digest;

/// A protocol that passed, with everything that its registration binds.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What is registered: protocol, frame, files.
    pub registration: Registration,
    /// The frame's tasks, in its order.
    pub tasks: Vec<Task>,
    /// Places of the keys that the language knows and this version cannot enforce.
    pub unenforced: Vec<Place>,
}

/// Checks a protocol file.
///
/// `folder` is the folder that the file stands in. Returns every defect, in the order of the file.
pub fn check(bytes: &[u8], folder: &dyn Folder) -> Result<Checked, Vec<Defect>> {
    let text = read_text(bytes).map_err(|defect| vec![defect])?;
    let source = Source::read(text)?;
    let shape = shape::check(source.value());
    let mut checker = Checker {
        folder,
        defects: shape.defects,
        files: BTreeMap::new(),
        secrets: 0,
    };
    checker.no_secrets(source.value(), "");
    let checked = serde_json::from_value::<Draft>(shape.rest)
        .ok()
        .and_then(|draft| checker.meaning(&draft, source.value()));
    let mut defects = checker.defects;
    match checked {
        Some(checked) if defects.is_empty() => Ok(checked),
        _ => {
            defects.sort_by_key(|defect| (defect.file.clone(), source.span(&defect.place).start));
            Err(defects)
        }
    }
}

fn read_text(bytes: &[u8]) -> Result<&str, Defect> {
    let refuse =
        |code, at: usize, message: &str| Err(Defect::new(code, Place::Span(at..at), message));
    if bytes.len() > source::TEXT_MAX {
        return refuse(
            Code::TooLarge,
            0,
            "the file is larger than 256 KiB; keep task data in the frame",
        );
    }
    match std::str::from_utf8(bytes) {
        Err(error) => refuse(
            Code::Encoding,
            error.valid_up_to(),
            "the file is not UTF-8 text",
        ),
        Ok(text) if text.starts_with('\u{feff}') => refuse(
            Code::Encoding,
            0,
            "the file begins with a byte order mark; save it without",
        ),
        Ok(text) => Ok(text),
    }
}

/// The pile of findings, and the folder that may be asked.
struct Checker<'a> {
    folder: &'a dyn Folder,
    defects: Vec<Defect>,
    files: BTreeMap<String, Digest>,
    secrets: usize,
}

/// How many defects of one kind are shown for one place before the rest is only counted.
const SHOWN_MAX: usize = 3;

impl Checker<'_> {
    fn meaning(&mut self, draft: &Draft, value: &Value) -> Option<Checked> {
        let unenforced = enforced::unenforced(draft, value);
        let tasks = self.tasks(draft);
        let protocol = self.protocol(draft, value, &tasks)?;
        if !tasks.is_empty() {
            self.files_of_tasks(&protocol, &tasks);
        }
        self.weaknesses(draft, &protocol, &tasks);
        let registration = Registration {
            language: protocol.language,
            protocol,
            frame: frame::digest(&tasks),
            files: std::mem::take(&mut self.files),
        };
        Some(Checked {
            registration,
            tasks,
            unenforced,
        })
    }

    fn protocol(&mut self, draft: &Draft, value: &Value, tasks: &[Task]) -> Option<Protocol> {
        let scopes = self.scopes(draft, tasks);
        let allocation = self.allocation(draft);
        let execution = self.execution(draft);
        let arms = self.arms(draft, &execution);
        let controls = self.controls(draft);
        let outcomes = self.outcomes(draft, &scopes);
        let claim = self.claim(draft);
        let judge = self.judge(draft);
        let scoring = self.scoring(draft, &scopes);
        self.templates(draft, tasks);
        let attempts = self.attempts(draft);
        let analysis = self.analysis(draft, value, tasks);
        let protocol = Protocol {
            language: draft.language,
            study: self.study(draft),
            splits: draft.tasks.splits.clone(),
            draw: self.draw(draft, tasks),
            arms,
            controls,
            allocation: allocation?,
            attempts,
            execution,
            claim,
            judge,
            outcomes,
            scoring,
            analysis,
            limitations: draft.limitations.clone(),
        };
        self.deadlines(&protocol);
        Some(protocol)
    }

    fn push(&mut self, defect: Defect) {
        self.defects.push(defect);
    }

    fn refuse(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.push(Defect::new(code, place, message));
    }

    /// Refuses a name that is not in a list, with the nearest one that is.
    fn unknown(&mut self, code: Code, place: Place, message: String, name: &str, known: &[&str]) {
        let defect = Defect::new(code, place, message);
        self.push(match nearest(name, known.iter().copied()) {
            Some(near) => defect.label(format!("did you mean `{near}`?")),
            None if known.is_empty() => defect,
            None => defect.note(format!("there are: {}", known.join(", "))),
        });
    }

    fn refuse_fault(&mut self, place: Place, path: &str, fault: FolderFault) {
        self.refuse(fault.code, place, format!("`{path}`: {}", fault.message));
    }

    /// Binds a file or folder by its digest, once.
    fn bind(&mut self, path: &str) -> Result<(), FolderFault> {
        if !self.files.contains_key(path) {
            let digest = self.folder.digest(path)?;
            self.files.insert(path.to_owned(), digest);
        }
        Ok(())
    }

    /// Refuses a path that is not plainly inside its folder.
    fn inside(&mut self, place: Place, path: &str) -> bool {
        let plain =
            |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
        let inside = path.trim_end_matches('/').split('/').all(plain);
        if !inside {
            self.refuse(
                Code::Path,
                place,
                format!("`{path}` must be a relative path without `..`, inside its folder"),
            );
        }
        inside
    }

    /// Refuses literal secrets anywhere in the file.
    fn no_secrets(&mut self, value: &Value, pointer: &str) {
        match value {
            Value::String(text) if looks_secret(text) && self.secrets < SHOWN_MAX => {
                self.secrets += 1;
                self.push(
                    Defect::new(Code::Secret, Place::Value(pointer.to_owned()), "the text looks like a secret, and a registration is public for ever")
                        .note("name the variable in `env_pass`: its value is passed on and never recorded"),
                );
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.no_secrets(item, &source::child(pointer, i));
                }
            }
            Value::Object(object) => {
                for (key, item) in object {
                    self.no_secrets(item, &source::child(pointer, key));
                }
            }
            _ => {}
        }
    }

    /// Binds what the tasks' own folders hold, for everything that reads them.
    fn files_of_tasks(&mut self, protocol: &Protocol, tasks: &[Task]) {
        let drawn = frame::draw(protocol, tasks);
        let judged = protocol.judge.is_some() || !protocol.controls.is_empty();
        let mut templates: Vec<(Place, String)> = Vec::new();
        if let Some(judge) = &protocol.judge {
            for (to, from) in &judge.files {
                templates.push((
                    Place::Value(source::child("/judge/files", to)),
                    from.clone(),
                ));
            }
        }
        if let Some(copy) = &protocol.execution.copy {
            templates.push((
                Place::Value("/execution/workspace".to_owned()),
                copy.clone(),
            ));
        }
        for (i, arm) in protocol.arms.iter().enumerate() {
            match &arm.execution.copy {
                Some(copy) if protocol.execution.copy.as_ref() != Some(copy) => {
                    templates.push((Place::Value(format!("/arms/{i}/workspace")), copy.clone()));
                }
                _ => {}
            }
        }
        if judged && tasks.iter().any(|task| task.text("dir").is_some()) {
            templates.push((
                Place::Value("/tasks/frame".to_owned()),
                "{task.dir}".to_owned(),
            ));
        }
        for (place, text) in templates {
            self.bind_for_each(
                &place,
                &text,
                drawn
                    .confirmatory
                    .iter()
                    .chain(&drawn.pilot)
                    .map(|i| &tasks[*i]),
            );
        }
    }

    fn bind_for_each<'t>(
        &mut self,
        place: &Place,
        text: &str,
        tasks: impl Iterator<Item = &'t Task>,
    ) {
        let mut shown = 0;
        for task in tasks {
            let Ok(path) = template::fill(text, |name| task_value(task, name)) else {
                continue;
            };
            if shown == SHOWN_MAX {
                return;
            }
            let before = self.defects.len();
            if self.inside(place.clone(), &path)
                && let Err(fault) = self.bind(path.trim_end_matches('/'))
            {
                self.refuse_fault(place.clone(), &path, fault);
            }
            shown += usize::from(self.defects.len() > before);
            if template::holes(text).is_empty() {
                return;
            }
        }
    }
}

/// Returns the text of a hole that a task fills: `{task.<field>}`.
pub(crate) fn task_value(task: &Task, name: &str) -> Option<String> {
    match task.fields.get(name.strip_prefix("task.")?)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn looks_secret(text: &str) -> bool {
    let long_after = |prefix: &str, least: usize| {
        text.match_indices(prefix).any(|(at, _)| {
            let start_of_word = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let rest = &text[at + prefix.len()..];
            let length = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)))
                .unwrap_or(rest.len());
            start_of_word && length >= least
        })
    };
    text.contains("-----BEGIN ")
        || [
            ("sk-", 16),
            ("ghp_", 16),
            ("github_pat_", 16),
            ("AKIA", 12),
            ("xoxb-", 16),
            ("xoxp-", 16),
        ]
        .into_iter()
        .any(|(prefix, least)| long_after(prefix, least))
}
