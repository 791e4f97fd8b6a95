//! The scheduled looks: the first tasks of the draw, once all their slots have ended.
//!
//! A look that is not the last one is at the first floor(f n) tasks, never at whatever has finished.

use std::ops::Range;

use super::answer::{Look, LookTable};
use super::compare::{Made, finite};
use super::describe::share;
use super::observed::{Fate, Slot};
use crate::analysis::evalue::sign_evalue;
use crate::analysis::sequential::{SequentialDesign, Sided, Spending, UnderRun, boundaries};
use crate::protocol::model::{self, Alternative, Looks, Objective};

/// The power of the fraction where the level is spent as a power of it.
const RHO: f64 = 2.0;

/// Computes the looks of a comparison. None where the schedule allows no boundaries.
pub(super) fn table(made: &Made<'_>, looks: &Looks) -> Option<LookTable> {
    let reached = reached(made);
    let fractions = looks.fractions.iter();
    let fractions = fractions.map(|fraction| share(fraction.num, fraction.den));
    let mut fractions: Vec<f64> = fractions.filter(|at| *at <= reached).collect();
    // What is analysed in the end is a look, too.
    if fractions.last() != Some(&reached) {
        fractions.push(reached);
    }
    let design = SequentialDesign {
        fractions,
        spending: match looks.spending {
            model::Spending::Obf => Spending::Obf,
            model::Spending::Pocock => Spending::Pocock,
            model::Spending::Power => Spending::Power(RHO),
        },
        alpha: made.alpha,
        sided: sided(made),
        under_run: match looks.under_run {
            Some(model::UnderRun::SpendAll) => UnderRun::SpendAll,
            None | Some(model::UnderRun::SpendToT) => UnderRun::SpendToT,
        },
    };
    let bounds = boundaries(&design).ok()?;
    let spent = bounds.cumulative_alpha_total.iter().zip(&bounds.nominal_p);
    let each = bounds.fractions.iter().zip(spent);
    let each = each.map(|(fraction, (spent, nominal))| look(made, *fraction, *spent, *nominal));
    let all = made.pairs(made.estimand(), made.cells.tasks());
    let evalue = looks.evalue == Some(true);
    Some(LookTable {
        treatment: made.arms[1].to_owned(),
        spending: looks.spending,
        looks: each.collect(),
        evalue: evalue.then(|| sign_evalue(&all.differences, made.alpha)),
    })
}

/// Returns the share of the drawn tasks, in their order, whose slots have all ended.
fn reached(made: &Made<'_>) -> f64 {
    let all = made.cells.tasks();
    let closed = (0..all).take_while(|task| is_closed(made, *task..task + 1));
    share(closed.count() as u64, all.max(1) as u64)
}

fn sided(made: &Made<'_>) -> Sided {
    let both = made.comparison.objective == Objective::Superiority
        && matches!(
            made.comparison.alternative,
            None | Some(Alternative::TwoSided)
        );
    if both { Sided::Two } else { Sided::One }
}

fn look(made: &Made<'_>, fraction: f64, alpha_spent: f64, nominal_p: Option<f64>) -> Look {
    let tasks = first(fraction, made.cells.tasks());
    let pairs = made.pairs(made.estimand(), tasks);
    let p = finite(made.test(&pairs).p);
    let closed = is_closed(made, 0..tasks);
    Look {
        fraction,
        tasks,
        closed,
        alpha_spent,
        nominal_p,
        p,
        result: nominal_p
            .map(|p| made.effected(&pairs, p))
            .unwrap_or_default(),
        rejects: closed && p.zip(nominal_p).is_some_and(|(p, nominal)| p <= nominal),
    }
}

/// Returns the floor of a fraction of so many tasks; a product that is whole but for rounding is whole.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of tasks"
)]
fn first(fraction: f64, tasks: usize) -> usize {
    let product = fraction * tasks as f64;
    (product + product * f64::EPSILON).floor() as usize
}

/// Returns whether every slot of some tasks has ended in both arms.
fn is_closed(made: &Made<'_>, mut tasks: Range<usize>) -> bool {
    let arms = [made.compared.reference, made.compared.treatment];
    let ended = |slot: &&Slot| slot.fate != Fate::Open;
    tasks.all(|task| {
        arms.into_iter()
            .all(|arm| made.cells.slots(task, arm).iter().all(ended))
    })
}
