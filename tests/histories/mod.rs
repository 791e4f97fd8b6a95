//! Good records of several studies, played in memory with everything that forgers care about in them:
//! pilots, drafts, reruns, stale runs, an outage, scores that came twice.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses its own part; a test that cannot go on fails where it stands"
)]

use prereg::engine::command::{Action, Cause};
use prereg::engine::rules::Rules;
use prereg::engine::start::{self, Peek};
use prereg::protocol::model::{ArmsOrder, CauseWord, DrawMethod, ErrorsIn, Outage, Voids};
use prereg::units::{Digest, Micros, RunId, Time};

use super::engine_common::design::{Design, HOUR};
use super::engine_common::random_rules::easy_outage;
use super::engine_common::{Draft, How, Move, Report, World, sealed};
use super::forger::Forgery;

const MINUTE: Micros = Micros(60_000_000);
/// What is always reported of these: the second arm on the second task never leaves a report.
const NEVER_JUDGED: (&str, &str) = ("t2", "b");

/// The record of a study whose every start follows the plan: pilots of two drafts, then four of six
/// tasks, drawn by a seed. Error stops of an outage are no attempts.
pub fn planned() -> Forgery {
    let design = Design {
        tasks: 4,
        undrawn: 2,
        pilots: 2,
        ..common()
    };
    whole(&drafts(design, DrawMethod::Shuffled))
}

/// The same with error stops that void blocks, needed in every arm.
pub fn blocks() -> Forgery {
    let outage = Outage {
        errors_in: ErrorsIn::EveryArm,
        voids: Voids::Block,
        ..outage()
    };
    let design = Design {
        tasks: 4,
        outage: Some(outage),
        ..common()
    };
    whole(&drafts(design, DrawMethod::Shuffled))
}

/// The record of a study whose draw is appended while it runs.
pub fn growing() -> Forgery {
    let design = Design {
        tasks: 6,
        repeats: 1,
        grows: true,
        outage: None,
        ..common()
    };
    whole(&drafts(design, DrawMethod::Shuffled))
}

/// The record of a study whose arms take turns by what the other has ended.
pub fn turns() -> Forgery {
    let design = Design {
        tasks: 3,
        order: ArmsOrder::Alternating,
        by_counts: true,
        ..common()
    };
    whole(&drafts(design, DrawMethod::Listed))
}

/// The record of a study whose program is probed before every start; it is another one in between.
pub fn probed() -> Forgery {
    let design = Design {
        tasks: 3,
        probe: Some(true),
        ..common()
    };
    whole(&drafts(design, DrawMethod::Listed))
}

fn common() -> Design {
    Design {
        repeats: 2,
        order: ArmsOrder::Counterbalanced,
        runs_max: 2,
        per_slot: Some(2),
        rerun: vec![CauseWord::Unjudged, CauseWord::Lost, CauseWord::Stale],
        outage: Some(outage()),
        cutoff: Some(Time(0).plus(Micros(HOUR.0 * 1_000))),
        ..Design::default()
    }
}

fn outage() -> Outage {
    Outage {
        pauses_starts: true,
        ..easy_outage(Voids::Run)
    }
}

/// Two drafts of a study, of which the second is registered.
fn drafts(design: Design, method: DrawMethod) -> [Draft; 2] {
    let second = Design {
        question: "another question?".to_owned(),
        ..design.clone()
    };
    [design, second].map(|design| drawn_by(design, method))
}

fn drawn_by(design: Design, method: DrawMethod) -> Draft {
    let mut registration = design.registration();
    registration.protocol.draw.method = method;
    let tasks = design.frame();
    // A file of the judge's, whose digest is bound.
    let judge = ("judge.sh".to_owned(), Digest::of(&[b"#!/bin/sh\n"]));
    registration.files.extend([judge]);
    Draft {
        rules: Rules::opened(registration.clone(), tasks.clone()).unwrap(),
        open: Action::Open {
            text: "language = 1\n".to_owned(),
            registration: Box::new(registration),
            tasks,
        },
        design,
    }
}

/// Plays a study to its end, and seals what was said and ruled.
fn whole(drafts: &[Draft]) -> Forgery {
    let mut world = World::empty(drafts);
    world.log = Some(Vec::new());
    for (number, draft) in drafts.iter().enumerate() {
        world.give(&Move::Open(number));
        for pilot in &draft.design.pilot_ids() {
            for arm in ["a", "b"] {
                world.later(MINUTE);
                world.give(&Move::start(pilot, arm));
                end(&mut world, Report::Pass, false);
            }
        }
    }
    let last = drafts.len() - 1;
    world.give(&Move::start("t1", "a"));
    world.give(&Move::Register(last));
    world.give(&Move::start("p1", "a"));
    probe(&mut world);
    world.give(&Move::start("t1", "oracle"));
    end(&mut world, Report::Pass, false);
    for step in 0..600 {
        if world.slice.standing.completed.is_some() {
            world.give(&Move::Unblind);
            world.give(&Move::Deviate);
            return Forgery::on("study", sealed(world.log.unwrap()));
        }
        world.later(Micros(7 * MINUTE.0));
        draw(&mut world, step);
        go_on(&mut world);
    }
    panic!("the study does not come to its end");
}

/// Appends two tasks to a draw that grows, now and then.
fn draw(world: &mut World<'_>, step: usize) {
    let rules = world.rules().unwrap();
    let drawn = world.slice.standing.drawn;
    if !rules.grows() || drawn >= rules.registered_plan().tasks() || !step.is_multiple_of(8) {
        return;
    }
    let fresh = (drawn..drawn + 2).filter_map(|index| rules.draw_order(&world.slice, index));
    let tasks = fresh.collect();
    world.give(&Move::Draw(drawn + 1, tasks));
}

/// Starts what may start next, or ends what was started first.
fn go_on(world: &mut World<'_>) {
    probe(world);
    match start::peek(world.rules().unwrap(), &world.slice, world.at) {
        Peek::Start(next) => {
            world.give(&Move::start(&next.task, &next.arm));
        }
        Peek::Expire(run) => {
            world.give(&Move::Expire(run.0));
        }
        _ => end_first(world),
    }
}

/// Says what the probe says, where there is one: first that the program is another one.
fn probe(world: &mut World<'_>) {
    if world.design().probe.is_some() {
        world.give(&Move::Probe(Some("v2")));
        world.give(&Move::Probe(Some("v1")));
    }
}

/// Ends the run that was started first, by what its number says of it.
fn end_first(world: &mut World<'_>) {
    let Some(run) = world.slice.standing.live.keys().next().copied() else {
        return;
    };
    let found = world.slice.run(run).unwrap();
    let never = (found.task.as_str(), found.arm.as_str()) == NEVER_JUDGED;
    match run.0 % 10 {
        _ if never => end_as(world, run, Report::None, false),
        3 => {
            world.give(&Move::Close(run.0, Cause::Cancelled));
            world.give(&Move::Score(run.0, Report::Pass));
        }
        5 => {
            world.give(&Move::Close(run.0, Cause::Lost));
        }
        // Nobody hears of it again, and its deadline passes.
        7 => {
            world.later(Micros(6 * HOUR.0));
            let wanted = world.slice.run(run).unwrap().cell();
            world.give(&Move::start(&wanted.0, &wanted.1));
            world.give(&Move::Score(run.0, Report::Pass));
        }
        number => {
            let report = if number == 9 {
                Report::Fail
            } else {
                Report::Pass
            };
            end_as(world, run, report, in_trouble(world.at));
        }
    }
}

/// Returns whether the world is in trouble: some hours, and not others.
fn in_trouble(at: Time) -> bool {
    matches!(at.0.div_euclid(HOUR.0 as i64) % 5, 1 | 2)
}

fn end(world: &mut World<'_>, report: Report, error: bool) {
    let run = RunId(world.slice.standing.runs);
    end_as(world, run, report, error);
}

/// Ends and scores a run; the same score comes again, and then another one.
fn end_as(world: &mut World<'_>, run: RunId, report: Report, error: bool) {
    world.later(MINUTE);
    let how = How {
        error,
        ..How::default()
    };
    world.give(&Move::End(run.0, how));
    for report in [report, report, Report::Fail] {
        world.later(Micros(1_000_000));
        world.give(&Move::Score(run.0, report));
    }
}
