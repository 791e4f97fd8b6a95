//! What the engine once answered otherwise than the protocol's language says; the naive engine
//! found it; and what its check let pass.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod engine_common;

use std::path::Path;

use engine_common::design::Design;
use engine_common::words::{plays, plays_registered, read};
use engine_common::{Draft, World};
use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use prereg::protocol::defect::Defect;
use prereg::protocol::model::{
    ArmsOrder, CauseWord, ErrorsIn, Outage, OutageWindow, ScoreWord, Serial, Voids,
};
use prereg::units::Share;

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

#[test]
fn the_arms_of_an_open_frame_are_shuffled_by_the_names_of_its_tasks() {
    let known = Design {
        order: ArmsOrder::Shuffled,
        serial: Serial::Study,
        tasks: 3,
        ..Design::default()
    };
    let order = |design: &Design, moves: &str| {
        let drafts = [Draft::of(design.clone())];
        let mut world = World::registered(&drafts);
        for wanted in moves.lines() {
            world.give(&read(wanted));
        }
        let plan = drafts[0].rules.plan_of(&world.slice, true);
        let arms = (0..plan.len()).map(|position| plan.slot(position).arm);
        arms.collect::<Vec<u64>>()
    };
    let open = Design {
        open: true,
        grows: true,
        ..known.clone()
    };
    let moves = "add t1\nadd t2\nadd t3\ndraw 1 t1 t2 t3";
    assert_eq!(order(&open, moves), order(&known, ""));
    plays_registered(
        &open,
        "add t3     | added t3
         draw 1 t3  | drawn t3
         start t3 a | out-of-order, next t3 b
         start t3 b | run 1",
    );
}

#[test]
fn the_pilot_of_a_draft_that_goes_by_counts_begins_anew() {
    let first = Design {
        pilots: 1,
        by_counts: true,
        ..Design::default()
    };
    let second = Design {
        question: "another question?".to_owned(),
        ..first.clone()
    };
    plays(
        &[first, second],
        "open 1     | draft 1
         start p1 a | run 1
         start p1 a | slots-used
         open 2     | draft 2
         start p1 a | run 2
         start p1 a | slots-used",
    );
}

#[test]
fn slots_by_counts_are_no_blocks_that_an_outage_voids() {
    let design = Design {
        by_counts: true,
        repeats: 2,
        on_error_stop: ScoreWord::Unjudged,
        outage: Some(outage()),
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a | run 1
         stop 1     | ended, 1 of 1 stopped, failed, 1 slots ended
         start t1 b | run 2",
    );
}

#[test]
fn an_attempt_that_an_outage_voids_is_not_counted_for_those_after_it() {
    let design = Design {
        serial: Serial::None,
        per_slot: Some(2),
        rerun: vec![CauseWord::Unjudged],
        outage: Some(Outage {
            ended_min: 2,
            voids: Voids::Run,
            ..outage()
        }),
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a   | run 1
         stop 1       | ended, 1 of 1 stopped
         score 1 none | no-report, slot waits
         start t1 a   | run 2, attempt 2
         finish 2     | ended, 1 of 2 stopped, run 1 void, slot again
         score 2 none | no-report, slot waits
         start t1 a   | run 3, attempt 2
         finish 3     | ended, 1 of 3 stopped
         score 3 none | no-report, slot ended",
    );
}

#[test]
fn an_ending_that_voids_attempts_before_it_leaves_its_slot_to_the_next() {
    let design = Design {
        per_slot: Some(2),
        rerun: vec![CauseWord::Failed, CauseWord::TimedOut],
        on_timeout: ScoreWord::Unjudged,
        on_error_stop: ScoreWord::Unjudged,
        outage: Some(Outage {
            ended_min: 2,
            voids: Voids::Run,
            ..outage()
        }),
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a         | run 1
         stop 1             | ended, 1 of 1 stopped, failed, slot waits
         start t1 a         | run 2, attempt 2
         finish 2 timed-out | ended, 1 of 2 stopped, run 1 void, slot again, timed-out, slot waits
         start t1 a         | run 3, attempt 2",
    );
}

/// An outage rule that one error stop meets.
fn outage() -> Outage {
    Outage {
        window: OutageWindow::UtcHour,
        error: "run.error_stop".to_owned(),
        ended_min: 1,
        error_share: Share { num: 1, den: 2 },
        errors_in: ErrorsIn::AnyArm,
        voids: Voids::Block,
        pauses_starts: false,
    }
}

/// Returns the codes, places and notes of the defects of the smallest protocol, once changed.
fn defects(change: impl FnOnce(String) -> String) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    let text = std::fs::read_to_string(folder.join("minimal.toml")).unwrap();
    let checked = check(change(text).as_bytes(), &DiskFolder::at(&folder));
    let defects = checked.err().unwrap_or_default().into_iter();
    let told = |defect: Defect| {
        let place = format!("{} {:?}", defect.code.text(), defect.place);
        (place, defect.note.unwrap_or_default())
    };
    defects.map(told).collect()
}

#[test]
fn the_way_out_of_an_order_by_counts_is_one_by_plan() {
    let counts = "repeats = 2, by = \"counts\", arms = \"alternating\", runs_max = 1";
    let found = defects(|text| text.replace("repeats = 2", counts));
    let unbalanced = found
        .iter()
        .find(|(place, _)| place.starts_with("order-unbalanced"));
    let (_, note) = unbalanced.unwrap();
    assert!(note.starts_with("by = \"plan\" with"), "{note}");
}

#[test]
fn a_table_of_descriptions_describes_something() {
    let with = |table: &str| {
        let table = format!("[analysis.descriptive]\n{table}\n[limitations]");
        defects(|text| text.replace("[limitations]", &table))
    };
    let places: Vec<String> = with("").into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["missing-key Key(\"/analysis/descriptive\")"]);
    assert_eq!(with("pass_at = []").len(), 1);
    assert_eq!(with("pass_at = [1]"), []);
}
