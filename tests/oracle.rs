//! The engine against a naive one that is written from the protocol's text alone.

mod engine_common;
mod naive;

use engine_common::design::Design;
use engine_common::effects::effects;
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Move, Report, World};
use naive::{Naive, Stands};
use prereg::engine::command::Cause;
use prereg::protocol::model::{Axis, CauseWord, Serial};

/// Histories of one pair of drafts; drafts cost more to make than histories.
const EACH: u64 = 25;

fn agrees(world: &mut World<'_>, naive: &mut Naive, wanted: &Move) {
    let found = effects(&world.give(wanted));
    let expected = naive.ask(world.at, wanted);
    let same = found == expected && stands(world) == naive.stands();
    assert!(
        same,
        "{wanted:?} at {}: the engine says\n {found}\n {:?}\nand the naive one\n {expected}\n {:?}\nafter {}\nunder {:?}",
        world.at.0,
        stands(world),
        naive.stands(),
        naive.told(),
        world.design()
    );
}

/// Says how the study stands: how many slots have ended, and what became of the runs of each arm.
fn stands(world: &World<'_>) -> Stands {
    let standing = &world.slice.standing;
    let arms = standing.arms.iter().map(|(arm, counts)| {
        let counts = [
            counts.started,
            counts.ended,
            counts.scored,
            counts.unjudged,
            counts.void,
        ];
        (arm.clone(), counts)
    });
    Stands {
        slots_ended: standing.slots_ended,
        arms: arms.collect(),
        complete: standing.completed.is_some(),
    }
}

fn random_histories(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut random = Random(seed);
        let designs = any_drafts(&mut random);
        let drafts = designs.clone().map(Draft::of);
        let empty = Naive::new(designs.to_vec());
        for _ in 0..EACH {
            let mut world = World::empty(&drafts);
            let mut naive = empty.clone();
            for _ in 0..8 + random.below(32) {
                world.later(any_pause(&mut random));
                let wanted = any_move(&mut random, &world);
                agrees(&mut world, &mut naive, &wanted);
            }
        }
    }
}

#[test]
fn the_engines_agree_on_random_histories() {
    random_histories(0..200);
}

#[test]
fn the_engines_agree_on_other_random_histories() {
    random_histories(1_000..1_200);
}

/// Plays every history of some more moves. A refused move changes nothing but the clock, which the
/// laws show, so that a history that holds one is a shorter one, played too.
fn every_history(world: &World<'_>, naive: &Naive, moves: usize) {
    for late in [false, true] {
        let mut at = world.clone();
        if late {
            at.later(at.design().stale_after);
        }
        for wanted in every_move(&at, late) {
            let (mut world, mut naive) = (at.clone(), naive.clone());
            agrees(&mut world, &mut naive, &wanted);
            let changed = world.slice.runs != at.slice.runs;
            if changed && moves > 1 {
                every_history(&world, &naive, moves - 1);
            }
        }
    }
}

/// Everything that can be asked; after a deadline, only what can notice it.
fn every_move(world: &World<'_>, late: bool) -> Vec<Move> {
    let design = world.design();
    let mut moves: Vec<Move> = design
        .drawn_ids()
        .iter()
        .flat_map(|task| {
            design
                .arm_ids()
                .into_iter()
                .map(|arm| Move::start(task, &arm))
        })
        .collect();
    for run in 1..=world.slice.standing.runs {
        moves.push(Move::Finish(run, false));
        moves.push(Move::Expire(run));
        if !late {
            moves.push(Move::Close(run, Cause::Lost));
            moves.push(Move::Score(run, Report::Pass));
            moves.push(Move::Score(run, Report::None));
        }
    }
    moves
}

fn every_history_of_six(serial: Serial, nest: [Axis; 3]) {
    for (runs_max, rerun) in [
        (1, vec![CauseWord::Unjudged, CauseWord::Stale]),
        (2, vec![CauseWord::Lost]),
        (4, vec![CauseWord::Stale, CauseWord::Lost]),
    ] {
        let design = Design {
            serial,
            nest,
            runs_max,
            rerun,
            per_slot: Some(2),
            ..Design::default()
        };
        let drafts = [Draft::of(design.clone())];
        let mut world = World::empty(&drafts);
        let mut naive = Naive::new(vec![design]);
        agrees(&mut world, &mut naive, &Move::Open(0));
        agrees(&mut world, &mut naive, &Move::Register(0));
        every_history(&world, &naive, 6);
    }
}

#[test]
fn the_engines_agree_on_every_history_of_six_under_serial_block() {
    every_history_of_six(Serial::Block, [Axis::Task, Axis::Repeat, Axis::Arm]);
}

#[test]
fn the_engines_agree_on_every_history_of_six_under_serial_study() {
    every_history_of_six(Serial::Study, [Axis::Task, Axis::Repeat, Axis::Arm]);
}

#[test]
fn the_engines_agree_on_every_history_of_six_without_serial() {
    every_history_of_six(Serial::None, [Axis::Arm, Axis::Task, Axis::Repeat]);
}
