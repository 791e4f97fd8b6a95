//! What is described without a test.

use std::collections::BTreeMap;

use super::answer::{ArmDescribed, OutcomeDescribed, PairDescribed, Stratum};
use super::observed::{Observed, Slot};
use super::pairs::{Cells, Contrast};
use super::{Registered, costs};
use crate::analysis::described::claims::{SlotClaim, claim_table, false_claim_conditional};
use crate::analysis::described::repeats::{Repeats, pass_k};
use crate::analysis::described::time_to_success::{cactus, time_to_success};
use crate::analysis::numerics::quantiles::Quantiles;
use crate::protocol::model::{Analysis, Descriptive, Outcome, OutcomeKind, Protocol};

/// A binary outcome whose true values are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Success {
    /// Its place in the order of declaration.
    place: usize,
    /// What a missing value counts as, where it counts at all.
    missing: Option<u8>,
}

impl Success {
    /// Takes the outcome of a comparison.
    pub(super) fn of(compared: Contrast<'_>) -> Self {
        Self {
            place: compared.place,
            missing: compared.outcome.missing,
        }
    }

    /// Returns how many slots of each task count as successes in an arm.
    pub(super) fn counts(self, cells: &Cells<'_>, arm: usize) -> Vec<u64> {
        let is_one = |slot: &&&Slot| match slot.value(self.place) {
            Some(value) => value == 1.0,
            None => self.missing == Some(1),
        };
        let of_task = |task| cells.slots(task, arm).iter().filter(is_one).count() as u64;
        (0..cells.tasks()).map(of_task).collect()
    }

    /// Returns whether a task counts: where a missing value counts as nothing, it has one in every slot.
    fn is_counted(self, cells: &Cells<'_>, task: usize, arms: [usize; 2]) -> bool {
        let is_known = |slot: &&Slot| slot.value(self.place).is_some();
        let all = |arm| cells.slots(task, arm).iter().all(is_known);
        self.missing.is_some() || arms.into_iter().all(all)
    }
}

/// Describes every arm.
pub(super) fn arms(
    protocol: &Protocol,
    analysis: &Analysis,
    observed: &Observed,
) -> Vec<ArmDescribed> {
    let outcomes = &protocol.outcomes;
    let primary = outcomes
        .iter()
        .position(|outcome| outcome.id == analysis.primary.outcome);
    let fields = analysis.descriptive.as_ref();
    let fields = fields.map_or(&[][..], |described| &described.subgroups);
    let of_arm = |arm: usize| {
        let slots: Vec<&Slot> = observed
            .slots
            .iter()
            .filter(|slot| slot.arm == arm)
            .collect();
        let described = outcomes.iter().enumerate();
        let described = described.map(|(place, outcome)| of_outcome(outcome, place, &slots));
        ArmDescribed {
            arm: protocol.arms.get(arm).map_or("", |arm| &arm.id).to_owned(),
            outcomes: described.collect(),
            by_turn: primary.map_or_else(Vec::new, |primary| by_turn(&slots, primary)),
            subgroups: primary.map_or_else(Vec::new, |primary| {
                let each = fields.iter().enumerate();
                each.flat_map(|(place, field)| by_field(observed, &slots, primary, place, field))
                    .collect()
            }),
        }
    };
    (0..protocol.arms.len()).map(of_arm).collect()
}

fn of_outcome(outcome: &Outcome, place: usize, slots: &[&Slot]) -> OutcomeDescribed {
    let known: Vec<f64> = slots.iter().filter_map(|slot| slot.value(place)).collect();
    let is_binary = outcome.kind == OutcomeKind::Binary;
    OutcomeDescribed {
        outcome: outcome.id.clone(),
        kind: outcome.kind,
        known: known.len() as u64,
        count: is_binary.then(|| known.iter().filter(|value| **value == 1.0).count() as u64),
        quantiles: (!is_binary && !known.is_empty()).then(|| Quantiles::new(&known)),
    }
}

/// Sums values in the order in which they are given.
#[derive(Clone, Copy, Default)]
struct Sum {
    known: u64,
    sum: f64,
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.known += 1;
            self.sum += value;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of slots")]
    fn stratum(self, stratum: String, field: Option<&str>) -> Stratum {
        let mean = self.sum / self.known as f64;
        Stratum {
            stratum,
            field: field.map(str::to_owned),
            known: self.known,
            mean: (self.known > 0 && mean.is_finite()).then_some(mean),
        }
    }
}

fn by_turn(slots: &[&Slot], outcome: usize) -> Vec<Stratum> {
    let mut turns: BTreeMap<u64, Sum> = BTreeMap::new();
    for slot in slots {
        turns.entry(slot.turn).or_default().add(slot.value(outcome));
    }
    let each = turns.into_iter();
    each.map(|(turn, sum)| sum.stratum((turn + 1).to_string(), None))
        .collect()
}

fn by_field(
    observed: &Observed,
    slots: &[&Slot],
    outcome: usize,
    place: usize,
    field: &str,
) -> Vec<Stratum> {
    let mut groups: BTreeMap<&str, Sum> = BTreeMap::new();
    for slot in slots {
        let task = observed.tasks.get(slot.task);
        let group = task.and_then(|task| task.groups.get(place)?.as_deref());
        if let Some(group) = group {
            groups.entry(group).or_default().add(slot.value(outcome));
        }
    }
    let each = groups.into_iter();
    each.map(|(group, sum)| sum.stratum(group.to_owned(), Some(field)))
        .collect()
}

/// The outcomes that descriptions of a pair read, by their places.
pub(super) struct Read<'a> {
    /// What counts as a success.
    outcome: Option<&'a Outcome>,
    pub(super) success: Option<Success>,
    /// Whether the arm claims a success.
    claim: Option<usize>,
    /// What a run costs.
    pub(super) cost: Option<usize>,
}

impl<'a> Read<'a> {
    fn of(protocol: &'a Protocol) -> Self {
        let place = |found: &Outcome| {
            let mut outcomes = protocol.outcomes.iter();
            outcomes.position(|one| one.id == found.id)
        };
        let outcome = protocol.success();
        let mut outcomes = protocol.outcomes.iter();
        Self {
            outcome,
            success: outcome.and_then(|outcome| {
                Some(Success {
                    place: place(outcome)?,
                    missing: outcome.missing,
                })
            }),
            claim: protocol.claimed().and_then(place),
            cost: outcomes.position(|outcome| outcome.kind == OutcomeKind::Money),
        }
    }
}

/// Describes a treatment beside the reference.
pub(super) fn pair(
    registered: &Registered<'_>,
    cells: &Cells<'_>,
    treatment: &str,
) -> PairDescribed {
    let analysis = registered.analysis;
    let read = Read::of(registered.protocol);
    let arms = [
        registered.arm(&analysis.reference),
        registered.arm(treatment),
    ];
    let described = analysis.descriptive.as_ref();
    let [a, b] = arms;
    let claims = |arm| {
        let slots = slots_of(cells, arm);
        let each = slots.map(|slot| SlotClaim {
            claimed: truth(slot, read.claim),
            resolved: truth(slot, read.success.map(|success| success.place)),
        });
        claim_table(&each.collect::<Vec<_>>())
    };
    let has_claims = read.claim.is_some() && read.success.is_some();
    let claims = has_claims.then(|| [claims(a), claims(b)]);
    let alpha = share(analysis.alpha.num, analysis.alpha.den);
    let times = described.and_then(|described| {
        let limit = described.time_to_success.as_ref()?.limit;
        let success = read.success?;
        let times = arms.map(|arm| solved(cells, success.place, arm));
        Some((share(limit.0, 1_000_000), times))
    });
    PairDescribed {
        treatment: treatment.to_owned(),
        success: read.outcome.map(|outcome| outcome.id.clone()),
        pass_k: described.and_then(|described| passes(described, cells, &read, arms)),
        cactus: times
            .as_ref()
            .map(|(limit, [a, b])| [cactus(*limit, a), cactus(*limit, b)]),
        time_to_success: times.and_then(|(limit, [a, b])| {
            time_to_success(limit, cells.repeats(), &a, &b, cells.clusters(), alpha)
        }),
        cost_effectiveness: costs::costs(registered, cells, &read, treatment),
        false_claims: claims.map(|[a, b]| false_claim_conditional(&a, &b)),
        claims,
    }
}

fn passes(
    described: &Descriptive,
    cells: &Cells<'_>,
    read: &Read<'_>,
    arms: [usize; 2],
) -> Option<Repeats> {
    if described.pass_at.is_empty() && described.pass_hat.is_empty() {
        return None;
    }
    let success = read.success?;
    let wide = |list: &[u32]| list.iter().map(|j| u64::from(*j)).collect::<Vec<_>>();
    let (at, hat) = (wide(&described.pass_at), wide(&described.pass_hat));
    let [a, b] = arms.map(|arm| {
        let counts = success.counts(cells, arm).into_iter().enumerate();
        let counted = counts.filter(|(task, _)| success.is_counted(cells, *task, arms));
        counted.map(|(_, count)| count).collect::<Vec<_>>()
    });
    pass_k(&a, &b, cells.repeats().into(), &at, &hat)
}

/// Returns how long the successful runs of each task took, in seconds.
fn solved(cells: &Cells<'_>, success: usize, arm: usize) -> Vec<Vec<f64>> {
    let of_task = |task| {
        let slots = cells.slots(task, arm).iter();
        let solved = slots.filter(|slot| slot.value(success) == Some(1.0));
        solved
            .filter_map(|slot| slot.wall)
            .map(|time| share(time.0, 1_000_000))
            .collect()
    };
    (0..cells.tasks()).map(of_task).collect()
}

fn slots_of<'a>(cells: &'a Cells<'_>, arm: usize) -> impl Iterator<Item = &'a Slot> {
    (0..cells.tasks()).flat_map(move |task| cells.slots(task, arm).iter().copied())
}

fn truth(slot: &Slot, outcome: Option<usize>) -> Option<bool> {
    slot.value(outcome?).map(|value| value == 1.0)
}

/// Returns the nearest double of a fraction.
#[expect(
    clippy::cast_precision_loss,
    reason = "registered numbers have 15 digits at the most"
)]
pub(super) fn share(num: u64, den: u64) -> f64 {
    num as f64 / den as f64
}
