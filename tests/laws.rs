//! The engine's laws, on thousands of random histories: what must hold whatever is asked.

mod engine_common;
mod part;

use std::collections::{BTreeMap, BTreeSet};

use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Given, Move, Report, World};
use part::Part;
use prereg::engine::decide::{self, Peek};
use prereg::engine::event::{Event, Place};
use prereg::engine::slice::{Slice, State};
use prereg::units::RunId;

const STUDIES: u64 = 80;
const HISTORIES: u64 = 12;

/// Plays histories; hands each move to a function: the world before it, the move, what came of it,
/// and the world after.
fn histories(mut each: impl FnMut(&World<'_>, &Move, &Given, &World<'_>)) {
    for seed in 0..STUDIES {
        let mut random = Random(seed << 32);
        let drafts = any_drafts(&mut random).map(Draft::of);
        for _ in 0..HISTORIES {
            let mut world = World::empty(&drafts);
            for _ in 0..10 + random.below(30) {
                world.later(any_pause(&mut random));
                let wanted = any_move(&mut random, &world);
                let before = world.clone();
                let given = world.give(&wanted);
                each(&before, &wanted, &given, &world);
            }
        }
    }
}

/// Returns the places in the registered plan that events started.
fn placed(given: &Given) -> Option<Place> {
    let started = given.ruling.iter().flatten().find_map(|event| match event {
        Event::Started { place, .. } => *place,
        _ => None,
    });
    started.filter(|place| place.lane.draft == 0)
}

fn granted(world: &World<'_>, wanted: &Move) -> bool {
    let command = world.asked(wanted);
    decide::decide(world.rules(), &world.slice, &command).is_ok()
}

#[test]
fn a_ruling_follows_from_what_is_known_alone() {
    histories(|before, wanted, given, after| {
        let mut again = before.clone();
        assert_eq!(&again.give(wanted), given);
        assert_eq!(again.slice, after.slice);
    });
}

#[test]
fn a_refusal_and_no_news_change_nothing() {
    histories(|before, wanted, given, after| {
        let silent = given.ruling.as_ref().map_or(true, Vec::is_empty);
        if silent && given.expired.is_empty() {
            let mut known = before.slice.clone();
            known.standing.at = after.slice.standing.at;
            assert_eq!(known, after.slice, "{wanted:?}");
        }
    });
}

#[test]
fn a_part_of_a_record_decides_as_the_whole() {
    for seed in 0..STUDIES {
        let mut random = Random(seed << 32 | 1);
        let drafts = any_drafts(&mut random).map(Draft::of);
        for _ in 0..HISTORIES {
            let mut world = World::empty(&drafts);
            let mut part = Part::default();
            for _ in 0..10 + random.below(30) {
                if random.chance(4) {
                    part.commit(&world.slice);
                }
                world.later(any_pause(&mut random));
                let wanted = any_move(&mut random, &world);
                let by_part = part.give(&world, &wanted);
                assert_eq!(by_part, world.give(&wanted), "{wanted:?}");
                part.agrees(&world.slice);
            }
        }
    }
}

#[test]
fn a_slot_is_scored_at_most_once_and_its_first_outcome_stands() {
    histories(|before, wanted, _, after| {
        let scored = |slice: &Slice| {
            let runs = slice.runs.values().flatten();
            runs.filter(|run| run.state == State::Scored)
                .map(|run| (run.run, (run.outcomes.clone(), run.evidence, run.closed_at)))
                .collect::<BTreeMap<_, _>>()
        };
        let (earlier, later) = (scored(&before.slice), scored(&after.slice));
        for (run, outcome) in &earlier {
            assert_eq!(later.get(run), Some(outcome), "{wanted:?}");
        }
        let places = later.keys().filter_map(|run| after.slice.run(*run)?.place);
        let slots: Vec<_> = places
            .map(|place| (place.lane.draft, place.position))
            .collect();
        assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len());
    });
}

#[test]
fn nothing_starts_beyond_the_plan() {
    histories(|before, wanted, given, after| {
        let Some(place) = placed(given) else { return };
        let plan = before.rules().unwrap().registered_plan();
        assert!(place.position < plan.len(), "{wanted:?}");
        assert!(before.slice.standing.registered.is_some());
        assert_eq!(before.slice.standing.completed, None);
        let slot = plan.slot(place.position);
        let run = after.slice.run(RunId(after.slice.standing.runs)).unwrap();
        let design = before.design();
        assert_eq!(run.task, design.drawn_ids()[slot.task as usize]);
        assert_eq!(run.arm, design.arm_ids()[slot.arm as usize]);
        assert_eq!(place.repeat, slot.repeat + 1);
    });
}

#[test]
fn attempts_and_live_runs_never_exceed_what_is_registered() {
    histories(|_, wanted, given, after| {
        let design = after.design();
        if let Ok([Event::Started { .. }]) = given.ruling.as_deref() {
            let live = after.slice.standing.live.values();
            let fresh = live.filter(|start| start.plus(design.stale_after) > after.at);
            assert!(fresh.count() <= design.runs_max as usize, "{wanted:?}");
        }
        let mut attempts: BTreeMap<u64, u32> = BTreeMap::new();
        for run in after.slice.runs.values().flatten() {
            if let Some(place) = run.place.filter(|place| place.lane.draft == 0) {
                let count = attempts.entry(place.position).or_default();
                *count += 1;
                assert_eq!(*count, place.attempt, "attempts are numbered in order");
                assert!(design.per_slot.is_none_or(|most| *count <= most));
            }
        }
    });
}

#[test]
fn peek_says_start_exactly_when_a_start_would_be_granted() {
    histories(|_, _, _, after| {
        let Some(rules) = after.rules() else { return };
        let peek = decide::peek(rules, &after.slice, after.at);
        if let Peek::Expire(run) = peek {
            assert!(granted(after, &Move::Expire(run.0)));
            return;
        }
        for task in after.design().drawn_ids() {
            for arm in after.design().arm_ids() {
                let wanted = Move::start(&task, &arm);
                let said =
                    matches!(&peek, Peek::Start(next) if (&next.task, &next.arm) == (&task, &arm));
                assert_eq!(said, granted(after, &wanted), "{wanted:?} after {peek:?}");
            }
        }
    });
}

/// Ends every run that is open, so that nothing is waited for.
fn settle(world: &mut World<'_>) {
    let open: Vec<u64> = world
        .slice
        .runs
        .values()
        .flatten()
        .filter(|run| !run.is_closed())
        .map(|run| run.run.0)
        .collect();
    for run in open {
        world.give(&Move::Finish(run, false));
        world.give(&Move::Score(run, Report::Pass));
        assert!(
            world
                .slice
                .run(RunId(run))
                .is_some_and(|run| run.is_closed())
        );
    }
}

#[test]
fn no_standing_is_stuck() {
    let mut turn = 0;
    histories(|_, _, _, after| {
        turn += 1;
        let (Some(rules), Some(_)) = (after.rules(), after.slice.standing.registered) else {
            return;
        };
        if turn % 10 != 0 {
            return;
        }
        let mut world = after.clone();
        settle(&mut world);
        for _ in 0..=rules.registered_plan().len() {
            // What the operator can clear holds nobody up for good.
            while let Peek::Refused(refusal) = decide::peek(rules, &world.slice, world.at) {
                if refusal.code() == "past-cutoff" {
                    assert!(granted(&world, &Move::Conclude));
                    world.give(&Move::Conclude);
                    assert!(world.slice.standing.has_ended());
                    return;
                }
                assert!(refusal.is_hold(), "{refusal:?}");
                assert!(granted(&world, &Move::Breaker(false)), "{refusal:?}");
                world.give(&Move::Breaker(false));
            }
            match decide::peek(rules, &world.slice, world.at) {
                Peek::Complete => break,
                Peek::Start(next) => {
                    let given = world.give(&Move::Start(next.task, next.arm));
                    assert!(placed(&given).is_some(), "{given:?}");
                }
                other => panic!("nothing is open, and peek says {other:?}"),
            }
            settle(&mut world);
        }
        assert!(world.slice.standing.has_ended());
    });
}

#[test]
fn random_histories_meet_every_ruling_that_the_engine_gives() {
    let mut met = BTreeSet::new();
    histories(|_, _, given, _| {
        let expired = given.expired.iter().flat_map(|(_, events)| events);
        let happened = expired.chain(given.ruling.iter().flatten());
        met.extend(happened.map(|event| {
            let event = serde_json::to_value(event).unwrap();
            event["cause"]
                .as_str()
                .or(event["event"].as_str())
                .unwrap()
                .to_owned()
        }));
        met.extend(
            given
                .ruling
                .as_ref()
                .err()
                .map(|refusal| refusal.code().to_owned()),
        );
    });
    for ruling in [
        "not-opened",
        "not-opened-last",
        "registration-differs",
        "unknown-task",
        "unknown-arm",
        "breaker-open",
        "past-cutoff",
        "not-over",
        "stopped",
        "no-breaker",
        "breaker-internal",
        "breaker",
        "split-closed",
        "not-registered",
        "not-drawn",
        "slots-used",
        "out-of-order",
        "cap-reached",
        "unknown-run",
        "stale",
        "already-closed",
        "already-ended",
        "not-ended",
        "not-stale",
        "not-a-cause",
        "opened",
        "registered",
        "started",
        "ended",
        "scored",
        "slot-ended",
        "slot-waits",
        "completed",
        "unblinded",
        "no-report",
        "bad-report",
        "judge-timeout",
        "judge-error",
        "infra",
        "outcome-error",
        "failed",
        "timed-out",
        "cancelled",
        "lost",
    ] {
        assert!(met.contains(ruling), "no history meets {ruling}");
    }
}
