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
pub(super) fn table(made: &Made<'_>, looks: &Looks) -> Option<LookTable> {
    let all = made.cells.tasks().max(1);
    let reached = share(made.tasks as u64, all as u64);
    let fractions = looks.fractions.iter();
    let fractions = fractions.map(|fraction| share(fraction.num, fraction.den));
    // What is analysed in the end is a look, too; one that is as good as there is that one.
    let before = |at: &f64| reached - at >= LOOK_GAP_MIN * reached;
    let mut fractions: Vec<f64> = fractions.filter(before).collect();
    fractions.push(reached);
    let design = SequentialDesign {
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

/// Returns how many of the drawn tasks, in their order, have slots that have all ended.
pub(super) fn closed(made: &Made<'_>) -> usize {
    let all = made.cells.tasks();
    (0..all).take_while(|task| has_ended(made, *task)).count()
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
