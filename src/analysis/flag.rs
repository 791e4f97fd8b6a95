//! Why a number is not defined.

use serde::Serialize;

/// Says why a number beside it is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Fewer than two tasks: a variance does not exist.
    #[serde(rename = "n_lt_2")]
    FewerThanTwo,
    /// All tasks lie in one cluster.
    OneCluster,
    /// The standard error is 0, so neither t, p nor an interval is defined.
    ZeroVariance,
    /// The resampling distribution has one value.
    Degenerate,
    /// The interval of a ratio has no upper end, because the reference mean may be 0.
    Unbounded,
    /// There is no task.
    NoTask,
    /// A value lies where the method has no meaning, or is no number.
    InvalidValue,
    /// The schedule of looks, its alpha or its spending function is none.
    InvalidDesign,
    /// Two looks are nearer than the integration resolves.
    LooksTooClose,
    /// No effect of a sensible size gives the schedule the power asked for.
    UnreachablePower,
    /// The intervals of a confidence sequence share no point.
    EmptyIntersection,
    /// The level asked for is not between 0 and 1.
    LevelOutOfRange,
    /// The values share no denominator coarse enough for their exact law to be summed.
    LatticeTooFine,
    /// Lists that describe the same tasks differ in length.
    LengthMismatch,
    /// The result is beyond the range of a double.
    OutOfRange,
    /// The probability is positive but below the range of a double.
    BelowRange,
    /// More differences are ranked than the exact law is computed for.
    TooManyRanks,
    /// The mean of the reference is 0.
    ZeroDenominator,
    /// The ratio of the means is not positive, so it has no logarithm.
    RatioNotPositive,
    /// The number of resamples is 0 or beyond what is offered.
    ResamplesOutOfRange,
    /// More than 1% of the resamples leave the statistic undefined.
    UndefinedResamples,
}
