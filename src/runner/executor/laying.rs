//! What is laid into a workspace, held to what is registered.

use std::fs;
use std::io;
use std::path::Path;

use super::{Assignment, Executor, StepFault};
use crate::protocol::model::Workspace;
use crate::runner::git::Checkout;
use crate::runner::tree;
use crate::units::Digest;

impl Executor<'_> {
    /// Puts an empty workspace where the arm has left none, so that it is judged by nothing.
    pub(super) fn restore(&self, workspace: &Path) -> Result<(), StepFault> {
        let fault = StepFault::folder(workspace);
        match fs::symlink_metadata(workspace) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => fs::remove_file(workspace).map_err(&fault)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fault(error)),
        }
        fs::create_dir(workspace).map_err(fault)
    }

    /// Lays the workspace of a run; returns the digest of its program, where one is registered.
    pub(super) fn prepare(&self, assignment: &Assignment) -> Result<Option<Digest>, StepFault> {
        let workspace = self.workspace(assignment.run);
        let fault = StepFault::folder(&workspace);
        match fs::create_dir(&workspace) {
            // An earlier arm can have put something here; a run that is new has nothing to lose.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.clean(assignment.run)?;
                fs::create_dir(&workspace).map_err(fault)?;
            }
            created => created.map_err(fault)?,
        }
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

    pub(super) fn lay_for_judge(
        &self,
        assignment: &Assignment,
        workspace: &Path,
    ) -> Result<(), StepFault> {
        let Some(judge) = &self.rules.protocol().judge else {
            return Ok(());
        };
        tree::clear(workspace, &judge.report)?;
        for (to, from) in &judge.files {
            let path = self.fill(from, assignment, false);
            let laid = tree::lay(&self.base.join(&path), workspace, to)?;
            self.unchanged(&path, laid)?;
        }
        self.unchanged_program(&judge.command, assignment).map(drop)
    }

    /// Refuses a file whose digest is not the registered one.
    pub(super) fn unchanged(&self, path: &str, found: [u8; 32]) -> Result<(), StepFault> {
        let path = path.trim_end_matches('/');
        match self.rules.registration().files.get(path) {
            Some(registered) if *registered == Digest(found) => Ok(()),
            _ => Err(StepFault::FileChanged {
                path: path.to_owned(),
            }),
        }
    }

    /// Refuses a program that is not the registered one; returns its digest, where one is registered.
    pub(super) fn unchanged_program(
        &self,
        command: &[String],
        assignment: &Assignment,
    ) -> Result<Option<Digest>, StepFault> {
        let program = command.first().map_or("", String::as_str);
        let program = self.fill(program, assignment, false);
        let path = program.trim_start_matches("./");
        if !self.rules.registration().files.contains_key(path) {
            return Ok(None);
        }
        let found = tree::file_digest(&self.base.join(path))?;
        self.unchanged(path, found).map(|()| Some(Digest(found)))
    }
}
