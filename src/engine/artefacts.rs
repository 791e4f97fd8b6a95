//! Artefacts: files of a workspace that are kept, each by the digest of what is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::slice::{Run, State};
use crate::protocol::model::Retain;
use crate::units::Digest;

/// The most files of a run that are kept.
pub const FILES_MAX: usize = 1000;
/// The most bytes that are kept of the files of a run together.
pub const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The longest path of a file that is kept, in bytes.
pub const PATH_MAX: usize = 1024;

/// The files of a workspace that the registered patterns name, as its run has left them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artefacts {
    /// For which runs their bytes are retained.
    pub retain: Retain,
    /// The files, by their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Artefact>,
    /// How many others were left out, by why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<LeftOut, u64>,
}

/// A file that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artefact {
    /// Where it stood in the workspace.
    pub path: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Their digest, by which it is stored.
    pub digest: Digest,
}

/// Why something that a pattern names is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// It is a link.
    Link,
    /// It has another name, which may stand outside of the workspace.
    HardLink,
    /// It is a pipe, a socket or a device.
    Special,
    /// It cannot be read.
    Unreadable,
    /// Its name is no text, or its path is too long.
    Name,
    /// More would be kept than may be.
    TooLarge,
    /// As many files are kept as may be, or stand in the workspace as are looked at.
    TooMany,
}

impl LeftOut {
    /// Returns the reason as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::HardLink => "hard-link",
            Self::Special => "special",
            Self::Unreadable => "unreadable",
            Self::Name => "name",
            Self::TooLarge => "too-large",
            Self::TooMany => "too-many",
        }
    }
}

impl Artefacts {
    /// Counts something that is left out.
    pub fn leave_out(&mut self, why: LeftOut) {
        *self.left_out.entry(why).or_default() += 1;
    }
}

/// Returns whether the bytes of a run's artefacts are retained, now that it is closed.
///
/// A run has failed that has no outcomes, met its limit, or ended otherwise than with the exit status 0:
/// what its outcomes are is not asked, which would show them.
pub fn are_retained(run: &Run) -> bool {
    let execution = run.execution.as_ref();
    let artefacts = execution.and_then(|execution| execution.artefacts.as_ref());
    let timed_out = run.ending.as_ref().is_some_and(|ending| ending.timed_out);
    let exit = execution.and_then(|execution| execution.exit);
    match artefacts.map(|artefacts| artefacts.retain) {
        None | Some(Retain::Always) => true,
        Some(Retain::Never) => false,
        Some(Retain::OnFailure) => run.state != State::Scored || timed_out || exit != Some(0),
    }
}
