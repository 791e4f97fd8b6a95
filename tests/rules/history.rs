//! Whole histories of the paired rules, and the questions that their engine asks on the way.

use std::sync::OnceLock;

use prereg::engine::attempts::Fate;
use prereg::engine::command::Cause;
use prereg::engine::counts::{self, Attempt, Turns};
use prereg::engine::outage::{self, Tally};
use prereg::engine::refusal::Refusal;
use prereg::engine::rehearsal::Rehearsal;
use prereg::engine::rehearsal::op::Timed;
use prereg::engine::rules::Rules;
use prereg::protocol::model::{Outage, Protocol};
use prereg::units::{Micros, Time};
use serde_json::{Map, Value, json};

use super::shipped::with;

/// The shipped protocol; its frame is open, so no task comes with it.
fn paired() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| {
        let checked = with("paired-slots.toml", &[], |_| {});
        Rules::new(checked.registration, checked.tasks).unwrap()
    })
}

fn protocol() -> &'static Protocol {
    paired().protocol()
}

fn rule() -> &'static Outage {
    protocol().outage.as_ref().unwrap()
}

fn number(case: &Value, name: &str) -> u64 {
    case[name].as_u64().unwrap()
}

fn time(text: &Value) -> Time {
    text.as_str().unwrap().parse().unwrap()
}

pub(super) fn start_history(case: &Value) -> Value {
    assert_eq!(
        Micros(number(case, "stale_ms") * 1_000),
        protocol().attempts.stale_after,
        "every history has the deadline of the shipped protocol"
    );
    let mut rehearsal = Rehearsal::new(paired());
    let ops = case["ops"].as_array().unwrap();
    let answers: Vec<Value> = ops
        .iter()
        .map(|op| rehearsal.play(&Timed::read(op).unwrap()))
        .map(|answer| answer.json(|_| Map::new()))
        .collect();
    json!({ "answers": answers, "final": rehearsal.end() })
}

pub(super) fn is_outage_hour(case: &Value) -> Value {
    let errors = number(case, "errors");
    let tally = Tally {
        ended: number(case, "ended"),
        errors: (errors > 0)
            .then(|| ("baseline".to_owned(), errors))
            .into_iter()
            .collect(),
    };
    let arms = protocol().arms.iter().map(|arm| arm.id.as_str());
    Value::from(outage::is_outage(rule(), arms, &tally))
}

/// A row as the vectors have it, read at a moment.
struct Row<'a> {
    row: &'a Value,
    /// Whether it had ended by then.
    ended: bool,
}

impl<'a> Row<'a> {
    fn now(row: &'a Value) -> Self {
        Self { row, ended: true }
    }

    /// A row that ended later was running then.
    fn at(row: &'a Value, at: Time) -> Self {
        let finished = row["finished_at"].as_str();
        let ended = finished.is_some_and(|finished| finished.parse::<Time>().unwrap() <= at);
        Self { row, ended }
    }

    fn is_no_attempt(&self, outage_hours: &Value) -> bool {
        let hours = outage_hours.as_array().unwrap();
        let finished = self.row["finished_at"].as_str().filter(|_| self.ended);
        let hour = finished.map(|finished| outage::Window::of(finished.parse().unwrap()));
        let listed = |hour: outage::Window| {
            let text = &hour.start().millis()[..13];
            hours.iter().any(|listed| listed == text)
        };
        self.row["stopped_on_error"] == true && hour.is_some_and(listed)
    }

    fn fate(&self, stale_before: Time) -> Fate {
        let stale = || time(&self.row["started_at"]) <= stale_before;
        match self.row["status"].as_str().unwrap() {
            "scored" if self.ended => Fate::Scored,
            "unjudged" if self.ended => Fate::Unjudged(Cause::Infra),
            _ if stale() => Fate::Unjudged(Cause::Stale),
            _ => Fate::Open,
        }
    }
}

fn rows(case: &Value) -> impl Iterator<Item = Row<'_>> {
    case["runs"].as_array().unwrap().iter().map(Row::now)
}

fn answer(attempt: Option<Attempt>) -> Value {
    match attempt {
        None => Value::Null,
        Some(Attempt { slot, attempt }) => json!({ "slot": slot, "attempt": attempt }),
    }
}

pub(super) fn counted_runs(case: &Value) -> Value {
    let rows = rows(case).enumerate();
    let kept = rows.filter(|(_, row)| !row.is_no_attempt(&case["outage_hours"]));
    kept.map(|(i, _)| i).collect()
}

pub(super) fn next_slot(case: &Value) -> Value {
    let stale_before = time(&case["stale_before"]);
    let fates = rows(case).map(|row| row.fate(stale_before));
    answer(counts::next(
        &protocol().attempts,
        number(case, "repeats"),
        fates,
    ))
}

pub(super) fn slot_at(case: &Value) -> Value {
    let at = time(&case["at"]);
    let stale_ms = i64::try_from(number(case, "stale_ms")).unwrap();
    let stale_before = Time(at.0 - stale_ms * 1_000);
    let rows = case["runs"].as_array().unwrap().iter();
    let fates = rows
        .map(|row| Row::at(row, at))
        .filter(|row| !row.is_no_attempt(&case["outage_hours"]))
        .map(|row| row.fate(stale_before));
    let repeats = paired().registered_plan().repeats();
    answer(counts::next(&protocol().attempts, repeats, fates))
}

pub(super) fn slots_done(case: &Value) -> Value {
    let stale_before = time(&case["stale_before"]);
    let fates = rows(case).map(|row| row.fate(stale_before));
    Value::from(counts::ended(&protocol().attempts, fates))
}

pub(super) fn order_refusal(case: &Value) -> Value {
    let arms = [0, 1].map(|arm| protocol().arms[arm].id.as_str());
    let arm = usize::from(case["arm"] != arms[0]);
    let other = arms[1 - arm];
    let turns = Turns {
        arms,
        arm,
        slot: number(case, "slot"),
        ended: number(&case["done"], other),
        live: u64::from(case["running"][other] == true),
    };
    let earlier = || case["earlier_open"].as_str().map(str::to_owned);
    match counts::order(turns, earlier) {
        Ok(()) => Value::Null,
        Err(Refusal::EarlierTaskOpen { earlier }) => {
            json!({ "rule": "earlier_task_open", "earlier": earlier })
        }
        Err(Refusal::ArmTurn { before, need, has }) => {
            json!({ "rule": "arm_turn", "before": before, "need": need, "has": has })
        }
        Err(other) => panic!("{other:?}"),
    }
}
