//! The tally against histories: a naive count of slots, and what blocks say.

#![allow(
    clippy::unwrap_used,
    clippy::float_arithmetic,
    reason = "a test that cannot go on fails where it stands, and counts means naively"
)]

mod engine_common;

use std::collections::{BTreeMap, BTreeSet};

use engine_common::design::Design;
use engine_common::histories::histories;
use engine_common::random::{Random, any_design, any_move, any_pause};
use engine_common::random_rules::{any_outage, easy_outage};
use engine_common::words::read;
use engine_common::{Draft, World};
use prereg::engine::blocks;
use prereg::engine::facts::{Fact, FactKey};
use prereg::engine::rules::Rules;
use prereg::engine::slice::{Row, Run, Seated, Slice, State};
use prereg::protocol::model::{CauseWord, ErrorsIn, Expect, Outage, ScoreWord, Serial, Voids};
use prereg::protocol::plan::Plan;
use prereg::report::slots::Slots;
use prereg::report::tally::{ControlVerdict, Figure, Tally};
use serde_json::Value;

fn tally(rules: &Rules, slice: &Slice) -> Tally {
    let tally = Tally::of(rules, slice);
    assert_slots_agree(rules, slice, &tally);
    assert_controls_agree(rules, slice, &tally);
    tally
}

/// The slots one by one say what is counted of them.
fn assert_slots_agree(rules: &Rules, slice: &Slice, tally: &Tally) {
    if slice.standing.registered.is_none() {
        return;
    }
    let plan = rules.plan_of(slice, true);
    let slots = slots(rules, slice, &plan);
    let (mut all, mut scored, mut causes) = (0, 0, BTreeMap::new());
    let mut values: BTreeMap<(usize, u64), Vec<Value>> = BTreeMap::new();
    for (slot, became) in slots.iter() {
        assert_eq!(slot.position, all);
        all += 1;
        scored += u64::from(became.status() == "scored");
        let run = became.last().and_then(|run| slice.run(run));
        if let Some(run) = run {
            let arm = usize::try_from(slot.arm).unwrap();
            assert_eq!(run.arm, rules.protocol().arms[arm].id);
        }
        if became.status() == "unjudged" {
            let cause = run.and_then(|run| run.cause).map(|cause| cause.text());
            let cause = became.reason().or(cause).unwrap();
            *causes.entry(cause).or_insert(0_u64) += 1;
        }
        let outcomes = run.and_then(|run| run.outcomes.as_ref());
        for (place, outcome) in rules.protocol().outcomes.iter().enumerate() {
            let value = outcomes.and_then(|outcomes| outcomes.get(&outcome.id));
            let known = value.filter(|value| !value.is_null());
            let of_arm = values.entry((place, slot.arm)).or_default();
            of_arm.extend(known.cloned());
        }
    }
    assert_eq!((all, scored), (tally.slots, tally.scored));
    assert_eq!(causes, tally.causes);
    for ((outcome, arm), values) in values {
        let found = &tally.outcomes[outcome].arms[usize::try_from(arm).unwrap()];
        assert_eq!(found.known, values.len() as u64);
        match found.value {
            Figure::Count { count, .. } => {
                let yes = values.iter().filter(|value| **value == true).count() as u64;
                let missing = found.slots - found.known;
                let as_yes = rules.protocol().outcomes[outcome].missing == Some(1);
                assert_eq!(count, yes + if as_yes { missing } else { 0 });
            }
            Figure::Mean { mean } => {
                let sum: f64 = values.iter().filter_map(Value::as_f64).sum();
                let naive = (!values.is_empty()).then(|| sum / values.len() as f64);
                assert_eq!(mean.is_some(), naive.is_some());
                let apart = (mean.unwrap_or(0.0) - naive.unwrap_or(0.0)).abs();
                assert!(
                    apart <= naive.unwrap_or(0.0).abs() * 1e-12,
                    "{mean:?} {naive:?}"
                );
            }
        }
    }
    if !rules.goes_by_counts() {
        assert_eq!(tally.reruns, reruns(slice));
    }
    let complete = blocks::all(rules, slice);
    let complete = complete.iter().filter(|block| block.complete).count() as u64;
    assert_eq!(slice.standing.blocks_complete, complete);
}

/// What became of every slot, from all runs.
fn slots<'a>(rules: &'a Rules, slice: &Slice, plan: &'a Plan) -> Slots<'a> {
    let mut slots = Slots::new(rules, plan);
    for (key, fact) in &slice.facts {
        if let (FactKey::Window(window), Some(Fact::Window(tally))) = (key, fact) {
            slots.add(&Row::Window(*window, tally.clone()));
        }
    }
    for (id, lane) in &slice.lanes {
        if let Some(lane) = lane {
            slots.add(&Row::Lane(*id, lane.clone()));
        }
    }
    for run in slice.runs.values().filter_map(Option::as_deref) {
        slots.seat(&Seated::from(run));
    }
    slots
}

/// Counts the runs that are not void and stand at a position where an earlier one is unjudged.
fn reruns(slice: &Slice) -> u64 {
    let mut tried = BTreeSet::new();
    let mut reruns = 0;
    for run in slice.runs.values().filter_map(Option::as_deref) {
        let Some(place) = run.place.filter(|place| place.lane.is_registered()) else {
            continue;
        };
        if run.state == State::Void {
            continue;
        }
        reruns += u64::from(tried.contains(&place.position));
        if run.state == State::Unjudged {
            tried.insert(place.position);
        }
    }
    reruns
}

/// The first known result of each control and task says how the control stands.
fn assert_controls_agree(rules: &Rules, slice: &Slice, tally: &Tally) {
    for (control, found) in rules.protocol().controls.iter().zip(&tally.controls) {
        let mut results: BTreeMap<&str, Option<bool>> = BTreeMap::new();
        let runs = slice.runs.values().filter_map(Option::as_deref);
        for run in runs.filter(|run| run.arm == control.id && run.is_closed()) {
            let outcomes = run.outcomes.as_ref();
            let value = outcomes.and_then(|outcomes| outcomes.get(&control.outcome)?.as_bool());
            let first = results.entry(&run.task).or_default();
            *first = first.or(value);
        }
        let yes = results.values().filter(|result| **result == Some(true));
        let judged = results.values().flatten().count();
        assert_eq!(
            (found.count, found.of, found.unjudged),
            (
                yes.count() as u64,
                judged as u64,
                (results.len() - judged) as u64
            )
        );
        let expected = control.expect == Expect::AllResolved;
        let violated = results.values().flatten().any(|result| *result != expected);
        let fails = violated || (judged == 0 && !results.is_empty());
        assert_eq!(found.verdict == ControlVerdict::Fails, fails);
    }
}

/// What is counted of slots.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    scored: u64,
    unjudged: u64,
    reruns: u64,
    causes: BTreeMap<String, u64>,
    /// How many slots of each arm resolved their task, as registered.
    resolved: BTreeMap<String, u64>,
}

fn counted(tally: &Tally) -> Counted {
    let causes = tally.causes.iter();
    let arms = tally.outcomes[0].arms.iter().map(|arm| match arm.value {
        Figure::Count { count, of } => {
            assert_eq!(of, arm.slots, "every slot is in the denominator");
            (arm.arm.clone(), count)
        }
        Figure::Mean { .. } => panic!("a binary outcome is counted"),
    });
    Counted {
        scored: tally.scored,
        unjudged: tally.unjudged,
        reruns: tally.reruns,
        causes: causes
            .map(|(cause, count)| ((*cause).to_owned(), *count))
            .collect(),
        resolved: arms.collect(),
    }
}

/// Counts the slots of an order by counts from all runs, window by window and slot by slot.
fn naive(design: &Design, slice: &Slice) -> Counted {
    let runs: Vec<&Run> = slice.runs.values().filter_map(Option::as_deref).collect();
    let mut found = Counted::default();
    for arm in design.arm_ids() {
        found.resolved.insert(arm.clone(), 0);
        for task in [design.drawn_ids(), design.undrawn_ids()].concat() {
            let is_of_cell = |run: &&&Run| {
                let place = run.place.filter(|place| place.lane.draft == 0);
                place.is_some() && (&run.task, &run.arm) == (&task, &arm)
            };
            let counting = runs.iter().filter(is_of_cell);
            let counting = counting.filter(|run| !is_taken_out(design, &runs, run));
            let mut slots: Vec<Vec<&Run>> = Vec::new();
            for run in counting {
                match slots.last_mut() {
                    Some(slot) if may_follow(design, slot) => slot.push(run),
                    _ => slots.push(vec![run]),
                }
            }
            for slot in slots.iter().take(design.repeats as usize) {
                found.count(design, slot);
            }
        }
    }
    found
}

impl Counted {
    fn count(&mut self, design: &Design, slot: &[&Run]) {
        let last = slot[slot.len() - 1];
        self.reruns += slot.len() as u64 - 1;
        match (last.state, last.cause) {
            (State::Scored, _) => {
                self.scored += 1;
                let outcomes = last.outcomes.as_ref().unwrap();
                let resolved = u64::from(outcomes["resolved"] == true);
                *self.resolved.entry(last.arm.clone()).or_default() += resolved;
            }
            (State::Unjudged, Some(cause)) if !may_follow(design, slot) => {
                self.unjudged += 1;
                *self.causes.entry(cause.text().to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// Returns whether a run is an error stop of an hour that is an outage, which takes runs out.
fn is_taken_out(design: &Design, runs: &[&Run], run: &Run) -> bool {
    let Some(rule) = design
        .outage
        .as_ref()
        .filter(|rule| rule.voids == Voids::Run)
    else {
        return false;
    };
    let of_hour = |other: &&&Run| {
        other.place.is_some() && other.window.is_some() && other.window == run.window
    };
    let hour: Vec<&&Run> = runs.iter().filter(of_hour).collect();
    let stops = hour.iter().filter(|run| run.error).count() as u64;
    let enough = stops * rule.error_share.den >= hour.len() as u64 * rule.error_share.num;
    let of_arm = |arm: &String| hour.iter().any(|run| run.error && &run.arm == arm);
    let everywhere = rule.errors_in == ErrorsIn::AnyArm || design.arm_ids().iter().all(of_arm);
    run.error && hour.len() >= rule.ended_min as usize && enough && everywhere
}

/// Returns whether the last attempt at a slot leaves it to another.
fn may_follow(design: &Design, slot: &[&Run]) -> bool {
    let last = slot[slot.len() - 1];
    let is_left = design
        .per_slot
        .is_none_or(|most| slot.len() < most as usize);
    let unjudged = last.cause.filter(|_| last.state == State::Unjudged);
    is_left && unjudged.is_some_and(|cause| design.rerun.contains(&cause.word()))
}

/// Leaves what refuses starts out, in hours that take runs out.
fn in_outages(random: &mut Random, design: Design) -> Design {
    Design {
        outage: Some(Outage {
            voids: Voids::Run,
            pauses_starts: false,
            ..any_outage(random)
        }),
        ..design.unhindered()
    }
}

#[test]
fn the_tally_of_an_order_by_counts_is_a_naive_count() {
    let (mut taken_out, mut reruns, mut studies) = (0, 0, 0);
    for seed in 0..900 {
        let mut random = Random(seed << 32);
        let design = any_design(&mut random);
        if !design.by_counts {
            continue;
        }
        studies += 1;
        let design = match seed % 4 {
            0 => design,
            _ => in_outages(&mut random, design),
        };
        let drafts = [Draft::of(design.clone())];
        let mut world = World::registered(&drafts);
        for turn in 0..120 {
            world.later(any_pause(&mut random));
            let wanted = any_move(&mut random, &world);
            world.give(&wanted);
            if turn % 8 != 0 {
                continue;
            }
            let tally = tally(&drafts[0].rules, &world.slice);
            assert_eq!(
                counted(&tally),
                naive(&design, &world.slice),
                "after {wanted:?} under {design:?}"
            );
            reruns += tally.reruns;
            let runs: Vec<&Run> = world
                .slice
                .runs
                .values()
                .filter_map(Option::as_deref)
                .collect();
            taken_out += runs
                .iter()
                .filter(|run| is_taken_out(&design, &runs, run))
                .count();
        }
    }
    assert!(
        studies > 100 && taken_out > 150 && reruns > 500,
        "{studies} studies, {taken_out} runs taken out, {reruns} reruns"
    );
}

#[test]
fn the_tally_counts_the_slots_that_blocks_say_have_ended() {
    let (mut turn, mut counted, mut void) = (0, 0, 0);
    histories(|_, wanted, _, after| {
        turn += 1;
        let slice = &after.slice;
        let (Some(rules), Some(_), 0) = (after.rules(), slice.standing.registered, turn % 3) else {
            return;
        };
        let tally = tally(rules, slice);
        let (mut ended, mut unjudged) = (0, 0);
        for block in blocks::all(rules, slice) {
            ended += block.ended;
            unjudged += block.unjudged;
        }
        let told = [tally.scored + tally.unjudged, tally.unjudged, tally.slots];
        let design = after.design();
        assert_eq!(
            told,
            [ended, unjudged, slice.standing.slots],
            "after {wanted:?} under {design:?}"
        );
        assert_eq!(ended, slice.standing.slots_ended);
        counted += ended;
        void += tally.causes.get("void").copied().unwrap_or_default();
    });
    assert!(
        counted > 2_000 && void > 100,
        "{counted} slots, {void} of them void"
    );
}

/// Plays moves on a registered study and counts.
fn played(design: &Design, moves: &[&str]) -> Tally {
    let drafts = [Draft::of(design.clone())];
    let mut world = World::registered(&drafts);
    for wanted in moves {
        world.give(&read(wanted)).ruling.unwrap();
    }
    tally(&drafts[0].rules, &world.slice)
}

#[test]
fn void_runs_are_in_no_count_and_a_block_voided_too_often_is_missing() {
    let design = Design {
        serial: Serial::None,
        on_error_stop: ScoreWord::Unjudged,
        voids_max: Some(0),
        outage: Some(easy_outage(Voids::Block)),
        ..Design::default()
    };
    let moves = [
        "start t1 a",
        "finish 1",
        "score 1 pass",
        "start t1 b",
        "stop 2",
    ];
    let found = counted(&played(&design, &moves));
    let void = |count: u64| match count {
        0 => BTreeMap::new(),
        count => BTreeMap::from([("void".to_owned(), count)]),
    };
    assert_eq!(
        (found.scored, found.unjudged, found.causes),
        (0, 2, void(2))
    );
    assert_eq!(found.resolved["a"], 0, "what is void is not counted");
    // A block that is executed again is not missing, and its runs so far are in no count.
    let again = Design {
        voids_max: Some(1),
        ..design.clone()
    };
    let found = counted(&played(&again, &moves));
    assert_eq!(
        (found.scored, found.unjudged, found.causes),
        (0, 0, void(0))
    );
    // Voided by hand before anything of it has started.
    let found = counted(&played(&design, &["void 2"]));
    assert_eq!(
        (found.scored, found.unjudged, found.causes),
        (0, 2, void(2))
    );
}

#[test]
fn a_run_that_counts_again_when_every_slot_is_filled_fills_none_more() {
    let design = Design {
        by_counts: true,
        outage: Some(Outage {
            ended_min: 1,
            voids: Voids::Run,
            ..easy_outage(Voids::Block)
        }),
        ..Design::default()
    };
    // The error stop is taken out, and with the third ending its hour is no outage any more.
    let moves = "start t1 a, stop 1, score 1 pass, start t1 a, finish 2, score 2 pass, start t1 b";
    let moves: Vec<&str> = moves.split(", ").collect();
    let taken_out = counted(&played(&design, &moves));
    let back = counted(&played(&design, &[&moves[..], &["finish 3"]].concat()));
    for found in [&taken_out, &back] {
        assert_eq!((found.scored, found.resolved["a"]), (1, 1));
    }
}

#[test]
fn a_slot_that_waits_for_its_next_attempt_has_not_ended() {
    let design = Design {
        per_slot: Some(2),
        rerun: vec![CauseWord::Lost],
        ..Design::default()
    };
    for (by_counts, moves, unjudged, reruns) in [
        (false, &["start t1 a", "close 1 lost"][..], 0, 0),
        (false, &["start t1 a", "close 1 lost", "start t1 a"], 0, 1),
        (true, &["start t1 a", "close 1 lost"], 0, 0),
        (true, &["start t1 a", "close 1 lost", "start t1 a"], 0, 1),
        (true, &["start t1 a", "close 1 failed"], 1, 0),
        (false, &["start t1 a", "close 1 failed"], 1, 0),
    ] {
        let design = Design {
            by_counts,
            ..design.clone()
        };
        let tally = played(&design, moves);
        assert_eq!(
            (tally.unjudged, tally.reruns),
            (unjudged, reruns),
            "{moves:?}"
        );
    }
}

#[test]
fn controls_of_no_task_do_not_show_that_the_instrument_works() {
    let design = Design {
        open: true,
        grows: true,
        ..Design::default()
    };
    let tally = played(&design, &[]);
    assert_eq!(tally.slots, 0);
    assert_eq!(tally.controls[0].verdict, ControlVerdict::SoFar);
}
