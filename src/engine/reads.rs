//! What expressions read of a run and of what is known beside it: nothing else is put together for them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::slice::Run;
use crate::protocol::expression::Expression;
use crate::units::Money;

/// What some expressions read.
#[derive(Debug)]
pub(super) struct Reads {
    roots: BTreeSet<&'static str>,
    /// The facts of the run.
    run: Vec<&'static str>,
}

/// What expressions are given beside the run.
const ROOTS: [&str; 3] = ["task", "observed", "outcomes"];
/// What they may read of the run.
const FACTS: [&str; 11] = [
    "arm",
    "task",
    "timed_out",
    "error_stop",
    "repeat",
    "attempt",
    "exit",
    "signal",
    "cost",
    "wall_ms",
    "cpu_ms",
];

impl Reads {
    pub(super) fn of<'e>(expressions: impl Iterator<Item = &'e Expression> + Clone) -> Self {
        let any = |is_read: &dyn Fn(&Expression) -> bool| expressions.clone().any(is_read);
        let is_root = |root: &&str| any(&|expression| expression.reads(root));
        let is_fact = |fact: &&str| any(&|expression| expression.reads_field("run", fact));
        Self {
            roots: ROOTS.into_iter().filter(is_root).collect(),
            run: FACTS.into_iter().filter(is_fact).collect(),
        }
    }

    /// Returns whether something is read that is given beside the run.
    pub(super) fn root(&self, root: &str) -> bool {
        self.roots.contains(root)
    }
}

/// Returns what expressions read of a run; what is not known is absent.
pub(super) fn facts(run: &Run, reads: &Reads) -> Value {
    let known = reads.run.iter().filter_map(|name| {
        let value = fact(run, name)?;
        Some(((*name).to_owned(), value))
    });
    Value::Object(known.collect())
}

/// Returns a fact that expressions may read of a run, if it is known.
fn fact(run: &Run, name: &str) -> Option<Value> {
    let ending = run.ending.as_ref();
    let execution = run.execution.as_ref();
    Some(match name {
        "arm" => Value::from(run.arm.as_str()),
        "task" => Value::from(run.task.as_str()),
        "timed_out" => Value::from(ending.is_some_and(|ending| ending.timed_out)),
        "error_stop" => Value::from(run.error_stop.unwrap_or(false)),
        "repeat" => Value::from(run.place?.repeat),
        "attempt" => Value::from(run.place?.attempt),
        "exit" => Value::from(execution?.exit?),
        "signal" => Value::from(execution?.signal?),
        "cost" => Value::from(dollars(run.cost.known()?)),
        "wall_ms" => Value::from(ending?.wall?.millis()),
        "cpu_ms" => Value::from(execution?.cpu_ms?),
        _ => return None,
    })
}

/// Returns an amount of money as dollars, the number that was rounded to it.
fn dollars(money: Money) -> f64 {
    let text = money.to_string();
    let text = text.trim_end_matches(" USD");
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_read_by_its_name_in_part_and_with_the_whole_run() {
        for (text, run, roots) in [
            ("run.exit == 0", &["exit"][..], &[][..]),
            ("has(run.cost) && run.arm == 'a'", &["arm", "cost"], &[]),
            ("outcomes.ok && task.arm == 'a'", &[], &["outcomes", "task"]),
            ("run.exit_code == 0 || runs.exit == 1", &[], &[]),
            ("['exit'].exists(name, run[name] == 0)", &FACTS, &[]),
            ("observed.items.all(item, item.ok)", &[], &["observed"]),
        ] {
            let expression = Expression::parse(text).unwrap();
            let reads = Reads::of([&expression].into_iter());
            assert_eq!(reads.run, run, "{text}");
            assert_eq!(reads.roots, roots.iter().copied().collect(), "{text}");
        }
    }
}
