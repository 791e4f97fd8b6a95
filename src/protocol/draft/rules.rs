//! What counts as an attempt, and what makes starts wait or end.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CountText, DurationText, ExpressionText, FieldKind, IdText, MoneyText, NameText, PathText,
    ShareText, TimeText,
};

/// What counts as an attempt at a slot.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attempts {
    /// How many attempts a slot has.
    pub per_slot: Option<CountText>,
    /// After which causes the next attempt may start.
    #[serde(default)]
    pub rerun: Vec<CauseWord>,
    /// After which causes the next attempt may start when a person asks for it.
    pub rerun_on_request: Option<Vec<CauseWord>>,
    /// After how long a live run counts as unjudged.
    pub stale_after: Option<DurationText>,
    /// What becomes of a report after that.
    pub late_report: Option<LateReport>,
    /// How often a block may be voided before it counts as missing.
    pub voids_max: Option<CountText>,
}

/// A cause for which a run is unjudged; `unjudged` means every cause that is not named here.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum CauseWord {
    Unjudged,
    Failed,
    TimedOut,
    Cancelled,
    Lost,
    Stale,
}

/// What becomes of a report after the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum LateReport {
    Refuse,
    UntilClosed,
}

/// When error stops are put down to the world and not to an arm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// The window in which endings are counted.
    pub window: OutageWindow,
    /// Whether a run was stopped by an error.
    pub error: ExpressionText,
    /// How many runs must have ended in the window.
    #[schemars(range(min = 1, max = 100_000))]
    pub ended_min: u32,
    /// Which share of them must be error stops.
    pub error_share: ShareText,
    /// Whether errors in each arm are needed.
    pub errors_in: Option<ErrorsIn>,
    /// What is voided.
    pub voids: Option<Voids>,
    /// Whether nothing starts while the window meets the rule.
    pub pauses_starts: Option<bool>,
}

/// The window in which endings are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum OutageWindow {
    UtcHour,
}

/// Where errors are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum ErrorsIn {
    EveryArm,
    AnyArm,
}

/// What an outage voids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Voids {
    Block,
    Run,
}

/// What the world reports.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Names the reading.
    pub id: NameText,
    /// Its fields and their types.
    pub fields: BTreeMap<String, FieldKind>,
    /// Where it comes from.
    pub from: ReadingFrom,
    /// What is executed for a reading.
    pub command: Option<super::CommandText>,
    /// When a reading says nothing any more.
    pub unknown_when: Option<ExpressionText>,
}

/// Where a reading comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum ReadingFrom {
    Observation,
    Command,
    Operator,
}

/// A condition that ends the study, a stage or an arm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Names the rule.
    pub id: IdText,
    /// When it fires.
    pub when: ExpressionText,
    /// A figure that is shown beside it.
    pub shows: Option<ExpressionText>,
    /// What it ends.
    pub scope: Option<StopScope>,
    /// When it is looked at.
    pub at: Option<StopAt>,
    /// What follows where a needed reading is unknown.
    pub unknown: Option<UnknownStop>,
}

/// What a stop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum StopScope {
    Study,
    Arm,
    Stage,
}

/// When a stop is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum StopAt {
    Start,
    Session,
}

/// What follows where a needed reading is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum UnknownStop {
    Go,
    Hold,
    Stop,
}

/// A condition that makes starts wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Names the rule.
    pub id: IdText,
    /// When it fires.
    pub when: ExpressionText,
    /// Until when starts wait.
    pub until: Option<ExpressionText>,
    /// A figure that is shown beside it.
    pub shows: Option<ExpressionText>,
    /// What follows where a needed reading is unknown.
    pub unknown: Option<UnknownStop>,
}

/// How long to wait where nothing says until when.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// The first wait; each next one is twice as long.
    pub initial: DurationText,
    /// The longest wait.
    pub max: DurationText,
    /// What is waited beyond a known reset.
    pub reset_margin: DurationText,
    /// The longest wait for a known reset.
    pub wait_max: DurationText,
}

/// The moment after which nothing starts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cutoff {
    /// No start at or after it.
    pub at: TimeText,
}

/// A limit on what is spent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// What is counted.
    pub counts: BudgetCounts,
    /// What it is counted over.
    pub per: BudgetPer,
    /// The limit: money, or a count.
    pub max: BudgetMax,
    /// What a start reserves.
    pub reserve: Option<MoneyText>,
    /// What an unknown cost counts as.
    pub unknown: Option<BudgetUnknown>,
}

/// The limit of a budget: money, or a count.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct BudgetMax(pub Value);

impl JsonSchema for BudgetMax {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BudgetMax".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "title": "an amount of money in USD, or a count",
            "type": ["string", "integer"],
            "pattern": r"^[0-9]{1,9}(\.[0-9]{1,6})? USD$",
            "minimum": 0,
            "maximum": 1_000_000_000,
            "examples": ["400 USD", 10],
        })
    }
}

/// What a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum BudgetCounts {
    Cost,
    Reruns,
}

/// What a budget is counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum BudgetPer {
    Study,
    Task,
    Arm,
}

/// What an unknown cost counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum BudgetUnknown {
    Reserve,
    Hold,
    Stop,
}

/// Holds everything after failures in a row.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// How many failures to prepare or to start, in a row.
    #[schemars(range(min = 1, max = 1000))]
    pub failures: u32,
    /// The arms that are meant; empty means all.
    #[serde(default)]
    pub arms: Vec<IdText>,
    /// Whether the operator opens and clears it too.
    pub external: Option<bool>,
}

/// A file that must say `on`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The file beside the protocol.
    pub file: PathText,
}
