//! Stops of an arm and of a stage alone, as tables, in the form of `decide.rs`.

mod engine_common;

use engine_common::design::Design;
use engine_common::gates::{Gate, Opens};
use engine_common::words::plays_registered;
use prereg::protocol::model::{Serial, StopScope, UnknownStop};

/// A stop that fires from level 9 on, and says nothing while nothing is known.
fn weekly(scope: StopScope) -> Gate {
    Gate {
        id: "weekly",
        level: 9,
        at_session: false,
        scope,
        unknown: UnknownStop::Go,
    }
}

fn with(stops: Vec<Gate>) -> Design {
    Design {
        stops,
        tasks: 3,
        serial: Serial::Block,
        pilots: 0,
        ..Design::default()
    }
}

#[test]
fn a_stop_of_an_arm_goes_by_what_its_own_runs_observed() {
    plays_registered(
        &with(vec![weekly(StopScope::Arm)]),
        "start t1 a        | run 1
         observe 1 9       | ended, read quota
         score 1 pass      | scored, slot ended
         start t1 b        | run 2
         observe 2 3       | ended, read quota
         score 2 pass      | scored, slot ended
         start t2 a        | weekly
         peek              | refused weekly
         start t2 b        | out-of-order, next t2 a
         quota 3           | read quota
         quota 3           | nothing
         start t2 a        | run 3
         observe 3 9       | ended, read quota
         score 3 pass      | scored, slot ended
         start t2 b        | run 4
         quota 9           | read quota
         finish 4          | ended
         score 4 pass      | scored, slot ended
         start t3 a        | weekly",
    );
}

#[test]
fn a_stop_of_the_study_goes_by_whatever_was_read_last() {
    plays_registered(
        &with(vec![weekly(StopScope::Study)]),
        "start t1 a        | run 1
         observe 1 9       | ended, read quota
         score 1 pass      | scored, slot ended
         start t1 b        | weekly",
    );
}

#[test]
fn what_a_control_observes_is_about_every_arm() {
    plays_registered(
        &with(vec![weekly(StopScope::Arm)]),
        "start t1 oracle   | run 1
         observe 1 9       | ended, read quota
         start t1 a        | weekly
         quota 1           | read quota
         start t1 a        | run 2",
    );
}

#[test]
fn the_order_passes_over_a_stage_that_is_stopped_and_over_no_other() {
    let design = Design {
        stages: vec![(1, Opens::Now), (1, Opens::Now)],
        tasks: 1,
        ..with(vec![weekly(StopScope::Stage)])
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         observe 1 9       | ended, read quota
         score 1 pass      | scored, slot ended
         peek              | start t1 a
         start t1 b        | out-of-order, next t1 a
         start t1 a        | run 2
         observe 2 8       | ended, read quota
         score 2 pass      | scored, slot ended
         start t1 b        | run 3
         observe 3 9       | ended, read quota
         score 3 pass      | scored, slot ended
         peek              | refused weekly
         start t1 b        | weekly
         quota 1           | read quota
         start t1 b        | run 4",
    );
}

#[test]
fn a_session_asks_for_arms_and_stages_only_what_is_looked_at_then() {
    let at_session = Gate {
        id: "session",
        at_session: true,
        ..weekly(StopScope::Arm)
    };
    plays_registered(
        &with(vec![weekly(StopScope::Arm)]),
        "quota 9           | read quota
         session           | nothing
         start t1 a        | weekly",
    );
    plays_registered(
        &with(vec![at_session]),
        "quota 9           | read quota
         session           | session
         start t1 a        | run 1",
    );
}
