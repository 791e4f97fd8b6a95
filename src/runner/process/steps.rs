//! What is done to a command that is to end, and when: it is asked, and after the grace ended.

use std::time::{Duration, Instant};

/// How far the ending of a command has come, and when the next step is due. `None` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    Running {
        /// When its limit is reached.
        until: Option<Instant>,
    },
    /// It was asked to end.
    Asked {
        /// When its grace is over.
        until: Option<Instant>,
    },
    /// It was ended.
    Killed,
}

/// What is done to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is asked to end, by TERM.
    Terminate,
    /// It is ended, by KILL.
    Kill,
}

impl Phase {
    /// Returns that of a command that has started.
    pub fn started(at: Instant, timeout: Duration) -> Self {
        Self::Running {
            until: at.checked_add(timeout),
        }
    }

    /// Returns when something is to be done, whatever happens until then.
    pub fn due(&self) -> Option<Instant> {
        match self {
            Self::Running { until } | Self::Asked { until } => *until,
            Self::Killed => None,
        }
    }

    /// Returns whether its limit is reached, or its grace over.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// Returns what is done now to a command that has not ended; `is_to_end` where there is a reason to
    /// end it.
    pub fn step(&mut self, now: Instant, is_to_end: bool, grace: Duration) -> Option<Step> {
        match self {
            Self::Running { .. } if is_to_end => {
                *self = Self::Asked {
                    until: now.checked_add(grace),
                };
                Some(Step::Terminate)
            }
            Self::Asked { .. } if self.is_due(now) => {
                *self = Self::Killed;
                Some(Step::Kill)
            }
            _ => None,
        }
    }
}
