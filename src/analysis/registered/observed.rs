//! What of a study is analysed: the drawn tasks, and what became of each of their slots.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::Exposure;
use crate::protocol::model::{Expect, OutcomeKind};
use crate::units::Micros;

/// The slots of a study, once it has ended or as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The drawn tasks, in the order of the draw.
    pub tasks: Vec<Task>,
    /// The slots of the registered plan, in its order.
    pub slots: Vec<Slot>,
    /// What the controls came to, in the order of declaration.
    pub controls: Vec<ControlVerdicts>,
    /// What was executed of each arm, in the listed order.
    pub exposure: Vec<Exposure>,
    /// The scheduled looks that were taken.
    pub taken: Taken,
}

/// The scheduled looks that were taken during the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// How many.
    pub looks: usize,
    /// Whether the newest of them has ended the study.
    pub stops: bool,
}

impl Taken {
    /// Returns the look that has ended the study, from 1.
    pub fn stopped_at(self) -> Option<usize> {
        self.stops.then_some(self.looks)
    }
}

/// What the runs of a control say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlVerdicts {
    /// The control.
    pub id: String,
    /// What its outcomes must be.
    pub expect: Expect,
    /// Tasks with the outcome true.
    pub yes: u64,
    /// Tasks with it false.
    pub no: u64,
    /// Tasks without a verdict.
    pub unjudged: u64,
}

/// A drawn task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// What it has in the field of the cluster; none where there is no such field, or it has no value.
    pub cluster: Option<String>,
    /// What it has in the fields of the subgroups, in their registered order.
    pub groups: Vec<Option<String>>,
}

/// What became of a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The task's place in the draw, from 0.
    pub task: usize,
    /// The arm's place in the listed order.
    pub arm: usize,
    /// The arm's place inside its repeat, from 0.
    pub turn: u64,
    /// The stage's place among the stages.
    pub stage: usize,
    /// Whether a run of it was ever started.
    pub started: bool,
    /// Whether there is a verdict.
    pub fate: Fate,
    /// Why there is none, or why its run stopped.
    pub reason: Option<&'static str>,
    /// The outcomes in the order of declaration, binary ones as 0 or 1, money in USD, durations in ms.
    pub values: Vec<Option<f64>>,
    /// Whether its run was exposed to what its arm stands for, where that is known.
    pub exposed: Option<bool>,
    /// How long its run took.
    pub wall: Option<Micros>,
}

/// Whether a slot has a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its run is scored.
    Scored,
    /// It has ended without a verdict.
    Unjudged,
    /// It has not ended.
    Open,
}

impl Observed {
    /// Leaves out the slots of stages that never opened: they are in no denominator.
    pub(super) fn opened(&self) -> Self {
        let started = self.slots.iter().filter(|slot| slot.started);
        let opened: BTreeSet<usize> = started.map(|slot| slot.stage).collect();
        // The first stage is open from the start.
        let is_open = |slot: &&Slot| slot.stage == 0 || opened.contains(&slot.stage);
        Self {
            tasks: self.tasks.clone(),
            slots: self.slots.iter().filter(is_open).cloned().collect(),
            controls: self.controls.clone(),
            taken: self.taken,
            exposure: self.exposure.clone(),
        }
    }
}

impl Slot {
    /// Returns an outcome by its place in the order of declaration.
    pub fn value(&self, outcome: usize) -> Option<f64> {
        self.values.get(outcome).copied().flatten()
    }
}

/// Returns a recorded outcome as a number: money in USD, as it is told to people.
pub fn number(kind: OutcomeKind, value: &Value) -> Option<f64> {
    match (kind, value) {
        (OutcomeKind::Binary, Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
        (OutcomeKind::Money, Value::Number(micros)) => Some(micros.as_f64()? / 1_000_000.0),
        (OutcomeKind::Number | OutcomeKind::Duration, Value::Number(number)) => number.as_f64(),
        _ => None,
    }
}
