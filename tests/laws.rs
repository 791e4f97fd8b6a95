//! The engine's laws, on thousands of random histories: what must hold whatever is asked.

mod engine_common;
mod part;

use std::collections::{BTreeMap, BTreeSet};

use engine_common::cases::studies;
use engine_common::histories::{granted, histories, placed};
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Move, World};
use part::Part;
use prereg::engine::blocks::{self, Block};
use prereg::engine::event::Event;
use prereg::engine::frame::Phase;
use prereg::engine::slice::{Slice, State};
use prereg::engine::start::{self, Peek};
use prereg::units::RunId;

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
            let refusal = given.ruling.as_ref().err();
            let counts = refusal.is_some_and(|refusal| refusal.is_recorded());
            known.standing.refusals += u64::from(counts);
            assert_eq!(known, after.slice, "{wanted:?}");
        }
    });
}

#[test]
fn a_part_of_a_record_decides_as_the_whole() {
    const HISTORIES: u64 = 50;
    for seed in 0..studies(HISTORIES) {
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
                let peek = world
                    .rules()
                    .map(|rules| start::peek(rules, &world.slice, world.at));
                assert_eq!(part.peek(&world), peek, "after {wanted:?}");
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
            let stands = after.slice.run(*run).unwrap();
            let kept = (stands.outcomes.clone(), stands.evidence, stands.closed_at);
            assert_eq!(&kept, outcome, "{wanted:?}");
            assert!(matches!(stands.state, State::Scored | State::Void));
        }
        let places = later.keys().filter_map(|run| after.slice.run(*run)?.place);
        let slots: Vec<_> = places
            .filter(|place| !place.by_counts)
            .map(|place| (place.lane.draft, place.position))
            .collect();
        assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len());
    });
}

#[test]
fn nothing_starts_beyond_the_plan() {
    histories(|before, wanted, given, after| {
        let Some(place) = placed(given) else { return };
        let plan = before.rules().unwrap().plan_of(&before.slice, true);
        assert!(place.position < plan.len(), "{wanted:?}");
        assert!(before.slice.standing.registered.is_some());
        let run = after.slice.run(RunId(after.slice.standing.runs)).unwrap();
        let design = before.design();
        if place.by_counts {
            assert!(place.block < plan.tasks(), "{wanted:?}");
            return;
        }
        assert!(before.slice.standing.slots_ended < plan.len());
        let slot = plan.slot(place.position);
        let phase = Phase {
            confirmatory: true,
            index: slot.task,
        };
        let task = before.rules().unwrap().task_at(&before.slice, phase);
        assert_eq!(Some(&run.task), task.as_ref());
        assert_eq!(run.arm, design.arm_ids()[slot.arm as usize]);
        assert_eq!(place.repeat, slot.repeat + 1);
    });
}

#[test]
fn blocks_add_up_to_the_slots_that_have_ended() {
    histories(|_, wanted, _, after| {
        let Some(rules) = after.rules() else { return };
        let standing = &after.slice.standing;
        let blocks = blocks::all(rules, &after.slice);
        let sum = |part: fn(&Block) -> u64| blocks.iter().map(part).sum::<u64>();
        assert_eq!(sum(|block| block.ended), standing.slots_ended, "{wanted:?}");
        let plan = rules.plan_of(&after.slice, true);
        assert_eq!(sum(|block| block.expected), plan.len());
        let complete = blocks.iter().all(|block| block.complete);
        let grows = rules.grows() && Some(standing.drawn) != rules.protocol().draw.size;
        if complete && !grows && standing.registered.is_some() {
            assert!(standing.completed.is_some(), "{wanted:?}");
        }
        let whole = blocks.iter().filter(|block| block.complete).count() as u64;
        let told = blocks::complete(rules, &after.slice);
        assert_eq!(told, (whole, blocks.len() as u64), "{wanted:?}");
        for run in after.slice.runs.values().flatten() {
            let flag = blocks::of_run(rules, &after.slice, run);
            let place = run.place.filter(|place| place.lane.draft == 0);
            let incomplete = place.map(|place| !blocks[place.block as usize].complete);
            assert_eq!(flag.map(|flag| flag.incomplete), incomplete, "{run:?}");
        }
    });
}

#[test]
fn attempts_and_live_runs_never_exceed_what_is_registered() {
    histories(|_, wanted, given, after| {
        let design = after.design();
        if let Ok([Event::Started { .. }, ..]) = given.ruling.as_deref() {
            let live = after.slice.standing.live.values();
            let fresh = live.filter(|start| start.plus(design.stale_after) > after.at);
            assert!(fresh.count() <= design.runs_max as usize, "{wanted:?}");
        }
        let mut attempts: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        for run in after.slice.runs.values().flatten() {
            let place = run.place.filter(|place| place.lane.draft == 0);
            let counts = run.state != State::Void;
            if let Some(place) = place.filter(|place| counts && !place.by_counts) {
                let count = attempts.entry((place.voids, place.position)).or_default();
                *count += 1;
                assert!(*count <= place.attempt, "attempts are numbered in order");
                assert!(design.per_slot.is_none_or(|most| *count <= most));
            }
        }
    });
}

#[test]
fn peek_says_start_exactly_when_a_start_would_be_granted() {
    histories(|_, _, _, after| {
        let Some(rules) = after.rules() else { return };
        let peek = start::peek(rules, &after.slice, after.at);
        if let Peek::Expire(run) = peek {
            assert!(granted(after, &Move::Expire(run.0)));
            return;
        }
        if let Peek::Look(due) = peek {
            assert!(granted(after, &Move::Look(due.look, due.tasks, false)));
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
