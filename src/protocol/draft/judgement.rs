//! Who judges, what is measured, and how the answer is computed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::literal::no_cel_word;
use super::{
    CommandText, DurationText, ExpressionText, IdText, MissingText, NameText, PathText, ShareText,
};

/// Who says what a run achieved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Files laid into the workspace once the arm's last process is dead: place in the workspace =
    /// file or folder beside the protocol, as a template. Their digests are registered, and checked
    /// right before use.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "hidden/": "{task.dir}/hidden" }]))]
    pub files: BTreeMap<String, String>,
    /// What is executed on a copy of what the run has left, at its place, with the arm's environment and `PREREG_TASK_DIR`;
    /// the program and its arguments, each of them a template. It exits with 0 and leaves its
    /// report, or the run is unjudged.
    #[schemars(extend("examples" = [["./judge.sh", "{task.id}"]]))]
    pub command: CommandText,
    /// The file in the workspace that the judge writes: one JSON value.
    #[schemars(extend("examples" = ["report.json"]))]
    pub report: PathText,
    /// The JSON Schema of the report, a file beside the protocol; its content is registered.
    #[schemars(extend("examples" = ["report.schema.json"]))]
    pub schema: PathText,
    /// How long the judge may take.
    #[schemars(extend("examples" = ["20m"]))]
    pub timeout: DurationText,
}

/// What is measured of each run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [{
    "if": { "properties": { "kind": { "enum": ["binary"] } } },
    "then": { "required": ["missing"] },
    "else": { "properties": { "missing": { "enum": ["available"] } } },
}]))]
pub struct Outcome {
    /// Names the outcome, also in expressions: `outcomes.<id>`.
    #[schemars(extend("allOf" = no_cel_word()))]
    pub id: NameText,
    /// The type of the outcome. `binary`: true or false; `number`: any number; `money`: a number in
    /// USD; `duration`: a number of milliseconds.
    pub kind: OutcomeKind,
    /// How the outcome is computed: true or false for a binary outcome, and a number for every
    /// other. It reads `report`, `claim`, `observed`, `run`, `task` and the outcomes above.
    #[schemars(extend("examples" = ["report.tests_passed == task.tests_count", "run.wall_ms"]))]
    pub value: ExpressionText,
    /// Which direction is better.
    pub better: Better,
    /// What a missing value counts as; needed for a binary outcome. `0` or `1`: it counts as that;
    /// `"available"`: only available values count. For other kinds `"available"` is the only way,
    /// and need not be written.
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
    /// When the judge could not judge: if it is true, the run is unjudged, besides the built-in
    /// causes.
    #[schemars(extend("examples" = ["report.infra_error"]))]
    pub unjudged: Option<ExpressionText>,
    /// What becomes of a run that meets its limit. `score`: it is judged like any other;
    /// `unjudged`: it has no outcome, which is a weakness, `timeout-unscored`.
    #[schemars(extend("default" = "score"))]
    pub on_timeout: Option<ScoreWord>,
    /// What becomes of a run that an error stopped. `score`: it is judged like any other;
    /// `unjudged`: it has no outcome.
    #[schemars(extend("default" = "score"))]
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
    #[schemars(extend("examples" = ["baseline"]))]
    pub reference: IdText,
    /// The arms that are compared with it: one comparison each.
    #[schemars(length(min = 1, max = 63))]
    #[schemars(extend("examples" = [["treatment"]]))]
    pub treatments: Vec<IdText>,
    /// The level of the tests: from 0.000001 to 0.5.
    #[schemars(range(min = 0.000_001, max = 0.5))]
    #[schemars(extend("default" = 0.05, "examples" = [0.05]))]
    pub alpha: Option<f64>,
    /// A task field whose values group tasks that resemble one another, or `none`.
    #[schemars(extend("default" = "none", "examples" = ["repo", "none"]))]
    pub cluster: Option<String>,
    /// What the tasks stand for. `tasks_sampled`: for more tasks like them; `tasks_fixed`: for
    /// themselves alone, and the answer is descriptive.
    #[schemars(extend("default" = "tasks_sampled"))]
    pub inference: Option<Inference>,
    /// How many resamples a resampling method takes, from 99 to 1000000.
    #[schemars(range(min = 99, max = 1_000_000))]
    #[schemars(extend("default" = 9999, "examples" = [9999]))]
    pub resamples: Option<u32>,
    /// Above this share of missing slots the verdict is `incomplete`, whatever else was found.
    #[schemars(extend("default" = 0.1, "examples" = [0.1, "1/10"]))]
    pub missing_share_max: Option<ShareText>,
    /// Whether outcomes by arm stay sealed until the study has ended. Unsealed is a weakness,
    /// `outcomes-unsealed`.
    #[schemars(extend("default" = true))]
    pub seal: Option<bool>,
    /// The one comparison that decides.
    pub primary: Comparison,
    /// Further comparisons; a key that one leaves out is the primary's.
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
    /// Which outcome is compared.
    #[schemars(extend("examples" = ["resolved"]))]
    pub outcome: NameText,
    /// Over which slots the comparison goes. `as_drawn`: every drawn task, a missing value counting
    /// as `missing` says; `available`: slots that have a value; `complete_blocks`: tasks of which
    /// every slot of the compared arms has one.
    pub estimand: Estimand,
    /// How the size of the effect is expressed. `paired_diff`: the mean difference within tasks;
    /// `ratio_of_means`: the treatment's mean as a multiple of the reference's; `geometric_ratio`:
    /// the same on a logarithmic scale.
    #[schemars(extend("default" = "paired_diff"))]
    pub effect: Option<Effect>,
    /// Which test decides. `t_cr2`: a t test that allows for clusters; `sign_flip`: an exact test
    /// over units; `mcnemar_exact` and `mcnemar_mid`: for one repeat and a binary outcome;
    /// `wilcoxon`: by ranks.
    pub test: Test,
    /// Which confidence interval is printed with the effect. `t_cr2` and `t`: by a t distribution,
    /// with and without allowance for clusters; `tango`, `newcombe` and `agresti_min`: for paired
    /// shares; `fieller`: for a ratio; `bootstrap_percentile` and `bootstrap_bca`: by resampling.
    /// Without it: without clusters `tango` for the difference of a binary outcome with one repeat
    /// and `fieller` for a ratio of means, else `t_cr2`.
    pub interval: Option<Interval>,
    /// In which direction a test of superiority looks: `two_sided`, or for one side `greater` or
    /// `less`. The other objectives say it themselves.
    #[schemars(extend("default" = "two_sided"))]
    pub alternative: Option<Alternative>,
    /// What is to be shown. `superiority`: that there is a difference; `non_inferiority`: that the
    /// treatment is not worse by the margin; `equivalence`: that the difference lies within the
    /// margin.
    pub objective: Objective,
    /// The largest difference that does not matter, in the outcome's unit: more than 0. Needed for
    /// `non_inferiority` and `equivalence`, and a defect for `superiority`.
    #[schemars(extend("allOf" = [{ "exclusiveMinimum": 0 }], "examples" = [0.05]))]
    pub margin: Option<f64>,
}

/// A further comparison; keys that are not given are the primary's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Secondary {
    /// Names the comparison.
    #[schemars(extend("examples" = ["false_claims"]))]
    pub id: NameText,
    /// Which outcome is compared.
    #[schemars(extend("examples" = ["false_claim"]))]
    pub outcome: NameText,
    /// Over which slots the comparison goes; without it, as in the primary.
    pub estimand: Option<Estimand>,
    /// How the size of the effect is expressed; without it, as in the primary.
    pub effect: Option<Effect>,
    /// Which test is made; without it, as in the primary.
    pub test: Option<Test>,
    /// Which confidence interval is printed; without it, as in the primary, or where that names
    /// none, what is the default of an interval there.
    pub interval: Option<Interval>,
    /// In which direction a test of superiority looks; without it, as in the primary.
    pub alternative: Option<Alternative>,
    /// What is to be shown; without it, as in the primary.
    pub objective: Option<Objective>,
    /// The largest difference that does not matter, in the outcome's unit: more than 0. Without it
    /// the primary's, if the objective is the primary's too.
    #[schemars(extend("allOf" = [{ "exclusiveMinimum": 0 }], "examples" = [0.05]))]
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
    /// How the level is shared over the family of tests: the secondaries, or with several
    /// treatments their primaries.
    pub method: MultiplicityMethod,
    /// What must hold before secondary tests count: that the `primary` one rejects, or `none`.
    #[schemars(extend("default" = "primary"))]
    pub gate: Option<Gate>,
}

/// Looks at the data before its end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// At which shares of the drawn tasks a look is taken, in rising order.
    #[schemars(length(min = 1), extend(
        "allOf" = [{ "items": { "exclusiveMinimum": 0, "maximum": 1 } }],
        "examples" = [[0.5, 1.0]]
    ))]
    pub fractions: Vec<f64>,
    /// How the level is spent over the looks. `obf`: little at first (O'Brien and Fleming);
    /// `pocock`: evenly; `power`: as the square of the share of tasks.
    pub spending: Spending,
    /// What happens to unspent level when the study ends early. `spend_to_t`: it stays unspent;
    /// `spend_all`: the last look gets it.
    #[schemars(extend("default" = "spend_to_t"))]
    pub under_run: Option<UnderRun>,
    /// Whether an e-value is kept beside the looks.
    #[schemars(extend("default" = false))]
    pub evalue: Option<bool>,
}

/// What is described without a test.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Descriptive {
    /// For each k, the share of tasks with a success in at least one of k repeats.
    #[schemars(extend("examples" = [[1, 3]]))]
    pub pass_at: Option<Vec<u32>>,
    /// For each k, the share of tasks with a success in all of k repeats.
    #[schemars(extend("examples" = [[3]]))]
    pub pass_hat: Option<Vec<u32>>,
    /// The time to the first success, up to a limit.
    pub time_to_success: Option<TimeToSuccess>,
    /// What a success costs, and what it may cost.
    pub cost_effectiveness: Option<CostEffectiveness>,
    /// Task fields whose values form subgroups.
    #[schemars(extend("examples" = [["repo"]]))]
    pub subgroups: Option<Vec<String>>,
}

/// The time to the first success, up to a limit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeToSuccess {
    /// The limit in seconds, to the millisecond: more than 0 and at most thirty days. What is not
    /// solved by then counts with the limit.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 2_592_000, "examples" = [3600]))]
    pub limit_s: f64,
}

/// What a success costs, and what it may cost.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostEffectiveness {
    /// The prices of a success, in USD to the micro-dollar, at which the net benefit is computed.
    #[schemars(inner(range(min = 0, max = 999_999_999)), extend("examples" = [[1, 10, 50]]))]
    pub lambda: Vec<f64>,
}
