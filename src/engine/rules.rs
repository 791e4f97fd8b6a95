//! The rules of a study, ready to be applied: the registration with its plan and expressions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::conditions::Conditions;
use super::facts::{Fact, FactKey};
use super::observation::Observer;
use super::scoring::Scorer;
use super::slice::{Run, Slice, Standing};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{OrderBy, Protocol, SplitKind, StopScope};
use crate::protocol::plan::Plan;
use crate::protocol::registration::Registration;
use crate::units::{Digest, Time};

/// A registration with everything that follows from it.
#[derive(Debug)]
pub struct Rules {
    registration: Registration,
    digest: Digest,
    tasks: Vec<Task>,
    index: HashMap<String, Indexed>,
    drawn: frame::Drawn,
    plan: Plan,
    pilot: Plan,
    scorer: OnceLock<Result<Scorer, String>>,
    observer: OnceLock<Result<Observer, String>>,
    conditions: OnceLock<Result<Conditions, String>>,
}

/// Where a task stands in the frame, and what it is for.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    frame: usize,
    phase: Option<Phase>,
}

/// What a task is for, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Whether it is drawn for the registered plan, or a pilot.
    pub confirmatory: bool,
    /// Its place in the draw, or among the pilots, from 0.
    pub index: u64,
}

impl Rules {
    /// Takes a registration and the frame's tasks.
    ///
    /// Refuses tasks that are not those whose digest the registration binds.
    pub fn new(registration: Registration, tasks: Vec<Task>) -> Result<Self, String> {
        let protocol = &registration.protocol;
        let bound = match &protocol.open_fields {
            Some(fields) => frame::open_digest(fields),
            None => frame::digest(&tasks),
        };
        if bound != registration.frame {
            return Err("the tasks are not those that the frame's digest binds".to_owned());
        }
        Ok(Self::bound(registration, tasks))
    }

    fn bound(registration: Registration, tasks: Vec<Task>) -> Self {
        let protocol = &registration.protocol;
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
        let indexed = tasks.iter().zip(phases).enumerate();
        let index = indexed
            .map(|(frame, (task, phase))| (task.id.clone(), Indexed { frame, phase }))
            .collect();
        Self {
            plan: Plan::new(protocol, &tasks, &drawn.confirmatory),
            pilot: Plan::pilot(protocol, &tasks, &drawn.pilot),
            digest: registration.digest(),
            scorer: OnceLock::new(),
            observer: OnceLock::new(),
            conditions: OnceLock::new(),
            registration,
            tasks,
            index,
            drawn,
        }
    }

    /// Takes the parts of an `open` command from a record, as they stand there: that they are bound by
    /// each other is what the audit of a record is for.
    pub fn of_record(registration: Registration, tasks: Vec<Value>) -> Result<Self, String> {
        let tasks = tasks.into_iter().map(Task::new);
        Ok(Self::bound(registration, tasks.collect::<Result<_, _>>()?))
    }

    /// Takes the parts of an `open` command.
    pub fn from_open(registration: &Registration, tasks: &[Value]) -> Result<Self, String> {
        let tasks = tasks
            .iter()
            .map(|fields| Task::new(fields.clone()))
            .collect::<Result<_, _>>()?;
        Self::new(registration.clone(), tasks)
    }

    /// Returns the registration.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Returns the registration's digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the resolved protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.registration.protocol
    }

    /// Returns a task of the frame as it was registered.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(self.index.get(id)?.frame)
    }

    /// Returns whether tasks are added one by one.
    pub fn is_open(&self) -> bool {
        self.protocol().open_fields.is_some()
    }

    /// Returns whether the draw is appended in batches.
    pub fn grows(&self) -> bool {
        self.protocol().draw.grows
    }

    /// Returns whether an arm's turn goes by what the other arm has ended, and not by the plan.
    pub fn goes_by_counts(&self) -> bool {
        self.protocol().allocation.by == OrderBy::Counts
    }

    /// Returns a task of the frame as it stands.
    pub fn task_in<'a>(&'a self, slice: &Slice, id: &str) -> Option<Cow<'a, Task>> {
        if !self.is_open() {
            return self.task(id).map(Cow::Borrowed);
        }
        match slice.fact(&FactKey::Task(id.to_owned()))? {
            Fact::Task(known) => Some(Cow::Owned(Task {
                id: id.to_owned(),
                fields: known.fields.clone()?,
            })),
            _ => None,
        }
    }

    /// Returns what a task is for; none if it is neither drawn nor a pilot.
    pub fn phase(&self, slice: &Slice, task: &Task) -> Option<Phase> {
        let confirmatory = self.is_confirmatory(task);
        let grows = confirmatory && self.grows();
        if !(self.is_open() || grows) {
            return self.index.get(&task.id)?.phase;
        }
        match slice.fact(&FactKey::Task(task.id.clone()))? {
            Fact::Task(known) => known.index.map(|index| Phase {
                confirmatory,
                index,
            }),
            _ => None,
        }
    }

    /// Returns the task that stands at a place of the whole draw, had it been made at once; none
    /// where the frame is open.
    pub fn draw_order(&self, index: u64) -> Option<&Task> {
        let place = usize::try_from(index).ok()?;
        self.drawn
            .confirmatory
            .get(place)
            .map(|task| &self.tasks[*task])
    }

    /// Returns whether a task is in a confirmatory split.
    pub fn is_confirmatory(&self, task: &Task) -> bool {
        self.split_of(task) == Some(SplitKind::Confirmatory)
    }

    /// Returns what a task's split is for.
    pub fn split_of(&self, task: &Task) -> Option<SplitKind> {
        frame::split_of(self.protocol().splits.as_ref(), task)
    }

    /// Returns the id of the task at a place of a phase.
    pub fn task_at(&self, slice: &Slice, phase: Phase) -> Option<String> {
        let key = match phase.confirmatory {
            true if self.is_open() || self.grows() => FactKey::Drawn(phase.index),
            false if self.is_open() => FactKey::Pilot(phase.index),
            confirmatory => {
                let drawn = &self.drawn;
                let list = if confirmatory {
                    &drawn.confirmatory
                } else {
                    &drawn.pilot
                };
                let place = usize::try_from(phase.index).ok()?;
                return list.get(place).map(|task| self.tasks[*task].id.clone());
            }
        };
        match slice.fact(&key)? {
            Fact::Place(task) => Some(task.clone()),
            _ => None,
        }
    }

    /// Returns the plan of the confirmatory or of the pilot tasks, as far as it is known.
    pub fn plan_of(&self, slice: &Slice, confirmatory: bool) -> Cow<'_, Plan> {
        let (plan, tasks) = if confirmatory {
            (&self.plan, slice.standing.drawn)
        } else {
            (&self.pilot, slice.standing.pilot_tasks)
        };
        if self.is_open() && plan.is_by_name() {
            let name = |index| {
                let phase = Phase {
                    confirmatory,
                    index,
                };
                self.task_at(slice, phase).unwrap_or_default()
            };
            return Cow::Owned(plan.over_named((0..tasks).map(name).collect()));
        }
        if self.is_open() || (confirmatory && self.grows()) {
            return Cow::Owned(plan.over(tasks));
        }
        Cow::Borrowed(plan)
    }

    /// Returns how many tasks are drawn by now.
    pub fn drawn(&self, standing: &Standing) -> u64 {
        match self.is_open() || self.grows() {
            true => standing.drawn,
            false => self.plan.tasks(),
        }
    }

    /// Returns how many slots the tasks that are drawn by now have.
    pub fn slots(&self, standing: &Standing) -> u64 {
        self.plan.over(self.drawn(standing)).len()
    }

    /// Returns the registered plan, over every task that can be drawn and is known with the protocol.
    pub fn registered_plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the plan of the pilot tasks.
    pub fn pilot_plan(&self) -> &Plan {
        &self.pilot
    }

    /// Returns whether a stop is about one arm, or one stage, alone.
    pub fn stops_one(&self, scope: StopScope) -> bool {
        let mut stops = self.protocol().stops.iter();
        stops.any(|stop| stop.scope == scope)
    }

    /// Returns the arm and the stage of which a run says something, where a stop asks for that.
    pub fn read_apart<'a>(&'a self, run: &'a Run) -> [Option<&'a str>; 2] {
        let Some(place) = run.place else {
            return [None, None];
        };
        let staged = place.lane.is_registered() && self.stops_one(StopScope::Stage);
        let stage = self.protocol().stages.get(place.stage);
        [
            self.stops_one(StopScope::Arm).then_some(run.arm.as_str()),
            stage.filter(|_| staged).map(|stage| stage.id.as_str()),
        ]
    }

    /// Returns whether a live run has passed its deadline; the deadline itself is past.
    pub fn is_stale(&self, started_at: Time, at: Time) -> bool {
        started_at.plus(self.protocol().attempts.stale_after) <= at
    }

    /// Returns what computes outcomes; compiled once, when it is first needed.
    pub fn scorer(&self) -> Result<&Scorer, &str> {
        self.scorer
            .get_or_init(|| Scorer::new(self.protocol(), &self.tasks))
            .as_ref()
            .map_err(String::as_str)
    }

    /// Returns what derives facts from what was observed; compiled once.
    pub fn observer(&self) -> Result<&Observer, &str> {
        self.observer
            .get_or_init(|| Observer::new(self.protocol()))
            .as_ref()
            .map_err(String::as_str)
    }

    /// Returns the conditions on what the world reports; compiled once.
    pub fn conditions(&self) -> Result<&Conditions, &str> {
        self.conditions
            .get_or_init(|| Conditions::new(self.protocol()))
            .as_ref()
            .map_err(String::as_str)
    }
}
