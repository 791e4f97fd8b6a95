//! The engine against a naive one that is written from the protocol's text alone, on random
//! histories of random studies.

mod engine_common;
mod naive;

use engine_common::cases::studies;
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, World};
use naive::Naive;
use naive::agrees::agrees;

/// Histories of one pair of drafts; drafts cost more to make than histories.
const EACH: u64 = 25;

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
    random_histories(0..studies(EACH) / 2);
}

#[test]
fn the_engines_agree_on_other_random_histories() {
    random_histories(studies(EACH) / 2..studies(EACH));
}
