//! The engine's rulings as tables: one command a row, its ruling in the last column.
//!
//! `|` parts them. What a start closes first stands before a `;`, with the run's number. Tasks are
//! `t1`…, undrawn `u1`…, pilots `p1`…; the control is `oracle`; drafts are numbered from 1.

mod engine_common;

use engine_common::design::Design;
use engine_common::words::{plays, plays_registered};
use prereg::protocol::model::{ArmsOrder, Axis, BlockKind, Serial};

fn pilots(pilots: usize) -> Design {
    Design {
        pilots,
        ..Design::default()
    }
}

#[test]
fn nothing_happens_before_a_protocol_is_opened() {
    plays(
        &[Design::default()],
        "register 1        | not-opened
         start t1 a        | not-opened
         start x x         | not-opened
         finish 1          | not-opened
         score 1 pass      | not-opened
         close 1 stale     | not-opened
         expire 1          | not-opened
         unblind           | not-opened
         open 1            | draft 1",
    );
}

#[test]
fn a_registration_stands_and_names_what_differs() {
    let other = Design {
        question: "another question?".to_owned(),
        runs_max: 2,
        ..Design::default()
    };
    plays(
        &[Design::default(), other],
        "open 1            | draft 1
         open 1            | nothing
         register 2        | not-opened-last
         open 2            | draft 2
         open 1            | draft 3
         register 2        | not-opened-last
         register 1        | registered, 4 slots
         register 1        | nothing
         open 1            | nothing
         open 2            | registration-differs, allocation.runs_max study.question
         register 2        | not-opened-last",
    );
}

#[test]
fn the_frame_is_among_what_differs() {
    let other = Design {
        undrawn: 1,
        ..Design::default()
    };
    plays(
        &[Design::default(), other],
        "open 1            | draft 1
         register 1        | registered, 4 slots
         open 2            | registration-differs, frame",
    );
}

#[test]
fn a_start_that_several_guards_refuse_answers_with_the_first() {
    let design = Design {
        undrawn: 1,
        runs_max: 1,
        ..pilots(1)
    };
    plays(
        &[design],
        "open 1            | draft 1
         start x x         | unknown-task
         start x oracle    | unknown-task
         start t1 x        | unknown-arm
         start u1 a        | not-registered
         start t1 a        | not-registered
         start p1 a        | run 1
         start u1 a        | not-registered
         start p1 x        | unknown-arm
         start p1 a        | slots-used
         start p1 b        | cap-reached, 1
         register 1        | registered, 4 slots
         start p1 a        | split-closed
         start p1 x        | unknown-arm
         start u1 a        | not-drawn
         start t1 b        | out-of-order, next t1 a
         start t1 a        | cap-reached, 1
         close 1 lost      | lost, slot ended
         start t1 a        | run 2
         start t1 a        | slots-used
         start t1 b        | out-of-order, next t2 a
         start t2 a        | cap-reached, 1",
    );
}

#[test]
fn a_report_that_several_guards_refuse_answers_with_the_first() {
    plays_registered(
        &Design::default(),
        "finish 1          | unknown-run
         score 1 pass      | unknown-run
         expire 1          | unknown-run
         close 1 lost      | unknown-run
         close 1 stale     | unknown-run
         start t1 a        | run 1
         close 1 stale     | not-a-cause
         close 1 timed-out | not-a-cause
         close 1 no-report | not-a-cause
         score 1 pass      | not-ended
         expire 1          | not-stale
         finish 1          | ended
         finish 1          | already-ended
         expire 1          | not-stale
         close 1 stale     | not-a-cause
         score 1 pass      | scored, slot ended
         finish 1          | already-closed, scored
         score 1 fail      | already-closed, scored
         close 1 stale     | already-closed, scored
         close 1 lost      | already-closed, scored
         expire 1          | already-closed, scored",
    );
}

#[test]
fn a_closed_run_takes_no_report() {
    plays_registered(
        &Design::default(),
        "start t1 a        | run 1
         close 1 cancelled | cancelled, slot ended
         finish 1          | already-closed, cancelled
         score 1 pass      | already-closed, cancelled
         close 1 cancelled | already-closed, cancelled
         expire 1          | already-closed, cancelled
         start t1 b        | run 2
         wait 6h           |
         finish 2          | 2 stale, slot ended; stale
         score 2 pass      | stale
         close 2 stale     | stale
         expire 2          | stale",
    );
}

#[test]
fn a_control_passes_only_task_arm_and_concurrency() {
    let design = Design {
        undrawn: 1,
        runs_max: 3,
        ..pilots(1)
    };
    plays(
        &[design],
        "open 1            | draft 1
         start t1 oracle   | run 1
         start t1 oracle   | run 2
         finish 2          | ended
         score 2 fail      | scored
         close 1 lost      | lost
         register 1        | registered, 4 slots
         start p1 oracle   | run 3
         start u1 oracle   | run 4
         start t2 oracle   | run 5
         start x oracle    | unknown-task
         start t2 oracle   | cap-reached, 3
         start t1 a        | cap-reached, 3
         finish 3          | ended
         start t1 a        | run 6",
    );
}

#[test]
fn a_control_is_no_attempt_and_completes_nothing() {
    let design = Design {
        tasks: 1,
        arms: 2,
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         close 1 failed    | failed, slot ended
         start t1 oracle   | run 2
         start t1 b        | run 3
         close 3 failed    | failed, slot ended, complete
         peek              | complete
         finish 2          | ended
         score 2 none      | no-report
         start t1 oracle   | run 4
         wait 6h           |
         expire 4          | stale",
    );
}

#[test]
fn pilots_know_no_order_and_end_with_the_registration() {
    let design = Design {
        repeats: 2,
        ..pilots(2)
    };
    plays(
        &[design],
        "open 1            | draft 1
         start p2 b        | run 1
         start p1 b        | run 2
         start p1 b        | run 3
         start p1 b        | slots-used
         start p2 a        | run 4
         start t1 a        | not-registered
         register 1        | registered, 8 slots
         start p1 a        | split-closed
         finish 1          | ended
         score 1 pass      | scored, slot ended
         close 2 lost      | lost, slot ended
         start t1 a        | run 5",
    );
}

#[test]
fn a_changed_draft_has_pilots_of_its_own() {
    let changed = Design {
        question: "another question?".to_owned(),
        ..pilots(1)
    };
    plays(
        &[pilots(1), changed],
        "open 1            | draft 1
         start p1 a        | run 1
         start p1 a        | slots-used
         close 1 failed    | failed, slot ended
         start p1 a        | slots-used
         open 2            | draft 2
         start p1 a        | run 2
         start p1 a        | slots-used
         open 1            | draft 3
         start p1 a        | run 3
         finish 2          | ended
         score 2 pass      | scored, slot ended
         start p1 a        | slots-used",
    );
}

#[test]
fn a_pilot_ends_under_a_draft_that_has_none() {
    let without = Design {
        question: "no pilots?".to_owned(),
        ..Design::default()
    };
    plays(
        &[pilots(1), without],
        "open 1            | draft 1
         start p1 b        | run 1
         start p1 a        | run 2
         open 2            | draft 2
         finish 1          | ended
         score 1 pass      | scored, slot ended
         close 2 lost      | lost, slot ended
         start p1 a        | unknown-task",
    );
}

#[test]
fn slots_start_in_the_order_of_the_plan() {
    let design = Design {
        order: ArmsOrder::Counterbalanced,
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t2 b        | out-of-order, next t1 a
         start t1 b        | out-of-order, next t1 a
         start t1 a        | run 1
         start t1 b        | out-of-order, next t2 b
         start t2 a        | out-of-order, next t2 b
         start t2 b        | run 2
         start t2 a        | out-of-order, next none
         finish 2          | ended
         start t2 a        | out-of-order, next none
         score 2 pass      | scored, slot ended
         start t1 b        | out-of-order, next t2 a
         start t2 a        | run 3
         close 1 lost      | lost, slot ended
         start t1 b        | run 4
         start t1 b        | slots-used
         close 4 lost      | lost, slot ended
         start t1 b        | slots-used
         peek              | wait
         close 3 lost      | lost, slot ended, complete
         peek              | complete
         start t2 a        | slots-used",
    );
}

#[test]
fn one_run_follows_another_under_serial_study() {
    let design = Design {
        serial: Serial::Study,
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         start t2 a        | out-of-order, next none
         peek              | wait
         finish 1          | ended
         start t1 b        | out-of-order, next none
         score 1 fail      | scored, slot ended
         start t2 a        | out-of-order, next t1 b
         start t1 b        | run 2",
    );
}

#[test]
fn every_slot_may_start_at_once_without_serial() {
    let design = Design {
        serial: Serial::None,
        nest: [Axis::Arm, Axis::Task, Axis::Repeat],
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 b        | out-of-order, next t1 a
         start t1 a        | run 1
         start t2 a        | run 2
         start t1 b        | run 3
         start t2 b        | run 4
         start t2 b        | slots-used",
    );
}

#[test]
fn pairs_are_lanes_of_their_own_under_block_pair() {
    let design = |block| Design {
        tasks: 1,
        repeats: 2,
        block,
        ..Design::default()
    };
    plays_registered(
        &design(BlockKind::Pair),
        "start t1 a        | run 1
         start t1 b        | out-of-order, next t1 a
         start t1 a        | run 2
         start t1 a        | slots-used
         close 2 lost      | lost, slot ended
         start t1 b        | run 3",
    );
    plays_registered(
        &design(BlockKind::Task),
        "start t1 a        | run 1
         start t1 a        | out-of-order, next none
         close 1 lost      | lost, slot ended
         start t1 a        | out-of-order, next t1 b
         start t1 b        | run 2",
    );
}

#[test]
fn a_look_at_sealed_outcomes_is_recorded_each_time() {
    plays(
        &[Design::default()],
        "open 1            | draft 1
         unblind           | unblinded
         unblind           | unblinded",
    );
}

#[test]
fn nothing_is_announced_before_the_registration() {
    plays(
        &[pilots(1)],
        "open 1            | draft 1
         peek              | wait
         start p1 a        | run 1
         peek              | wait
         register 1        | registered, 4 slots
         peek              | start t1 a",
    );
}

#[test]
fn the_breaker_opens_after_failures_in_a_row_and_a_person_clears_it() {
    let design = Design {
        runs_max: 2,
        serial: Serial::None,
        per_slot: None,
        rerun: vec![prereg::protocol::model::CauseWord::Failed],
        breaker: Some(2),
        control: true,
        ..Design::default()
    };
    plays_registered(
        &design,
        "breaker clear     | nothing
         breaker open      | breaker-internal
         start t1 a        | run 1
         close 1 failed    | failed, breaker 1, slot waits
         start t1 a        | run 2, attempt 2
         finish 2          | ended, breaker 0
         score 2 pass      | scored, slot ended
         start t1 b        | run 3
         close 3 lost      | lost, slot ended
         start t1 oracle   | run 4
         start t2 a        | run 5
         close 4 failed    | failed, breaker 1
         close 5 failed    | failed, breaker 2 open, slot waits
         peek              | refused breaker-open
         start t2 a        | breaker-open
         start t1 oracle   | breaker-open
         start x a         | unknown-task
         breaker clear     | breaker 0
         peek              | start t2 a
         start t2 a        | run 6, attempt 2
         finish 6          | ended",
    );
}

#[test]
fn a_breaker_for_one_arm_holds_that_arm_alone() {
    let design = Design {
        runs_max: 4,
        serial: Serial::None,
        breaker: Some(1),
        breaker_of_first: true,
        breaker_external: true,
        control: true,
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         start t1 b        | run 2
         close 2 failed    | failed, slot ended
         breaker open      | breaker 0 open
         breaker open      | nothing
         peek              | refused breaker-open
         start t2 oracle   | run 3
         start t2 b        | out-of-order, next t2 a
         start t2 a        | breaker-open
         breaker clear     | breaker 0
         close 1 failed    | failed, breaker 1 open, slot ended",
    );
}

#[test]
fn nothing_starts_at_the_cut_off_and_then_the_study_has_ended() {
    let design = Design {
        runs_max: 2,
        serial: Serial::None,
        cutoff: Some(prereg::units::Time(3_601_000_000)),
        control: true,
        ..Design::default()
    };
    plays_registered(
        &design,
        "conclude          | not-over
         start t1 a        | run 1
         wait 3600s        |
         peek              | refused past-cutoff
         start t1 b        | past-cutoff
         start x b         | unknown-task
         start t1 oracle   | run 2
         conclude          | not-over
         finish 1          | ended
         score 1 pass      | scored, slot ended
         close 2 lost      | lost
         conclude          | stopped past-cutoff
         conclude          | nothing
         start t1 b        | past-cutoff",
    );
}
