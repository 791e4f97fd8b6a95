//! The plan: which slots there are, in which order, and which of them follow one another.
//!
//! Nothing is materialised: a position is a number in a mixed radix of tasks, repeats and arms, so
//! every question costs a few divisions however long the plan is. Stages follow one another: all
//! tasks of the first, then all of the next, whose repeats go on where those of the first stopped.
//!
//! A *lane* is a sequence of slots that are executed one after another: a block under
//! `serial = "block"`, and otherwise a single slot. (Under `"study"` no two slots are executed at
//! once, whichever they are.) Lanes are numbered by the plan position of their first slot. A block
//! belongs to one stage.

use std::ops::Deref;

use super::frame::Task;
use super::model::{Axis, BlockKind, Protocol, Serial};
use super::order::Order;
use crate::units::Digest;

/// The plan of a study, or of its pilot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    tasks: u64,
    nest: [Axis; 3],
    order: Order,
    block: BlockKind,
    serial: Serial,
    /// The stages in order; a plan without any is one.
    stages: Vec<Span>,
}

/// Some of the axes of a plan.
#[derive(Clone, Copy, Debug)]
struct Axes {
    first: [Axis; 3],
    count: usize,
}

impl Deref for Axes {
    type Target = [Axis];

    fn deref(&self) -> &[Axis] {
        &self.first[..self.count]
    }
}

/// Where a stage lies in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    repeats: u64,
    first_repeat: u64,
    first_position: u64,
    first_lane: u64,
    first_block: u64,
}

/// A place in the plan: which arm is executed on which task, and how often before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The place in run order, from 0.
    pub position: u64,
    /// The stage's place among the stages, from 0.
    pub stage: usize,
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
    /// Makes the plan of a protocol over the tasks that were drawn from a frame.
    pub fn new(protocol: &Protocol, tasks: &[Task], drawn: &[usize]) -> Self {
        let allocation = &protocol.allocation;
        let ids = drawn.iter().map(|task| tasks[*task].id.as_str());
        let repeats = if protocol.stages.is_empty() {
            vec![u64::from(allocation.repeats)]
        } else {
            let stages = protocol.stages.iter();
            stages.map(|stage| u64::from(stage.repeats)).collect()
        };
        Self {
            tasks: drawn.len() as u64,
            nest: allocation.nest,
            order: Order::new(protocol, ids),
            block: allocation.block,
            serial: allocation.serial,
            stages: Vec::new(),
        }
        .in_stages(&repeats)
    }

    /// Makes the plan of a pilot: the same slots for other tasks, in no order.
    pub fn pilot(protocol: &Protocol, tasks: &[Task], pilots: &[usize]) -> Self {
        let plan = Self::new(protocol, tasks, pilots);
        let repeats: Vec<u64> = plan.stages.iter().map(|span| span.repeats).collect();
        Self {
            serial: Serial::None,
            ..plan
        }
        .in_stages(&repeats)
    }

    /// Lays stages with so many repeats one after another.
    fn in_stages(mut self, repeats: &[u64]) -> Self {
        let mut next = Span {
            repeats: 0,
            first_repeat: 0,
            first_position: 0,
            first_lane: 0,
            first_block: 0,
        };
        self.stages.clear();
        for repeats in repeats {
            let span = Span {
                repeats: *repeats,
                ..next
            };
            self.stages.push(span);
            next.first_repeat += repeats;
            next.first_position += self.size(&span, &self.nest);
            next.first_block += self.size(&span, &self.block_axes());
            next.first_lane += self.size(&span, &self.lane_axes());
        }
        self
    }

    /// Returns the same plan over another number of tasks.
    ///
    /// Positions stay what they are where tasks are outermost and there is one stage.
    pub fn over(&self, tasks: u64) -> Self {
        let repeats: Vec<u64> = self.stages.iter().map(|span| span.repeats).collect();
        Self {
            tasks,
            ..self.clone()
        }
        .in_stages(&repeats)
    }

    /// Returns whether the order of the arms goes by the tasks' names.
    pub fn is_by_name(&self) -> bool {
        self.order.is_by_name()
    }

    /// Returns the same plan over other tasks, in their order.
    pub fn over_named(&self, tasks: Vec<String>) -> Self {
        let count = tasks.len() as u64;
        Self {
            order: self.order.clone().over(tasks),
            ..self.clone()
        }
        .over(count)
    }

    /// Returns how many stages there are.
    pub fn stages(&self) -> usize {
        self.stages.len()
    }

    /// Returns how many tasks there are.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Returns how many repeats of each task and arm there are, in all stages together.
    pub fn repeats(&self) -> u64 {
        self.stages.iter().map(|span| span.repeats).sum()
    }

    /// Returns how many slots there are.
    pub fn len(&self) -> u64 {
        self.end(|span| span.first_position, &self.nest)
    }

    /// Returns whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many slots a stage has.
    pub fn stage_len(&self, stage: usize) -> u64 {
        self.size(&self.stages[stage], &self.nest)
    }

    /// Returns the slot at a position below `len`.
    pub fn slot(&self, position: u64) -> Slot {
        let stage = self.stage_of(position, |span| span.first_position);
        let span = &self.stages[stage];
        let [task, repeat, turn] = self.place(span, &self.nest, position - span.first_position);
        let repeat = span.first_repeat + repeat;
        Slot {
            position,
            stage,
            task,
            repeat,
            arm: self.order.arm(task, repeat, turn),
            turn,
        }
    }

    /// Returns the position of an arm's slot on a task in a repeat.
    pub fn position(&self, task: u64, repeat: u64, arm: u64) -> u64 {
        let span = &self.stages[self.stage_of(repeat, |span| span.first_repeat)];
        let turn = self.order.turn(task, repeat, arm);
        self.at(span, [task, repeat - span.first_repeat, turn])
    }

    /// Returns how many lanes there are.
    pub fn lanes(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.end(|span| span.first_lane, &self.lane_axes())
        }
    }

    /// Returns the lane of a slot.
    pub fn lane(&self, slot: &Slot) -> u64 {
        self.stages[slot.stage].first_lane + self.number(&self.lane_axes(), slot)
    }

    /// Returns the block of a slot: the slots that are complete or void together.
    pub fn block(&self, slot: &Slot) -> u64 {
        self.stages[slot.stage].first_block + self.number(&self.block_axes(), slot)
    }

    /// Returns how many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.end(|span| span.first_block, &self.block_axes())
    }

    /// Returns the slots of a block, in order; none where there is no such block.
    pub fn slots_of_block(&self, block: u64) -> Vec<Slot> {
        let positions = self.positions_of_block(block).into_iter();
        positions.map(|position| self.slot(position)).collect()
    }

    /// Returns the positions of a block, in order; none where there is no such block.
    pub fn positions_of_block(&self, block: u64) -> Vec<u64> {
        if self.is_empty() || block >= self.blocks() {
            return Vec::new();
        }
        let span = &self.stages[self.stage_of(block, |span| span.first_block)];
        let outer = self.block_axes();
        let fixed = self.place(span, &outer, block - span.first_block);
        let free = self.axes(|axis| !outer.contains(axis));
        let places = (0..self.size(span, &free)).map(|number| {
            let inner = self.place(span, &free, number);
            self.at(span, [0, 1, 2].map(|axis| fixed[axis] + inner[axis]))
        });
        let mut positions: Vec<u64> = places.collect();
        positions.sort_unstable();
        positions
    }

    /// Returns the numbers of a stage's lanes.
    pub fn lanes_of_stage(&self, stage: usize) -> std::ops::Range<u64> {
        let span = &self.stages[stage];
        let lanes = if self.tasks == 0 {
            0
        } else {
            self.size(span, &self.lane_axes())
        };
        span.first_lane..span.first_lane + lanes
    }

    /// Returns the first position of a lane.
    pub fn lane_start(&self, lane: u64) -> u64 {
        let stage = self.stage_of(lane, |span| span.first_lane);
        let span = &self.stages[stage];
        let place = self.place(span, &self.lane_axes(), lane - span.first_lane);
        self.at(span, place)
    }

    /// Returns the position that follows in the same lane.
    pub fn next_in_lane(&self, slot: &Slot) -> Option<u64> {
        let span = &self.stages[slot.stage];
        let outer = self.lane_axes();
        let mut place = self.inner(span, slot);
        let inner = self.nest.into_iter().rev();
        for axis in inner.filter(|axis| !outer.contains(axis)) {
            let digit = &mut place[index(axis)];
            *digit += 1;
            if *digit < self.radix(span, axis) {
                return Some(self.at(span, place));
            }
            *digit = 0;
        }
        None
    }

    /// Returns the axes along which lanes of a stage differ, outermost first.
    fn lane_axes(&self) -> Axes {
        let differs = |axis: &Axis| match (self.serial, self.block) {
            (Serial::Study | Serial::None, _) => true,
            (Serial::Block, BlockKind::Task) => *axis == Axis::Task,
            (Serial::Block, BlockKind::Pair) => *axis != Axis::Arm,
        };
        self.axes(differs)
    }

    fn block_axes(&self) -> Axes {
        let keep = |axis: &Axis| match axis {
            Axis::Task => true,
            Axis::Repeat => self.block == BlockKind::Pair,
            Axis::Arm => false,
        };
        self.axes(keep)
    }

    /// Returns some of the axes, outermost first.
    fn axes(&self, keep: impl Fn(&Axis) -> bool) -> Axes {
        let mut axes = Axes {
            first: self.nest,
            count: 0,
        };
        for axis in self.nest.into_iter().filter(keep) {
            axes.first[axes.count] = axis;
            axes.count += 1;
        }
        axes
    }

    fn radix(&self, span: &Span, axis: Axis) -> u64 {
        match axis {
            Axis::Task => self.tasks,
            Axis::Repeat => span.repeats,
            Axis::Arm => self.order.arms(),
        }
    }

    /// Returns how many combinations some axes have in a stage.
    fn size(&self, span: &Span, axes: &[Axis]) -> u64 {
        axes.iter().map(|axis| self.radix(span, *axis)).product()
    }

    /// Returns what follows the last stage, counted along some axes.
    fn end(&self, first: impl Fn(&Span) -> u64, axes: &[Axis]) -> u64 {
        let last = self.stages.last();
        last.map_or(0, |span| first(span) + self.size(span, axes))
    }

    /// Returns the stage that holds a number, given the first number of each.
    fn stage_of(&self, number: u64, first: impl Fn(&Span) -> u64) -> usize {
        let after = self.stages.partition_point(|span| first(span) <= number);
        after.saturating_sub(1)
    }

    /// Returns task, repeat and turn of a number that counts along some axes; 0 along the others.
    fn place(&self, span: &Span, axes: &[Axis], number: u64) -> [u64; 3] {
        let mut rest = number;
        let mut place = [0; 3];
        for axis in axes.iter().rev() {
            let radix = self.radix(span, *axis);
            place[index(*axis)] = rest % radix;
            rest /= radix;
        }
        place
    }

    /// Returns a slot's task, repeat and turn, the repeat counted in its stage.
    fn inner(&self, span: &Span, slot: &Slot) -> [u64; 3] {
        [slot.task, slot.repeat - span.first_repeat, slot.turn]
    }

    fn at(&self, span: &Span, place: [u64; 3]) -> u64 {
        span.first_position + self.count(span, &self.nest, place)
    }

    fn number(&self, axes: &[Axis], slot: &Slot) -> u64 {
        let span = &self.stages[slot.stage];
        self.count(span, axes, self.inner(span, slot))
    }

    fn count(&self, span: &Span, axes: &[Axis], place: [u64; 3]) -> u64 {
        axes.iter().fold(0, |number, axis| {
            number * self.radix(span, *axis) + place[index(*axis)]
        })
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
    use crate::protocol::model::ArmsOrder;
    use proptest::prelude::*;

    prop_compose! {
        fn any_plan()(
            nest in Just([Axis::Task, Axis::Repeat, Axis::Arm]).prop_shuffle(),
            order in prop_oneof![
                Just(ArmsOrder::Alternating),
                Just(ArmsOrder::Counterbalanced),
                Just(ArmsOrder::Williams),
                Just(ArmsOrder::Shuffled),
            ],
            block in prop_oneof![Just(BlockKind::Task), Just(BlockKind::Pair)],
            serial in prop_oneof![Just(Serial::Study), Just(Serial::Block), Just(Serial::None)],
            [tasks, arms] in [1_u64..6, 1_u64..5],
            stages in prop::collection::vec(1_u64..4, 1..4),
        ) -> Plan {
            let order = Order::numbered(order, tasks, arms);
            Plan { tasks, nest, order, block, serial, stages: Vec::new() }.in_stages(&stages)
        }
    }

    proptest! {
        #[test]
        fn every_slot_has_one_position(plan in any_plan()) {
            let mut seen = std::collections::BTreeSet::new();
            let mut stage = 0;
            for position in 0..plan.len() {
                let slot = plan.slot(position);
                prop_assert!(slot.stage >= stage, "stages follow one another");
                stage = slot.stage;
                prop_assert_eq!(plan.position(slot.task, slot.repeat, slot.arm), position);
                prop_assert!(seen.insert((slot.task, slot.repeat, slot.arm)));
            }
            let sizes = (0..plan.stages.len()).map(|stage| plan.stage_len(stage));
            prop_assert_eq!(sizes.sum::<u64>(), plan.len());
        }

        #[test]
        fn a_block_is_every_arm_of_a_task_in_a_stage_or_a_repeat(plan in any_plan()) {
            let mut blocks = std::collections::BTreeMap::new();
            for position in 0..plan.len() {
                let slot = plan.slot(position);
                let repeat = (plan.block == BlockKind::Pair).then_some(slot.repeat);
                let named = (slot.stage, slot.task, repeat);
                prop_assert_eq!(*blocks.entry(plan.block(&slot)).or_insert(named), named);
                prop_assert!(plan.slots_of_block(plan.block(&slot)).contains(&slot));
            }
            let slots = (0..plan.blocks()).map(|block| plan.slots_of_block(block).len() as u64);
            prop_assert_eq!(slots.sum::<u64>(), plan.len());
            let mut named: Vec<_> = blocks.values().collect();
            named.sort_unstable();
            named.dedup();
            prop_assert_eq!(named.len(), blocks.len());
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
}
