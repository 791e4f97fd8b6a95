//! The copy of a workspace that is judged, at the place where the arm had worked.
//!
//! What the arm has left is moved aside and copied back: paths that it wrote down lead into the copy, and
//! what may still be at work in the old folder, or holds a file of it open, has nothing of the new one. A
//! judge that is executed again gets a copy of the same; what is kept stands beside both.

use std::fs;
use std::io;
use std::path::Path;

use super::beside::set_aside;
use super::{Executor, StepFault};
use crate::runner::tree::{self, TreeFault};
use crate::units::{Digest, RunId};

/// What a judge gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staged {
    /// A copy of what the run has left, which is what was recorded of it.
    Copy,
    /// What the run has left itself: it is more than can be digested, and so than can be copied.
    InPlace,
    /// Nothing: it is not what was recorded.
    Changed,
}

impl Executor<'_> {
    /// Puts a copy of what a run has left in its place; `left` is the digest that was recorded.
    pub(super) fn stage(&self, run: RunId, left: Option<Digest>) -> Result<Staged, StepFault> {
        let (workspace, aside) = (self.workspace(run), set_aside(self.runs, run));
        let is_aside = fs::symlink_metadata(&aside).is_ok_and(|found| found.is_dir());
        if !is_aside {
            self.restore(&workspace)?;
            if left.is_none() {
                return Ok(Staged::InPlace);
            }
            fs::rename(&workspace, &aside).map_err(StepFault::folder(&aside))?;
        }
        remove(&workspace)?;
        fs::create_dir(&workspace).map_err(StepFault::folder(&workspace))?;
        let copied = tree::snapshot(&aside, &workspace)?;
        Ok(match copied.is_some() && copied == left {
            true => Staged::Copy,
            false => Staged::Changed,
        })
    }
}

/// Removes a folder, or whatever stands in its place.
pub(in crate::runner) fn remove(folder: &Path) -> Result<(), StepFault> {
    match tree::remove_tree(folder) {
        Err(TreeFault::Link { .. } | TreeFault::NotDirectory { .. }) => {
            match fs::remove_file(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(StepFault::folder(folder)(error))
                }
                _ => Ok(()),
            }
        }
        removed => Ok(removed?),
    }
}
