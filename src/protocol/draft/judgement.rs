//! Who judges, what is measured, and how the answer is computed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CommandText, DurationText, ExpressionText, IdText, MissingText, NameText, PathText, ShareText,
};

/// Who says what a run achieved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Files laid into the workspace once the arm's last process is dead.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What is executed in the run's workspace.
    pub command: CommandText,
    /// The file in the workspace that the judge writes.
    pub report: PathText,
    /// The JSON Schema of the report.
    pub schema: PathText,
    /// How long the judge may take.
    pub timeout: DurationText,
}

/// What is measured of each run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Names the outcome, also in expressions.
    pub id: NameText,
    /// Its type.
    pub kind: OutcomeKind,
    /// How it is computed.
    pub value: ExpressionText,
    /// Which direction is better.
    pub better: Better,
    /// What a missing value counts as; needed for a binary outcome. Of other kinds only available
    /// values count.
    pub missing: Option<MissingText>,
}

/// The type of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum OutcomeKind {
    Binary,
    Number,
    Money,
    Duration,
}

/// Which direction of an outcome is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Better {
    Higher,
    Lower,
}

/// When an ended run is not scored.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// When the judge could not judge, besides the built-in causes.
    pub unjudged: Option<ExpressionText>,
    /// Whether a run that meets its limit is scored.
    pub on_timeout: Option<ScoreWord>,
    /// Whether a run that an error stopped is scored.
    pub on_error_stop: Option<ScoreWord>,
}

/// Whether such a run is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum ScoreWord {
    Score,
    Unjudged,
}

/// How the answer is computed from the outcomes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// The arm that the others are compared with.
    pub reference: IdText,
    /// The arms that are compared with it.
    #[schemars(length(min = 1, max = 63))]
    pub treatments: Vec<IdText>,
    /// The level of the tests.
    #[schemars(range(min = 0.000_001, max = 0.5))]
    pub alpha: Option<f64>,
    /// A task field whose values group tasks, or `none`.
    pub cluster: Option<String>,
    /// Whether tasks stand for more tasks, or for themselves.
    pub inference: Option<Inference>,
    /// How many resamples a resampling method takes.
    #[schemars(range(min = 99, max = 1_000_000))]
    pub resamples: Option<u32>,
    /// Above this share of missing slots the verdict is `incomplete`.
    pub missing_share_max: Option<ShareText>,
    /// Whether outcomes by arm stay sealed until the study has ended.
    pub seal: Option<bool>,
    /// The one comparison that decides.
    pub primary: Comparison,
    /// Further comparisons.
    #[serde(default)]
    pub secondary: Vec<Secondary>,
    /// How several tests share the level.
    pub multiplicity: Option<Multiplicity>,
    /// Looks at the data before its end.
    pub looks: Option<Looks>,
    /// What is described without a test.
    pub descriptive: Option<Descriptive>,
}

/// Whether tasks stand for more tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Inference {
    TasksSampled,
    TasksFixed,
}

/// One comparison.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// What is compared.
    pub outcome: NameText,
    /// Over which slots.
    pub estimand: Option<Estimand>,
    /// The size of the effect.
    pub effect: Option<Effect>,
    /// The test.
    pub test: Option<Test>,
    /// The interval.
    pub interval: Option<Interval>,
    /// The alternative.
    pub alternative: Option<Alternative>,
    /// What is to be shown.
    pub objective: Option<Objective>,
    /// The margin, unless superiority is to be shown.
    pub margin: Option<f64>,
}

/// A further comparison; keys that are not given are the primary's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Secondary {
    /// Names the comparison.
    pub id: NameText,
    /// What is compared.
    pub outcome: NameText,
    /// Over which slots.
    pub estimand: Option<Estimand>,
    /// The size of the effect.
    pub effect: Option<Effect>,
    /// The test.
    pub test: Option<Test>,
    /// The interval.
    pub interval: Option<Interval>,
    /// The alternative.
    pub alternative: Option<Alternative>,
    /// What is to be shown.
    pub objective: Option<Objective>,
    /// The margin, unless superiority is to be shown.
    pub margin: Option<f64>,
}

macro_rules! words {
    ($(#[doc = $doc:literal] $name:ident { $($word:ident),* $(,)? })*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs, reason = "the words are the documentation")]
        pub enum $name { $($word),* }
    )*};
}

words! {
    /// Over which slots a comparison goes.
    Estimand { AsDrawn, Available, CompleteBlocks }
    /// The size of an effect.
    Effect { PairedDiff, RatioOfMeans, GeometricRatio }
    /// A test.
    Test { TCr2, SignFlip, McnemarExact, McnemarMid, Wilcoxon }
    /// An interval.
    Interval { TCr2, T, Tango, Newcombe, AgrestiMin, Fieller, BootstrapPercentile, BootstrapBca }
    /// An alternative.
    Alternative { TwoSided, Greater, Less }
    /// What is to be shown.
    Objective { Superiority, NonInferiority, Equivalence }
    /// How several tests share the level.
    MultiplicityMethod { Holm, Hochberg, Bonferroni }
    /// What must hold before secondary tests count.
    Gate { Primary, None }
    /// How the level is spent over looks.
    Spending { Obf, Pocock, Power }
    /// What happens to unspent level.
    UnderRun { SpendToT, SpendAll }
}

/// How several tests share the level.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multiplicity {
    /// The method.
    pub method: MultiplicityMethod,
    /// What must hold before secondary tests count.
    pub gate: Option<Gate>,
}

/// Looks at the data before its end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// At which shares of the drawn tasks.
    pub fractions: Vec<f64>,
    /// How the level is spent.
    pub spending: Spending,
    /// What happens to unspent level.
    pub under_run: Option<UnderRun>,
    /// Whether an e-value is kept beside.
    pub evalue: Option<bool>,
}

/// What is described without a test.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Descriptive {
    /// Shares of tasks with a success in k repeats.
    pub pass_at: Option<Vec<u32>>,
    /// Shares of tasks with success in all of k repeats.
    pub pass_hat: Option<Vec<u32>>,
    /// The time to the first success.
    pub time_to_success: Option<BTreeMap<String, f64>>,
    /// What a success may cost.
    pub cost_effectiveness: Option<BTreeMap<String, Vec<f64>>>,
    /// Task fields whose values form subgroups.
    pub subgroups: Option<Vec<String>>,
}
