//! What counts as an attempt, and what makes starts wait or end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    BudgetCounts, BudgetPer, BudgetUnknown, CauseWord, ErrorsIn, FieldKind, LateReport,
    OutageWindow, ReadingFrom, StopAt, StopScope, UnknownStop, Voids,
};
use crate::units::{Micros, Money, Share};

/// What counts as an attempt at a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempts {
    /// How many attempts a slot has; none means without limit.
    pub per_slot: Option<u32>,
    /// After which causes the next attempt may start.
    pub rerun: Vec<CauseWord>,
    /// After which causes it may start when a person asks for it.
    pub rerun_on_request: Vec<CauseWord>,
    /// After how long a live run counts as unjudged.
    pub stale_after: Micros,
    /// What becomes of a report after that.
    pub late_report: LateReport,
    /// How often a block may be voided; none means without limit.
    pub voids_max: Option<u32>,
}

/// When error stops are put down to the world and not to an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// The window in which endings are counted.
    pub window: OutageWindow,
    /// Whether a run was stopped by an error.
    pub error: String,
    /// How many runs must have ended in the window.
    pub ended_min: u32,
    /// Which share of them must be error stops.
    pub error_share: Share,
    /// Where errors are needed.
    pub errors_in: ErrorsIn,
    /// What is voided.
    pub voids: Voids,
    /// Whether nothing starts while the window meets the rule.
    pub pauses_starts: bool,
}

/// What the world reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Names the reading.
    pub id: String,
    /// Its fields and their types.
    pub fields: BTreeMap<String, FieldKind>,
    /// Where it comes from.
    pub from: ReadingFrom,
    /// What is executed for a reading.
    pub command: Option<Vec<String>>,
    /// When a reading says nothing any more.
    pub unknown_when: Option<String>,
}

/// A condition under which nothing starts, and a session ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Names the rule.
    pub id: String,
    /// When it fires.
    pub when: String,
    /// A figure that is shown beside it.
    pub shows: Option<String>,
    /// What it ends.
    pub scope: StopScope,
    /// When it is looked at.
    pub at: StopAt,
    /// What follows where a needed reading is unknown.
    pub unknown: UnknownStop,
}

/// A condition that makes starts wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Names the rule.
    pub id: String,
    /// When it fires.
    pub when: String,
    /// Until when starts wait.
    pub until: Option<String>,
    /// A figure that is shown beside it.
    pub shows: Option<String>,
    /// What follows where a needed reading is unknown.
    pub unknown: UnknownStop,
}

/// How long to wait where nothing says until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// The first wait; each next one is twice as long.
    pub initial: Micros,
    /// The longest wait.
    pub max: Micros,
    /// What is waited beyond a known reset.
    pub reset_margin: Micros,
    /// The longest wait for a known reset.
    pub wait_max: Micros,
}

/// A limit on what is spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// What is counted.
    pub counts: BudgetCounts,
    /// What it is counted over.
    pub per: BudgetPer,
    /// The limit.
    pub max: BudgetMax,
    /// What a start reserves.
    pub reserve: Option<Money>,
    /// What an unknown cost counts as; none where nothing can be unknown.
    pub unknown: Option<BudgetUnknown>,
}

/// The limit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetMax {
    /// Of cost.
    Cost(Money),
    /// Of reruns.
    Count(u64),
}

/// What holds everything after failures in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// How many failures to prepare or to start.
    pub failures: u32,
    /// The arms that are meant; empty means all.
    pub arms: Vec<String>,
    /// Whether the operator opens and clears it too.
    pub external: bool,
}
