//! What follows from a command that was granted. Events carry all that the fold needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::budget::{Cost, Ledger};
use super::command::{Cause, Executed};
use super::durations::Span;
use super::outage::{Tally, Window};
use super::settings::Settings;
use crate::units::{Digest, Money, RunId};

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
        /// How many lanes before it were opened before their time, with a block that was voided.
        #[serde(default, skip_serializing_if = "is_zero")]
        skipped: u64,
        /// `{run.seed}`, where the protocol derives one.
        #[serde(skip_serializing_if = "Option::is_none")]
        seed: Option<u32>,
    },
    /// A run's arm has ended.
    Ended {
        /// The run.
        run: RunId,
        /// Whether an error of the world stopped it, where the protocol says how to tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_stop: Option<bool>,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Cost::is_unknown")]
        cost: Cost,
        /// The settings that it reports it used; null where it does not say.
        #[serde(default, skip_serializing_if = "Settings::is_empty")]
        used: Settings,
    },
    /// A run's outcomes are computed and stand.
    Scored {
        /// The run.
        run: RunId,
        /// What is sealed.
        #[serde(skip)]
        outcomes: Option<Outcomes>,
        /// Whether the run was exposed to what its arm stands for, where the protocol checks that of an
        /// arm; null where that is unknown, or not checked of this one. Sealed too.
        #[serde(skip)]
        exposed: Option<Value>,
    },
    /// A run has no outcomes and never will.
    Unjudged {
        /// The run.
        run: RunId,
        /// Why.
        cause: Cause,
    },
    /// A run counts no more: its block was voided, or an outage took it out.
    Voided {
        /// The run.
        run: RunId,
    },
    /// A run that ended is counted in its window.
    Tallied {
        /// The run.
        run: RunId,
        /// The window.
        window: Window,
        /// The window's tally with it.
        tally: Tally,
        /// Whether it is an error stop.
        error: bool,
    },
    /// It became known what a run had cost.
    Priced {
        /// The run.
        run: RunId,
        /// What it cost.
        cost: Money,
    },
    /// A block is complete; how long it took, where that is asked for.
    BlockLasted {
        /// How long, and which block.
        span: Span,
        /// The middle of all spans with it, the lower one of two.
        middle: Span,
    },
    /// A block was voided: what it had does not count.
    BlockVoided {
        /// The block.
        block: u64,
        /// Its stage's place among the stages.
        stage: usize,
        /// How often it was voided by now.
        voids: u32,
        /// Whether it is executed again; without it its slots are missing.
        requeued: bool,
        /// How many of its slots had ended.
        ended: u64,
        /// How many slots it has.
        slots: u64,
        /// Its lanes and their first positions.
        lanes: Vec<(LaneId, u64)>,
    },
    /// A slot has other attempts than before, as some of them count no more or more are asked for.
    SlotAgain {
        /// The lane.
        lane: LaneId,
        /// Its stage's place among the stages.
        stage: usize,
        /// The position.
        position: u64,
        /// How many attempts at it count.
        attempts: u32,
        /// Whether it had ended, and waits again.
        reopened: bool,
    },
    /// How many slots of a task have ended, under an order by counts.
    Counted {
        /// The task's lane.
        lane: LaneId,
        /// How many slots of its arms have ended.
        ended: u64,
        /// Whether all have.
        all: bool,
    },
    /// A budget's ledger stands otherwise than before.
    Spent {
        /// The budget's place in the protocol.
        budget: usize,
        /// What it is counted over: the task, the arm, or nothing.
        per: String,
        /// The ledger.
        ledger: Ledger,
    },
    /// The world was read.
    Read {
        /// The reading.
        id: String,
        /// Its fields.
        fields: Map<String, Value>,
        /// The arm whose run observed it, where a stop is about one arm alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arm: Option<String>,
        /// The stage whose run observed it, where a stop is about one stage alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
    },
    /// The switch says something else than before.
    Switched {
        /// What it says; none where it cannot be read.
        text: Option<String>,
    },
    /// An arm was looked at before anything starts.
    Preflighted {
        /// The arm.
        arm: String,
        /// What was found.
        status: String,
    },
    /// A fact was observed.
    Probed {
        /// The probe.
        id: String,
        /// What was found; none where it could not be observed.
        value: Option<Value>,
    },
    /// The check in the middle of a run was made.
    Checked {
        /// The run.
        run: RunId,
        /// Whether it passed.
        passed: bool,
    },
    /// An open frame has one more task.
    TaskAdded {
        /// The task.
        task: String,
        /// Its place among the pilots; none for a confirmatory task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pilot: Option<u64>,
    },
    /// Tasks were appended to the draw.
    Drawn {
        /// The tasks that are new there.
        tasks: Vec<String>,
        /// How many slots the plan has now.
        slots: u64,
    },
    /// Something happened that the protocol did not foresee.
    Deviated {
        /// The arm that may start again, whatever settings it was last seen to use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arm: Option<String>,
    },
    /// A head was published.
    Anchored {
        /// The number of the entry that was the newest then.
        entry: u64,
        /// The digest of everything that was said about it, by which it is known again.
        said: Digest,
    },
    /// A slot has ended; its lane goes on to the next one, if there is one.
    SlotEnded {
        /// The lane.
        lane: LaneId,
        /// The position of the lane's next slot.
        next: Option<u64>,
        /// The position of the slot, where it is not the one that the lane had come to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<u64>,
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
    /// A scheduled look was taken.
    Looked {
        /// Which one, from 1.
        look: u64,
        /// Whether it lets nothing more start.
        stops: bool,
    },
    /// Sealed outcomes were looked at.
    Unblinded {},
}

impl Event {
    /// Returns the key of the protocol that decides what the event says, as a JSON pointer.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Started { .. } => Some("/allocation"),
            Self::Tallied { .. }
            | Self::Voided { .. }
            | Self::BlockVoided { .. }
            | Self::SlotAgain { .. } => Some("/outage"),
            Self::Unjudged { .. } | Self::SlotEnded { .. } | Self::SlotWaits { .. } => {
                Some("/attempts")
            }
            Self::Scored { .. } => Some("/outcomes"),
            Self::Spent { .. } => Some("/budgets"),
            Self::Breaker { .. } => Some("/breaker"),
            Self::Drawn { .. } => Some("/draw"),
            Self::BlockLasted { .. } => Some("/stages"),
            Self::Looked { .. } => Some("/analysis/looks"),
            _ => None,
        }
    }
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
    /// The place of its stage among the stages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stage: usize,
    /// How often its block had been voided.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub voids: u32,
    /// Whether the order goes by counts: the run's slot is then its rank among the runs that count,
    /// and what stands here is what it was when the run started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_counts: bool,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
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
