//! Random rule systems, and moves that touch them.

use prereg::engine::slice::State;
use prereg::protocol::model::{
    ArmsOrder, Axis, BlockKind, Budget, BudgetCounts, BudgetMax, BudgetPer, BudgetUnknown,
    CauseWord, ErrorsIn, Outage, OutageWindow, ScoreWord, StopScope, UnknownStop, Voids,
};
use prereg::units::{Micros, Money, Share, Time};

use super::design::{Design, HOUR};
use super::gates::{Gate, Opens};
use super::random::{Random, any_run};
use super::{Move, World, looking};

/// Draws words for causes.
pub fn any_words(random: &mut Random) -> Vec<CauseWord> {
    let words = [
        CauseWord::Unjudged,
        CauseWord::Failed,
        CauseWord::TimedOut,
        CauseWord::Cancelled,
        CauseWord::Lost,
        CauseWord::Stale,
    ];
    words.into_iter().filter(|_| random.chance(5)).collect()
}

/// Draws the rules beside the plan; each is there in some studies.
pub fn any_rules(random: &mut Random, plain: Design) -> Design {
    let open = random.chance(1);
    let grows = open || random.chance(1);
    let by_counts = random.chance(2);
    let staged = !by_counts && !grows && random.chance(3);
    let task_by_task = [Axis::Task, Axis::Repeat, Axis::Arm];
    let ruled = Design {
        on_error_stop: *random.pick(&[ScoreWord::Score, ScoreWord::Unjudged]),
        rerun_on_request: any_words(random),
        voids_max: *random.pick(&[Some(0), Some(1), Some(3), None]),
        outage: random.chance(6).then(|| any_outage(random)),
        by_counts,
        arms: if by_counts { 2 } else { plain.arms },
        order: if by_counts {
            ArmsOrder::Alternating
        } else {
            plain.order
        },
        block: if by_counts {
            BlockKind::Task
        } else {
            plain.block
        },
        nest: match () {
            () if by_counts => task_by_task,
            () if grows => [Axis::Task, plain.nest[1], plain.nest[2]],
            () => plain.nest,
        },
        stages: if staged {
            any_stages(random)
        } else {
            Vec::new()
        },
        stops: any_gates(random, ["weekly", "session"]),
        holds: any_gates(random, ["five-hour", "daily"]),
        expires: random.chance(3),
        budgets: any_budgets(random),
        switch: random.chance(2),
        preflight: random.chance(1),
        probe: *random.pick(&[None, None, Some(true), Some(false)]),
        checkpoint: random.chance(3),
        actors: random.chance(3),
        elsewhere: random.chance(2),
        open,
        grows,
        endless: grows && random.chance(3),
        looks: if grows { Vec::new() } else { any_looks(random) },
        ..plain
    };
    // A look that shows something needs two tasks, and soon.
    let ruled = match ruled.looks.is_empty() {
        true => ruled,
        false => Design {
            tasks: 3,
            repeats: 1,
            ..ruled
        },
    };
    let ruled = ruled.with_task_first(grows);
    match random.below(10) {
        0..=3 => in_weather(random, ruled),
        4 => against_time(random, ruled),
        _ => ruled,
    }
}

/// Leaves what refuses starts out, in stages whose blocks must fit before a cut-off.
fn against_time(random: &mut Random, ruled: Design) -> Design {
    let hours = 2 + random.below(12) as u64;
    Design {
        tasks: 1 + random.below(2),
        pilots: 0,
        arms: 2,
        by_counts: false,
        open: false,
        grows: false,
        endless: false,
        stages: vec![
            (1, Opens::Now),
            (1, *random.pick(&[Opens::Now, Opens::Then])),
        ],
        fits: Some(*random.pick(&[(1, 1), (11, 10), (1, 3)])),
        cutoff: Some(Time(1_000_000).plus(Micros(HOUR.0 * hours))),
        runs_max: 2 + random.below(3) as u32,
        ..ruled.unhindered()
    }
}

/// Leaves what refuses starts out, in hours that can be outages.
fn in_weather(random: &mut Random, ruled: Design) -> Design {
    Design {
        outage: Some(any_outage(random)),
        pilots: 0,
        per_slot: *random.pick(&[Some(2), Some(3), None]),
        runs_max: 2 + random.below(3) as u32,
        ..ruled.unhindered()
    }
}

impl Design {
    /// Leaves out what refuses starts beside the order, so that many runs end.
    pub fn unhindered(self) -> Self {
        Self {
            stops: Vec::new(),
            holds: Vec::new(),
            budgets: Vec::new(),
            switch: false,
            preflight: false,
            probe: None,
            cutoff: None,
            breaker: None,
            ..self
        }
    }

    /// A draw that grows needs tasks outermost, or places in the plan would change.
    fn with_task_first(mut self, needed: bool) -> Self {
        if needed {
            self.nest = [Axis::Task, Axis::Repeat, Axis::Arm];
        }
        self
    }
}

/// Draws an outage rule that a few runs can meet.
pub fn any_outage(random: &mut Random) -> Outage {
    let (num, den) = *random.pick(&[(1, 2), (1, 3), (1, 1)]);
    Outage {
        window: OutageWindow::UtcHour,
        error: "run.error_stop".to_owned(),
        ended_min: 1 + random.below(3) as u32,
        error_share: Share { num, den },
        errors_in: *random.pick(&[ErrorsIn::EveryArm, ErrorsIn::AnyArm, ErrorsIn::AnyArm]),
        voids: *random.pick(&[Voids::Block, Voids::Run]),
        pauses_starts: random.chance(5),
    }
}

/// Draws looks, in two studies of five.
fn any_looks(random: &mut Random) -> Vec<Share> {
    let share = |num, den| Share { num, den };
    match random.below(10) {
        0 => vec![share(1, 2)],
        1 => vec![share(1, 2), share(1, 1)],
        2 => vec![share(1, 3), share(2, 3)],
        3 => vec![share(2, 3), share(1, 1)],
        _ => Vec::new(),
    }
}

fn any_stages(random: &mut Random) -> Vec<(u32, Opens)> {
    let opens = [Opens::Now, Opens::Then, Opens::ThenIfGo, Opens::Below(6)];
    let first = (
        1 + random.below(2) as u32,
        *random.pick(&[Opens::Now, Opens::Now, Opens::Below(8)]),
    );
    let more = (0..random.below(3)).map(|_| (1, *random.pick(&opens)));
    std::iter::once(first)
        .chain(more.collect::<Vec<_>>())
        .collect()
}

fn any_gates(random: &mut Random, ids: [&'static str; 2]) -> Vec<Gate> {
    let mut gates = Vec::new();
    for id in ids {
        if random.chance(2) {
            gates.push(Gate {
                id,
                level: 7 + random.below(4) as i64,
                at_session: random.chance(5),
                scope: *random.pick(&[StopScope::Study, StopScope::Arm, StopScope::Stage]),
                unknown: *random.pick(&[
                    UnknownStop::Go,
                    UnknownStop::Go,
                    UnknownStop::Hold,
                    UnknownStop::Stop,
                ]),
            });
        }
    }
    gates
}

fn any_budgets(random: &mut Random) -> Vec<Budget> {
    let mut budgets = Vec::new();
    for cost in [true, false] {
        if !random.chance(2) {
            continue;
        }
        let dollar = 1_000_000;
        let unknown = [
            BudgetUnknown::Reserve,
            BudgetUnknown::Hold,
            BudgetUnknown::Stop,
        ];
        budgets.push(Budget {
            counts: if cost {
                BudgetCounts::Cost
            } else {
                BudgetCounts::Reruns
            },
            per: *random.pick(&[BudgetPer::Study, BudgetPer::Task, BudgetPer::Arm]),
            max: match cost {
                true => BudgetMax::Cost(Money((2 + random.next() % 9) * dollar)),
                false => BudgetMax::Count(random.next() % 3),
            },
            reserve: cost.then_some(Money(dollar)),
            unknown: cost.then(|| *random.pick(&unknown)),
        });
    }
    budgets
}

/// Draws a move that touches a rule beside the plan, one that the study has more often than not.
pub fn any_rules_move(random: &mut Random, world: &World<'_>) -> Move {
    let design = world.design();
    let sense = random.chance(9);
    let mut moves = Vec::new();
    let mut add = |has: bool, times: usize, wanted: Move| {
        if has || !sense {
            moves.extend(std::iter::repeat_n(wanted, times));
        }
    };
    let says = [Some("on"), Some("on"), Some("on"), Some("off"), None];
    add(design.switch, 3, Move::Switch(*random.pick(&says)));
    let gated = !design.stops.is_empty() || !design.holds.is_empty();
    let gated = gated || !design.stages.is_empty();
    add(gated, 2, any_reading(random, world.at));
    add(gated, 1, Move::Session);
    let status = *random.pick(&["ready", "ready", "ready", "implementation_gap"]);
    for arm in design.arm_ids() {
        add(design.preflight, 2, Move::Preflight(arm, status));
    }
    let value = *random.pick(&[Some("v1"), Some("v1"), Some("v2"), None]);
    add(design.probe.is_some(), 1, Move::Probe(value));
    let live = any_run(random, world, |run| run.state == State::Live);
    add(design.checkpoint, 2, Move::Check(live, random.chance(5)));
    let unjudged = any_run(random, world, |run| run.state == State::Unjudged);
    add(
        !design.rerun_on_request.is_empty(),
        2,
        Move::Retry(unjudged),
    );
    let guessed = Move::Look(random.next() % 3, random.next() % 4, false);
    let is_due = looking::is_due(world);
    let times = if is_due { 12 } else { 1 };
    add(!design.looks.is_empty(), times, guessed);
    add(true, 2, Move::Void(random.below(6) as u64));
    add(true, 1, Move::Deviate);
    add(design.open, 5, any_added(random, design));
    add(design.grows, 4, any_draw(random, world, design));
    let picked = random.pick(&moves).clone();
    match &picked {
        // What it comes to is computed only where it is taken.
        Move::Look(..) if is_due => looking::due(world).unwrap_or(picked),
        _ => picked,
    }
}

fn any_reading(random: &mut Random, at: Time) -> Move {
    let level = random.chance(9).then(|| random.below(11) as i64);
    let until = random.chance(5).then(|| match random.chance(5) {
        true => at.plus(HOUR),
        false => Time(at.0 / 2),
    });
    Move::Read(level, until)
}

fn any_added(random: &mut Random, design: &Design) -> Move {
    let all = [design.drawn_ids(), design.undrawn_ids(), design.pilot_ids()].concat();
    let id = random.pick(&all).clone();
    let size = match random.below(10) {
        0 => None,
        1 => Some(2),
        _ => Some(1),
    };
    Move::AddTask(id, size)
}

fn any_draw(random: &mut Random, world: &World<'_>, design: &Design) -> Move {
    let drawn = world.slice.standing.drawn;
    let all = [design.drawn_ids(), design.undrawn_ids(), design.pilot_ids()].concat();
    if random.chance(7) {
        let rest = all.into_iter().skip(drawn as usize);
        let tasks = rest.take(1 + random.below(2)).collect();
        return Move::Draw(drawn + 1, tasks);
    }
    let from = random.below(drawn as usize + 3) as u64;
    let tasks = (0..1 + random.below(2)).map(|_| random.pick(&all).clone());
    Move::Draw(from, tasks.collect())
}

/// An outage rule that one error stop among two runs meets, in a window that refuses no start.
pub fn easy_outage(voids: Voids) -> Outage {
    Outage {
        window: OutageWindow::UtcHour,
        error: "run.error_stop".to_owned(),
        ended_min: 2,
        error_share: Share { num: 1, den: 2 },
        errors_in: ErrorsIn::AnyArm,
        voids,
        pauses_starts: false,
    }
}
