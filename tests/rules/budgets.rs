//! What may be spent: money and reruns.

use prereg::engine::budget::{self, Cost, Ledger};
use prereg::protocol::model::{Budget, BudgetMax, Protocol};
use prereg::units::Money;
use serde_json::{Value, json};

use super::limits::micros;
use super::shipped::staged;

fn money(value: &Value) -> Option<Money> {
    micros(value).map(|micros| Money(u64::try_from(micros).unwrap()))
}

/// The ledger of runs that have all ended.
fn ended(costs: impl IntoIterator<Item = (bool, Cost)>) -> Ledger {
    let mut ledger = Ledger::default();
    for (rerun, cost) in costs {
        ledger.open(rerun);
        ledger.settle(cost);
    }
    ledger
}

fn all_allow(budgets: &[Budget], ledger: &Ledger, rerun: bool) -> bool {
    let mut budgets = budgets.iter();
    budgets.all(|budget| budget::allows(budget, ledger, rerun).is_ok())
}

/// Without a cap there is no budget.
pub(super) fn budget_allows(case: &Value) -> Value {
    let spent = money(&case["cumulative"]).unwrap();
    let ledger = ended([(false, Cost::Known(spent))]);
    let reserve = money(&case["per_trial_cap"]).unwrap();
    let budgets = money(&case["cap"]).map(|cap| of_cost(cap, reserve));
    Value::from(all_allow(budgets.as_slice(), &ledger, false))
}

/// The shipped budget with another limit and reserve.
fn of_cost(max: Money, reserve: Money) -> Budget {
    if reserve > max {
        // No protocol may say that nothing could ever start.
        return Budget {
            max: BudgetMax::Cost(max),
            reserve: Some(reserve),
            ..staged(&[]).registration.protocol.budgets[0].clone()
        };
    }
    let checked = staged(&[
        ("budgets.0.max", max.to_string().into()),
        ("budgets.0.reserve", reserve.to_string().into()),
    ]);
    checked.registration.protocol.budgets[0].clone()
}

/// No line of the record is ever skipped: which lines of a foreign one count is decided here.
pub(super) fn ledger_cumulative(case: &Value) -> Value {
    let text = case["ledger_text"].as_str().unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let who = &case["who"];
    let lines = lines.filter(|line: &Value| who.is_null() || line["who"] == *who);
    let ledger = ended(lines.map(|line| (false, Cost::of(line.get("cost_usd")))));
    assert!(!ledger.unreadable, "{text}");
    // What a cost that is missing counts as is a matter of the budget, not of the sum.
    Value::from(ledger.settled.0 as f64 / 1e6)
}

/// The shipped protocol with a budget of reruns besides that of cost.
fn with_reruns(max: &Value) -> Protocol {
    let max = max.as_i64().unwrap();
    let checked = staged(&[
        ("budgets.1.counts", "reruns".into()),
        ("budgets.1.per", "task".into()),
        ("budgets.1.max", max.into()),
    ]);
    checked.registration.protocol.clone()
}

/// Each correction is a rerun of the work, whatever became of it. Reruns are counted by the engine and
/// always readable, so a sum that could not be read is that of the costs.
pub(super) fn corrections_budget(case: &Value) -> Value {
    let rows = case["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| {
        ["namespace", "title"]
            .iter()
            .all(|key| row[key] == case[key])
    });
    let reruns: u64 = rows
        .map(|row| row["corrections_count"].as_u64().unwrap_or(0))
        .sum();
    let is_read = case["read"] == "ok";
    let costs = (0..reruns).map(|_| (true, Cost::Known(Money(0))));
    let unread = (!is_read).then_some((false, Cost::Unreadable));
    let ledger = ended(costs.chain(unread));
    let budgets = with_reruns(&case["cap"]).budgets;
    json!({
        "spent": is_read.then_some(ledger.reruns),
        "at_cap": !all_allow(&budgets, &ledger, true),
    })
}
