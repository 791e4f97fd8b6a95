//! Facts: what accumulates beside runs and lanes, one row for each key.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::Ledger;
use super::durations::Span;
use super::outage::{Tally, Window};
use super::totals::{ControlResult, ControlTotals, Totals};
use crate::units::{Digest, Time};

/// What a fact is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKey {
    /// What one key of a budget has used: the budget's place in the protocol, and the key.
    Ledger(usize, String),
    /// What ended in a window.
    Window(Window),
    /// A task that was added to an open frame or to a draw that grows.
    Task(String),
    /// The task at a place of a draw that grows.
    Drawn(u64),
    /// The task at a place among the pilots of an open frame.
    Pilot(u64),
    /// How long a complete block took; the rows stand in this order.
    Lasted(Span),
    /// A publication of a head, by the digest of what was said about it.
    Anchor(Digest),
    /// A note that was recorded by hand: which of the deviations it is, from 1.
    Deviation(u64),
    /// That a block was voided, and for which time.
    Void(u64, u32),
    /// That sealed outcomes were looked at, and for which time.
    Unblinding(u64),
    /// What became of the slots of an arm.
    Totals(String),
    /// What became of the runs of a control.
    Control(String),
    /// What a control came to on a task.
    Result(String, String),
}

/// The kinds of fact that are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// What ended in a window.
    Window,
    /// Notes that were recorded by hand.
    Deviation,
    /// Blocks that were voided.
    Void,
    /// Looks behind the seal.
    Unblinding,
}

impl FactKey {
    /// Returns the kind, of those that are looked through.
    pub fn kind(&self) -> Option<FactKind> {
        match self {
            Self::Window(_) => Some(FactKind::Window),
            Self::Deviation(_) => Some(FactKind::Deviation),
            Self::Void(..) => Some(FactKind::Void),
            Self::Unblinding(_) => Some(FactKind::Unblinding),
            _ => None,
        }
    }
}

/// What is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// What was used of a budget.
    Ledger(Ledger),
    /// What ended in a window.
    Window(Tally),
    /// A task.
    Task(Known),
    /// The id of the task at a place.
    Place(String),
    /// That a block took so long, which its key says.
    Lasted,
    /// That a publication was recorded, which its key says.
    Published,
    /// What somebody did by hand, or an outage did.
    Said(Said),
    /// What became of slots.
    Totals(Totals),
    /// What became of the runs of a control.
    Control(ControlTotals),
    /// What a control came to.
    Result(ControlResult),
}

/// What somebody did by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// When.
    pub at: Time,
    /// Who; none where an outage did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The reason or the note, where one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What is known of a task that was not there when the study was registered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The whole object, where the frame is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Value>,
    /// Its place in the draw, or among the pilots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
}
