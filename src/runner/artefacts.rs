//! What is kept of the workspace of a run: taken before anybody judges it, put away with nothing else.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::executor::{self, StepFault};
use super::tree;
use crate::engine::artefacts::{self, Artefacts};
use crate::engine::slice::Run;
use crate::protocol::model::{self, Retain};
use crate::protocol::pattern::Pattern;
use crate::units::RunId;

/// Returns the folder of what is kept of a run, each file called by its digest.
pub fn folder(runs: &Path, run: RunId) -> PathBuf {
    runs.join(format!("{run}.artefacts"))
}

/// Takes what is to be kept of a run that has ended, in the place of what was taken before.
pub(super) fn take(
    runs: &Path,
    run: RunId,
    rule: Option<&model::Artefacts>,
) -> Result<Option<Box<Artefacts>>, StepFault> {
    let Some(rule) = rule.filter(|rule| !rule.keep.is_empty()) else {
        return Ok(None);
    };
    // They were read when the protocol was checked.
    let patterns = rule.keep.iter().filter_map(|text| Pattern::read(text).ok());
    let patterns: Vec<Pattern> = patterns.collect();
    let folder = folder(runs, run);
    executor::remove(&folder)?;
    let to = match rule.retain {
        Retain::Never => None,
        Retain::Always | Retain::OnFailure => {
            // As what an arm prints, a file of it may be a secret of whoever runs the study.
            let made = DirBuilder::new().mode(0o700).create(&folder);
            made.map_err(StepFault::folder(&folder))?;
            Some(folder.as_path())
        }
    };
    let workspace = runs.join(run.to_string());
    let taken = tree::gather(&workspace, &patterns, rule.retain, to)?;
    if taken.files.is_empty() {
        executor::remove(&folder)?;
    }
    Ok(Some(Box::new(taken)))
}

/// Puts away what was taken of a closed run whose files are not retained.
pub(super) fn release(runs: &Path, run: &Run) -> Result<(), StepFault> {
    match artefacts::are_retained(run) {
        true => Ok(()),
        false => executor::remove(&folder(runs, run.run)),
    }
}
