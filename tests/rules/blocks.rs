//! How far blocks and stages have come, and what that opens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex};

use prereg::engine::apart::Apart;
use prereg::engine::blocks::{self, Block, Ending, Flag};
use prereg::engine::conditions::{Conditions, World};
use prereg::engine::event::{LaneId, Place};
use prereg::protocol::plan::Plan;
use prereg::units::Time;
use serde_json::{Map, Value, json};

use super::plan::planned;
use super::shipped::{staged, texts};

/// A trial's id, taken apart: `<task>-r<run>-<arm>`.
fn parts(trial: &str) -> (&str, i64, &str) {
    let (task, rest) = trial.rsplit_once("-r").unwrap();
    let (run, arm) = rest.split_once('-').unwrap();
    (task, run.parse().unwrap(), arm)
}

/// The plan of the shipped protocol over the trials of a case.
struct Study {
    plan: Plan,
    /// The position of each trial.
    positions: BTreeMap<String, u64>,
}

impl Study {
    /// Plans tasks and arms in the order in which they are named; `stages` are the runs of each.
    fn of(trials: &[&str], stages: &[BTreeSet<i64>]) -> Self {
        let (mut tasks, mut arms) = (Vec::new(), Vec::new());
        for (task, _, arm) in trials.iter().map(|trial| parts(trial)) {
            for (named, list) in [(task, &mut tasks), (arm, &mut arms)] {
                if !list.contains(&named) {
                    list.push(named);
                }
            }
        }
        let first = *stages.iter().flatten().min().unwrap();
        let repeats: Vec<(usize, i64)> = stages
            .iter()
            .enumerate()
            .map(|(i, runs)| (i + 1, i64::try_from(runs.len()).unwrap()))
            .collect();
        let plan = cached(&tasks, &arms, &repeats);
        let name = |position| {
            let slot = plan.slot(position);
            let (task, arm) = (tasks[slot.task as usize], arms[slot.arm as usize]);
            let run = i64::try_from(slot.repeat).unwrap() + first;
            (format!("{task}-r{run}-{arm}"), position)
        };
        Self {
            positions: (0..plan.len()).map(name).collect(),
            plan,
        }
    }

    /// Plans the blocks of a case, which must be those of the plan; empty ones are in none.
    fn of_blocks(listed: &[Value]) -> Option<Self> {
        let lists: Vec<(i64, Vec<&str>)> = listed
            .iter()
            .map(|block| (phase(block), texts(&block["entries"])))
            .filter(|(_, entries)| !entries.is_empty())
            .collect();
        let runs = |phase: i64| -> BTreeSet<i64> {
            let of_phase = lists.iter().filter(|(listed, _)| *listed == phase);
            let trials = of_phase.flat_map(|(_, entries)| entries);
            trials.map(|trial| parts(trial).1).collect()
        };
        let stages: Vec<BTreeSet<i64>> = [1, 2].map(runs).into_iter().collect();
        let stages: Vec<BTreeSet<i64>> = stages.into_iter().filter(|s| !s.is_empty()).collect();
        let trials: Vec<&str> = lists
            .iter()
            .flat_map(|(_, entries)| entries.clone())
            .collect();
        if trials.is_empty() {
            return None;
        }
        let study = Self::of(&trials, &stages);
        assert_eq!(study.plan.blocks(), lists.len() as u64);
        for (block, (_, entries)) in lists.iter().enumerate() {
            let slots = study.plan.slots_of_block(block as u64);
            let planned: BTreeSet<u64> = slots.iter().map(|slot| slot.position).collect();
            let listed = entries.iter().map(|trial| study.positions[*trial]);
            assert_eq!(planned, listed.collect(), "a block is a stage and a task");
        }
        Some(study)
    }

    /// The place of a row's run; one that the plan does not have lies behind its end.
    fn place(&self, row: &Value) -> Place {
        let trial = row["trial_id"].as_str().unwrap();
        let known = self.positions.get(trial).copied();
        let position = known.unwrap_or_else(|| self.plan.len());
        let block = known.map_or(0, |position| self.plan.block(&self.plan.slot(position)));
        Place {
            lane: LaneId {
                draft: u64::from(is_pilot(row)),
                number: 0,
            },
            position,
            block,
            repeat: 1,
            turn: 1,
            attempt: 1,
            stage: 0,
            voids: 0,
            by_counts: false,
        }
    }

    /// How each slot has ended, by the rows of its runs.
    fn endings(&self, rows: &[Value]) -> BTreeMap<u64, Ending> {
        let mut attempts: BTreeMap<u64, Vec<Option<Ending>>> = BTreeMap::new();
        for row in rows {
            let place = self.place(row);
            let flag = blocks::flag(&self.plan, Some(&place), |_| false);
            if flag.is_some_and(|flag| flag.block.is_some()) {
                attempts
                    .entry(place.position)
                    .or_default()
                    .push(ending(row));
            }
        }
        let ended = attempts.into_iter();
        ended
            .filter_map(|(position, attempts)| Some((position, blocks::ending(attempts)?)))
            .collect()
    }

    fn block(&self, block: u64, endings: &BTreeMap<u64, Ending>) -> Block {
        let slots = self.plan.slots_of_block(block);
        Block::of(
            slots
                .iter()
                .map(|slot| endings.get(&slot.position).copied()),
        )
    }
}

/// Checks the shipped protocol once for each shape.
fn cached(tasks: &[&str], arms: &[&str], stages: &[(usize, i64)]) -> Plan {
    static PLANS: Mutex<BTreeMap<String, Plan>> = Mutex::new(BTreeMap::new());
    let shape = format!("{} {arms:?} {stages:?}", tasks.len());
    let mut plans = PLANS.lock().unwrap();
    let plan = plans.entry(shape);
    plan.or_insert_with(|| planned(tasks, arms, stages).0)
        .clone()
}

/// The stage of a block, by its number or the first letters of its id.
fn phase(block: &Value) -> i64 {
    match block["id"].as_str() {
        Some(id) if id.starts_with("P1-") => 1,
        Some(_) => 2,
        None => block["phase"].as_i64().unwrap(),
    }
}

/// A row that is not final is a run whose slot has not ended; an excluded one ended unjudged.
fn ending(row: &Value) -> Option<Ending> {
    let is_final = row.get("final").is_none_or(|is_final| is_final == true);
    is_final.then_some(if row["excluded"] == true {
        Ending::Unjudged
    } else {
        Ending::Judged
    })
}

/// What was smoke is a pilot run.
fn is_pilot(row: &Value) -> bool {
    row["smoke"] == true
}

fn list<'a>(case: &'a Value, name: &str) -> &'a [Value] {
    case[name].as_array().unwrap()
}

/// Returns how far each listed block has come; one without entries is none of the plan's.
fn blocks_of(study: Option<&Study>, listed: &[Value], rows: &[Value]) -> Vec<Block> {
    let endings = study.map(|study| study.endings(rows)).unwrap_or_default();
    let mut planned = 0..;
    let stands = |block: &Value| match study {
        Some(study) if !list(block, "entries").is_empty() => {
            study.block(planned.next().unwrap(), &endings)
        }
        _ => Block::of([]),
    };
    listed.iter().map(stands).collect()
}

pub(super) fn block_status(case: &Value) -> Value {
    let listed = list(case, "blocks");
    let study = Study::of_blocks(listed);
    let blocks = blocks_of(study.as_ref(), listed, list(case, "rows"));
    let told = |(listed, block): (&Value, Block)| {
        let told = json!({
            "complete": block.complete,
            "n_trials": block.ended,
            "n_expected": block.expected,
            "n_excluded": block.unjudged,
        });
        (listed["id"].as_str().unwrap().to_owned(), told)
    };
    Value::Object(listed.iter().zip(blocks).map(told).collect())
}

pub(super) fn flag_incomplete(case: &Value) -> Value {
    let (listed, rows) = (list(case, "blocks"), list(case, "rows"));
    let study = Study::of_blocks(listed).unwrap();
    let endings = study.endings(rows);
    let planned = listed
        .iter()
        .filter(|block| !list(block, "entries").is_empty());
    let ids: Vec<&Value> = planned.map(|block| &block["id"]).collect();
    let flagged = rows.iter().map(|row| {
        let is_complete = |block| study.block(block, &endings).complete;
        match blocks::flag(&study.plan, Some(&study.place(row)), is_complete) {
            None => json!({ "block": row["block"], "block_incomplete": false }),
            Some(Flag { block, incomplete }) => json!({
                "block": block.map(|block| ids[usize::try_from(block).unwrap()]),
                "block_incomplete": incomplete,
            }),
        }
    });
    flagged.collect()
}

pub(super) fn completed_trial_ids(case: &Value) -> Value {
    let rows = list(case, "rows");
    let trials: Vec<&str> = rows
        .iter()
        .map(|row| row["trial_id"].as_str().unwrap())
        .collect();
    let Some(last) = trials.iter().map(|trial| parts(trial).1).max() else {
        return json!([]);
    };
    let study = Study::of(&trials, &[(1..=last).collect()]);
    let endings = study.endings(rows);
    let trials = study.positions.iter();
    trials
        .filter(|(_, position)| endings.contains_key(position))
        .map(|(trial, _)| trial.as_str())
        .collect()
}

/// The stage opens by what the shipped protocol says: the gates need a launch reading below its stop.
pub(super) fn phase2_allowed(case: &Value) -> Value {
    static CONDITIONS: LazyLock<Conditions> =
        LazyLock::new(|| Conditions::new(&staged(&[]).registration.protocol).unwrap());
    let listed = list(case, "blocks");
    let study = Study::of_blocks(listed);
    let row = |trial: &Value| json!({ "trial_id": trial });
    let rows: Vec<Value> = list(case, "final_ids").iter().map(row).collect();
    let blocks = blocks_of(study.as_ref(), listed, &rows);
    let of_stage = listed
        .iter()
        .zip(blocks)
        .filter(|(block, _)| phase(block) == 1);
    let (ended, expected) = of_stage.fold((0, 0), |(ended, expected), (_, block)| {
        (ended + block.ended, expected + block.expected)
    });
    let complete = blocks::is_complete(ended, expected);
    let share = if case["quota_ok"] == true { 0.5 } else { 0.95 };
    let launch = Map::from_iter([("seven_day".to_owned(), Value::from(share))]);
    Value::from(CONDITIONS.opens(
        1,
        &World {
            readings: &BTreeMap::from([("launch".to_owned(), launch)]),
            apart: &Apart::default(),
            complete: &BTreeMap::from([("phase-1".to_owned(), complete)]),
            now: Time(0),
        },
    ))
}
