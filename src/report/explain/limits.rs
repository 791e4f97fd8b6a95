//! Limits from outside the data: cut-off, budgets, breaker, switch.

use super::page::{Page, code};
use super::words::{counted, names};
use crate::protocol::model::{
    Breaker, Budget, BudgetCounts, BudgetMax, BudgetPer, BudgetUnknown, Protocol,
};
use crate::units::Time;

/// Says every limit that stands outside the data.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(3, "Limits from outside");
    match protocol.cutoff {
        Some(at) => page.item(format!(
            "No run of an arm starts at or after {}. Once no run is open after it, the study has \
             ended; slots without an outcome count as missing.",
            exact(at)
        )),
        None => page.item("There is no time after which nothing starts."),
    }
    if protocol.budgets.is_empty() {
        page.item("There is no budget.");
    }
    for budget in &protocol.budgets {
        page.item(self::budget(budget));
    }
    if let Some(breaker) = &protocol.breaker {
        self::breaker(page, breaker);
    }
    if let Some(file) = &protocol.switch {
        page.item(format!(
            "Runs start only while the file {} beside the protocol holds the text `on` and nothing \
             else; if it cannot be read, none starts.",
            code(file)
        ));
    }
}

/// Writes a time to the microsecond.
fn exact(time: Time) -> String {
    match time.0.rem_euclid(1_000_000) {
        0 => time.to_string(),
        micros => format!("{time} and {micros} microseconds"),
    }
}

fn budget(budget: &Budget) -> String {
    let Budget {
        counts,
        per,
        max,
        reserve,
        unknown,
    } = budget;
    let what = match counts {
        BudgetCounts::Cost => "The cost of all runs",
        BudgetCounts::Reruns => "The number of reruns",
    };
    let over = match per {
        BudgetPer::Study => "in the study",
        BudgetPer::Task => "of each task",
        BudgetPer::Arm => "of each arm",
    };
    let max = match max {
        BudgetMax::Cost(money) => money.to_string(),
        BudgetMax::Count(count) => counted(*count, "rerun", "reruns"),
    };
    let reserve = reserve.map_or(String::new(), |reserve| {
        format!(" A start reserves {reserve} until the cost has been observed.")
    });
    let unknown = match unknown {
        None => "",
        Some(BudgetUnknown::Reserve) => " An unknown cost counts as what was reserved.",
        Some(BudgetUnknown::Hold) => " While a cost is unknown, starts wait.",
        Some(BudgetUnknown::Stop) => " An unknown cost stops the starts.",
    };
    format!(
        "{what} {over} may come to {max}; a start that would exceed it is refused.{reserve}{unknown}"
    )
}

fn breaker(page: &mut Page, breaker: &Breaker) {
    let Breaker {
        failures,
        arms,
        external,
    } = breaker;
    let (of, starts) = match arms.as_slice() {
        [] => (String::new(), "all starts".to_owned()),
        arms => (
            format!(" of {}", names(arms)),
            format!("starts of {}", names(arms)),
        ),
    };
    page.item(format!(
        "After {} in a row to prepare or to start a run{of}, {starts} wait until the operator \
         clears the breaker.",
        counted(u64::from(*failures), "failure", "failures")
    ));
    page.item(if *external {
        "The operator may open the breaker too."
    } else {
        "The operator cannot open the breaker."
    });
}
