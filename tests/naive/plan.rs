//! The plan, written out.

use prereg::protocol::model::{ArmsOrder, Axis, BlockKind};

use crate::engine_common::design::Design;

/// A place in the plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) task: String,
    pub(crate) repeat: u32,
    pub(crate) turn: usize,
    pub(crate) arm: String,
}

/// Writes the plan out: three loops as `nest` says, the arms of a repeat in their order.
pub(crate) fn plan(design: &Design, tasks: &[String]) -> Vec<Slot> {
    let arms = design.arm_ids();
    let size = |axis: Axis| match axis {
        Axis::Task => tasks.len(),
        Axis::Repeat => design.repeats as usize,
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
                let (task, repeat, turn) = (at(Axis::Task), at(Axis::Repeat), at(Axis::Arm));
                let mut order = arms.clone();
                if design.order == ArmsOrder::Counterbalanced {
                    order.rotate_left((task + repeat) % arms.len());
                }
                plan.push(Slot {
                    task: tasks[task].clone(),
                    repeat: repeat as u32,
                    turn,
                    arm: order[turn].clone(),
                });
            }
        }
    }
    plan
}

/// What is complete or void together.
pub(crate) fn block(design: &Design, slot: &Slot) -> (String, Option<u32>) {
    let pair = design.block == BlockKind::Pair;
    (slot.task.clone(), pair.then_some(slot.repeat))
}

/// Blocks are numbered as the plan meets them.
pub(crate) fn block_number(design: &Design, plan: &[Slot], slot: &Slot) -> usize {
    let mut met = Vec::new();
    for other in plan {
        let block = block(design, other);
        if !met.contains(&block) {
            met.push(block);
        }
    }
    let wanted = block(design, slot);
    met.iter().position(|block| *block == wanted).unwrap_or(0)
}
