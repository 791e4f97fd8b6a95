//! The comparison of the two engines: what follows from a move, and how the study stands after it.

use super::{Naive, Stands};
use crate::engine_common::effects::effects;
use crate::engine_common::{Move, World};

/// Gives a move to both engines; what they make of it must be the same.
pub(crate) fn agrees(world: &mut World<'_>, naive: &mut Naive, wanted: &Move) {
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
