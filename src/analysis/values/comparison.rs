//! The slots of two arms over the drawn tasks, and the outcomes read from them.
use crate::analysis::values::binary::{BinaryOutcome, BinaryTask, SlotCount, SlotMismatch};
use crate::analysis::values::numbers::{NumericOutcome, NumericTask};

/// One run: what was recorded in a slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Whether there is a verdict.
    pub scored: bool,
    /// The recorded stop reason, empty when there is none.
    pub reason: String,
    /// The verdict; absent when unjudged.
    pub resolved: Option<bool>,
    /// Whether the run ended as finished; absent when unknown.
    pub claimed: Option<bool>,
    /// Claimed and not resolved; absent when unjudged or the claim is unknown.
    pub false_claim: Option<bool>,
    /// Recorded numbers, in the order of [`Measure`]; absent where not recorded.
    pub numbers: [Option<f64>; 4],
}

impl Run {
    /// Returns a recorded number.
    pub fn number(&self, measure: Measure) -> Option<f64> {
        self.numbers.get(measure as usize).copied().flatten()
    }
}

/// A numeric outcome a run may record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Cost in US dollars.
    Cost,
    /// Duration in seconds.
    Duration,
    /// Tokens read.
    InputTokens,
    /// Tokens written.
    OutputTokens,
}

impl Measure {
    /// All measures, in the order of [`Run::numbers`].
    pub const ALL: [Self; 4] = [
        Self::Cost,
        Self::Duration,
        Self::InputTokens,
        Self::OutputTokens,
    ];

    /// Returns the name of its column.
    pub fn column(self) -> &'static str {
        match self {
            Self::Cost => "cost_usd",
            Self::Duration => "duration_s",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
        }
    }
}

/// The runs of one arm: one list per drawn task, in order of the repeats. An absent run is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmRuns {
    /// The name of the arm.
    pub name: String,
    /// The runs of each drawn task, in draw order.
    pub tasks: Vec<Vec<Run>>,
}

impl ArmRuns {
    /// Returns all runs. For counting only: no estimator takes runs.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.tasks.iter().flatten()
    }
}

/// The runs of a reference and a treatment over the same drawn tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Slots per task and arm.
    pub repeats: u32,
    /// Dense cluster ids of the drawn tasks; absent when there are no clusters.
    pub clusters: Option<Vec<usize>>,
    /// The reference arm.
    pub reference: ArmRuns,
    /// The treatment arm.
    pub treatment: ArmRuns,
}

impl Comparison {
    /// Returns the verdicts.
    pub fn resolved(&self) -> Result<BinaryOutcome, SlotMismatch> {
        self.binary(|run| run.resolved)
    }

    /// Returns the false claims. A run whose claim is unknown is missing, as an unjudged one is.
    pub fn false_claims(&self) -> Result<BinaryOutcome, SlotMismatch> {
        self.binary(|run| run.false_claim)
    }

    /// Returns the recorded numbers of one measure, of judged and unjudged runs.
    pub fn numbers(&self, measure: Measure) -> Result<NumericOutcome, SlotMismatch> {
        let read = |runs: &Vec<Run>| runs.iter().filter_map(|run| run.number(measure)).collect();
        let tasks = self.task_pairs(|a, b| NumericTask {
            reference: read(a),
            treatment: read(b),
        });
        NumericOutcome::new(tasks, self.clusters.clone())
    }

    fn binary(&self, read: impl Fn(&Run) -> Option<bool>) -> Result<BinaryOutcome, SlotMismatch> {
        let count = |runs: &Vec<Run>| runs.iter().map(&read).collect::<SlotCount>();
        let tasks = self.task_pairs(|a, b| BinaryTask {
            reference: count(a),
            treatment: count(b),
        });
        BinaryOutcome::new(self.repeats, tasks, self.clusters.clone())
    }

    fn task_pairs<T>(&self, make: impl Fn(&Vec<Run>, &Vec<Run>) -> T) -> Vec<T> {
        self.reference
            .tasks
            .iter()
            .zip(&self.treatment.tasks)
            .map(|(a, b)| make(a, b))
            .collect()
    }
}
