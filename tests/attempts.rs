//! Rulings on attempts, deadlines and scores as tables, in the form of `decide.rs`.

mod engine_common;

use engine_common::design::{Design, HOUR};
use engine_common::words::{plays, plays_registered};
use prereg::protocol::model::{CauseWord, LateReport, ScoreWord, Serial};

fn with_attempts(per_slot: Option<u32>, rerun: &[CauseWord]) -> Design {
    Design {
        tasks: 1,
        per_slot,
        rerun: rerun.to_vec(),
        ..Design::default()
    }
}

#[test]
fn a_scored_run_is_never_rerun() {
    let all = [
        CauseWord::Unjudged,
        CauseWord::Failed,
        CauseWord::TimedOut,
        CauseWord::Cancelled,
        CauseWord::Lost,
        CauseWord::Stale,
    ];
    plays_registered(
        &with_attempts(None, &all),
        "start t1 a        | run 1
         finish 1          | ended
         score 1 fail      | scored, slot ended
         start t1 a        | slots-used
         start t1 b        | run 2",
    );
}

#[test]
fn unjudged_means_every_cause_that_has_no_word() {
    plays_registered(
        &with_attempts(None, &[CauseWord::Unjudged]),
        "start t1 a        | run 1
         finish 1          | ended
         score 1 none      | no-report, slot waits
         start t1 a        | run 2, attempt 2
         finish 2          | ended
         score 2 bad       | bad-report, slot waits
         start t1 a        | run 3, attempt 3
         finish 3          | ended
         score 3 slow      | judge-timeout, slot waits
         start t1 a        | run 4, attempt 4
         finish 4          | ended
         score 4 broken    | judge-error, slot waits
         start t1 a        | run 5, attempt 5
         finish 5          | ended
         score 5 infra     | infra, slot waits
         start t1 a        | run 6, attempt 6
         finish 6          | ended
         score 6 odd       | outcome-error, slot waits
         start t1 a        | run 7, attempt 7
         close 7 failed    | failed, slot ended
         start t1 b        | run 8
         close 8 cancelled | cancelled, slot ended, complete",
    );
}

#[test]
fn each_cause_word_allows_its_own_cause_alone() {
    let words = [
        (CauseWord::Failed, "failed"),
        (CauseWord::Cancelled, "cancelled"),
        (CauseWord::Lost, "lost"),
    ];
    for (word, _) in words {
        for (other, cause) in words {
            let then = if word == other {
                "slot waits"
            } else {
                "slot ended"
            };
            plays_registered(
                &with_attempts(Some(2), &[word]),
                &format!(
                    "start t1 a      | run 1
                     close 1 {cause} | {cause}, {then}"
                ),
            );
        }
        plays_registered(
            &with_attempts(Some(2), &[word]),
            "start t1 a        | run 1
             finish 1          | ended
             score 1 none      | no-report, slot ended
             start t1 b        | run 2
             wait 6h           |
             expire 2          | stale, slot ended, complete",
        );
    }
}

#[test]
fn a_slot_has_ended_after_its_last_attempt() {
    plays_registered(
        &with_attempts(Some(3), &[CauseWord::Lost, CauseWord::Unjudged]),
        "start t1 a        | run 1
         start t1 b        | out-of-order, next none
         close 1 lost      | lost, slot waits
         peek              | start t1 a
         start t1 b        | out-of-order, next t1 a
         start t1 a        | run 2, attempt 2
         finish 2          | ended
         close 2 lost      | lost, slot waits
         start t1 a        | run 3, attempt 3
         finish 3          | ended
         score 3 none      | no-report, slot ended
         start t1 a        | slots-used
         start t1 b        | run 4
         close 4 lost      | lost, slot waits
         start t1 b        | run 5, attempt 2
         finish 5          | ended
         score 5 pass      | scored, slot ended, complete",
    );
}

#[test]
fn a_waiting_slot_is_filled_before_another_is_opened() {
    let design = Design {
        repeats: 2,
        serial: Serial::None,
        per_slot: Some(2),
        rerun: vec![CauseWord::Lost],
        pilots: 1,
        ..Design::default()
    };
    plays(
        std::slice::from_ref(&design),
        "open 1            | draft 1
         start p1 a        | run 1
         close 1 lost      | lost, slot waits
         start p1 a        | run 2, attempt 2
         start p1 a        | run 3
         start p1 a        | slots-used
         close 2 lost      | lost, slot ended
         start p1 a        | slots-used",
    );
    plays_registered(
        &design,
        "start t1 a        | run 1
         start t1 b        | run 2
         close 1 lost      | lost, slot waits
         start t1 a        | run 3, attempt 2
         start t1 a        | run 4",
    );
}

#[test]
fn a_slot_that_waits_is_not_used_though_another_comes_first() {
    let design = Design {
        per_slot: Some(2),
        rerun: vec![CauseWord::Lost],
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         start t2 a        | run 2
         close 2 lost      | lost, slot waits
         close 1 lost      | lost, slot waits
         start t2 a        | out-of-order, next t1 a
         start t1 a        | run 3, attempt 2
         start t2 a        | run 4, attempt 2
         start t2 a        | slots-used",
    );
}

#[test]
fn a_stale_run_is_closed_before_the_start_that_notices_it() {
    let design = Design {
        runs_max: 1,
        ..with_attempts(Some(2), &[CauseWord::Stale])
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         wait 359m         |
         start t1 a        | slots-used
         start t1 oracle   | cap-reached, 1
         wait 1m           |
         peek              | expire 1
         start t1 b        | 1 stale, slot waits; out-of-order, next t1 a
         start t1 a        | run 2, attempt 2
         wait 6h           |
         start t1 a        | 2 stale, slot ended; slots-used
         start t1 b        | run 3
         wait 6h           |
         expire 3          | stale, slot waits
         start t1 b        | run 4, attempt 2",
    );
}

#[test]
fn a_refused_or_a_control_start_closes_nothing_but_a_stale_run_frees_its_place() {
    let design = Design {
        undrawn: 1,
        runs_max: 1,
        ..Design::default()
    };
    plays_registered(
        &design,
        "start t1 a        | run 1
         wait 6h           |
         start x a         | unknown-task
         start t1 x        | unknown-arm
         start u1 a        | not-drawn
         start t1 oracle   | run 2
         start t1 oracle   | cap-reached, 1
         wait 6h           |
         start t1 b        | 1 stale, slot ended; 2 stale; run 3",
    );
}

#[test]
fn a_run_that_has_ended_is_never_stale() {
    plays_registered(
        &Design::default(),
        "start t1 a        | run 1
         finish 1          | ended
         wait 12h          |
         start t2 a        | run 2
         expire 1          | not-stale
         score 1 pass      | scored, slot ended",
    );
}

#[test]
fn a_late_report_is_refused_or_taken_until_a_start_closes_the_run() {
    let design = |late_report| Design {
        late_report,
        stale_after: HOUR,
        ..Design::default()
    };
    plays_registered(
        &design(LateReport::Refuse),
        "start t1 a        | run 1
         start t2 a        | run 2
         wait 1h           |
         finish 1          | 1 stale, slot ended; stale
         score 2 pass      | 2 stale, slot ended; stale
         score 2 pass      | stale",
    );
    plays_registered(
        &design(LateReport::UntilClosed),
        "start t1 a        | run 1
         start t2 a        | run 2
         wait 1h           |
         score 1 pass      | not-ended
         finish 1          | ended
         score 1 pass      | scored, slot ended
         start t1 b        | 2 stale, slot ended; run 3
         finish 2          | stale",
    );
}

#[test]
fn a_clock_kill_is_an_outcome_or_not() {
    let design = |on_timeout, rerun: &[CauseWord]| Design {
        on_timeout,
        ..with_attempts(Some(2), rerun)
    };
    plays_registered(
        &design(ScoreWord::Score, &[CauseWord::TimedOut]),
        "start t1 a        | run 1
         finish 1 timed-out | ended
         score 1 fail      | scored, slot ended",
    );
    plays_registered(
        &design(ScoreWord::Unjudged, &[CauseWord::TimedOut]),
        "start t1 a        | run 1
         finish 1 timed-out | ended, timed-out, slot waits
         finish 1          | already-closed, timed-out
         score 1 fail      | already-closed, timed-out
         start t1 a        | run 2, attempt 2
         finish 2          | ended
         score 2 pass      | scored, slot ended",
    );
    plays_registered(
        &design(ScoreWord::Unjudged, &[CauseWord::Unjudged]),
        "start t1 a        | run 1
         finish 1 timed-out | ended, timed-out, slot ended",
    );
}

#[test]
fn the_same_report_again_is_no_news_and_another_is_refused() {
    plays_registered(
        &Design::default(),
        "start t1 a        | run 1
         score 1 pass      | not-ended
         finish 1          | ended
         score 1 pass      | scored, slot ended
         score 1 pass      | nothing
         wait 7h           |
         score 1 pass      | nothing
         score 1 fail      | already-closed, scored
         score 1 none      | already-closed, scored
         score 1 pass      | nothing",
    );
}
