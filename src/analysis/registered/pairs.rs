//! One value per task and arm of a registered outcome, under an estimand.
//!
//! What is missing is filled as the outcome registered; a numeric outcome is never filled.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::answer::Signs;
use super::observed::{Observed, Slot};
use crate::analysis::values::binary::{BinaryOutcome, BinaryTask, Estimand, SlotCount};
use crate::analysis::values::numbers::{NumericOutcome, NumericTask};
use crate::analysis::{Flag, Lattice};
use crate::protocol::model::{self, Outcome, OutcomeKind};

/// The slots of a study by task and arm.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    arms: usize,
    of: Vec<Vec<&'a Slot>>,
    clusters: Option<Vec<usize>>,
    repeats: u32,
}

impl<'a> Cells<'a> {
    /// Sorts the slots of a study with so many arms; `clustered` says whether clusters were registered.
    pub(super) fn new(observed: &'a Observed, arms: usize, clustered: bool) -> Self {
        let mut of = vec![Vec::new(); observed.tasks.len() * arms];
        for slot in &observed.slots {
            if let Some(cell) = of.get_mut(slot.task * arms + slot.arm) {
                cell.push(slot);
            }
        }
        Self {
            arms,
            repeats: of.iter().map(Vec::len).max().unwrap_or(0) as u32,
            of,
            clusters: clustered.then(|| clusters(observed)),
        }
    }

    /// Returns the number of drawn tasks.
    pub(super) fn tasks(&self) -> usize {
        self.of.len() / self.arms.max(1)
    }

    /// Returns the number of repeats of each task and arm.
    pub(super) fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Returns the cluster of each drawn task; none where there are no clusters.
    pub(super) fn clusters(&self) -> Option<&[usize]> {
        self.clusters.as_deref()
    }

    /// Returns the slots of a task in an arm, in the order of the plan.
    pub(super) fn slots(&self, task: usize, arm: usize) -> &[&'a Slot] {
        self.of
            .get(task * self.arms + arm)
            .map_or(&[], Vec::as_slice)
    }
}

/// Numbers the clusters as they first appear; a task without one stands alone.
fn clusters(observed: &Observed) -> Vec<usize> {
    let (mut known, mut count) = (BTreeMap::new(), 0);
    let mut fresh = || {
        count += 1;
        count - 1
    };
    let tasks = observed.tasks.iter();
    tasks
        .map(|task| match &task.cluster {
            None => fresh(),
            Some(name) => *known.entry(name.as_str()).or_insert_with(&mut fresh),
        })
        .collect()
}

/// The two arms of a comparison, by their places in the listed order, and the outcome that is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contrast<'a> {
    pub(super) reference: usize,
    pub(super) treatment: usize,
    /// The outcome's place in the order of declaration.
    pub(super) place: usize,
    pub(super) outcome: &'a Outcome,
}

/// One value per task and arm.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    pub(super) reference: Vec<f64>,
    pub(super) treatment: Vec<f64>,
    /// Treatment less reference.
    pub(super) differences: Vec<f64>,
    /// The same exactly, where the outcome is binary.
    pub(super) lattice: Option<Lattice>,
    /// The cluster of each task; none where there are no clusters.
    pub(super) clusters: Option<Vec<usize>>,
    /// Why there are no values.
    pub(super) fault: Option<Flag>,
}

impl Pairs {
    /// Returns the values of the first so many drawn tasks; none where the slots do not fit the plan.
    pub(super) fn of(
        cells: &Cells<'_>,
        compared: Contrast<'_>,
        estimand: Estimand,
        tasks: usize,
    ) -> Option<Self> {
        let tasks = tasks.min(cells.tasks());
        let clusters = cells.clusters().and_then(|ids| ids.get(..tasks));
        let clusters = clusters.map(<[usize]>::to_vec);
        match compared.outcome.kind {
            OutcomeKind::Binary => of_binary(cells, compared, estimand, tasks, clusters),
            _ => of_numbers(cells, compared, estimand, tasks, clusters),
        }
    }

    /// Returns no values, since those that were recorded cannot be computed with: a number is beyond 1e300.
    pub(super) fn invalid() -> Self {
        Self {
            fault: Some(Flag::InvalidValue),
            ..Self::default()
        }
    }

    /// Returns the number of tasks.
    pub(super) fn tasks(&self) -> usize {
        self.differences.len()
    }

    /// Returns on how many tasks the treatment has more, less, and the same.
    pub(super) fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        for difference in &self.differences {
            match difference.partial_cmp(&0.0) {
                Some(Ordering::Greater) => signs.up += 1,
                Some(Ordering::Less) => signs.down += 1,
                _ => signs.same += 1,
            }
        }
        signs
    }

    /// Returns the logarithms of the values; none where a value is not above 0.
    pub(super) fn logarithms(&self) -> Option<Self> {
        let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
            let each = values.iter();
            each.map(|value| (*value > 0.0).then(|| libm::log(*value)))
                .collect()
        };
        let reference = logarithms(&self.reference)?;
        let treatment = logarithms(&self.treatment)?;
        let both = reference.iter().zip(&treatment);
        Some(Self {
            differences: both.map(|(a, b)| b - a).collect(),
            reference,
            treatment,
            lattice: None,
            clusters: self.clusters.clone(),
            fault: self.fault,
        })
    }
}

/// Returns the estimand that a registered word means for an outcome.
///
/// Where only available values count, nothing is drawn but what is available.
pub(super) fn estimand(word: model::Estimand, outcome: &Outcome) -> Estimand {
    match word {
        model::Estimand::AsDrawn if outcome.missing.is_none() => Estimand::Available,
        model::Estimand::AsDrawn => Estimand::AsDrawn,
        model::Estimand::Available => Estimand::Available,
        model::Estimand::CompleteBlocks => Estimand::CompleteBlocks,
    }
}

fn of_binary(
    cells: &Cells<'_>,
    compared: Contrast<'_>,
    estimand: Estimand,
    tasks: usize,
    clusters: Option<Vec<usize>>,
) -> Option<Pairs> {
    let filled = estimand == Estimand::AsDrawn && compared.outcome.missing == Some(1);
    let count = |task, arm| -> SlotCount {
        let slots = cells.slots(task, arm).iter();
        let values = slots.map(|slot| slot.value(compared.place).map(|value| value == 1.0));
        values
            .map(|value| value.or(filled.then_some(true)))
            .collect()
    };
    let task = |task| BinaryTask {
        reference: count(task, compared.reference),
        treatment: count(task, compared.treatment),
    };
    let tasks = (0..tasks).map(task).collect();
    let outcome = BinaryOutcome::new(cells.repeats(), tasks, clusters).ok()?;
    let shares = outcome.paired(estimand);
    Some(Pairs {
        reference: shares.reference_values(),
        treatment: shares.treatment_values(),
        differences: shares.difference_values(),
        lattice: shares.differences(),
        clusters: shares.clusters().map(<[usize]>::to_vec),
        fault: None,
    })
}

fn of_numbers(
    cells: &Cells<'_>,
    compared: Contrast<'_>,
    estimand: Estimand,
    tasks: usize,
    clusters: Option<Vec<usize>>,
) -> Option<Pairs> {
    let all = usize::try_from(cells.repeats()).ok()?;
    let numbers = |task, arm| -> Vec<f64> {
        let slots = cells.slots(task, arm).iter();
        slots
            .filter_map(|slot| slot.value(compared.place))
            .collect()
    };
    let task = |task| {
        let pair = NumericTask {
            reference: numbers(task, compared.reference),
            treatment: numbers(task, compared.treatment),
        };
        let whole = pair.reference.len() == all && pair.treatment.len() == all;
        match estimand {
            Estimand::CompleteBlocks if !whole => NumericTask::default(),
            _ => pair,
        }
    };
    let outcome = NumericOutcome::new((0..tasks).map(task).collect(), clusters).ok()?;
    let pairs = outcome.paired();
    Some(Pairs {
        reference: pairs.reference,
        treatment: pairs.treatment,
        differences: pairs.differences,
        lattice: None,
        clusters: pairs.clusters,
        fault: None,
    })
}
