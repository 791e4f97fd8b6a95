//! The world broke under a run: how, and by which code.

use std::io;
use std::path::{Path, PathBuf};

use crate::runner::git::GitFault;
use crate::runner::process::{CaptureFault, SpawnFault};
use crate::runner::tree::TreeFault;
use crate::units::{Bytes, RunId};

/// The world broke under a run.
#[derive(Debug, thiserror::Error)]
pub enum StepFault {
    /// A file is not what was registered.
    #[error("`{path}` is not what was registered; put it back and run again")]
    FileChanged {
        /// Its path beside the protocol.
        path: String,
    },
    /// A folder of the run cannot be used.
    #[error("`{}`: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be laid or read.
    #[error(transparent)]
    Tree(#[from] TreeFault),
    /// Output could not be kept.
    #[error(transparent)]
    Capture(#[from] CaptureFault),
    /// A supervisor could not be started, heard or waited for.
    #[error("a supervisor could not be had: {0}; mend that, and run again")]
    Supervisor(#[source] io::Error),
    /// A commit cannot be laid.
    #[error(transparent)]
    Git(#[from] GitFault),
    /// What is executed after a run has failed.
    #[error(
        "the clean-up after run {run} failed: {why}; make sure that nothing of it is left, mend the command's surroundings, and run again"
    )]
    CleanUp {
        /// The run.
        run: RunId,
        /// What happened.
        why: String,
    },
    /// The disk is too full to start anything.
    #[error(
        "{free} are free where runs are executed, and the protocol asks for {min}; free some, and run again"
    )]
    Space {
        /// What is free.
        free: Bytes,
        /// What must be.
        min: Bytes,
    },
    /// Something of a run was ended while it was started, and nobody knows how far it came.
    #[error("{0}; look what ends processes on this machine, and run again")]
    Supervision(SpawnFault),
    /// Somebody has ended the supervisor of a judge.
    #[error("the judge of run {0} was ended with its supervisor; run again to judge it")]
    JudgeLost(RunId),
    /// Nobody can tell whether a run is still being executed.
    #[error(
        "whether run {0} is still being executed cannot be proved; make sure that nothing of it is left, then say `prereg reconcile {0} --lost --reason TEXT`"
    )]
    Unproven(RunId),
    /// The machine had no place for another process, or for watching it.
    #[error("{0}; free processes, memory or files, and run again")]
    Shortage(SpawnFault),
}

impl StepFault {
    /// Makes the fault of a folder, or of a file in it, from what the system said.
    pub fn folder(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Folder {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Supervisor(source) | Self::Folder { source, .. }
                if source.kind() == io::ErrorKind::StorageFull =>
            {
                "disk-full"
            }
            Self::Tree(TreeFault::Io { source, .. })
                if source.kind() == io::ErrorKind::StorageFull =>
            {
                "disk-full"
            }
            Self::Capture(fault) if fault.source.kind() == io::ErrorKind::StorageFull => {
                "disk-full"
            }
            Self::FileChanged { .. } => "file-changed",
            Self::Folder { .. } => "run-folder",
            Self::Tree(fault) => fault.code(),
            Self::Capture(fault) => fault.code(),
            Self::Supervisor(_) => "supervisor",
            Self::Git(_) => "git-workspace",
            Self::CleanUp { .. } => "cleanup-failed",
            Self::Space { .. } => "free-space",
            Self::Supervision(fault) => fault.code(),
            Self::JudgeLost(_) => "judge-lost",
            Self::Unproven(_) => "end-unproven",
            Self::Shortage(fault) => fault.code(),
        }
    }
}
