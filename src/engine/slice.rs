//! What the engine remembers, and the part of it that one command touches.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::command::{Action, Cause, Command, Ending, Evidence, Executed, Execution};
use super::event::{LaneId, Outcomes, Place};
use super::rules::{Phase, Rules};
use crate::units::{Digest, RunId, Time};

/// What the engine must remember whatever the history: bounded by the protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The time of the newest entry.
    pub at: Time,
    /// How many drafts were opened.
    pub draft: u64,
    /// The digest of the protocol that was opened last.
    pub opened: Option<Digest>,
    /// The digest of the registration.
    pub registered: Option<Digest>,
    /// How many runs were started, controls and pilots included.
    pub runs: u64,
    /// How many of them are pilots.
    pub pilots: u64,
    /// How many lanes of the registered plan were opened; they are opened in order.
    pub lanes_opened: u64,
    /// How many slots the registered plan has.
    pub slots: u64,
    /// How many of them have ended.
    pub slots_ended: u64,
    /// When each live run was started.
    pub live: BTreeMap<RunId, Time>,
    /// The runs that have ended and are not closed.
    pub ended: BTreeSet<RunId>,
    /// What happened to the runs of each arm, pilots left out.
    pub arms: BTreeMap<String, Counts>,
    /// How the breaker stands.
    pub breaker: Breaker,
    /// When the last slot ended.
    pub completed: Option<Time>,
    /// Which registered rule ended the study before its last slot had.
    pub stopped: Option<Stopped>,
    /// How often sealed outcomes were looked at.
    pub unblinded: u64,
}

impl Standing {
    /// Returns whether the study has ended: all its slots have, or a registered rule ended it.
    pub fn has_ended(&self) -> bool {
        self.completed.is_some() || self.stopped.is_some()
    }
}

/// How a study ended before its last slot had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// When.
    pub at: Time,
    /// The code of the rule.
    pub code: String,
}

/// How the breaker stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// How many starts in a row have failed.
    pub failures: u32,
    /// Whether it is open.
    pub open: bool,
}

/// What happened to the runs of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Runs started.
    pub started: u64,
    /// Runs whose arm ended.
    pub ended: u64,
    /// Runs scored.
    pub scored: u64,
    /// Runs unjudged.
    pub unjudged: u64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its number.
    pub run: RunId,
    /// The task.
    pub task: String,
    /// The arm or control.
    pub arm: String,
    /// Who executes it.
    pub executed: Executed,
    /// Its place in the plan; none for a control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// `{run.seed}`.
    pub seed: Option<u32>,
    /// Where it stands.
    pub state: State,
    /// When it was started.
    pub started_at: Time,
    /// When its ending was recorded.
    pub ended_at: Option<Time>,
    /// When it was scored or found unjudged.
    pub closed_at: Option<Time>,
    /// Why it is unjudged.
    pub cause: Option<Cause>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// What was observed of it; sealed.
    pub execution: Option<Execution>,
    /// The digest of what it was scored from; sealed.
    pub evidence: Option<Digest>,
    /// What a report that left it unjudged was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Evidence>,
    /// What happened to a run that was closed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its outcomes; sealed.
    pub outcomes: Option<Outcomes>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The arm is being executed.
    Live,
    /// The arm has ended and nothing has been scored.
    Ended,
    /// The outcomes stand.
    Scored,
    /// There are no outcomes and never will be.
    Unjudged,
}

impl State {
    /// Returns the state as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ended => "ended",
            Self::Scored => "scored",
            Self::Unjudged => "unjudged",
        }
    }
}

impl Run {
    /// Returns whether the run is scored or unjudged.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Scored | State::Unjudged)
    }
}

/// How far a lane has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// The position of the slot that is executed or comes next; none when all have ended.
    pub next: Option<u64>,
    /// How many attempts at that slot were started.
    pub attempts: u32,
    /// The run of that slot that is not closed.
    pub open: Option<RunId>,
}

impl Lane {
    /// Returns the position that may start now.
    pub fn ready(&self) -> Option<u64> {
        self.next.filter(|_| self.open.is_none())
    }
}

/// The standing, and the runs and lanes that were loaded; possibly partial, never wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// The standing.
    pub standing: Standing,
    /// The runs that were loaded; none where there is no such run.
    pub runs: BTreeMap<RunId, Option<Run>>,
    /// The lanes that were loaded; none where a lane was never opened.
    pub lanes: BTreeMap<LaneId, Option<Lane>>,
    /// Lanes of the registered plan that may start now, by the position of their next slot.
    pub ready: BTreeMap<u64, LaneId>,
    /// What of all that is there.
    pub loaded: Loaded,
}

/// How much of a record a slice holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loaded {
    /// The standing, and what was asked for.
    #[default]
    Part,
    /// The same, and the earliest lane that may start.
    PartWithReady,
    /// Everything.
    Whole,
}

/// What must be loaded before a command can be decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Runs.
    pub runs: Vec<RunId>,
    /// Lanes.
    pub lanes: Vec<LaneId>,
    /// The earliest lane that may start.
    pub ready: bool,
}

impl Missing {
    /// Returns whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.lanes.is_empty() && !self.ready
    }
}

impl Slice {
    /// Makes the slice of a record that has no entries and will be held whole.
    pub fn whole() -> Self {
        Self {
            loaded: Loaded::Whole,
            ..Self::default()
        }
    }

    /// Returns a run, if there is such a run.
    pub fn run(&self, run: RunId) -> Option<&Run> {
        self.runs.get(&run)?.as_ref()
    }

    /// Returns a lane, if it was ever opened.
    pub fn lane(&self, lane: LaneId) -> Option<Lane> {
        *self.lanes.get(&lane)?
    }

    /// Puts a lane in its place, and keeps the list of those that may start.
    pub fn set_lane(&mut self, id: LaneId, lane: Lane) {
        if id.is_registered() {
            if let Some(position) = self.lane(id).and_then(|lane| lane.ready()) {
                self.ready.remove(&position);
            }
            if let Some(position) = lane.ready() {
                self.ready.insert(position, id);
            }
        }
        self.lanes.insert(id, Some(lane));
    }

    /// Returns what must be loaded before a command can be decided.
    ///
    /// Ask again after loading: what a run's row says may call for its lane.
    pub fn missing(&self, rules: Option<&Rules>, command: &Command) -> Missing {
        let mut missing = Missing::default();
        if self.loaded == Loaded::Whole {
            return missing;
        }
        if let Some(run) = command.action.run() {
            self.need_run(run, &mut missing);
        }
        if let (Some(rules), Action::Start { task, arm, .. }) = (rules, &command.action) {
            self.need_start(rules, task, arm, &mut missing);
        }
        missing
    }

    fn need_run(&self, run: RunId, missing: &mut Missing) {
        match self.runs.get(&run) {
            None => missing.runs.push(run),
            Some(Some(Run {
                place: Some(place), ..
            })) => self.need_lane(place.lane, missing),
            Some(_) => {}
        }
    }

    fn need_lane(&self, lane: LaneId, missing: &mut Missing) {
        if !self.lanes.contains_key(&lane) && !missing.lanes.contains(&lane) {
            missing.lanes.push(lane);
        }
    }

    fn need_start(&self, rules: &Rules, task: &str, arm: &str, missing: &mut Missing) {
        let (Some(arm), Some(phase)) = (rules.protocol().arm(arm), rules.phase(task)) else {
            return;
        };
        if phase.confirmatory && self.loaded == Loaded::Part {
            missing.ready = true;
        }
        for lane in self.lanes_of(rules, phase, arm) {
            self.need_lane(lane, missing);
        }
    }

    /// Returns the lanes that hold an arm's slots on a task.
    pub fn lanes_of(&self, rules: &Rules, phase: Phase, arm: usize) -> Vec<LaneId> {
        let plan = rules.plan(phase);
        let draft = if phase.confirmatory {
            0
        } else {
            self.standing.draft
        };
        let positions =
            (0..plan.repeats()).map(|repeat| plan.position(phase.index, repeat, arm as u64));
        let mut lanes: Vec<LaneId> = positions
            .map(|position| LaneId {
                draft,
                number: plan.lane(&plan.slot(position)),
            })
            .collect();
        lanes.dedup();
        lanes
    }
}
