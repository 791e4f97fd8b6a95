//! Budgets applied: the ledgers that a start and an ending touch.

use super::budget::{self, Cost, Ledger};
use super::event::Event;
use super::facts::{Fact, FactKey};
use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::{Run, Slice};
use crate::protocol::model::{Budget, BudgetPer};
use crate::units::Money;

/// Refuses a start of an arm that a budget does not allow.
pub(super) fn guard(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    rerun: bool,
) -> Result<(), Refusal> {
    for (i, budget) in rules.protocol().budgets.iter().enumerate() {
        let ledger = ledger(slice, i, key(budget, task, arm));
        budget::allows(budget, &ledger, rerun)
            .map_err(|over| Refusal::OverBudget { budget: i, over })?;
    }
    Ok(())
}

/// Returns the budget of the whole study that is spent for good, if one is: no start passes it.
pub(super) fn over_for_good(rules: &Rules, slice: &Slice) -> Option<Refusal> {
    let budgets = rules.protocol().budgets.iter().enumerate();
    let mut of_study = budgets.filter(|(_, budget)| budget.per == BudgetPer::Study);
    of_study.find_map(|(i, budget)| {
        let over = budget::allows(budget, &ledger(slice, i, ""), false).err()?;
        over.is_for_good()
            .then_some(Refusal::OverBudget { budget: i, over })
    })
}

/// Returns what a start of an arm does to the ledgers.
pub(super) fn opened(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    rerun: bool,
) -> Vec<Event> {
    changed(rules, slice, task, arm, |ledger| ledger.open(rerun))
}

/// Returns what the ending of a run of an arm does to the ledgers.
pub(super) fn settled(rules: &Rules, slice: &Slice, run: &Run, cost: Cost) -> Vec<Event> {
    if run.place.is_none() {
        return Vec::new();
    }
    changed(rules, slice, &run.task, &run.arm, |ledger| {
        ledger.settle(cost)
    })
}

/// Returns what it does to the ledgers that the cost of an ended run becomes known.
pub(super) fn learnt(rules: &Rules, slice: &Slice, run: &Run, cost: Money) -> Vec<Event> {
    if run.place.is_none() {
        return Vec::new();
    }
    changed(rules, slice, &run.task, &run.arm, |ledger| {
        ledger.learn(cost)
    })
}

fn changed(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    change: impl Fn(&mut Ledger),
) -> Vec<Event> {
    let budgets = rules.protocol().budgets.iter().enumerate();
    let spent = budgets.map(|(i, budget)| {
        let per = key(budget, task, arm);
        let mut ledger = ledger(slice, i, per);
        change(&mut ledger);
        Event::Spent {
            budget: i,
            per: per.to_owned(),
            ledger,
        }
    });
    spent.collect()
}

/// Returns what a budget is counted over.
fn key<'a>(budget: &Budget, task: &'a str, arm: &'a str) -> &'a str {
    match budget.per {
        BudgetPer::Study => "",
        BudgetPer::Task => task,
        BudgetPer::Arm => arm,
    }
}

fn ledger(slice: &Slice, budget: usize, per: &str) -> Ledger {
    match slice.fact(&FactKey::Ledger(budget, per.to_owned())) {
        Some(Fact::Ledger(ledger)) => ledger.clone(),
        _ => Ledger::default(),
    }
}
