//! What the engine once answered otherwise than the protocol's language says; the naive engine
//! found it.

mod engine_common;

use engine_common::design::Design;
use engine_common::words::plays;

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
