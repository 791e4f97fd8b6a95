//! What follows from a command that was granted. Events carry all that the fold needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::{Cause, Executed};
use crate::units::{Digest, RunId};

/// The outcomes of a run by id; null where a value is missing.
pub type Outcomes = BTreeMap<String, Value>;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// A protocol stands on the record.
    Opened {
        /// The digest of what it resolves to.
        registration: Digest,
        /// Its number among the drafts, from 1.
        draft: u64,
    },
    /// The opened protocol is registered.
    Registered {
        /// The registration's digest.
        registration: Digest,
        /// How many slots its plan has.
        slots: u64,
    },
    /// A run is live.
    Started {
        /// Its number.
        run: RunId,
        /// The task.
        task: String,
        /// The arm or control.
        arm: String,
        /// Who executes it.
        executed: Executed,
        /// Its place in the plan; none for a control.
        #[serde(skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// `{run.seed}`, where the protocol derives one.
        #[serde(skip_serializing_if = "Option::is_none")]
        seed: Option<u32>,
    },
    /// A run's arm has ended.
    Ended {
        /// The run.
        run: RunId,
    },
    /// A run's outcomes are computed and stand.
    Scored {
        /// The run.
        run: RunId,
        /// What is sealed.
        #[serde(skip)]
        outcomes: Option<Outcomes>,
    },
    /// A run has no outcomes and never will.
    Unjudged {
        /// The run.
        run: RunId,
        /// Why.
        cause: Cause,
    },
    /// A slot has ended; its lane goes on to the next one, if there is one.
    SlotEnded {
        /// The lane.
        lane: LaneId,
        /// The position of the lane's next slot.
        next: Option<u64>,
    },
    /// A slot waits for its next attempt.
    SlotWaits {
        /// The lane.
        lane: LaneId,
    },
    /// Every slot has ended.
    Completed {},
    /// The breaker stands otherwise than before.
    Breaker {
        /// How many starts in a row have failed.
        failures: u32,
        /// Whether it is open.
        open: bool,
    },
    /// A registered rule has ended the study before all its slots had.
    Stopped {
        /// The rule's code.
        code: String,
    },
    /// Sealed outcomes were looked at.
    Unblinded {},
}

/// A run's place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The lane: slots that follow one another.
    pub lane: LaneId,
    /// The place in run order, from 0.
    pub position: u64,
    /// The block: slots that are complete or void together.
    pub block: u64,
    /// The repeat, from 1.
    pub repeat: u64,
    /// The arm's place inside its repeat, from 1.
    pub turn: u64,
    /// The attempt at the slot, from 1.
    pub attempt: u32,
}

/// A lane of a plan: the registered one, or that of a draft's pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneId {
    /// The draft whose pilot it is; 0 for the registered plan.
    pub draft: u64,
    /// Its number in the plan.
    pub number: u64,
}

impl LaneId {
    /// Names a lane of the registered plan.
    pub fn registered(number: u64) -> Self {
        Self { draft: 0, number }
    }

    /// Returns whether it belongs to the registered plan, and not to a pilot.
    pub fn is_registered(self) -> bool {
        self.draft == 0
    }
}
