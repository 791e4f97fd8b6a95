//! Progress: what a sound protocol never does is stand still; and histories meet every ruling.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod engine_common;

use std::collections::BTreeSet;

use engine_common::design::{Design, HOUR};
use engine_common::histories::{granted, histories, placed};
use engine_common::{Move, Report, World, looking};
use prereg::engine::start::{self, Peek};
use prereg::protocol::model::LateReport;
use prereg::units::RunId;

/// Ends every run that is open, so that nothing is waited for.
fn settle(world: &mut World<'_>) {
    let open: Vec<u64> = world
        .slice
        .runs
        .values()
        .flatten()
        .filter(|run| !run.is_closed())
        .map(|run| run.run.0)
        .collect();
    for run in open {
        world.give(&Move::Finish(run, false));
        world.give(&Move::Score(run, Report::Pass));
        let run = world.slice.run(RunId(run));
        assert!(run.is_some_and(|run| run.is_closed()));
    }
}

/// Lets the world be as the study needs it, and an hour pass.
fn help(world: &mut World<'_>) {
    let mut moves = vec![
        Move::Switch(Some("on")),
        Move::Probe(Some("v1")),
        Move::Read(Some(0), None),
        Move::Breaker(false),
    ];
    let arms = world.design().arm_ids().into_iter();
    moves.extend(arms.map(|arm| Move::Preflight(arm, "ready")));
    for wanted in moves {
        world.give(&wanted);
    }
    world.later(HOUR);
}

/// Whether a run that was stale may be none after all: its slot ended, and then it did not.
fn late_reports_count(design: &Design) -> bool {
    design.late_report == LateReport::UntilClosed
}

/// Whether nothing that a study registers can end or hold it for good: no money, no probe that is
/// bound to what was seen, no order by counts beside outages or late reports, no draw that somebody must append to.
fn is_sound(design: &Design) -> bool {
    design.budgets.is_empty()
        && design.fits.is_none()
        && design.probe != Some(false)
        && !(design.by_counts && (design.outage.is_some() || late_reports_count(design)))
        && !design.grows
}

#[test]
fn no_standing_of_a_sound_protocol_is_stuck() {
    let (mut turn, mut ended) = (0, 0);
    histories(|_, _, _, after| {
        turn += 1;
        let registered = after.slice.standing.registered.is_some();
        if turn % 4 == 0 && registered && is_sound(after.design()) {
            goes_on(&mut after.clone());
            ended += 1;
        }
    });
    assert!(ended > 10_000, "only {ended} studies were carried on");
}

/// Carries a study on until it ends.
fn goes_on(world: &mut World<'_>) {
    let rules = world.rules().unwrap();
    let mut helped = 0;
    settle(world);
    for _ in 0..200 {
        match start::peek(rules, &world.slice, world.at) {
            Peek::Complete => break,
            Peek::Look(_) => {
                let look = looking::due(world).unwrap();
                assert!(granted(world, &look));
                world.give(&look);
            }
            Peek::Start(next) => {
                let given = world.give(&Move::Start(next.task, next.arm));
                assert!(placed(&given).is_some(), "{given:?}");
                settle(world);
                helped = 0;
            }
            Peek::Refused(refusal) if ["past-cutoff", "look-stopped"].contains(&refusal.code()) => {
                assert!(granted(world, &Move::Conclude));
                world.give(&Move::Conclude);
                assert!(world.slice.standing.has_ended());
                return;
            }
            other => {
                let design = world.design();
                assert!(
                    helped < 2,
                    "nothing is open, and peek says {other:?} under {design:?}"
                );
                help(world);
                helped += 1;
            }
        }
    }
    assert!(
        world.slice.standing.has_ended(),
        "under {:?}",
        world.design()
    );
}

#[test]
fn random_histories_meet_every_ruling_that_the_engine_gives() {
    let mut met = BTreeSet::new();
    histories(|_, _, given, _| {
        let expired = given.expired.iter().flat_map(|(_, events)| events);
        let happened = expired.chain(given.ruling.iter().flatten());
        met.extend(happened.map(|event| {
            let event = serde_json::to_value(event).unwrap();
            event["cause"]
                .as_str()
                .or(event["event"].as_str())
                .unwrap()
                .to_owned()
        }));
        met.extend(
            given
                .ruling
                .as_ref()
                .err()
                .map(|refusal| refusal.code().to_owned()),
        );
    });
    for ruling in [
        "not-opened",
        "not-opened-last",
        "registration-differs",
        "unknown-task",
        "unknown-arm",
        "breaker-open",
        "past-cutoff",
        "not-over",
        "stopped",
        "no-breaker",
        "breaker-internal",
        "breaker",
        "split-closed",
        "not-registered",
        "not-drawn",
        "slots-used",
        "out-of-order",
        "cap-reached",
        "unknown-run",
        "stale",
        "already-closed",
        "already-ended",
        "not-ended",
        "not-stale",
        "not-a-cause",
        "opened",
        "registered",
        "started",
        "ended",
        "scored",
        "slot-ended",
        "slot-waits",
        "completed",
        "unblinded",
        "no-report",
        "bad-report",
        "judge-timeout",
        "judge-error",
        "infra",
        "outcome-error",
        "failed",
        "timed-out",
        "cancelled",
        "lost",
        "actor-not-admitted",
        "switch-unreadable",
        "off",
        "not-ready",
        "probe-differs",
        "weekly",
        "session",
        "five-hour",
        "stage-closed",
        "does-not-fit",
        "block-lasted",
        "over-budget",
        "outage-hour",
        "no-checkpoint",
        "checkpoint-exists",
        "not-retried",
        "frame-closed",
        "bad-task",
        "task-differs",
        "draw-closed",
        "draw-gap",
        "draw-full",
        "draw-conflict",
        "not-confirmatory",
        "already-drawn",
        "no-switch",
        "unknown-block",
        "block-scored",
        "voided",
        "tallied",
        "block-voided",
        "slot-again",
        "counted",
        "spent",
        "read",
        "switched",
        "preflighted",
        "probed",
        "checked",
        "task-added",
        "drawn",
        "deviated",
        "looked",
        "look-due",
        "look-not-due",
        "look-stopped",
    ] {
        assert!(met.contains(ruling), "no history meets {ruling}");
    }
}
