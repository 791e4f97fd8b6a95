//! The plan: which slots there are, in which order, and which of them follow one another.
//!
//! Nothing is materialised: a position is a number in a mixed radix of tasks, repeats and arms, so
//! every question costs a few divisions however long the plan is.
//!
//! A *lane* is a sequence of slots that are executed one after another: the whole plan under
//! `serial = "study"`, a block under `"block"`, a single slot under `"none"`. Lanes are numbered by
//! the plan position of their first slot.

use super::draft::{ArmsOrder, Axis, BlockKind, Serial};
use super::model::Protocol;
use crate::units::Digest;

/// The plan of a phase of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many tasks.
    pub tasks: u64,
    /// How many repeats of each task and arm.
    pub repeats: u64,
    /// How many arms.
    pub arms: u64,
    nest: [Axis; 3],
    order: ArmsOrder,
    block: BlockKind,
    serial: Serial,
}

/// A place in the plan: which arm is executed on which task, and how often before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The place in run order, from 0.
    pub position: u64,
    /// The task's place in the draw, from 0.
    pub task: u64,
    /// The repeat, from 0.
    pub repeat: u64,
    /// The arm's place in the listed order.
    pub arm: u64,
    /// The arm's place inside its repeat, from 0.
    pub turn: u64,
}

impl Plan {
    /// Makes the plan of a protocol over a number of tasks.
    pub fn new(protocol: &Protocol, tasks: usize) -> Self {
        let allocation = &protocol.allocation;
        Self {
            tasks: tasks as u64,
            repeats: u64::from(allocation.repeats),
            arms: protocol.arms.len() as u64,
            nest: allocation.nest,
            order: allocation.arms,
            block: allocation.block,
            serial: allocation.serial,
        }
    }

    /// Makes the plan of a pilot: the same slots for other tasks, in no order.
    pub fn pilot(protocol: &Protocol, tasks: usize) -> Self {
        Self {
            serial: Serial::None,
            ..Self::new(protocol, tasks)
        }
    }

    /// Returns how many slots there are.
    pub fn len(&self) -> u64 {
        self.tasks * self.repeats * self.arms
    }

    /// Returns whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the slot at a position below `len`.
    pub fn slot(&self, position: u64) -> Slot {
        let mut rest = position;
        let mut place = [0; 3];
        for axis in self.nest.iter().rev() {
            place[index(*axis)] = rest % self.radix(*axis);
            rest /= self.radix(*axis);
        }
        let [task, repeat, turn] = place;
        let arm = match self.order {
            ArmsOrder::Counterbalanced => (turn + task + repeat) % self.arms,
            _ => turn,
        };
        Slot {
            position,
            task,
            repeat,
            arm,
            turn,
        }
    }

    /// Returns the position of an arm's slot on a task in a repeat.
    pub fn position(&self, task: u64, repeat: u64, arm: u64) -> u64 {
        let turn = match self.order {
            ArmsOrder::Counterbalanced => {
                (arm + self.arms - (task + repeat) % self.arms) % self.arms
            }
            _ => arm,
        };
        self.at([task, repeat, turn])
    }

    fn at(&self, place: [u64; 3]) -> u64 {
        self.nest.iter().fold(0, |position, axis| {
            position * self.radix(*axis) + place[index(*axis)]
        })
    }

    fn radix(&self, axis: Axis) -> u64 {
        match axis {
            Axis::Task => self.tasks,
            Axis::Repeat => self.repeats,
            Axis::Arm => self.arms,
        }
    }

    /// Returns the axes along which lanes differ, outermost first.
    fn lane_axes(&self) -> Vec<Axis> {
        let differs = |axis: Axis| match (self.serial, self.block) {
            (Serial::Study, _) => false,
            (Serial::None, _) => true,
            (Serial::Block, BlockKind::Task) => axis == Axis::Task,
            (Serial::Block, BlockKind::Pair) => axis != Axis::Arm,
        };
        self.nest
            .into_iter()
            .filter(|axis| differs(*axis))
            .collect()
    }

    fn block_axes(&self) -> Vec<Axis> {
        let keep = |axis: Axis| {
            axis == Axis::Task || (axis == Axis::Repeat && self.block == BlockKind::Pair)
        };
        self.nest.into_iter().filter(|axis| keep(*axis)).collect()
    }

    fn number(&self, axes: &[Axis], slot: &Slot) -> u64 {
        let place = [slot.task, slot.repeat, slot.turn];
        axes.iter().fold(0, |number, axis| {
            number * self.radix(*axis) + place[index(*axis)]
        })
    }

    /// Returns how many lanes there are.
    pub fn lanes(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.lane_axes()
                .iter()
                .map(|axis| self.radix(*axis))
                .product()
        }
    }

    /// Returns the lane of a slot.
    pub fn lane(&self, slot: &Slot) -> u64 {
        self.number(&self.lane_axes(), slot)
    }

    /// Returns the block of a slot: the slots that are complete or void together.
    pub fn block(&self, slot: &Slot) -> u64 {
        self.number(&self.block_axes(), slot)
    }

    /// Returns the first position of a lane.
    pub fn lane_start(&self, lane: u64) -> u64 {
        let mut rest = lane;
        let mut place = [0; 3];
        for axis in self.lane_axes().iter().rev() {
            place[index(*axis)] = rest % self.radix(*axis);
            rest /= self.radix(*axis);
        }
        self.at(place)
    }

    /// Returns the position that follows in the same lane.
    pub fn next_in_lane(&self, slot: &Slot) -> Option<u64> {
        let outer = self.lane_axes();
        let mut place = [slot.task, slot.repeat, slot.turn];
        for axis in self
            .nest
            .into_iter()
            .rev()
            .filter(|axis| !outer.contains(axis))
        {
            let digit = &mut place[index(axis)];
            *digit += 1;
            if *digit < self.radix(axis) {
                return Some(self.at(place));
            }
            *digit = 0;
        }
        None
    }
}

fn index(axis: Axis) -> usize {
    match axis {
        Axis::Task => 0,
        Axis::Repeat => 1,
        Axis::Arm => 2,
    }
}

/// Returns `{run.seed}`: the first 8 hex digits of SHA-256 of `task:repeat`, modulo 1,000,000.
pub fn run_seed(task: &str, repeat: u64) -> u32 {
    let digest = Digest::of(&[task.as_bytes(), b":", repeat.to_string().as_bytes()]);
    let [a, b, c, d, ..] = digest.0;
    u32::from_be_bytes([a, b, c, d]) % 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(
        nest: [Axis; 3],
        order: ArmsOrder,
        block: BlockKind,
        serial: Serial,
        size: [u64; 3],
    ) -> Plan {
        let [tasks, repeats, arms] = size;
        Plan {
            tasks,
            repeats,
            arms,
            nest,
            order,
            block,
            serial,
        }
    }

    prop_compose! {
        fn any_plan()(
            nest in Just([Axis::Task, Axis::Repeat, Axis::Arm]).prop_shuffle(),
            order in prop_oneof![Just(ArmsOrder::Alternating), Just(ArmsOrder::Counterbalanced)],
            block in prop_oneof![Just(BlockKind::Task), Just(BlockKind::Pair)],
            serial in prop_oneof![Just(Serial::Study), Just(Serial::Block), Just(Serial::None)],
            size in [1_u64..6, 1_u64..4, 1_u64..5],
        ) -> Plan {
            plan(nest, order, block, serial, size)
        }
    }

    proptest! {
        #[test]
        fn every_slot_has_one_position(plan in any_plan()) {
            let mut seen = std::collections::BTreeSet::new();
            for position in 0..plan.len() {
                let slot = plan.slot(position);
                prop_assert_eq!(plan.position(slot.task, slot.repeat, slot.arm), position);
                prop_assert!(seen.insert((slot.task, slot.repeat, slot.arm)));
            }
        }

        #[test]
        fn lanes_cover_the_plan_in_order(plan in any_plan()) {
            let mut covered = std::collections::BTreeSet::new();
            let mut first = None;
            for lane in 0..plan.lanes() {
                let start = plan.lane_start(lane);
                prop_assert!(first < Some(start), "lanes are numbered by their first slot");
                first = Some(start);
                let mut position = Some(start);
                while let Some(at) = position {
                    let slot = plan.slot(at);
                    prop_assert_eq!(plan.lane(&slot), lane);
                    prop_assert!(covered.insert(at));
                    let next = plan.next_in_lane(&slot);
                    prop_assert!(next.is_none_or(|next| next > at));
                    position = next;
                }
            }
            prop_assert_eq!(covered.len() as u64, plan.len());
        }
    }

    #[test]
    fn counterbalanced_arms_rotate() {
        let nest = [Axis::Task, Axis::Repeat, Axis::Arm];
        let plan = plan(
            nest,
            ArmsOrder::Counterbalanced,
            BlockKind::Task,
            Serial::Block,
            [2, 2, 3],
        );
        let arms: Vec<u64> = (0..plan.len())
            .map(|position| plan.slot(position).arm)
            .collect();
        assert_eq!(arms, [0, 1, 2, 1, 2, 0, 1, 2, 0, 2, 0, 1]);
    }
}
