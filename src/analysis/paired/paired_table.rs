//! Two arms on the same tasks, one binary outcome per task: the 2x2 table, its tests and intervals.

mod intervals;
mod mcnemar;
mod tango;

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::paired::proportion::level_flag;

pub use intervals::RiskDifference;
pub use mcnemar::{DiscordantPairs, McNemar};

/// Says how k repeats of a task become one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// More than half of the slots succeed.
    Majority,
    /// At least one slot succeeds.
    Any,
    /// Every slot succeeds.
    All,
}

impl Reduction {
    /// Says whether a task with these successes among its `repeats` slots succeeds.
    pub fn holds(self, successes: u64, repeats: u64) -> bool {
        match self {
            Self::Majority => successes > repeats / 2,
            Self::Any => successes > 0,
            Self::All => successes >= repeats,
        }
    }
}

/// The counts of a paired 2x2 table: tasks by who succeeds, at most 2^63 - 1 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PairedCounts {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl PairedCounts {
    /// Returns on how many tasks both succeed, only the reference, only the treatment, and neither.
    pub fn cells(self) -> [u64; 4] {
        [self.a, self.b, self.c, self.d]
    }

    /// Takes the tasks on which both succeed, only the reference, only the treatment, and neither.
    /// `None` when they are more than 2^63 - 1 together.
    pub fn new(both: u64, reference_only: u64, treatment_only: u64, neither: u64) -> Option<Self> {
        let total = both
            .checked_add(reference_only)?
            .checked_add(treatment_only)?;
        let total = total.checked_add(neither)?;
        i64::try_from(total).ok()?;
        Some(Self {
            a: both,
            b: reference_only,
            c: treatment_only,
            d: neither,
        })
    }

    /// Counts tasks by their (reference, treatment) outcomes.
    pub fn from_outcomes(outcomes: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            match outcome {
                (true, true) => counts.a += 1,
                (true, false) => counts.b += 1,
                (false, true) => counts.c += 1,
                (false, false) => counts.d += 1,
            }
        }
        counts
    }

    fn tasks(self) -> u64 {
        self.a + self.b + self.c + self.d
    }

    fn discordant(self) -> u64 {
        self.b + self.c
    }

    fn reference_successes(self) -> u64 {
        self.a + self.b
    }

    fn treatment_successes(self) -> u64 {
        self.a + self.c
    }
}

/// McNemar's tests and the intervals of the difference of two paired proportions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairedTable {
    /// The counts `a` (both), `b` (reference only), `c` (treatment only), `d` (neither).
    #[serde(flatten)]
    pub counts: PairedCounts,
    /// The tasks.
    pub n: u64,
    /// The tasks on which the arms differ.
    pub discordant: u64,
    /// The tests that the two success rates are equal.
    #[serde(flatten)]
    pub mcnemar: McNemar,
    /// What only discordant tasks define; absent without any.
    #[serde(flatten)]
    pub discordant_pairs: Option<DiscordantPairs>,
    /// The rates, their difference and its intervals.
    #[serde(flatten)]
    pub difference: RiskDifference,
    /// Why everything, every interval or a p is undefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

impl PairedTable {
    /// Analyses a table, with intervals at level 1 - `alpha`.
    ///
    /// Without a task everything is undefined (`no_task`). The intervals are undefined when
    /// `alpha` is not strictly between 0 and 1 (`level_out_of_range`), a p when it is below the
    /// range of a double (`below_range`).
    pub fn new(counts: PairedCounts, alpha: f64) -> Self {
        let defined = counts.tasks() > 0;
        let of_tasks = defined.then(|| (McNemar::of(counts), RiskDifference::of(counts, alpha)));
        let (mcnemar, difference) = of_tasks.unwrap_or_default();
        let discordant_pairs = DiscordantPairs::of(counts, alpha);
        let flag = if defined {
            level_flag(alpha).or(below_range(&mcnemar, discordant_pairs.as_ref()))
        } else {
            Some(Flag::NoTask)
        };
        Self {
            counts,
            n: counts.tasks(),
            discordant: counts.discordant(),
            mcnemar,
            discordant_pairs,
            difference,
            flag,
        }
    }
}

/// Returns why a p is undefined; the one-sided exact ones are undefined first.
fn below_range(mcnemar: &McNemar, pairs: Option<&DiscordantPairs>) -> Option<Flag> {
    let one_sided = pairs.map(|pairs| [pairs.p_exact_greater, pairs.p_exact_less]);
    let all_exact = one_sided.is_none_or(|both| !both.contains(&None));
    let all_normal = mcnemar.p_asymptotic.is_some() && mcnemar.p_cc.is_some();
    (!(all_exact && all_normal)).then_some(Flag::BelowRange)
}
