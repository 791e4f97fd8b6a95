//! The scheduled looks: the first tasks of the draw, once all their slots have ended.
//!
//! A look that is not the last one is at the first floor(f n) tasks, never at whatever has finished.

use super::answer::{Look, LookTable};
use super::compare::Made;
use super::describe::share;
use super::interval::finite;
use super::observed::{Fate, Slot, Taken};
use crate::analysis::multiplicity::rejects;
use crate::analysis::sequential::evalue::sign_evalue;
use crate::analysis::sequential::{
    LOOK_GAP_MIN, SequentialDesign, Sided, Spending, UnderRun, boundaries,
};
use crate::protocol::model::{self, Looks};

/// The power of the fraction where the level is spent as a power of it.
const RHO: f64 = 2.0;

/// Computes the looks of a comparison. None where the schedule allows no boundaries.
pub(super) fn table(made: &Made<'_>, looks: &Looks, taken: Taken) -> Option<LookTable> {
    let drawn = made.cells.tasks();
    let mut sizes = sizes(looks, drawn);
    let under_run = match taken.stopped_at() {
        // The last look is the one that has ended the study, at its own share of the level.
        Some(look) => {
            sizes.truncate(look);
            UnderRun::SpendToT
        }
        None => {
            let reached = fraction(made.tasks, drawn);
            // What is analysed in the end is a look, too; one that is as good as there is that one.
            sizes.retain(|tasks| reached - fraction(*tasks, drawn) >= LOOK_GAP_MIN * reached);
            sizes.push(made.tasks);
            match looks.under_run {
                model::UnderRun::SpendAll => UnderRun::SpendAll,
                model::UnderRun::SpendToT => UnderRun::SpendToT,
            }
        }
    };
    let bounds = boundaries(&design(made, looks, &sizes, drawn, under_run)).ok()?;
    let spent = bounds.cumulative_alpha_total.iter().zip(&bounds.nominal_p);
    let each = sizes.iter().zip(spent).zip(1..);
    let each = each.map(|((tasks, (spent, nominal)), number)| {
        let look = look(made, *tasks, *spent, *nominal);
        // What was decided then stands, whatever became of its tasks later.
        let decided = number <= taken.looks && (taken.stops || number < sizes.len());
        match decided {
            true => Look {
                rejects: taken.stopped_at() == Some(number),
                ..look
            },
            false => look,
        }
    });
    let whole = made.pairs(made.estimand(), drawn);
    Some(LookTable {
        treatment: made.arms[1].to_owned(),
        spending: looks.spending,
        stopped_at: taken.stopped_at(),
        looks: each.collect(),
        evalue: looks
            .evalue
            .then(|| sign_evalue(&whole.differences, made.alpha)),
    })
}

/// Returns whether a look, from 1, rejects; `made` has its tasks alone, of so many that are drawn. Where the
/// schedule allows no boundary nothing can.
pub(super) fn stops(made: &Made<'_>, looks: &Looks, look: usize, drawn: usize) -> bool {
    let mut sizes = sizes(looks, drawn);
    sizes.truncate(look);
    let bounds = boundaries(&design(made, looks, &sizes, drawn, UnderRun::SpendToT)).ok();
    let nominal = bounds.and_then(|bounds| *bounds.nominal_p.last()?);
    let p = finite(made.test(&made.pairs(made.estimand(), made.tasks)).p);
    nominal.is_some_and(|nominal| rejects(p, nominal))
}

/// Returns at how many of the drawn tasks each look is.
fn sizes(looks: &Looks, drawn: usize) -> Vec<usize> {
    let each = looks.fractions.iter();
    each.filter_map(|share| usize::try_from(share.floor_of(drawn as u64)).ok())
        .collect()
}

fn fraction(tasks: usize, drawn: usize) -> f64 {
    share(tasks as u64, drawn.max(1) as u64)
}

fn design(
    made: &Made<'_>,
    looks: &Looks,
    sizes: &[usize],
    drawn: usize,
    under_run: UnderRun,
) -> SequentialDesign {
    SequentialDesign {
        fractions: sizes.iter().map(|tasks| fraction(*tasks, drawn)).collect(),
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
/// ones whose slots have all ended, and no fewer than those of the newest look.
pub(super) fn analysed(made: &Made<'_>, looks: &Looks, taken: Taken) -> usize {
    let drawn = made.cells.tasks();
    let newest = taken.looks.checked_sub(1);
    let newest = newest.and_then(|look| sizes(looks, drawn).get(look).copied());
    let newest = newest.unwrap_or(0);
    if taken.stops {
        return newest;
    }
    let closed = (0..drawn).take_while(|task| has_ended(made, *task));
    closed.count().max(newest)
}

fn look(made: &Made<'_>, tasks: usize, alpha_spent: f64, nominal_p: Option<f64>) -> Look {
    let pairs = made.pairs(made.estimand(), tasks);
    let p = finite(made.test(&pairs).p);
    Look {
        fraction: fraction(tasks, made.cells.tasks()),
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
