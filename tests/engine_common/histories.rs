//! Random histories for the laws: every move with the world before and after it.

use prereg::engine::decide;
use prereg::engine::event::{Event, Place};

use super::cases::studies;
use super::random::{Random, any_drafts, any_move, any_pause};
use super::{Draft, Given, Move, World};

/// A law is held against every move of a history, some 25. Rules cost more to make than histories, so
/// that several are played under each.
const HISTORIES: u64 = 36;

/// Plays histories; hands each move to a function: the world before it, the move, what came of it,
/// and the world after.
pub fn histories(mut each: impl FnMut(&World<'_>, &Move, &Given, &World<'_>)) {
    for seed in 0..studies(HISTORIES) {
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
pub fn placed(given: &Given) -> Option<Place> {
    let started = given.ruling.iter().flatten().find_map(|event| match event {
        Event::Started { place, .. } => *place,
        _ => None,
    });
    started.filter(|place| place.lane.draft == 0)
}

/// Returns whether a move would be granted now.
pub fn granted(world: &World<'_>, wanted: &Move) -> bool {
    let command = world.asked(wanted);
    decide::decide(world.rules(), &world.slice, &command).is_ok()
}
