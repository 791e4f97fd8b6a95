//! Budgets: summed over all runs of the work, whatever became of them.

use prereg::protocol::model::{Budget, BudgetMax, BudgetPer, BudgetUnknown};

use super::Naive;
use super::facts::{Run, runs};
use crate::engine_common::Said;

/// What a key of a budget has used, in micro-dollars and runs.
#[derive(Default)]
struct Used {
    settled: u64,
    unknown: u64,
    unreadable: bool,
    live: u64,
    reruns: u64,
}

fn key<'a>(budget: &Budget, task: &'a str, arm: &'a str) -> &'a str {
    match budget.per {
        BudgetPer::Study => "",
        BudgetPer::Task => task,
        BudgetPer::Arm => arm,
    }
}

/// CHOICE: what never started has cost nothing; what was lost, cancelled or stale, nobody knows.
fn cost(run: &Run<'_>, not_started: bool) -> Said {
    match run.ended {
        Some(how) => how.cost,
        None if not_started => Said::Dollars(0),
        None => Said::Nothing,
    }
}

impl Naive {
    /// CHOICE: controls are outside all budgets; pilots are not.
    fn used(&self, budget: &Budget, wanted: &str) -> Used {
        let mut used = Used::default();
        for run in runs(&self.facts) {
            if run.what.control || key(budget, &run.what.task, &run.what.arm) != wanted {
                continue;
            }
            used.reruns += u64::from(run.what.attempt > 1);
            if run.live() {
                used.live += 1;
                continue;
            }
            let not_started = self.facts.contains(&super::Fact::NotStarted(run.number));
            match cost(&run, not_started) {
                Said::Nothing => used.unknown += 1,
                Said::Dollars(dollars) => used.settled += dollars * 1_000_000,
                Said::Nonsense => used.unreadable = true,
            }
        }
        used
    }

    /// Says how each ledger of a task and arm stands.
    pub(super) fn ledgers(&self, task: &str, arm: &str) -> Vec<String> {
        let budgets = self.design().budgets.iter().enumerate();
        let said = budgets.map(|(i, budget)| {
            let key = key(budget, task, arm);
            let used = self.used(budget, key);
            format!(
                "budget {i} {key}: {} {} {} {} {}",
                used.settled, used.unknown, used.unreadable, used.live, used.reruns
            )
        });
        said.collect()
    }

    pub(super) fn budgets(&self, task: &str, arm: &str, rerun: bool) -> Result<(), String> {
        for (i, budget) in self.design().budgets.iter().enumerate() {
            let used = self.used(budget, key(budget, task, arm));
            let over = match budget.max {
                BudgetMax::Count(max) if rerun && used.reruns >= max => Some("reruns"),
                BudgetMax::Count(_) => None,
                BudgetMax::Cost(max) => over(budget, &used, max.0),
            };
            if let Some(over) = over {
                return Err(format!("over-budget {i} {over}"));
            }
        }
        Ok(())
    }
}

impl Naive {
    /// Says whether a budget of the whole study is spent for good.
    pub(super) fn is_spent(&self) -> bool {
        let final_answers = ["unreadable", "stop", "money true"];
        self.design().budgets.iter().any(|budget| {
            let BudgetMax::Cost(max) = budget.max else {
                return false;
            };
            let used = self.used(budget, "");
            let over = over(budget, &used, max.0);
            budget.per == BudgetPer::Study && over.is_some_and(|over| final_answers.contains(&over))
        })
    }
}

/// CHOICE: final answers first; what waits for live runs or unknown costs after them.
fn over(budget: &Budget, used: &Used, max: u64) -> Option<&'static str> {
    let reserve = budget.reserve.unwrap_or_default().0;
    let word = budget.unknown;
    let reserved = match word {
        Some(BudgetUnknown::Reserve) => used.unknown * reserve,
        _ => 0,
    };
    let waits = word.is_none() || word == Some(BudgetUnknown::Hold);
    if used.unreadable {
        Some("unreadable")
    } else if word == Some(BudgetUnknown::Stop) && used.unknown > 0 {
        Some("stop")
    } else if used.settled + reserved + reserve > max {
        Some("money true")
    } else if waits && used.unknown > 0 {
        Some("hold")
    } else if used.settled + reserved + reserve * (used.live + 1) > max {
        Some("money false")
    } else {
        None
    }
}
