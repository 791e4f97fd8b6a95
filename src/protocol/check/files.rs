//! Binds what the protocol names beside itself, each file or folder by its digest.

use super::{Checker, SHOWN_MAX};
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::folder::FolderFault;
use crate::protocol::frame::{Drawn, Task};
use crate::protocol::model::Protocol;
use crate::protocol::source::child;
use crate::protocol::template;

impl Checker<'_> {
    /// Binds a file or folder by its digest, once.
    pub(super) fn bind(&mut self, path: &str) -> Result<(), FolderFault> {
        if !self.files.contains_key(path) {
            let digest = self.folder.digest(path)?;
            self.files.insert(path.to_owned(), digest);
        }
        Ok(())
    }

    /// Refuses a program that stands beside the protocol and cannot be executed; binds one that can.
    ///
    /// A program without a slash is looked up on PATH, one with a slash at its start is the machine's.
    pub(super) fn program(&mut self, place: &Place, program: &str) {
        if !program.contains('/') || program.starts_with('/') {
            return;
        }
        let path = program.trim_start_matches("./");
        if !self.inside(place.clone(), path) {
            return;
        }
        match self.folder.executable(path) {
            Ok(true) => {
                if let Err(fault) = self.bind(path) {
                    self.refuse_fault(place.clone(), program, fault);
                }
            }
            Ok(false) => {
                let message = format!("`{program}` may not be executed by its owner");
                self.push(
                    Defect::new(Code::Command, place.clone(), message)
                        .note(format!("make it executable: chmod +x {path}")),
                );
            }
            Err(fault) => self.refuse_fault(place.clone(), program, fault),
        }
    }

    /// Refuses a path that is not plainly inside its folder.
    pub(super) fn inside(&mut self, place: Place, path: &str) -> bool {
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

    pub(super) fn refuse_fault(&mut self, place: Place, path: &str, fault: FolderFault) {
        self.refuse(fault.code, place, format!("`{path}`: {}", fault.message));
    }

    /// Binds what the tasks' own folders hold, for everything that reads them.
    pub(super) fn files_of_tasks(&mut self, protocol: &Protocol, tasks: &[Task], drawn: &Drawn) {
        let judged = protocol.judge.is_some() || !protocol.controls.is_empty();
        let mut templates: Vec<(Place, String)> = Vec::new();
        if let Some(judge) = &protocol.judge {
            for (to, from) in &judge.files {
                templates.push((Place::Value(child("/judge/files", to)), from.clone()));
            }
        }
        let base = &protocol.execution.workspace;
        if let Some(copy) = base.copied() {
            let place = Place::Value("/execution/workspace".to_owned());
            templates.push((place, copy.to_owned()));
        }
        for (i, arm) in protocol.arms.iter().enumerate() {
            match arm.execution.workspace.copied() {
                Some(copy) if arm.execution.workspace != *base => {
                    let place = Place::Value(format!("/arms/{i}/workspace"));
                    templates.push((place, copy.to_owned()));
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
        let used = drawn.confirmatory.iter().chain(&drawn.pilot);
        let used: Vec<&Task> = used.map(|i| &tasks[*i]).collect();
        for (place, text) in templates {
            self.for_each(&text, &used, |checker, path| {
                if checker.inside(place.clone(), path)
                    && let Err(fault) = checker.bind(path.trim_end_matches('/'))
                {
                    checker.refuse_fault(place.clone(), path, fault);
                }
            });
        }
        // A program without holes was bound where its command was checked.
        for (pointer, command) in commands(protocol) {
            let program = command.first().map_or("", String::as_str);
            if !template::holes(program).is_empty() {
                let place = Place::Value(child(&pointer, 0));
                self.for_each(program, &used, |checker, program| {
                    checker.program(&place, program);
                });
            }
        }
    }

    /// Does something with what a template comes to for each task, or once where it has no holes;
    /// stops where it has refused enough.
    fn for_each(&mut self, text: &str, tasks: &[&Task], mut act: impl FnMut(&mut Self, &str)) {
        let mut shown = 0;
        for task in tasks {
            let Ok(path) = template::fill(text, |name| task.fill(name)) else {
                continue;
            };
            if shown == SHOWN_MAX {
                return;
            }
            let before = self.defects.len();
            act(self, &path);
            shown += usize::from(self.defects.len() > before);
            if template::holes(text).is_empty() {
                return;
            }
        }
    }
}

/// Returns the commands that runs are made of, each with its place.
fn commands(protocol: &Protocol) -> impl Iterator<Item = (String, &Vec<String>)> {
    let arms = protocol.arms.iter().enumerate();
    let arms = arms.map(|(i, arm)| (format!("/arms/{i}/command"), &arm.command));
    let controls = protocol.controls.iter().enumerate();
    let controls = controls.map(|(i, one)| (format!("/controls/{i}/command"), &one.command));
    let judge = protocol.judge.iter();
    let judge = judge.map(|judge| ("/judge/command".to_owned(), &judge.command));
    arms.chain(controls).chain(judge)
}
