//! The exit codes, all of them.

use std::process::ExitCode;

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done: also when a registered rule stopped the study.
    Done,
    /// A fault: the world broke.
    Fault,
    /// The command line cannot be understood.
    Usage,
    /// A defect: the protocol or an input file is not valid.
    Defect,
    /// A refusal: a registered rule says no.
    Refusal,
    /// A divergence: the record does not re-derive.
    Divergence,
    /// The operator interrupted a session.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Fault => 1,
            Exit::Usage => 2,
            Exit::Defect => 3,
            Exit::Refusal => 4,
            Exit::Divergence => 5,
            Exit::Interrupted => 130,
        })
    }
}
