//! How the answer is computed from the outcomes.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{
    Alternative, Effect, Estimand, Gate, Inference, Interval, MultiplicityMethod, Objective,
    Spending, Test, UnderRun,
};
use crate::units::{Micros, Money, Ratio, Share};

/// How the answer is computed from the outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// The arm that the others are compared with.
    pub reference: String,
    /// The arms that are compared with it: one comparison each.
    pub treatments: Vec<String>,
    /// The level of the tests.
    pub alpha: Share,
    /// Which tasks are related.
    pub cluster: Cluster,
    /// What the tasks stand for.
    pub inference: Inference,
    /// How many resamples a resampling method takes.
    pub resamples: NonZeroU32,
    /// Above which share of missing slots the verdict is `incomplete`.
    pub missing_share_max: Share,
    /// Whether outcomes by arm are sealed until the study has ended.
    pub seal: bool,
    /// The one comparison that decides.
    pub primary: Comparison,
    /// The further comparisons.
    pub secondary: Vec<Secondary>,
    /// How several tests share the level.
    pub multiplicity: Option<Multiplicity>,
    /// Looks at the data before its end.
    pub looks: Option<Looks>,
    /// What is described without a test.
    pub descriptive: Option<Descriptive>,
}

/// Which tasks are related.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cluster {
    /// None are.
    None,
    /// Those with the same value of a task field.
    Field(String),
}

impl Cluster {
    /// Returns the task field whose equal values make tasks a cluster.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Field(field) => Some(field),
        }
    }
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Which outcome is compared.
    pub outcome: String,
    /// Over which slots it goes.
    pub estimand: Estimand,
    /// How the size of the effect is expressed.
    pub effect: Effect,
    /// Which test is made.
    pub test: Test,
    /// Which confidence interval is printed.
    pub interval: Interval,
    /// In which direction the test looks.
    pub alternative: Alternative,
    /// What is to be shown.
    pub objective: Objective,
    /// The largest difference that does not matter, in the outcome's unit.
    pub margin: Option<Ratio>,
}

/// A further comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secondary {
    /// Names the comparison.
    pub id: String,
    /// What is compared; what the file leaves out is written out as the primary has it.
    pub comparison: Comparison,
}

/// How several tests share the level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiplicity {
    /// How the level is shared over the family of tests.
    pub method: MultiplicityMethod,
    /// What must hold before secondary tests count.
    pub gate: Gate,
}

/// Looks at the data before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// At which shares of the drawn tasks a look is taken, in rising order.
    pub fractions: Vec<Share>,
    /// How the level is spent over the looks.
    pub spending: Spending,
    /// What happens to unspent level when the study ends early.
    pub under_run: UnderRun,
    /// Whether an e-value is kept beside the looks.
    pub evalue: bool,
}

impl Looks {
    /// Returns at how many tasks each look before the end is taken, of so many that are drawn.
    pub fn before_end(&self, drawn: u64) -> impl Iterator<Item = u64> {
        let sizes = self
            .fractions
            .iter()
            .map(move |share| share.floor_of(drawn));
        sizes.take_while(move |tasks| *tasks < drawn)
    }
}

/// What is described without a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptive {
    /// For which k the share of tasks with a success in at least one of k repeats is described.
    pub pass_at: Vec<u32>,
    /// For which k the share of tasks with a success in all of k repeats is described.
    pub pass_hat: Vec<u32>,
    /// The time to the first success, up to a limit.
    pub time_to_success: Option<TimeToSuccess>,
    /// What a success costs, and what it may cost.
    pub cost_effectiveness: Option<CostEffectiveness>,
    /// Task fields whose values form subgroups.
    pub subgroups: Vec<String>,
}

/// The time to the first success, up to a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeToSuccess {
    /// The limit, with which counts what is not solved by then.
    pub limit: Micros,
}

/// What a success costs, and what it may cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostEffectiveness {
    /// The prices of a success at which the net benefit is computed.
    pub lambda: Vec<Money>,
}
