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
#[schemars(extend("allOf" = [{
    "if": { "anyOf": [
        { "required": ["rerun"], "properties": { "rerun": { "minItems": 1 } } },
        {
            "required": ["rerun_on_request"],
            "properties": { "rerun_on_request": { "minItems": 1 } },
        },
    ] },
    "then": { "required": ["per_slot"], "properties": { "per_slot": { "not": { "enum": [1] } } } },
}]))]
pub struct Attempts {
    /// How many attempts a slot has, from 1 to 1000, or `unlimited`, which is a weakness,
    /// `unlimited-attempts`.
    #[schemars(extend("default" = 1))]
    pub per_slot: Option<CountText>,
    /// After which causes the next attempt may start; a scored run is never attempted again.
    /// `unjudged` means every cause but those with a word of their own here: `failed`, `timed-out`,
    /// `cancelled`, `lost`, `stale`.
    #[serde(default)]
    #[schemars(extend("examples" = [["unjudged", "stale", "lost"]]))]
    pub rerun: Vec<CauseWord>,
    /// After which causes the next attempt may start when a person asks for it with `run
    /// --retry-failed`; the request is recorded.
    #[schemars(extend("examples" = [["failed", "timed-out"]]))]
    pub rerun_on_request: Option<Vec<CauseWord>>,
    /// After how long a live run counts as unjudged. It must be longer than any run's limit and
    /// grace together.
    #[schemars(extend("default" = "6h", "examples" = ["6h"]))]
    pub stale_after: Option<DurationText>,
    /// What becomes of a report after that deadline. `refuse`: it is refused; `until_closed`: it
    /// counts until a start closes the run, which is a weakness, `late-reports`.
    #[schemars(extend("default" = "refuse"))]
    pub late_report: Option<LateReport>,
    /// How often a block may be voided before it counts as missing, from 1 to 1000, or `unlimited`,
    /// which is a weakness, `unlimited-voids`.
    #[schemars(extend("default" = 3))]
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
    /// The window in which endings are counted. `utc_hour`: each hour of UTC by the clock.
    pub window: OutageWindow,
    /// Whether a run was stopped by an error: from what was observed of it, never from its score.
    /// It reads `run` and `observed`.
    #[schemars(extend("examples" = ["run.error_stop"]))]
    pub error: ExpressionText,
    /// How many runs must have ended in the window before it can be an outage.
    #[schemars(range(min = 1, max = 100_000))]
    #[schemars(extend("examples" = [4]))]
    pub ended_min: u32,
    /// Which share of them must be error stops: more than 0.
    #[schemars(extend("allOf" = [{ "not": { "enum": [0] } }, { "not": { "type": "string", "pattern": "^0+/" } }]))]
    pub error_share: ShareText,
    /// Where errors are needed. `every_arm`: in each arm; `any_arm`: the counts alone decide.
    #[schemars(extend("default" = "every_arm"))]
    pub errors_in: Option<ErrorsIn>,
    /// What an outage voids. `block`: the whole block of an error stop; `run`: that run alone,
    /// as often as it happens, which is a weakness, `unlimited-voids`. An order by counts has no
    /// blocks and needs `run`.
    #[schemars(extend("default" = "block"))]
    pub voids: Option<Voids>,
    /// Whether nothing starts while the current window meets the rule.
    #[schemars(extend("default" = true))]
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
#[schemars(extend("allOf" = [{
    "if": { "properties": { "from": { "enum": ["command"] } } },
    "then": { "required": ["command"] },
    "else": { "not": { "required": ["command"] } },
}]))]
pub struct Reading {
    /// Names the reading, also in expressions: `readings.<id>`.
    #[schemars(extend("examples" = ["quota"]))]
    pub id: NameText,
    /// The fields of the reading and their types. The newest reading counts whole; a field that it
    /// lacks is unknown.
    #[schemars(extend("examples" = [{ "seven_day": "number", "resets_at": "time" }]))]
    pub fields: BTreeMap<String, FieldKind>,
    /// Where the reading comes from: an arm's `observation`, a `command`, or the `operator`, who
    /// types it in.
    pub from: ReadingFrom,
    /// What is executed for a reading; it prints one JSON object. Needed with `from = "command"`,
    /// and a defect otherwise.
    #[schemars(extend("examples" = [["./quota.sh"]]))]
    pub command: Option<super::CommandText>,
    /// When a reading says nothing any more. It reads `reading` and `now`.
    #[schemars(extend("examples" = ["reading.resets_at < now"]))]
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

/// A condition under which nothing starts, and a session ends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Names the rule; it is the code of the refusals that follow from it.
    #[schemars(extend("examples" = ["weekly-quota"]))]
    pub id: IdText,
    /// When the rule fires. It reads `readings`, `stages` and `now`.
    #[schemars(extend("examples" = ["readings.quota.seven_day >= 0.95"]))]
    pub when: ExpressionText,
    /// A figure that is shown beside the code, with three decimals.
    #[schemars(extend("examples" = ["readings.quota.seven_day"]))]
    pub shows: Option<ExpressionText>,
    /// What the rule stops, as long as it fires: the `study`; each `arm` alone, or each `stage`
    /// alone, by what its own runs observed last or what was read since of all.
    #[schemars(extend("default" = "study"))]
    pub scope: Option<StopScope>,
    /// When the rule is looked at: at each `start`, or once a `session`.
    #[schemars(extend("default" = "start"))]
    pub at: Option<StopAt>,
    /// What follows where a needed reading is unknown: `go` on, `hold` until it is known, or
    /// `stop`.
    #[schemars(extend("default" = "hold"))]
    pub unknown: Option<UnknownStop>,
}

/// What a stop stops.
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
    /// Names the rule; it is the code of the refusals that follow from it. Stops and holds share
    /// their names.
    #[schemars(extend("examples" = ["five-hour-window"]))]
    pub id: IdText,
    /// When the rule fires. It reads `readings`, `stages` and `now`.
    #[schemars(extend("examples" = ["readings.quota.five_hour >= 1.0"]))]
    pub when: ExpressionText,
    /// Until when starts wait: a time. Needed without `[backoff]`. Where it is unknown or past, `[backoff]` says how long.
    #[schemars(extend("examples" = ["readings.quota.resets_at"]))]
    pub until: Option<ExpressionText>,
    /// A figure that is shown beside the code, with three decimals.
    #[schemars(extend("examples" = ["readings.quota.five_hour"]))]
    pub shows: Option<ExpressionText>,
    /// What follows where a needed reading is unknown: `go` on, `hold` until it is known, or
    /// `stop`.
    #[schemars(extend("default" = "hold"))]
    pub unknown: Option<UnknownStop>,
}

/// How long to wait where nothing says until when.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// The first wait; each next one is twice as long. It is not longer than `max`.
    #[schemars(extend("examples" = ["60s"]))]
    pub initial: DurationText,
    /// The longest wait.
    #[schemars(extend("examples" = ["15m"]))]
    pub max: DurationText,
    /// What is waited beyond a known reset.
    #[schemars(extend("examples" = ["30s"]))]
    pub reset_margin: DurationText,
    /// The longest wait for a known reset.
    #[schemars(extend("examples" = ["3h"]))]
    pub wait_max: DurationText,
}

/// The moment after which nothing starts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cutoff {
    /// The moment at and after which nothing starts.
    pub at: TimeText,
}

/// A limit on what is spent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "counts": { "enum": ["cost"] } } },
        "then": { "properties": { "max": { "type": "string" } }, "required": ["unknown"] },
        "else": {
            "properties": { "max": { "type": "integer" } },
            "not": { "anyOf": [{ "required": ["reserve"] }, { "required": ["unknown"] }] },
        },
    },
    {
        "if": { "required": ["unknown"], "properties": { "unknown": { "enum": ["reserve"] } } },
        "then": { "required": ["reserve"] },
    },
]))]
pub struct Budget {
    /// What is counted: the `cost` of runs, or `reruns`.
    pub counts: BudgetCounts,
    /// What it is counted over: the `study`, each `task` or each `arm`.
    pub per: BudgetPer,
    /// The limit: money for a budget of cost, a count for one of reruns.
    pub max: BudgetMax,
    /// What a start reserves, until the observed cost is known; only for a budget of cost. It is not more than `max`.
    #[schemars(extend("examples" = ["5 USD"]))]
    pub reserve: Option<MoneyText>,
    /// What an unknown cost counts as; it is never 0. Needed for a budget of cost. `reserve`: as what was reserved; `hold`:
    /// nothing starts until it is known; `stop`: nothing starts any more.
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
    /// How many failures to prepare or to start, in a row: nothing starts then until `breaker
    /// clear`.
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend("examples" = [3]))]
    pub failures: u32,
    /// The arms whose failures count; empty means all.
    #[serde(default)]
    #[schemars(extend("examples" = [["treatment"]]))]
    pub arms: Vec<IdText>,
    /// Whether the operator opens and clears it too.
    pub external: Option<bool>,
}

/// A file that must say `on`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The file beside the protocol; runs start only while its text is `on`.
    #[schemars(extend("examples" = ["enabled"]))]
    pub file: PathText,
}
