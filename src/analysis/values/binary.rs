//! From slots to one value per task and arm.
//!
//! Runs enter as slots of a task and leave as one share per task and arm, so that repeats can never
//! be counted as independent units. An [`Estimand`] says what a slot without a verdict is worth.
use crate::analysis::numerics::lattice::Lattice;

/// Says what a slot without a verdict is worth (ICH E9(R1); bounds: Horowitz and Manski 2000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimand {
    /// A missing slot counts 0; every drawn task.
    AsDrawn,
    /// Only slots with a verdict count; a task needs one in each arm.
    Available,
    /// Only tasks with a verdict in every slot of both arms.
    CompleteBlocks,
    /// A missing slot counts 0 in the treatment and 1 in the reference.
    BoundLow,
    /// A missing slot counts 1 in the treatment and 0 in the reference.
    BoundHigh,
}

/// What is known of the slots of one task in one arm. Slots neither counted here nor run are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCount {
    successes: u64,
    judged: u64,
}

impl FromIterator<Option<bool>> for SlotCount {
    fn from_iter<I: IntoIterator<Item = Option<bool>>>(slots: I) -> Self {
        slots
            .into_iter()
            .flatten()
            .fold(Self::default(), |count, success| Self {
                successes: count.successes + u64::from(success),
                judged: count.judged + 1,
            })
    }
}

/// A share of slots, `numerator / denominator` with a positive denominator; not reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    numerator: u32,
    denominator: u32,
}

impl Share {
    fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let denominator = u32::try_from(denominator).ok().filter(|&d| d > 0)?;
        Some(Self {
            numerator: u32::try_from(numerator).ok()?,
            denominator,
        })
    }

    /// Returns the nearest double.
    pub fn value(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }
}

/// The slots of one task in the two arms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinaryTask {
    /// The slots of the reference.
    pub reference: SlotCount,
    /// The slots of the treatment.
    pub treatment: SlotCount,
}

/// A binary outcome of every drawn task, in draw order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryOutcome {
    repeats: u64,
    tasks: Vec<BinaryTask>,
    clusters: Option<Vec<usize>>,
}

/// Says that slots do not fit the design: more than k in a task, k = 0, or a cluster list of another length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotMismatch;

impl BinaryOutcome {
    /// Takes tasks in draw order with at most `repeats` slots per task and arm, and their cluster ids.
    pub fn new(
        repeats: u32,
        tasks: Vec<BinaryTask>,
        clusters: Option<Vec<usize>>,
    ) -> Result<Self, SlotMismatch> {
        let repeats = u64::from(repeats);
        let fits = |task: &BinaryTask| {
            task.reference.judged <= repeats && task.treatment.judged <= repeats
        };
        let clustered = clusters.as_ref().is_none_or(|ids| ids.len() == tasks.len());
        if repeats == 0 || !clustered || !tasks.iter().all(fits) {
            return Err(SlotMismatch);
        }
        Ok(Self {
            repeats,
            tasks,
            clusters,
        })
    }

    /// Returns k, the slots per task and arm.
    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Returns the number of drawn tasks.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the successes of each drawn task in the reference, out of k (as drawn).
    pub fn reference_successes(&self) -> Vec<u64> {
        self.tasks
            .iter()
            .map(|task| task.reference.successes)
            .collect()
    }

    /// Returns the successes of each drawn task in the treatment, out of k (as drawn).
    pub fn treatment_successes(&self) -> Vec<u64> {
        self.tasks
            .iter()
            .map(|task| task.treatment.successes)
            .collect()
    }

    /// Returns one share per task and arm under an estimand; tasks it leaves out are absent.
    pub fn paired(&self, estimand: Estimand) -> PairedShares {
        let kept: Vec<(usize, Share, Share)> = (0..)
            .zip(&self.tasks)
            .filter_map(|(index, task)| {
                let (reference, treatment) = self.shares(task, estimand)?;
                Some((index, reference, treatment))
            })
            .collect();
        let tasks: Vec<usize> = kept.iter().map(|&(index, ..)| index).collect();
        PairedShares {
            reference: kept.iter().map(|&(_, reference, _)| reference).collect(),
            treatment: kept.iter().map(|&(.., treatment)| treatment).collect(),
            clusters: clusters_of(self.clusters.as_deref(), &tasks),
        }
    }

    fn shares(&self, task: &BinaryTask, estimand: Estimand) -> Option<(Share, Share)> {
        let BinaryTask {
            reference: a,
            treatment: b,
        } = *task;
        let k = self.repeats;
        let failed = |slots: SlotCount| Share::new(slots.successes, k);
        let solved = |slots: SlotCount| Share::new(slots.successes + (k - slots.judged), k);
        let judged = |slots: SlotCount| Share::new(slots.successes, slots.judged);
        match estimand {
            Estimand::AsDrawn => failed(a).zip(failed(b)),
            Estimand::Available => judged(a).zip(judged(b)),
            Estimand::CompleteBlocks if a.judged < k || b.judged < k => None,
            Estimand::CompleteBlocks => failed(a).zip(failed(b)),
            Estimand::BoundLow => solved(a).zip(failed(b)),
            Estimand::BoundHigh => failed(a).zip(solved(b)),
        }
    }
}

/// One share per task and arm, in draw order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedShares {
    reference: Vec<Share>,
    treatment: Vec<Share>,
    clusters: Option<Vec<usize>>,
}

impl PairedShares {
    /// Returns the number of tasks.
    pub fn task_count(&self) -> usize {
        self.reference.len()
    }

    /// Returns dense cluster ids, numbered as they first appear; absent when the tasks have none.
    pub fn clusters(&self) -> Option<&[usize]> {
        self.clusters.as_deref()
    }

    /// Returns the value of each task in the reference, exactly; undefined beyond 64 bits.
    pub fn reference(&self) -> Option<Lattice> {
        lattice(&self.reference)
    }

    /// Returns the value of each task in the treatment, exactly; undefined beyond 64 bits.
    pub fn treatment(&self) -> Option<Lattice> {
        lattice(&self.treatment)
    }

    /// Returns the value of each task in the reference, each the nearest double.
    pub fn reference_values(&self) -> Vec<f64> {
        self.reference.iter().map(|share| share.value()).collect()
    }

    /// Returns the value of each task in the treatment, each the nearest double.
    pub fn treatment_values(&self) -> Vec<f64> {
        self.treatment.iter().map(|share| share.value()).collect()
    }

    /// Returns treatment minus reference per task, exactly; undefined beyond 64 bits.
    pub fn differences(&self) -> Option<Lattice> {
        Lattice::from_fractions(&self.fractions())
    }

    /// Returns treatment minus reference per task, each the nearest double.
    pub fn difference_values(&self) -> Vec<f64> {
        self.fractions()
            .iter()
            .map(|&(n, d)| n as f64 / d as f64)
            .collect()
    }

    /// Returns the numbers of tasks with a positive, a negative and no difference.
    pub fn signs(&self) -> (usize, usize, usize) {
        self.fractions()
            .iter()
            .fold((0, 0, 0), |(up, down, level), &(n, _)| {
                (
                    up + usize::from(n > 0),
                    down + usize::from(n < 0),
                    level + usize::from(n == 0),
                )
            })
    }

    /// Returns the differences over the product of the two denominators, which 64 bits hold.
    fn fractions(&self) -> Vec<(i64, u64)> {
        self.reference
            .iter()
            .zip(&self.treatment)
            .map(|(a, b)| {
                let (an, ad) = (i64::from(a.numerator), i64::from(a.denominator));
                let (bn, bd) = (i64::from(b.numerator), i64::from(b.denominator));
                if ad == bd {
                    return (bn - an, u64::from(a.denominator));
                }
                let denominator = u64::from(a.denominator) * u64::from(b.denominator);
                (
                    bn.saturating_mul(ad).saturating_sub(an.saturating_mul(bd)),
                    denominator,
                )
            })
            .collect()
    }
}

fn lattice(shares: &[Share]) -> Option<Lattice> {
    let fraction = |share: &Share| (i64::from(share.numerator), u64::from(share.denominator));
    Lattice::from_fractions(&shares.iter().map(fraction).collect::<Vec<_>>())
}

/// Returns the clusters of the kept tasks, renumbered densely as they first appear.
pub(in crate::analysis) fn clusters_of(
    clusters: Option<&[usize]>,
    kept: &[usize],
) -> Option<Vec<usize>> {
    let clusters = clusters?;
    let mut dense = std::collections::HashMap::new();
    kept.iter()
        .map(|&task| {
            let next = dense.len();
            clusters
                .get(task)
                .map(|&id| *dense.entry(id).or_insert(next))
        })
        .collect()
}
