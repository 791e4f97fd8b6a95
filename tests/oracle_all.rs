//! The engine against the naive one on every history of six moves, over two arms and two blocks.

mod engine_common;
mod naive;

use engine_common::design::Design;
use engine_common::random_rules::easy_outage;
use engine_common::{Draft, How, Move, Report, World};
use naive::Naive;
use naive::agrees::agrees;
use prereg::engine::command::Cause;
use prereg::protocol::model::{Axis, CauseWord, Serial, Voids};

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
            let changed = world.slice.runs != at.slice.runs || world.slice.lanes != at.slice.lanes;
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
        if design.outage.is_some() {
            moves.push(Move::End(run, How::error()));
        }
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
        every_history_of(design);
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

/// A study in which two endings, one of them an error stop, make an outage.
fn with_outage(voids: Voids) -> Design {
    Design {
        serial: Serial::Block,
        runs_max: 2,
        rerun: vec![CauseWord::Unjudged, CauseWord::Stale],
        per_slot: Some(2),
        voids_max: Some(1),
        outage: Some(easy_outage(voids)),
        ..Design::default()
    }
}

fn every_history_of(design: Design) {
    let drafts = [Draft::of(design.clone())];
    let mut world = World::empty(&drafts);
    let mut naive = Naive::new(vec![design]);
    agrees(&mut world, &mut naive, &Move::Open(0));
    agrees(&mut world, &mut naive, &Move::Register(0));
    every_history(&world, &naive, 6);
}

#[test]
fn the_engines_agree_on_every_history_of_six_with_blocks_that_an_outage_voids() {
    every_history_of(with_outage(Voids::Block));
}

#[test]
fn the_engines_agree_on_every_history_of_six_with_runs_that_an_outage_voids() {
    every_history_of(Design {
        serial: Serial::None,
        ..with_outage(Voids::Run)
    });
}

#[test]
fn the_engines_agree_on_every_history_of_six_by_counts() {
    every_history_of(Design {
        by_counts: true,
        ..with_outage(Voids::Run)
    });
}
