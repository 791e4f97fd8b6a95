//! Random studies and histories from a seed. Ids are drawn from the open set nine times in ten:
//! purely random commands mostly meet runs that do not exist.

use prereg::engine::command::Cause;
use prereg::engine::slice::{Run, State};
use prereg::engine::start::{self, Peek};
use prereg::protocol::model::{ArmsOrder, Axis, BlockKind, LateReport, ScoreWord, Serial};
use prereg::units::{Micros, Time};

use super::random_rules::any_rules_move;

use super::design::{Design, HOUR};
use super::random_rules::{any_rules, any_words};
use super::{How, Move, Report, Said, World};

/// SplitMix64: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// Returns whether something that happens `often` times in ten happens now.
    pub fn chance(&mut self, often: usize) -> bool {
        self.below(10) < often
    }
}

const CAUSES: [Cause; 11] = [
    Cause::NoReport,
    Cause::BadReport,
    Cause::JudgeTimeout,
    Cause::JudgeError,
    Cause::Infra,
    Cause::OutcomeError,
    Cause::Failed,
    Cause::TimedOut,
    Cause::Cancelled,
    Cause::Lost,
    Cause::Stale,
];

const NESTS: [[Axis; 3]; 6] = [
    [Axis::Task, Axis::Repeat, Axis::Arm],
    [Axis::Task, Axis::Arm, Axis::Repeat],
    [Axis::Repeat, Axis::Task, Axis::Arm],
    [Axis::Repeat, Axis::Arm, Axis::Task],
    [Axis::Arm, Axis::Task, Axis::Repeat],
    [Axis::Arm, Axis::Repeat, Axis::Task],
];

/// Draws a design: every rule of the engine varies.
pub fn any_design(random: &mut Random) -> Design {
    let plain = any_plain(random);
    any_rules(random, plain)
}

/// Draws a design without the rules beside plan, attempts, breaker and cut-off.
pub fn any_plain(random: &mut Random) -> Design {
    Design {
        tasks: 1 + random.below(3),
        undrawn: random.below(2),
        pilots: random.below(3),
        repeats: 1 + random.below(3) as u32,
        arms: 2 + random.below(2),
        nest: *random.pick(&NESTS),
        order: *random.pick(&[
            ArmsOrder::Alternating,
            ArmsOrder::Counterbalanced,
            ArmsOrder::Williams,
            ArmsOrder::Shuffled,
        ]),
        block: *random.pick(&[BlockKind::Task, BlockKind::Pair]),
        serial: *random.pick(&[Serial::Study, Serial::Block, Serial::None]),
        runs_max: 1 + random.below(4) as u32,
        per_slot: *random.pick(&[Some(1), Some(2), Some(3), None]),
        rerun: any_words(random),
        late_report: *random.pick(&[LateReport::Refuse, LateReport::UntilClosed]),
        on_timeout: *random.pick(&[ScoreWord::Score, ScoreWord::Unjudged]),
        cutoff: random
            .chance(1)
            .then(|| Time(1_000_000).plus(Micros(HOUR.0 * random.below(12) as u64))),
        breaker: *random.pick(&[None, Some(1), Some(2), Some(3)]),
        breaker_of_first: random.chance(3),
        breaker_external: random.chance(5),
        control: random.chance(5),
        ..Design::default()
    }
}

/// Draws a study's drafts: a design, and another that differs in a word, in pilots, or in all.
pub fn any_drafts(random: &mut Random) -> [Design; 2] {
    let first = any_design(random);
    let question = "another question?".to_owned();
    let second = match random.below(3) {
        0 => first.clone(),
        1 => Design {
            pilots: random.below(3),
            ..first.clone()
        },
        // Tasks that were added or drawn stay so from draft to draft; ledgers and windows begin with
        // the draft that first has them.
        _ => Design {
            open: first.open,
            grows: first.grows,
            endless: first.endless,
            tasks: first.tasks,
            undrawn: first.undrawn,
            nest: if first.grows || first.by_counts {
                first.nest
            } else {
                *random.pick(&NESTS)
            },
            block: first.block,
            budgets: first.budgets.clone(),
            outage: first.outage.clone(),
            stages: first.stages.clone(),
            fits: first.fits,
            by_counts: first.by_counts,
            arms: first.arms,
            order: first.order,
            ..any_design(random)
        },
    };
    [first, Design { question, ..second }]
}

/// Draws how much time passes: usually little, now and then past a deadline.
pub fn any_pause(random: &mut Random) -> Micros {
    match random.below(20) {
        0 => Micros(6 * HOUR.0),
        1 => Micros(6 * HOUR.0 - 1),
        2..=4 => HOUR,
        5..=12 => Micros(1_000_000),
        _ => Micros(0),
    }
}

/// Draws a move that makes sense more often than not.
pub fn any_move(random: &mut Random, world: &World<'_>) -> Move {
    let drafts = world.drafts.len();
    match (world.opened, world.slice.standing.registered) {
        (None, _) if random.chance(9) => return Move::Open(random.below(drafts)),
        (Some(_), None) if random.chance(1) => return Move::Open(random.below(drafts)),
        (Some(opened), None) if random.chance(2) => {
            let sense = random.chance(9);
            return Move::Register(if sense { opened } else { random.below(drafts) });
        }
        _ => {}
    }
    if random.chance(3) {
        let wanted = any_rules_move(random, world);
        return match random.below(40) {
            0 => Move::Strange(Box::new(wanted)),
            _ => wanted,
        };
    }
    match random.below(46) {
        0 => Move::Open(random.below(drafts)),
        1 => Move::Register(random.below(drafts)),
        2 => Move::Unblind,
        44..=45 => Move::Conclude,
        40 => Move::Breaker(true),
        41..=43 => Move::Breaker(false),
        3 => Move::Expire(any_run(random, world, |run| run.state == State::Live)),
        4..=6 => Move::Close(
            any_run(random, world, |run| !run.is_closed()),
            if random.chance(9) {
                *random.pick(&[Cause::Failed, Cause::Cancelled, Cause::Lost])
            } else {
                *random.pick(&CAUSES)
            },
        ),
        7..=9 => Move::Finish(
            any_run(random, world, |run| run.state == State::Live),
            random.chance(2),
        ),
        10..=15 => any_end(random, world),
        16..=24 => Move::Score(
            any_run(random, world, |run| run.state == State::Ended),
            any_report(random),
        ),
        25 => Move::Strange(Box::new(any_start(random, world))),
        26 => match any_start(random, world) {
            Move::Start(task, arm) => Move::ByHand(task, arm),
            other => other,
        },
        _ => any_start(random, world),
    }
}

/// Draws an ending: two of five are error stops, so that hours can be outages.
fn any_end(random: &mut Random, world: &World<'_>) -> Move {
    let how = How {
        timed_out: random.chance(1),
        error: random.chance(5),
        cost: *random.pick(&[
            Said::Nothing,
            Said::Dollars(1),
            Said::Dollars(1),
            Said::Dollars(3),
            Said::Nonsense,
        ]),
        level: random.chance(2).then(|| random.below(11) as i64),
    };
    let run = any_run(random, world, |run| run.state == State::Live);
    Move::End(run, how)
}

/// Draws a report: every second one passes.
pub fn any_report(random: &mut Random) -> Report {
    if random.chance(5) {
        Report::Pass
    } else {
        *random.pick(&Report::ALL)
    }
}

pub fn any_run(random: &mut Random, world: &World<'_>, fits: impl Fn(&Run) -> bool) -> u64 {
    let runs = world.slice.runs.values().flatten();
    let open: Vec<u64> = runs.filter(|run| fits(run)).map(|run| run.run.0).collect();
    if open.is_empty() || !random.chance(9) {
        random.below(world.slice.standing.runs as usize + 2) as u64
    } else {
        *random.pick(&open)
    }
}

fn any_start(random: &mut Random, world: &World<'_>) -> Move {
    let design = world.design();
    if let (Some(rules), Some(_)) = (world.rules(), world.slice.standing.registered)
        && random.chance(7)
        && let Peek::Start(next) = start::peek(rules, &world.slice, world.at)
    {
        return Move::Start(next.task, next.arm);
    }
    let unregistered = world.slice.standing.registered.is_none();
    let mut tasks = if unregistered && random.chance(8) {
        design.pilot_ids()
    } else {
        design.drawn_ids()
    };
    let mut arms = design.arm_ids();
    if random.chance(1) || tasks.is_empty() {
        tasks = [design.undrawn_ids(), design.pilot_ids(), design.drawn_ids()].concat();
        tasks.push("x".to_owned());
    }
    if random.chance(2) {
        arms.extend(design.control_ids());
        arms.push("x".to_owned());
    }
    Move::Start(random.pick(&tasks).clone(), random.pick(&arms).clone())
}
