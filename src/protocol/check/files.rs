//! Binds what the protocol names beside itself, each file or folder by its digest.

use super::{Checker, SHOWN_MAX};
use crate::protocol::defect::{Code, Place};
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
            let Ok(path) = template::fill(text, |name| task.fill(name)) else {
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
