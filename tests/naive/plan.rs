//! The plan, written out.

use prereg::protocol::model::{ArmsOrder, Axis, BlockKind};

use prereg::units::Digest;

use super::facts::Block;
use crate::engine_common::design::{Design, SEED};
use crate::engine_common::gates::Opens;

/// A place in the plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) stage: usize,
    pub(crate) task: String,
    pub(crate) repeat: u32,
    pub(crate) turn: usize,
    pub(crate) arm: String,
}

/// Writes the plan out: stage by stage, three loops as `nest` says, the arms of a repeat in their
/// order. Repeats go on from stage to stage.
pub(crate) fn plan(design: &Design, tasks: &[String]) -> Vec<Slot> {
    let whole = [(design.repeats, Opens::Now)];
    let stages = match design.stages.as_slice() {
        [] => &whole,
        stages => stages,
    };
    let mut plan = Vec::new();
    let mut first = 0;
    for (stage, (repeats, _)) in stages.iter().enumerate() {
        plan.extend(stage_of(design, tasks, stage, first, *repeats));
        first += repeats;
    }
    plan
}

fn stage_of(
    design: &Design,
    tasks: &[String],
    stage: usize,
    first: u32,
    repeats: u32,
) -> Vec<Slot> {
    let arms = design.arm_ids();
    let size = |axis: Axis| match axis {
        Axis::Task => tasks.len(),
        Axis::Repeat => repeats as usize,
        Axis::Arm => arms.len(),
    };
    let mut plan = Vec::new();
    for outer in 0..size(design.nest[0]) {
        for middle in 0..size(design.nest[1]) {
            for inner in 0..size(design.nest[2]) {
                let at = |axis: Axis| {
                    let place = design.nest.iter().position(|nested| *nested == axis);
                    [outer, middle, inner][place.unwrap_or(0)]
                };
                let (task, turn) = (at(Axis::Task), at(Axis::Arm));
                let repeat = first + at(Axis::Repeat) as u32;
                let order = arms_in_order(design, &tasks[task], task, repeat as usize);
                plan.push(Slot {
                    stage,
                    task: tasks[task].clone(),
                    repeat,
                    turn,
                    arm: order[turn].clone(),
                });
            }
        }
    }
    plan
}

/// The arms of a repeat, written out.
fn arms_in_order(design: &Design, task: &str, place: usize, repeat: usize) -> Vec<String> {
    let mut arms = design.arm_ids();
    match design.order {
        ArmsOrder::Alternating => arms,
        ArmsOrder::Counterbalanced => {
            let turned = (place + repeat) % arms.len();
            arms.rotate_left(turned);
            arms
        }
        ArmsOrder::Williams => {
            let square = williams(arms.len());
            let row = &square[(place + repeat) % square.len()];
            row.iter().map(|arm| arms[*arm].clone()).collect()
        }
        ArmsOrder::Shuffled => {
            arms.sort_by_key(|arm| {
                let text = format!("prereg-arms/1\n{SEED}\n{task}\n{repeat}\n{arm}");
                Digest::of(&[text.as_bytes()])
            });
            arms
        }
    }
}

/// The balanced Latin square, row by row: 0, 1, n−1, 2, n−2, … and so on.
fn williams(n: usize) -> Vec<Vec<usize>> {
    let (mut low, mut high) = (1, n - 1);
    let mut first = vec![0];
    while first.len() < n {
        if first.len() % 2 == 1 {
            first.push(low);
            low += 1;
        } else {
            first.push(high);
            high -= 1;
        }
    }
    let row = |j: usize| -> Vec<usize> { first.iter().map(|arm| (arm + j) % n).collect() };
    let mut square: Vec<Vec<usize>> = (0..n).map(row).collect();
    if n % 2 == 1 {
        let reversed = |row: &Vec<usize>| row.iter().rev().copied().collect();
        let reversed: Vec<Vec<usize>> = square.iter().map(reversed).collect();
        square.extend(reversed);
    }
    square
}

/// What is complete or void together.
pub(crate) fn block(design: &Design, slot: &Slot) -> Block {
    let pair = design.block == BlockKind::Pair;
    (slot.stage, slot.task.clone(), pair.then_some(slot.repeat))
}

/// Lists blocks as the plan meets them.
pub(crate) fn blocks(design: &Design, plan: &[Slot]) -> Vec<Block> {
    let mut met = Vec::new();
    for slot in plan {
        let block = block(design, slot);
        if !met.contains(&block) {
            met.push(block);
        }
    }
    met
}

/// Returns a slot's block, by its number from 0.
pub(crate) fn block_number(design: &Design, plan: &[Slot], slot: &Slot) -> usize {
    let wanted = block(design, slot);
    let blocks = blocks(design, plan);
    blocks
        .iter()
        .position(|block| *block == wanted)
        .unwrap_or(0)
}
