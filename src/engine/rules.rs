//! The rules of a study, ready to be applied: the registration with its plan and expressions.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::Value;

use super::conditions::Conditions;
use super::facts::{Fact, FactKey};
use super::frame::{Extent, Frame, FramedKey, Held, Phase};
use super::observation::Observer;
use super::scoring::Scorer;
use super::slice::{Run, Slice, Standing};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{OrderBy, Protocol, SplitKind, StopScope};
use crate::protocol::plan::Plan;
use crate::protocol::registration::Registration;
use crate::units::{Digest, RunId, Time};

/// A registration with everything that follows from it.
#[derive(Debug)]
pub struct Rules {
    registration: Registration,
    digest: Digest,
    extent: Extent,
    frame: Frame,
    plan: Plan,
    pilot: Plan,
    scorer: OnceLock<Result<Scorer, String>>,
    observer: OnceLock<Result<Observer, String>>,
    conditions: OnceLock<Result<Conditions, String>>,
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
        let held = Held::new(protocol, tasks);
        let plans = held.plans(protocol);
        let extent = held.extent();
        Self::of(registration, extent, Frame::Held(held), plans)
    }

    /// Returns whether the plan of a registration cannot be made without the tasks' names.
    pub fn needs_names(registration: &Registration) -> bool {
        Plan::new(&registration.protocol, &[], &[]).is_by_name()
    }

    /// Takes a registration whose tasks are kept in rows; the plan needs none of their names.
    pub fn of_rows(registration: Registration, extent: Extent) -> Self {
        let protocol = &registration.protocol;
        let plan = Plan::new(protocol, &[], &[]).over(extent.confirmatory);
        let pilot = Plan::pilot(protocol, &[], &[]).over(extent.pilot);
        Self::of(registration, extent, Frame::Kept, [plan, pilot])
    }

    fn of(
        registration: Registration,
        extent: Extent,
        frame: Frame,
        [plan, pilot]: [Plan; 2],
    ) -> Self {
        Self {
            digest: registration.digest(),
            registration,
            extent,
            frame,
            plan,
            pilot,
            scorer: OnceLock::new(),
            observer: OnceLock::new(),
            conditions: OnceLock::new(),
        }
    }

    /// Takes the parts of an `open` command from a record, as they stand there: that they are bound by
    /// each other is what the audit of a record is for.
    pub fn of_record(registration: Registration, tasks: Vec<Value>) -> Result<Self, String> {
        let tasks = tasks.into_iter().map(Task::new);
        Ok(Self::bound(registration, tasks.collect::<Result<_, _>>()?))
    }

    /// Takes the parts of an `open` command.
    pub fn opened(registration: Registration, tasks: Vec<Value>) -> Result<Self, String> {
        let tasks = tasks.into_iter().map(Task::new);
        Self::new(registration, tasks.collect::<Result<_, _>>()?)
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

    /// Returns what is known of the frame without its tasks.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// Returns every task of the frame and what it is for, in the frame's order, where they are held.
    pub fn framed(&self) -> impl Iterator<Item = (&Task, Option<Phase>)> {
        let held = match &self.frame {
            Frame::Held(held) => Some(held),
            Frame::Kept => None,
        };
        held.into_iter().flat_map(Held::rows)
    }

    /// Returns a task of the frame as it was registered, and what it is for.
    fn registered<'a>(&'a self, slice: &'a Slice, id: &str) -> Option<(&'a Task, Option<Phase>)> {
        match &self.frame {
            Frame::Held(held) => held.get(id),
            Frame::Kept => {
                let found = slice.framed(&FramedKey::Id(id.to_owned()))?;
                Some((&found.task, found.phase))
            }
        }
    }

    /// Returns the id of the task at a place of the frame as it was registered.
    fn registered_at(&self, slice: &Slice, phase: Phase) -> Option<String> {
        let task = match &self.frame {
            Frame::Held(held) => held.at(phase)?,
            Frame::Kept => &slice.framed(&FramedKey::Place(phase))?.task,
        };
        Some(task.id.clone())
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
    pub fn task_in<'a>(&'a self, slice: &'a Slice, id: &str) -> Option<Cow<'a, Task>> {
        if !self.is_open() {
            let (task, _) = self.registered(slice, id)?;
            return Some(Cow::Borrowed(task));
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
            return self.registered(slice, &task.id)?.1;
        }
        match slice.fact(&FactKey::Task(task.id.clone()))? {
            Fact::Task(known) => known.index.map(|index| Phase {
                confirmatory,
                index,
            }),
            _ => None,
        }
    }

    /// Returns the id of the task that stands at a place of the whole draw, had it been made at once;
    /// none where the frame is open.
    pub fn draw_order(&self, slice: &Slice, index: u64) -> Option<String> {
        let confirmatory = true;
        let phase = Phase {
            confirmatory,
            index,
        };
        match self.is_open() {
            true => None,
            false => self.registered_at(slice, phase),
        }
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
            _ => return self.registered_at(slice, phase),
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

    /// Returns the live runs that have passed their deadlines. Runs are numbered as they start, and
    /// time never goes back: they are the first.
    pub fn stale<'s>(
        &'s self,
        standing: &'s Standing,
        at: Time,
    ) -> impl Iterator<Item = RunId> + 's {
        let live = standing.live.iter();
        let stale = live.take_while(move |(_, started_at)| self.is_stale(**started_at, at));
        stale.map(|(run, _)| *run)
    }

    /// Returns whether a live run has passed its deadline; the deadline itself is past.
    pub fn is_stale(&self, started_at: Time, at: Time) -> bool {
        started_at.plus(self.protocol().attempts.stale_after) <= at
    }

    /// Returns what computes outcomes; compiled once, when it is first needed.
    pub fn scorer(&self) -> Result<&Scorer, &str> {
        self.scorer
            .get_or_init(|| Scorer::new(self.protocol(), &self.extent.fractional))
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
