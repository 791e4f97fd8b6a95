//! How many missing slots of the treatment must be successes to turn a decision.

use super::answer::Tipping;
use super::pairs::{Cells, Contrast, Pairs};
use crate::analysis::Lattice;

/// How many tasks may be tested again together, so that the answer comes in seconds.
const WORK_MAX: usize = 20_000_000;

/// Fills missing slots of the treatment with successes in the order of the draw, those of the reference with
/// failures, until the decision is another than `rejects`.
///
/// None of them need be filled where failures alone turn it. None where there are more to fill than can be tried.
pub(super) fn point(
    cells: &Cells<'_>,
    compared: Contrast<'_>,
    rejects: bool,
    decides: impl Fn(&Pairs) -> bool,
) -> Option<Tipping> {
    let repeats = i64::from(cells.repeats());
    let counts = |task, arm| {
        let values = cells.slots(task, arm).iter();
        let values = values.map(|slot| slot.value(compared.place));
        let known: Vec<f64> = values.flatten().collect();
        let successes = known.iter().filter(|value| **value == 1.0).count();
        let missing = repeats - i64::try_from(known.len()).unwrap_or(repeats);
        (i64::try_from(successes).unwrap_or(0), missing)
    };
    let tasks = 0..cells.tasks();
    let (mut filled, mut missing) = (Vec::new(), Vec::new());
    for task in tasks {
        let (a, _) = counts(task, compared.reference);
        let (b, open) = counts(task, compared.treatment);
        filled.push((a, b));
        missing.push(open);
    }
    let of: i64 = missing.iter().sum();
    let work = usize::try_from(of).ok()?.checked_mul(filled.len())?;
    if work > WORK_MAX {
        return None;
    }
    let (mut successes, of) = (0, u64::try_from(of).ok()?);
    if decides(&pairs(&filled, repeats, cells)?) != rejects {
        let successes = Some(0);
        return Some(Tipping { successes, of });
    }
    for (task, open) in missing.iter().enumerate() {
        for _ in 0..*open {
            let (_, b) = filled.get_mut(task)?;
            *b += 1;
            successes += 1;
            if decides(&pairs(&filled, repeats, cells)?) != rejects {
                let successes = Some(successes);
                return Some(Tipping { successes, of });
            }
        }
    }
    let successes = None;
    Some(Tipping { successes, of })
}

/// Returns the values of so many successes of `repeats` in each arm.
#[expect(clippy::cast_precision_loss, reason = "a count of repeats")]
fn pairs(filled: &[(i64, i64)], repeats: i64, cells: &Cells<'_>) -> Option<Pairs> {
    let scale = u64::try_from(repeats).ok()?;
    let share = |successes: i64| successes as f64 / repeats as f64;
    let differences = filled.iter().map(|(a, b)| (b - a, scale));
    let lattice = Lattice::from_fractions(&differences.collect::<Vec<_>>())?;
    Some(Pairs {
        reference: filled.iter().map(|(a, _)| share(*a)).collect(),
        treatment: filled.iter().map(|(_, b)| share(*b)).collect(),
        differences: lattice.to_values(),
        lattice: Some(lattice),
        clusters: cells.clusters().map(<[usize]>::to_vec),
        fault: None,
    })
}
