//! Checks that every template names what the run or its task has.

use std::collections::BTreeMap;

use super::Checker;
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{CommandText, Draft, Workspace};
use crate::protocol::frame::{self, Task};
use crate::protocol::source::child;
use crate::protocol::template;

/// Holes that the run itself fills.
const RUN_HOLES: &[&str] = &["arm.id", "run.id", "run.label", "run.seed", "run.dir"];

impl Checker<'_> {
    /// Checks every template's holes against the run's names and the frame's fields.
    pub(super) fn templates(&mut self, draft: &Draft, tasks: &[Task]) {
        for (pointer, text) in template_texts(draft) {
            self.template(&pointer, &text, tasks);
            self.declared_holes(draft, &pointer, &text);
        }
        for (to, _) in draft.judge.iter().flat_map(|judge| &judge.files) {
            self.inside(Place::Key(child("/judge/files", to)), to);
        }
    }

    /// Refuses holes that only another key of the protocol would fill.
    fn declared_holes(&mut self, draft: &Draft, pointer: &str, text: &str) {
        for hole in template::holes(text) {
            let place = Place::Within(pointer.to_owned(), hole.range.clone());
            if hole.name == "run.seed" && draft.allocation.run_seed.is_none() {
                let message = "nothing says how `{run.seed}` is derived";
                self.push(
                    Defect::new(Code::Template, place, message)
                        .note("write under [allocation]: run_seed = \"sha256_task_repeat\""),
                );
                continue;
            }
            let (Some(fields), Some(field)) =
                (&draft.tasks.fields, hole.name.strip_prefix("task."))
            else {
                continue;
            };
            if draft.tasks.is_open()
                && !["id", "split", "dir"].contains(&field)
                && !fields.contains_key(field)
            {
                let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                let message = format!("`{field}` is not a declared field of the tasks");
                self.unknown(Code::Template, place, message, field, &known);
            }
        }
    }

    fn template(&mut self, pointer: &str, text: &str, tasks: &[Task]) {
        for range in template::slips(text) {
            let shown = &text[range.clone()];
            let shown: String = shown.chars().take(30).collect();
            self.push(
                Defect::new(
                    Code::Template,
                    Place::Within(pointer.to_owned(), range),
                    format!("`{shown}` begins like a template name and is none"),
                )
                .note("a name is dotted words in braces, for example {task.dir}; nothing is computed in it"),
            );
        }
        for hole in template::holes(text) {
            let place = Place::Within(pointer.to_owned(), hole.range.clone());
            match hole.name.strip_prefix("task.") {
                _ if RUN_HOLES.contains(&hole.name) => {}
                Some(field) => self.task_hole(place, hole.name, field, tasks),
                None => self.unknown_hole(place, hole.name),
            }
        }
    }

    fn unknown_hole(&mut self, place: Place, name: &str) {
        let message = format!("`{{{name}}}` is not a name that templates know");
        let defect = Defect::new(Code::Template, place, message);
        self.push(match nearest(name, RUN_HOLES.iter().copied()) {
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
    }

    /// Refuses a hole that not every task fills.
    fn task_hole(&mut self, place: Place, hole: &str, field: &str, tasks: &[Task]) {
        let mut without = tasks.iter().filter(|task| task.fill(hole).is_none());
        let Some(first) = without.next() else { return };
        let message = match without.count() + 1 {
            all if all == tasks.len() => format!("no task has the field `{field}`"),
            1 => format!("the task `{}` has no text or number `{field}`", first.id),
            some => format!(
                "{some} tasks have no text or number `{field}`, the first is `{}`",
                first.id
            ),
        };
        let fields = frame::field_names(tasks);
        let near = nearest(field, fields.iter().map(String::as_str));
        let defect = Defect::new(Code::Template, place, message);
        self.push(match near.filter(|near| *near != field) {
            Some(near) => defect.label(format!("did you mean `{{task.{near}}}`?")),
            None => defect.note("give every task of the frame this field"),
        });
    }
}

/// Returns every template of a protocol with its place.
fn template_texts(draft: &Draft) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut command = |pointer: String, command: Option<&CommandText>| {
        let words = command.into_iter().flat_map(|command| &command.0);
        let words = words.enumerate();
        texts.extend(words.map(|(i, word)| (child(&pointer, i), word.clone())));
    };
    for (i, arm) in draft.arms.iter().enumerate() {
        command(format!("/arms/{i}/command"), Some(&arm.command));
        command(format!("/arms/{i}/cleanup"), arm.cleanup.as_ref());
    }
    for (i, control) in draft.controls.iter().enumerate() {
        command(format!("/controls/{i}/command"), Some(&control.command));
    }
    let (execution, preflight) = (draft.execution.as_ref(), draft.preflight.as_ref());
    let cleanup = execution.and_then(|execution| execution.cleanup.as_ref());
    command("/execution/cleanup".to_owned(), cleanup);
    let checks = preflight.map(|preflight| &preflight.command);
    command("/preflight/command".to_owned(), checks);
    let judges = draft.judge.as_ref().map(|judge| &judge.command);
    command("/judge/command".to_owned(), judges);

    for (i, arm) in draft.arms.iter().enumerate() {
        texts.extend(table_texts(&format!("/arms/{i}/env"), arm.env.as_ref()));
        let workspace = arm.workspace.as_ref();
        texts.extend(copy_text(&format!("/arms/{i}/workspace"), workspace));
    }
    if let Some(execution) = execution {
        texts.extend(table_texts("/execution/env", Some(&execution.env)));
        let workspace = execution.workspace.as_ref();
        texts.extend(copy_text("/execution/workspace", workspace));
    }
    let files = draft.judge.as_ref().map(|judge| &judge.files);
    texts.extend(table_texts("/judge/files", files));
    texts
}

fn table_texts(pointer: &str, table: Option<&BTreeMap<String, String>>) -> Vec<(String, String)> {
    table
        .into_iter()
        .flatten()
        .map(|(name, text)| (child(pointer, name), text.clone()))
        .collect()
}

fn copy_text(pointer: &str, workspace: Option<&Workspace>) -> Option<(String, String)> {
    match workspace {
        Some(Workspace::Copy(folder)) => Some((format!("{pointer}/copy"), folder.clone())),
        _ => None,
    }
}
