//! What the engine once answered otherwise than the protocol's language says; the naive engine
//! found it.

mod engine_common;

use engine_common::design::Design;
use engine_common::words::{plays, plays_registered};
use prereg::protocol::model::CauseWord;

#[test]
fn only_a_registered_plan_has_blocks_to_void() {
    plays(
        &[Design::default()],
        "open 1     | draft 1
         void 1     | unknown-block
         register 1 | registered, 4 slots
         void 1     | deviated, block 0 again",
    );
}

#[test]
fn a_start_by_one_who_may_not_write_closes_nothing() {
    let design = Design {
        actors: true,
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a          | run 1
         wait 6h             |
         stranger start t1 b | actor-not-admitted
         start t1 b          | 1 stale, slot ended; run 2",
    );
}

#[test]
fn a_draw_that_grows_has_slots_for_what_is_drawn() {
    let design = Design {
        grows: true,
        ..Design::default()
    };
    plays(
        &[design],
        "open 1     | draft 1
         draw 1 t1  | drawn t1
         register 1 | registered, 2 slots",
    );
}

#[test]
fn a_pilot_of_an_earlier_draft_is_not_attempted_again() {
    let first = Design {
        pilots: 1,
        per_slot: Some(2),
        rerun_on_request: vec![CauseWord::Lost],
        ..Design::default()
    };
    let second = Design {
        question: "another question?".to_owned(),
        ..first.clone()
    };
    plays(
        &[first, second],
        "open 1       | draft 1
         start p1 a   | run 1
         close 1 lost | lost, slot ended
         open 2       | draft 2
         retry 1      | not-retried
         start p1 a   | run 2
         close 2 lost | lost, slot ended
         retry 2      | slot again",
    );
}
