//! The scheduled looks: the first tasks of the draw, once all their slots have ended.
//!
//! A look that is not the last one is at the first floor(f n) tasks, never at whatever has finished.

use super::answer::{Look, LookTable};
use super::compare::Made;
use super::describe::share;
use super::interval::finite;
use super::observed::{Fate, Slot};
use crate::analysis::multiplicity::rejects;
use crate::analysis::sequential::evalue::sign_evalue;
use crate::analysis::sequential::{
    LOOK_GAP_MIN, SequentialDesign, Sided, Spending, UnderRun, boundaries, look_size,
};
use crate::protocol::model::{self, Looks};

/// The power of the fraction where the level is spent as a power of it.
const RHO: f64 = 2.0;

/// Computes the looks of a comparison. None where the schedule allows no boundaries.
pub(super) fn table(
    made: &Made<'_>,
    looks: &Looks,
    stopped_at: Option<usize>,
) -> Option<LookTable> {
    let all = made.cells.tasks();
    let mut fractions = fractions(looks);
    let under_run = match stopped_at {
        // The last look is the one that has ended the study, at its own share of the level.
        Some(look) => {
            fractions.truncate(look);
            UnderRun::SpendToT
        }
        None => {
            let reached = share(made.tasks as u64, all.max(1) as u64);
            // What is analysed in the end is a look, too; one that is as good as there is that one.
            fractions.retain(|at| reached - at >= LOOK_GAP_MIN * reached);
            fractions.push(reached);
            match looks.under_run {
                model::UnderRun::SpendAll => UnderRun::SpendAll,
                model::UnderRun::SpendToT => UnderRun::SpendToT,
            }
        }
    };
    let bounds = boundaries(&design(made, looks, fractions, under_run)).ok()?;
    let spent = bounds.cumulative_alpha_total.iter().zip(&bounds.nominal_p);
    let each = bounds.fractions.iter().zip(spent);
    let each = each.map(|(fraction, (spent, nominal))| look(made, *fraction, *spent, *nominal));
    let all = made.pairs(made.estimand(), all);
    Some(LookTable {
        treatment: made.arms[1].to_owned(),
        spending: looks.spending,
        stopped_at,
        looks: each.collect(),
        evalue: looks
            .evalue
            .then(|| sign_evalue(&all.differences, made.alpha)),
    })
}

/// Returns whether a look, from 1, rejects; `made` has its tasks alone. Where the schedule allows no boundary
/// nothing can.
pub(super) fn stops(made: &Made<'_>, looks: &Looks, look: usize) -> bool {
    let mut fractions = fractions(looks);
    fractions.truncate(look);
    let bounds = boundaries(&design(made, looks, fractions, UnderRun::SpendToT)).ok();
    let nominal = bounds.and_then(|bounds| *bounds.nominal_p.last()?);
    let p = finite(made.test(&made.pairs(made.estimand(), made.tasks)).p);
    nominal.is_some_and(|nominal| rejects(p, nominal))
}

fn fractions(looks: &Looks) -> Vec<f64> {
    let each = looks.fractions.iter();
    each.map(|fraction| share(fraction.num, fraction.den))
        .collect()
}

fn design(
    made: &Made<'_>,
    looks: &Looks,
    fractions: Vec<f64>,
    under_run: UnderRun,
) -> SequentialDesign {
    SequentialDesign {
        fractions,
        spending: match looks.spending {
            model::Spending::Obf => Spending::Obf,
            model::Spending::Pocock => Spending::Pocock,
            model::Spending::Power => Spending::Power(RHO),
        },
        alpha: made.alpha,
        sided: if made.is_two_sided() {
            Sided::Two
        } else {
            Sided::One
        },
        under_run,
    }
}

/// Returns how many of the drawn tasks are analysed: those of the look that has ended the study, or the first
/// ones whose slots have all ended.
pub(super) fn analysed(made: &Made<'_>, looks: &Looks, stopped_at: Option<usize>) -> usize {
    let all = made.cells.tasks();
    let at_look = || {
        let fraction = looks.fractions.get(stopped_at?.checked_sub(1)?)?;
        usize::try_from(fraction.floor_of(all as u64)).ok()
    };
    let closed = || (0..all).take_while(|task| has_ended(made, *task)).count();
    at_look().unwrap_or_else(closed)
}

fn look(made: &Made<'_>, fraction: f64, alpha_spent: f64, nominal_p: Option<f64>) -> Look {
    let tasks = look_size(fraction, made.cells.tasks()).min(made.tasks);
    let pairs = made.pairs(made.estimand(), tasks);
    let p = finite(made.test(&pairs).p);
    Look {
        fraction,
        tasks,
        alpha_spent,
        nominal_p,
        p,
        result: nominal_p
            .map(|p| made.effected(&pairs, p))
            .unwrap_or_default(),
        rejects: nominal_p.is_some_and(|nominal| rejects(p, nominal)),
    }
}

/// Returns whether every slot of a task has ended in both arms.
fn has_ended(made: &Made<'_>, task: usize) -> bool {
    let arms = [made.compared.reference, made.compared.treatment];
    let ended = |slot: &&Slot| slot.fate != Fate::Open;
    arms.into_iter()
        .all(|arm| made.cells.slots(task, arm).iter().all(ended))
}
