//! The tasks of a frame that is known with the protocol: held in memory, or kept in rows that a slice
//! is asked for, so that one decision about one of many tasks reads no more than that task.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::protocol::frame::{self, Drawn, Task};
use crate::protocol::model::Protocol;
use crate::protocol::plan::Plan;

/// What a task is for, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase {
    /// Whether it is drawn for the registered plan, or a pilot.
    pub confirmatory: bool,
    /// Its place in the draw, or among the pilots, from 0.
    pub index: u64,
}

impl Phase {
    /// Returns the place after it.
    pub fn next(self) -> Self {
        Self {
            index: self.index.saturating_add(1),
            ..self
        }
    }
}

/// A task of the frame, and what it is for; nothing if it is neither drawn nor a pilot.
#[derive(Clone, Debug, PartialEq)]
pub struct Framed {
    /// The task.
    pub task: Task,
    /// What it is for.
    pub phase: Option<Phase>,
}

/// What a task of the frame is looked up by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FramedKey {
    /// Its id.
    Id(String),
    /// Its place.
    Place(Phase),
}

/// What is known of a frame without its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// How many tasks are drawn for the registered plan.
    pub confirmatory: u64,
    /// How many are pilots.
    pub pilot: u64,
    /// The fields that hold a number with a fraction in some task.
    pub fractional: BTreeSet<String>,
}

/// Where the tasks are.
#[derive(Debug)]
pub(super) enum Frame {
    /// In memory.
    Held(Held),
    /// In rows.
    Kept,
}

/// Tasks in memory.
#[derive(Debug)]
pub(super) struct Held {
    tasks: Vec<Task>,
    drawn: Drawn,
    phases: Vec<Option<Phase>>,
    index: HashMap<String, usize>,
}

impl Held {
    /// Draws from the tasks of a frame.
    pub(super) fn new(protocol: &Protocol, tasks: Vec<Task>) -> Self {
        let drawn = frame::draw(protocol, &tasks);
        let mut phases: Vec<Option<Phase>> = vec![None; tasks.len()];
        for (confirmatory, list) in [(true, &drawn.confirmatory), (false, &drawn.pilot)] {
            for (index, task) in list.iter().enumerate() {
                phases[*task] = Some(Phase {
                    confirmatory,
                    index: index as u64,
                });
            }
        }
        let ids = tasks.iter().map(|task| task.id.clone());
        Self {
            index: ids.zip(0..).collect(),
            drawn,
            phases,
            tasks,
        }
    }

    /// Returns a task and what it is for.
    pub(super) fn get(&self, id: &str) -> Option<(&Task, Option<Phase>)> {
        let place = *self.index.get(id)?;
        Some((self.tasks.get(place)?, *self.phases.get(place)?))
    }

    /// Returns the task at a place.
    pub(super) fn at(&self, phase: Phase) -> Option<&Task> {
        let place = usize::try_from(phase.index).ok()?;
        let list = match phase.confirmatory {
            true => &self.drawn.confirmatory,
            false => &self.drawn.pilot,
        };
        self.tasks.get(*list.get(place)?)
    }

    /// Returns the registered plan, and that of the pilots.
    pub(super) fn plans(&self, protocol: &Protocol) -> [Plan; 2] {
        let Drawn {
            confirmatory,
            pilot,
        } = &self.drawn;
        [
            Plan::new(protocol, &self.tasks, confirmatory),
            Plan::pilot(protocol, &self.tasks, pilot),
        ]
    }

    /// Returns every task and what it is for, in the frame's order.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Task, Option<Phase>)> {
        self.tasks.iter().zip(self.phases.iter().copied())
    }

    /// Returns what is known without the tasks.
    pub(super) fn extent(&self) -> Extent {
        Extent {
            confirmatory: self.drawn.confirmatory.len() as u64,
            pilot: self.drawn.pilot.len() as u64,
            fractional: frame::fractional_fields(&self.tasks),
        }
    }
}
