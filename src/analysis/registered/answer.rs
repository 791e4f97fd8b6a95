//! The answer as data. What is not defined is `null`, and a `flag` beside it says why.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::described::claims::{ClaimTable, FalseClaims};
use crate::analysis::described::controls::ControlResult;
use crate::analysis::described::cost_effectiveness::CostEffectiveness;
use crate::analysis::described::repeats::Repeats;
use crate::analysis::described::time_to_success::{CactusPoint, TimeToSuccess};
use crate::analysis::numerics::quantiles::Quantiles;
use crate::analysis::resampling::bootstrap::Acceptability;
use crate::analysis::sequential::evalue::SignEvalue;
use crate::protocol::model::{
    Alternative, Better, Effect, Estimand, Inference, Interval, MultiplicityMethod, Objective,
    OutcomeKind, Spending, Test,
};
use crate::units::{Ratio, Share};

/// Everything that a registered analysis says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What it comes to.
    pub verdict: Verdict,
    /// The level of the tests.
    pub alpha: Share,
    /// The field by which tasks are clustered; `null` where they are not.
    pub cluster: Option<String>,
    /// How many repeats each task has in each arm.
    pub repeats: u32,
    /// What the tasks stand for.
    pub inference: Inference,
    /// From the draw to what is analysed.
    pub flow: Flow,
    /// What the controls showed.
    pub controls: Vec<ControlAnswer>,
    /// The comparisons that decide, one for each treatment.
    pub primary: Vec<AnsweredComparison>,
    /// The further comparisons: each of them for each treatment.
    pub secondary: Vec<AnsweredComparison>,
    /// How several tests share the level.
    pub multiplicity: Option<MultiplicityMethod>,
    /// The scheduled looks.
    pub looks: Vec<LookTable>,
    /// What is described without a test.
    pub arms: Vec<ArmDescribed>,
    /// What is described of each comparison without a test.
    pub described: Vec<PairDescribed>,
}

/// What an answer comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A control is not as expected, or was not run: the instrument is not to be trusted.
    ControlFailed,
    /// More slots are missing than the registration allows.
    Incomplete,
    /// The registration allows a description only.
    Descriptive,
    /// The primary comparison shows what it was to show, for every treatment.
    Shown,
    /// It shows that for some treatments.
    ShownForSome,
    /// It does not.
    NotShown,
}

/// From the draw to what is analysed; the numbers add up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Drawn tasks.
    pub tasks_drawn: u64,
    /// How many of them, in their order, the primary comparison is about: with looks those that were closed.
    pub tasks_analysed: u64,
    /// Registered slots.
    pub slots: u64,
    /// Each arm, in the listed order.
    pub arms: Vec<ArmFlow>,
    /// Tasks of which every slot of every arm is scored.
    pub complete_blocks: u64,
    /// Slots of the compared arms, of the tasks that are analysed.
    pub compared: u64,
    /// Those of them without a value of the primary outcome.
    pub missing: u64,
    /// The largest share that the registration allows.
    pub missing_share_max: Share,
}

/// What became of the slots of an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArmFlow {
    /// The arm.
    pub arm: String,
    /// Its registered slots: scored, unjudged and open ones together.
    pub slots: u64,
    /// Slots with a verdict.
    pub scored: u64,
    /// Slots that have ended without one.
    pub unjudged: u64,
    /// The same by reason.
    pub unjudged_by_reason: BTreeMap<&'static str, u64>,
    /// Slots that have not ended.
    pub open: u64,
    /// Whether its scored runs were exposed to what it stands for; `null` where that is not checked.
    pub exposed: Option<Exposed>,
    /// How long its runs took together, what they cost, and of how many that is known.
    pub exposure: Exposure,
}

/// How many scored runs of an arm were exposed to what it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exposed {
    /// Those that were.
    pub yes: u64,
    /// Those that were not.
    pub no: u64,
    /// Those of which it is unknown.
    pub unknown: u64,
}

/// For how long and at what price an arm was executed: every run of its slots, the repeated and the void ones, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exposure {
    /// Its runs.
    pub runs: u64,
    /// Runs whose duration is known.
    pub timed: u64,
    /// What they took together, in milliseconds.
    pub milliseconds: Option<u64>,
    /// Runs whose cost is known.
    pub priced: u64,
    /// What they cost together, in micro-dollars.
    pub micro_dollars: Option<u64>,
}

/// What a control showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlAnswer {
    /// The control.
    pub id: String,
    /// Its runs without a verdict, which violate nothing.
    pub unjudged: u64,
    /// What its verdicts say.
    #[serde(flatten)]
    pub result: ControlResult,
}

/// A comparison, computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnsweredComparison {
    /// `primary`, or the id of the secondary.
    pub id: String,
    /// The outcome.
    pub outcome: String,
    /// Its type.
    pub kind: OutcomeKind,
    /// Which direction of it is better.
    pub better: Better,
    /// The arm that is compared with.
    pub reference: String,
    /// The arm that is compared.
    pub treatment: String,
    /// Over which slots.
    pub estimand: Estimand,
    /// How the size of the effect is expressed.
    pub effect: Effect,
    /// The test.
    pub test: Test,
    /// The interval.
    pub interval: Interval,
    /// In which direction the test looks.
    pub alternative: Alternative,
    /// What was to be shown.
    pub objective: Objective,
    /// The largest difference that does not matter, in the outcome's unit.
    pub margin: Option<Ratio>,
    /// How many tasks are compared.
    pub tasks: usize,
    /// In how many clusters they lie; `null` where there are none.
    pub clusters: Option<usize>,
    /// On how many of them the treatment has more, less, or the same.
    pub signs: Signs,
    /// The mean over tasks in the reference arm.
    pub reference_mean: Option<f64>,
    /// The same in the treatment arm.
    pub treatment_mean: Option<f64>,
    /// The effect.
    #[serde(flatten)]
    pub result: Effected,
    /// The statistic of the test, where it has one that is not its p.
    pub statistic: Option<f64>,
    /// Its degrees of freedom.
    pub df: Option<f64>,
    /// The p of the test.
    pub p: Option<f64>,
    /// The smallest p that as many units can give, where that is known.
    pub p_floor: Option<f64>,
    /// The p that takes the other tests of the family into account.
    pub p_adjusted: Option<f64>,
    /// The level that the adjusted p is held against: alpha, or what the last look may spend.
    pub level: f64,
    /// Whether it is at or below the level; with looks, whether one of them rejects.
    pub rejects: bool,
    /// Whether the registration lets the comparison decide anything.
    pub confirmatory: bool,
    /// Why there is no p, or that it is smaller than it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
    /// Whether interval and test say the same about the null hypothesis; `null` where either is not defined.
    pub interval_agrees: Option<bool>,
    /// The same effect under the other estimands, without a test.
    pub sensitivity: Vec<Row>,
    /// How many missing slots of the treatment must be successes to turn the decision.
    pub tipping_point: Option<Tipping>,
    /// Other standard errors and tests, for those who know them.
    pub beside: Beside,
}

/// How tasks differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signs {
    /// Tasks on which the treatment has more.
    pub up: usize,
    /// Tasks on which it has less.
    pub down: usize,
    /// Tasks on which both have the same.
    pub same: usize,
}

/// An effect and its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Effected {
    /// The effect: a difference, or a ratio.
    pub estimate: Option<f64>,
    /// Its standard error, where the interval is made with one.
    pub se: Option<f64>,
    /// The level of the interval, as a share.
    pub ci_level: f64,
    /// The interval.
    pub ci: Option<[f64; 2]>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci_flag: Option<Flag>,
}

/// An effect under another estimand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `as_drawn`, `available`, `complete_blocks`, `bound_low` or `bound_high`.
    pub estimand: &'static str,
    /// How many tasks it is over.
    pub tasks: usize,
    /// The effect.
    #[serde(flatten)]
    pub result: Effected,
}

/// How far a decision is from turning by what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tipping {
    /// Missing slots of the treatment that count as successes, filled in the order of the draw, until the
    /// decision turns; `null` where it never does.
    pub successes: Option<u64>,
    /// Of how many missing slots of the treatment.
    pub of: u64,
}

/// Other standard errors and tests of the mean difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// The standard error with tasks as independent units.
    pub se_iid: Option<f64>,
    /// CR1, with clusters.
    pub se_cr1: Option<f64>,
    /// The noise of repeats with the task set held fixed; with several repeats of a binary outcome.
    pub se_fixed_tasks: Option<f64>,
    /// The exact sign flip of tasks.
    pub p_sign_flip_task: Option<f64>,
    /// The exact sign flip of whole clusters.
    pub p_sign_flip_cluster: Option<f64>,
    /// Whether degrees of freedom below 5, or a cluster with more than a third of the tasks, make the
    /// clustered error doubtful.
    pub few_clusters: bool,
}

/// The scheduled looks of a primary comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LookTable {
    /// The treatment.
    pub treatment: String,
    /// How the level is spent.
    pub spending: Spending,
    /// The look that has ended the study, from 1; `null` where none has.
    pub stopped_at: Option<usize>,
    /// The looks.
    pub looks: Vec<Look>,
    /// The e-value of the signs in the order of the draw, where one is registered.
    pub evalue: Option<SignEvalue>,
}

/// A look at the first tasks of the draw, whose slots have all ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Look {
    /// At which share of the drawn tasks.
    pub fraction: f64,
    /// How many tasks that is.
    pub tasks: usize,
    /// How much of alpha is spent by then.
    pub alpha_spent: f64,
    /// The p at or below which the look rejects; `null` where nothing can.
    pub nominal_p: Option<f64>,
    /// The p of the registered test.
    pub p: Option<f64>,
    /// The effect, with the interval that goes with a test at `nominal_p`.
    #[serde(flatten)]
    pub result: Effected,
    /// Whether the look rejects.
    pub rejects: bool,
}

/// What is described of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmDescribed {
    /// The arm.
    pub arm: String,
    /// Each outcome.
    pub outcomes: Vec<OutcomeDescribed>,
    /// By the arm's place inside its repeat: the primary outcome.
    pub by_turn: Vec<Stratum>,
    /// By the values of task fields: the primary outcome.
    pub subgroups: Vec<Stratum>,
}

/// What is described of an outcome of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeDescribed {
    /// The outcome.
    pub outcome: String,
    /// Its type.
    pub kind: OutcomeKind,
    /// Slots with a value.
    pub known: u64,
    /// For a binary outcome, how many are true.
    pub count: Option<u64>,
    /// For a number, its quantiles over tasks.
    pub quantiles: Option<Quantiles>,
}

/// A part of the slots of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stratum {
    /// What the part has in common: a turn from 1, or a field's value.
    pub stratum: String,
    /// The task field; absent for turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Its slots with a value.
    pub known: u64,
    /// Their mean.
    pub mean: Option<f64>,
}

/// What is described of a pair of arms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairDescribed {
    /// The treatment.
    pub treatment: String,
    /// The outcome that says what a success is.
    pub success: Option<String>,
    /// Successes within so many repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_k: Option<Repeats>,
    /// Times to success, up to the registered limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_success: Option<TimeToSuccess>,
    /// The times of the successes within the limit, ascending: of the reference and of the treatment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cactus: Option<[Vec<CactusPoint>; 2]>,
    /// What a success costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_effectiveness: Option<CostDescribed>,
    /// Claims by verdicts, of the reference and of the treatment; absent where nothing is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<[ClaimTable; 2]>,
    /// False claims among claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_claims: Option<FalseClaims>,
}

/// What a success costs, and whether it is worth it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostDescribed {
    /// Costs, effects and net benefits.
    #[serde(flatten)]
    pub effectiveness: CostEffectiveness,
    /// Where effect and cost lie, in words.
    pub quadrant: Option<&'static str>,
    /// The ratio of the costs per success, treatment over reference, with its BCa interval.
    pub cost_per_resolved_ratio: Effected,
    /// How often the net benefit is above 0, by what a success is worth.
    pub acceptability: Acceptability,
}
