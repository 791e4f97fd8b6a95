//! What may differ between two studies without a ruling differing: outcomes, names, workers.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod engine_common;

use std::collections::BTreeMap;

use engine_common::cases::studies;
use engine_common::design::{Design, other_name};
use engine_common::gates::Opens;
use engine_common::random::{Random, any_drafts, any_move, any_pause, any_plain, any_report};
use engine_common::words::answered;
use engine_common::{Draft, Given, Move, Report, World};
use prereg::engine::event::Event;
use prereg::engine::facts::Fact;
use prereg::engine::slice::{Slice, State};
use prereg::engine::start::{self, Peek};
use prereg::protocol::model::ArmsOrder;
use serde_json::Value;

const HISTORIES: u64 = 50;

#[test]
fn a_report_changes_outcomes_and_nothing_else() {
    let flipped = |wanted: &Move| match wanted {
        Move::Score(run, Report::Pass) if run % 3 != 0 => Move::Score(*run, Report::Fail),
        Move::Score(run, Report::Fail) if run % 3 != 0 => Move::Score(*run, Report::Pass),
        other => other.clone(),
    };
    let blinded = |slice: &Slice| {
        let mut slice = slice.clone();
        for run in slice.runs.values_mut().flatten() {
            (run.outcomes, run.evidence) = (None, None);
        }
        for fact in slice.facts.values_mut().flatten() {
            match fact {
                Fact::Totals(totals) => totals.outcomes.clear(),
                Fact::Control(totals) => totals.outcomes.clear(),
                Fact::Result(result) => result.0.clear(),
                _ => {}
            }
        }
        slice
    };
    let mut differ = 0;
    for seed in 0..studies(HISTORIES) {
        let mut random = Random(seed << 32 | 2);
        let drafts = any_drafts(&mut random).map(Draft::of);
        for _ in 0..HISTORIES {
            let mut world = World::empty(&drafts);
            let mut other = World::empty(&drafts);
            for _ in 0..10 + random.below(30) {
                let pause = any_pause(&mut random);
                world.later(pause);
                other.later(pause);
                let wanted = any_move(&mut random, &world);
                let given = answered(&world.give(&wanted), true);
                assert_eq!(given, answered(&other.give(&flipped(&wanted)), true));
                assert_eq!(blinded(&world.slice), blinded(&other.slice));
            }
            differ += usize::from(world.slice != other.slice);
        }
    }
    assert!(
        differ > 100,
        "only {differ} pairs of histories had other outcomes"
    );
}

/// Returns an answer with every name changed, and without the digests, which names go into.
fn renamed(value: Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| renamed(item, change))
            .collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, field)| match field {
                Value::String(name) if matches!(key.as_str(), "task" | "arm" | "per") => {
                    (key, renamed(Value::String(name), change))
                }
                Value::Object(errors) if key == "errors" => {
                    let errors = errors.into_iter().map(|(arm, count)| (change(&arm), count));
                    (key, Value::Object(errors.collect()))
                }
                names if matches!(key.as_str(), "differs" | "fields") => (key, names),
                Value::String(_) if key == "why" => (key, Value::Null),
                Value::String(digest) if digest.len() == 64 => (key, Value::Null),
                Value::String(text) => {
                    // What a stop is about is an arm, or a stage, which keeps its name.
                    let of_arm = key == "of" && !text.starts_with('s');
                    let before = matches!(key.as_str(), "before" | "earlier") || of_arm;
                    let text = if before { change(&text) } else { text };
                    (key, Value::String(text))
                }
                field => (key, renamed(field, change)),
            });
            Value::Object(fields.collect())
        }
        // A budget over the study has no key.
        Value::String(name) if name.is_empty() => Value::String(name),
        Value::String(name) => Value::String(change(&name)),
        other => other,
    }
}

fn shown(given: &Given, change: &impl Fn(&str) -> String) -> Value {
    let ruling = match &given.ruling {
        Ok(events) => serde_json::to_value(events),
        Err(refusal) => serde_json::to_value(refusal),
    };
    let expired = serde_json::to_value(&given.expired);
    renamed(
        Value::Array(vec![expired.unwrap(), ruling.unwrap()]),
        change,
    )
}

/// Returns a move by the other names.
fn alias(wanted: &Move) -> Move {
    match wanted {
        Move::Start(task, arm) => Move::Start(other_name(task), other_name(arm)),
        Move::ByHand(task, arm) => Move::ByHand(other_name(task), other_name(arm)),
        Move::Preflight(arm, status) => Move::Preflight(other_name(arm), status),
        Move::AddTask(task, size) => Move::AddTask(other_name(task), *size),
        Move::Draw(from, tasks) => {
            Move::Draw(*from, tasks.iter().map(|task| other_name(task)).collect())
        }
        Move::Strange(wanted) => Move::Strange(Box::new(alias(wanted))),
        other => other.clone(),
    }
}

#[test]
fn other_names_rename_rulings_and_change_nothing_else() {
    for seed in 0..studies(HISTORIES) {
        let mut random = Random(seed << 32 | 3);
        // Shuffled arms are ordered by their names: other names are another order.
        let designs = any_drafts(&mut random).map(|design| match design.order {
            ArmsOrder::Shuffled => Design {
                order: ArmsOrder::Williams,
                ..design
            },
            _ => design,
        });
        let drafts = designs.clone().map(Draft::of);
        let others = designs.map(|design| {
            Draft::of(Design {
                renamed: true,
                ..design
            })
        });
        for _ in 0..HISTORIES {
            let mut world = World::empty(&drafts);
            let mut other = World::empty(&others);
            for _ in 0..10 + random.below(30) {
                let pause = any_pause(&mut random);
                world.later(pause);
                other.later(pause);
                let wanted = any_move(&mut random, &world);
                let alias = alias(&wanted);
                assert_eq!(
                    shown(&world.give(&wanted), &other_name),
                    shown(&other.give(&alias), &str::to_owned),
                    "{wanted:?}"
                );
            }
        }
    }
}

/// Executes a whole study with some workers; returns the task, arm and repeat of each slot that
/// ended, by its position.
fn executed(design: &Design, random: &mut Random) -> BTreeMap<u64, (String, String, u64)> {
    let drafts = [Draft::of(design.clone())];
    let mut world = World::registered(&drafts);
    let mut ended = BTreeMap::new();
    let mut completed = 0;
    for _ in 0..10_000 {
        let open: Vec<(u64, State)> = world
            .slice
            .runs
            .values()
            .flatten()
            .filter(|run| !run.is_closed())
            .map(|run| (run.run.0, run.state))
            .collect();
        let wanted = match start::peek(&drafts[0].rules, &world.slice, world.at) {
            Peek::Complete => break,
            Peek::Start(next) if open.is_empty() || random.chance(6) => {
                Move::Start(next.task, next.arm)
            }
            _ => match random.pick(&open) {
                (run, State::Live) => Move::Finish(*run, random.chance(2)),
                (run, _) => Move::Score(*run, any_report(random)),
            },
        };
        let given = world.give(&wanted);
        let run = wanted.action(&drafts).run();
        let run = run.and_then(|run| world.slice.run(run));
        for event in given.ruling.unwrap() {
            completed += usize::from(event == Event::Completed {});
            if let (Event::SlotEnded { .. }, Some(run)) = (&event, run) {
                let place = run.place.unwrap();
                let slot = (run.task.clone(), run.arm.clone(), place.repeat);
                let again = ended.insert(place.position, slot);
                assert_eq!(again, None, "a slot ends once");
            }
        }
    }
    assert_eq!(completed, 1, "a study is complete once");
    ended
}

/// Each study is executed by one worker, by two, by three and by four.
#[test]
fn the_number_of_workers_never_changes_which_slots_exist() {
    for seed in 0..studies(4) {
        let mut random = Random(seed << 32 | 4);
        let mut design = any_plain(&mut random);
        if random.chance(4) {
            design.stages = vec![(design.repeats, Opens::Now), (1, Opens::Then)];
        }
        let slots: Vec<_> = (1..=4)
            .map(|runs_max| {
                // A study that is stopped before its end has not all its slots.
                let design = Design {
                    runs_max,
                    cutoff: None,
                    ..design.clone()
                };
                executed(&design, &mut random)
            })
            .collect();
        let planned = design.tasks * design.all_repeats() as usize * design.arms;
        assert_eq!(slots[0].len(), planned);
        assert!(slots.iter().all(|other| *other == slots[0]));
    }
}
