//! What has been spent, and whether a start may spend more. Unknown is never 0.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::model::{Budget, BudgetMax, BudgetUnknown};
use crate::units::{EXACT_MAX, Money, millionths};

/// What an ended run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// So much.
    Known(Money),
    /// Nothing says what.
    #[default]
    Unknown,
    /// What is said is no amount of money.
    Unreadable,
}

impl Cost {
    /// Returns the amount, if it is known.
    pub fn known(self) -> Option<Money> {
        match self {
            Self::Known(money) => Some(money),
            _ => None,
        }
    }

    /// Returns whether nothing says what it was.
    pub(super) fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// Reads an observed cost: dollars as a number. Null and absent are unknown; what is below 0, or
    /// no number, is unreadable.
    pub fn of(observed: Option<&Value>) -> Self {
        match observed {
            None | Some(Value::Null) => Self::Unknown,
            Some(Value::Number(dollars)) => millionths(&dollars.to_string())
                .and_then(|micros| u64::try_from(micros).ok())
                .filter(|micros| *micros <= EXACT_MAX)
                .map_or(Self::Unreadable, |micros| Self::Known(Money(micros))),
            Some(_) => Self::Unreadable,
        }
    }
}

/// What one key of a budget has used: the sum over all its runs, whatever their state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// What the ended runs cost, as far as it is known.
    pub settled: Money,
    /// How many ended runs have an unknown cost.
    pub unknown: u64,
    /// Whether the cost of an ended run was unreadable.
    pub unreadable: bool,
    /// How many runs are live; each holds the reserve.
    pub live: u64,
    /// How many starts were reruns.
    pub reruns: u64,
}

impl Ledger {
    /// Counts a run that starts.
    pub fn open(&mut self, rerun: bool) {
        self.live = self.live.saturating_add(1);
        self.reruns = self.reruns.saturating_add(u64::from(rerun));
    }

    /// Closes a live run at its cost.
    pub fn settle(&mut self, cost: Cost) {
        self.live = self.live.saturating_sub(1);
        match cost {
            Cost::Known(money) => self.settled = self.settled.plus(money),
            Cost::Unknown => self.unknown = self.unknown.saturating_add(1),
            Cost::Unreadable => self.unreadable = true,
        }
    }

    /// Takes note of what a run cost whose cost was unknown.
    pub fn learn(&mut self, cost: Money) {
        self.unknown = self.unknown.saturating_sub(1);
        self.settled = self.settled.plus(cost);
    }
}

/// Why a budget lets nothing start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Over {
    /// The money is spent.
    Money {
        /// What the ended runs cost, the reserve where that is unknown.
        spent: Money,
        /// What the live runs and this start hold.
        held: Money,
        /// The limit.
        max: Money,
        /// Whether it is spent for good, however little the live runs will have cost.
        for_good: bool,
    },
    /// The reruns are used up.
    Reruns {
        /// How many starts were reruns.
        spent: u64,
        /// The limit.
        max: u64,
    },
    /// A cost is unknown, and starts wait until it is known.
    Hold,
    /// A cost is unknown, and nothing starts any more.
    Stop,
    /// A cost was unreadable: a budget that nobody can read is spent.
    Unreadable,
}

impl Over {
    /// Returns whether no start that spends passes the budget any more, whatever is still to come.
    pub(super) fn is_for_good(&self) -> bool {
        match self {
            Self::Money { for_good, .. } => *for_good,
            Self::Stop | Self::Unreadable => true,
            Self::Reruns { .. } | Self::Hold => false,
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money {
                spent, held, max, ..
            } => write!(
                f,
                "{spent} of {max} are spent; live runs and this start hold {held} more"
            ),
            Self::Reruns { spent, max } => {
                write!(f, "{spent} of {max} reruns are used up")
            }
            Self::Hold => f.write_str(
                "what some run cost is unknown, and starts wait until `prereg cost` says it",
            ),
            Self::Stop => f.write_str("what some run cost is unknown, and that ends all starts"),
            Self::Unreadable => f.write_str(
                "what some run cost cannot be read, and a budget that nobody can read is spent",
            ),
        }
    }
}

/// Returns whether a budget lets a start through, given what its key has used.
pub fn allows(budget: &Budget, ledger: &Ledger, rerun: bool) -> Result<(), Over> {
    match budget.max {
        BudgetMax::Cost(max) => pays(budget, ledger, max),
        BudgetMax::Count(max) if rerun && ledger.reruns >= max => Err(Over::Reruns {
            spent: ledger.reruns,
            max,
        }),
        BudgetMax::Count(_) => Ok(()),
    }
}

/// Passes a start through what a budget of cost can say, the final answers first.
fn pays(budget: &Budget, ledger: &Ledger, max: Money) -> Result<(), Over> {
    let reserve = budget.reserve.unwrap_or_default();
    let stands_for_unknown = match budget.unknown {
        Some(BudgetUnknown::Reserve) => reserve.times(ledger.unknown),
        _ => Money(0),
    };
    let is_unknown = ledger.unknown > 0;
    let spent = ledger.settled.plus(stands_for_unknown);
    let held = reserve.times(ledger.live).plus(reserve);
    let money = |for_good| Over::Money {
        spent,
        held,
        max,
        for_good,
    };
    match budget.unknown {
        _ if ledger.unreadable => Err(Over::Unreadable),
        Some(BudgetUnknown::Stop) if is_unknown => Err(Over::Stop),
        _ if spent.plus(reserve) > max => Err(money(true)),
        // Without a word an unknown cost is still not 0.
        None | Some(BudgetUnknown::Hold) if is_unknown => Err(Over::Hold),
        _ if spent.plus(held) > max => Err(money(false)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::{BudgetCounts, BudgetPer};
    use serde_json::json;

    /// A budget of 100, of which each start reserves 10.
    fn of_cost(unknown: BudgetUnknown) -> Budget {
        Budget {
            counts: BudgetCounts::Cost,
            per: BudgetPer::Study,
            max: BudgetMax::Cost(Money(100)),
            reserve: Some(Money(10)),
            unknown: Some(unknown),
        }
    }

    fn ledger(settled: u64, unknown: u64, live: u64) -> Ledger {
        Ledger {
            settled: Money(settled),
            unknown,
            live,
            ..Ledger::default()
        }
    }

    fn money(spent: u64, held: u64, for_good: bool) -> Result<(), Over> {
        Err(Over::Money {
            spent: Money(spent),
            held: Money(held),
            max: Money(100),
            for_good,
        })
    }

    #[test]
    fn a_start_needs_its_reserve_beside_all_that_is_spent_and_held() {
        use BudgetUnknown::{Hold, Reserve, Stop};
        for (word, settled, unknown, live, answer) in [
            (Reserve, 0, 0, 0, Ok(())),
            (Reserve, 90, 0, 0, Ok(())),
            (Reserve, 91, 0, 0, money(91, 10, true)),
            (Reserve, 70, 1, 1, Ok(())),
            (Reserve, 71, 1, 1, money(81, 20, false)),
            (Reserve, 0, 10, 0, money(100, 10, true)),
            (Hold, 90, 0, 0, Ok(())),
            (Hold, 0, 1, 0, Err(Over::Hold)),
            (Hold, 80, 1, 9, Err(Over::Hold)),
            // That the unknown cost will be known changes nothing any more.
            (Hold, 91, 1, 0, money(91, 10, true)),
            (Stop, 80, 0, 1, Ok(())),
            (Stop, 80, 0, 2, money(80, 30, false)),
            (Stop, 91, 1, 0, Err(Over::Stop)),
        ] {
            let found = allows(&of_cost(word), &ledger(settled, unknown, live), false);
            assert_eq!(found, answer, "{word:?} {settled} {unknown} {live}");
        }
    }

    #[test]
    fn an_unknown_cost_is_not_nothing_without_a_word_or_a_reserve() {
        let mut budget = of_cost(BudgetUnknown::Stop);
        budget.unknown = None;
        assert_eq!(allows(&budget, &ledger(0, 1, 0), false), Err(Over::Hold));
        budget.reserve = None;
        assert_eq!(allows(&budget, &ledger(100, 0, 7), false), Ok(()));
        assert_eq!(
            allows(&budget, &ledger(101, 0, 7), false),
            money(101, 0, true)
        );
    }

    #[test]
    fn an_unreadable_cost_spends_the_whole_budget() {
        let mut used = Ledger::default();
        used.open(false);
        used.settle(Cost::Unreadable);
        for word in [
            BudgetUnknown::Reserve,
            BudgetUnknown::Hold,
            BudgetUnknown::Stop,
        ] {
            let found = allows(&of_cost(word), &used, false);
            assert_eq!(found, Err(Over::Unreadable), "{word:?}");
        }
    }

    #[test]
    fn only_a_rerun_uses_up_a_budget_of_reruns() {
        let budget = Budget {
            counts: BudgetCounts::Reruns,
            per: BudgetPer::Task,
            max: BudgetMax::Count(1),
            reserve: None,
            unknown: None,
        };
        let mut used = Ledger::default();
        for rerun in [false, false, true] {
            assert_eq!(allows(&budget, &used, rerun), Ok(()));
            used.open(rerun);
        }
        used.settle(Cost::Unknown);
        used.settle(Cost::Unreadable);
        let spent = Err(Over::Reruns { spent: 1, max: 1 });
        assert_eq!(allows(&budget, &used, true), spent);
        assert_eq!(allows(&budget, &used, false), Ok(()));
    }

    #[test]
    fn a_run_holds_its_place_until_it_is_settled() {
        let mut used = Ledger::default();
        used.open(false);
        used.open(true);
        used.settle(Cost::Known(Money(7)));
        used.settle(Cost::Unknown);
        let counted = Ledger {
            reruns: 1,
            ..ledger(7, 1, 0)
        };
        assert_eq!(used, counted);
        used.settle(Cost::Known(Money(1)));
        assert_eq!((used.live, used.settled), (0, Money(8)));
    }

    #[test]
    fn the_largest_numbers_do_not_wrap() {
        let budget = of_cost(BudgetUnknown::Reserve);
        for full in [
            ledger(u64::MAX, 0, 0),
            ledger(0, u64::MAX, 0),
            ledger(0, 0, u64::MAX),
        ] {
            assert!(allows(&budget, &full, false).is_err(), "{full:?}");
        }
        let mut full = Ledger {
            reruns: u64::MAX,
            ..ledger(EXACT_MAX, u64::MAX, u64::MAX)
        };
        let before = full.clone();
        full.open(true);
        assert_eq!(full, before);
        full.settle(Cost::Known(Money(1)));
        assert_eq!(full.settled, Money(EXACT_MAX));
    }

    #[test]
    fn a_cost_is_an_amount_of_money_or_it_is_not_known() {
        for (observed, cost) in [
            (json!(1.25), Cost::Known(Money(1_250_000))),
            (json!(0), Cost::Known(Money(0))),
            (json!(0.000_000_5), Cost::Known(Money(0))),
            (json!(null), Cost::Unknown),
            (json!(-0.01), Cost::Unreadable),
            (json!(1e300), Cost::Unreadable),
            // More micro-dollars than every reader holds exactly.
            (json!(9_007_199_254.740_993), Cost::Unreadable),
            (json!("1.25"), Cost::Unreadable),
            (json!(true), Cost::Unreadable),
        ] {
            assert_eq!(Cost::of(Some(&observed)), cost, "{observed}");
        }
        assert_eq!(Cost::of(None), Cost::Unknown);
    }
}
