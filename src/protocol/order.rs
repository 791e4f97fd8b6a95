//! The order of the arms inside a repeat: from a turn to an arm, and back.
//!
//! With tasks and repeats counted from 0:
//! - alternating: the listed order;
//! - counterbalanced: the listed order, rotated by task + repeat;
//! - Williams: a balanced Latin square, row task + repeat. Row 0 is 0, 1, n−1, 2, n−2, …; row j
//!   adds j modulo n; an odd n appends the same rows reversed (E. J. Williams, 1949, "Experimental
//!   designs balanced for the estimation of residual effects of treatments");
//! - shuffled: ascending SHA-256 of `"prereg-arms/1\n" + seed + "\n" + task + "\n" + repeat + "\n" + arm`.

use std::sync::Arc;

use super::model::{ArmsOrder, Protocol};
use crate::units::Digest;

/// The order of the arms inside a repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    arms: u64,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Alternating,
    Counterbalanced,
    Williams,
    Shuffled(Arc<Names>),
}

/// What a shuffled order is derived from.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    seed: String,
    tasks: Vec<String>,
    arms: Vec<String>,
}

impl Order {
    /// Makes the order of a protocol over tasks, in the order of the plan.
    pub(super) fn new<'t>(protocol: &Protocol, tasks: impl Iterator<Item = &'t str>) -> Self {
        let names = || Names {
            seed: protocol.draw.seed.clone().unwrap_or_default(),
            tasks: tasks.map(str::to_owned).collect(),
            arms: protocol.arms.iter().map(|arm| arm.id.clone()).collect(),
        };
        Self {
            arms: protocol.arms.len() as u64,
            rule: Rule::of(protocol.allocation.arms, names),
        }
    }

    /// Returns whether the order goes by the tasks' names.
    pub(super) fn is_by_name(&self) -> bool {
        matches!(self.rule, Rule::Shuffled(_))
    }

    /// Returns the same order over other tasks.
    pub(super) fn over(self, tasks: Vec<String>) -> Self {
        let rule = match self.rule {
            Rule::Shuffled(names) => Rule::Shuffled(Arc::new(Names {
                seed: names.seed.clone(),
                tasks,
                arms: names.arms.clone(),
            })),
            other => other,
        };
        Self { rule, ..self }
    }

    /// Returns how many arms there are.
    pub(super) fn arms(&self) -> u64 {
        self.arms
    }

    /// Returns the arm whose turn it is.
    pub(super) fn arm(&self, task: u64, repeat: u64, turn: u64) -> u64 {
        let n = self.arms;
        match &self.rule {
            Rule::Alternating => turn,
            Rule::Counterbalanced => (turn + task + repeat) % n,
            Rule::Williams => match self.row(task, repeat) {
                (row, false) => (zigzag(turn, n) + row) % n,
                (row, true) => (zigzag(n - 1 - turn, n) + row) % n,
            },
            Rule::Shuffled(names) => names.order(task, repeat)[as_index(turn)],
        }
    }

    /// Returns the turn of an arm.
    pub(super) fn turn(&self, task: u64, repeat: u64, arm: u64) -> u64 {
        let n = self.arms;
        match &self.rule {
            Rule::Alternating => arm,
            Rule::Counterbalanced => (arm + n - (task + repeat) % n) % n,
            Rule::Williams => match self.row(task, repeat) {
                (row, false) => zigzag_turn((arm + n - row) % n, n),
                (row, true) => n - 1 - zigzag_turn((arm + n - row) % n, n),
            },
            Rule::Shuffled(names) => {
                let order = names.order(task, repeat);
                order.iter().take_while(|other| **other != arm).count() as u64
            }
        }
    }

    /// Returns the row of the Latin square, and whether it is reversed.
    fn row(&self, task: u64, repeat: u64) -> (u64, bool) {
        let n = self.arms;
        let rows = if n.is_multiple_of(2) { n } else { 2 * n };
        let row = (task + repeat) % rows;
        (row % n, row >= n)
    }
}

impl Rule {
    /// Takes the rule that a word means; `names` are asked for if it needs them.
    fn of(order: ArmsOrder, names: impl FnOnce() -> Names) -> Self {
        match order {
            ArmsOrder::Alternating => Self::Alternating,
            ArmsOrder::Counterbalanced => Self::Counterbalanced,
            ArmsOrder::Williams => Self::Williams,
            ArmsOrder::Shuffled => Self::Shuffled(Arc::new(names())),
        }
    }
}

impl Names {
    /// Returns the arms in their order.
    fn order(&self, task: u64, repeat: u64) -> Vec<u64> {
        let task = self.tasks[as_index(task)].as_bytes();
        let repeat = repeat.to_string();
        let key = |arm: &u64| {
            Digest::of(&[
                b"prereg-arms/1\n",
                self.seed.as_bytes(),
                b"\n",
                task,
                b"\n",
                repeat.as_bytes(),
                b"\n",
                self.arms[as_index(*arm)].as_bytes(),
            ])
        };
        let mut order: Vec<u64> = (0..self.arms.len() as u64).collect();
        order.sort_by_cached_key(key);
        order
    }
}

/// Returns what stands at a place of 0, 1, n−1, 2, n−2, ….
fn zigzag(place: u64, n: u64) -> u64 {
    match place {
        0 => 0,
        odd if odd % 2 == 1 => odd.div_ceil(2),
        even => n - even / 2,
    }
}

/// Returns the place of a value in 0, 1, n−1, 2, n−2, ….
fn zigzag_turn(value: u64, n: u64) -> u64 {
    match value {
        0 => 0,
        value if 2 * value - 1 < n => 2 * value - 1,
        value => 2 * (n - value),
    }
}

/// Converts a place in a list that is held in memory.
fn as_index(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

#[cfg(test)]
impl Order {
    /// Makes an order of arms and tasks that are named by their numbers.
    pub(super) fn numbered(order: ArmsOrder, tasks: u64, arms: u64) -> Self {
        let numbers = |count: u64| (0..count).map(|number| number.to_string()).collect();
        let names = || Names {
            seed: "seed".to_owned(),
            tasks: numbers(tasks),
            arms: numbers(arms),
        };
        Self {
            arms,
            rule: Rule::of(order, names),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rows(order: ArmsOrder, tasks: u64, arms: u64) -> Vec<Vec<u64>> {
        let order = Order::numbered(order, tasks, arms);
        let row = |task| (0..arms).map(|turn| order.arm(task, 0, turn)).collect();
        (0..tasks).map(row).collect()
    }

    #[test]
    fn counterbalanced_arms_rotate() {
        assert_eq!(
            rows(ArmsOrder::Counterbalanced, 3, 3),
            [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        );
    }

    #[test]
    fn williams_squares_are_those_of_the_definition() {
        assert_eq!(
            rows(ArmsOrder::Williams, 4, 4),
            [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
        );
        assert_eq!(
            rows(ArmsOrder::Williams, 6, 3),
            [
                [0, 1, 2],
                [1, 2, 0],
                [2, 0, 1],
                [2, 1, 0],
                [0, 2, 1],
                [1, 0, 2]
            ]
        );
    }

    #[test]
    fn williams_squares_balance_places_and_neighbours() {
        for arms in 2..=9_u64 {
            let count = if arms % 2 == 0 { arms } else { 2 * arms };
            let rows = rows(ArmsOrder::Williams, count, arms);
            let mut places = BTreeMap::new();
            let mut neighbours = BTreeMap::new();
            for row in &rows {
                for (place, arm) in row.iter().enumerate() {
                    *places.entry((place, *arm)).or_insert(0) += 1;
                }
                for pair in row.windows(2) {
                    *neighbours.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            let each = |counts: Vec<u64>, expected| {
                assert!(
                    counts.iter().all(|count| *count == expected),
                    "{arms}: {rows:?}"
                );
            };
            assert_eq!(places.len() as u64, arms * arms);
            each(places.into_values().collect(), count / arms);
            assert_eq!(neighbours.len() as u64, arms * (arms - 1));
            each(neighbours.into_values().collect(), count / arms);
        }
    }

    #[test]
    fn shuffled_arms_follow_their_digests() {
        let names = |arms: [&str; 3]| Names {
            seed: "s".to_owned(),
            tasks: vec!["t".to_owned()],
            arms: arms.map(str::to_owned).to_vec(),
        };
        let listed = names(["a", "b", "c"]);
        let order = listed.order(0, 2);
        let digest = |arm: &str| Digest::of(&[b"prereg-arms/1\ns\nt\n2\n", arm.as_bytes()]);
        let digests: Vec<Digest> = order
            .iter()
            .map(|arm| digest(&listed.arms[as_index(*arm)]))
            .collect();
        assert!(digests.is_sorted());
        // The listed order decides nothing.
        let turned = names(["c", "b", "a"]);
        let named = |names: &Names, order: Vec<u64>| -> Vec<String> {
            order
                .into_iter()
                .map(|arm| names.arms[as_index(arm)].clone())
                .collect()
        };
        assert_eq!(named(&listed, order), named(&turned, turned.order(0, 2)));
    }
}
