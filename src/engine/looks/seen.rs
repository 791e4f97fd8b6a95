//! What a look sees: the slots of its tasks, as the registered analysis reads them.

use std::num::NonZeroUsize;

use super::Due;
use crate::analysis::registered::Registered;
use crate::analysis::registered::observed::{self, Fate, Observed, Slot};
use crate::engine::blocks;
use crate::engine::command::Action;
use crate::engine::frame::Phase;
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, Slice, State};
use crate::protocol::model::{Analysis, Outcome};
use crate::protocol::plan;

/// The tasks of a look, seen one after another.
#[derive(Debug)]
pub struct Seen {
    due: Due,
    observed: Observed,
    /// Whether outcomes of a scored run are withheld.
    withheld: bool,
}

/// A task that a look sees: the task, its slots, and whether outcomes of them are withheld.
pub type SeenTask = (observed::Task, Vec<Slot>, bool);

impl Seen {
    /// Looks at each task of a look; `of_task` finds one by its place in the draw.
    pub fn of<E>(due: Due, of_task: impl FnMut(u64) -> Result<SeenTask, E>) -> Result<Self, E> {
        let mut seen = Self {
            due,
            observed: Observed::default(),
            withheld: false,
        };
        for found in (0..due.tasks).map(of_task) {
            let (task, slots, withheld) = found?;
            seen.observed.tasks.push(task);
            seen.observed.slots.extend(slots);
            seen.withheld |= withheld;
        }
        Ok(seen)
    }

    /// Computes what the look comes to; none where outcomes are withheld.
    pub fn take(&self, rules: &Rules) -> Option<Action> {
        let analysis = rules.protocol().analysis.as_ref()?;
        let registered = Registered {
            protocol: rules.protocol(),
            analysis,
            digest: rules.digest(),
            threads: NonZeroUsize::MIN,
        };
        let Due { look, tasks, .. } = self.due;
        let count = |number: u64| usize::try_from(number).ok();
        let stops = || registered.stops_at(&self.observed, count(look)?, count(self.due.drawn)?);
        Some(Action::Look {
            look,
            tasks,
            stops: (!self.withheld).then(stops)??,
        })
    }
}

/// Returns a task by its place in the draw.
pub fn of_task(rules: &Rules, slice: &Slice, place: u64) -> SeenTask {
    let analysis = rules.protocol().analysis.as_ref();
    let task = analysis.map(|analysis| task(rules, slice, analysis, place));
    let plan = rules.plan_of(slice, true);
    let mut withheld = false;
    let slots = blocks::of_task(rules, slice, &plan, place);
    let slots = slots.into_iter().map(|(slot, run)| {
        withheld |= run.is_some_and(|run| run.state == State::Scored && run.outcomes.is_none());
        seen(rules, &slot, run)
    });
    let slots = slots.collect();
    (task.unwrap_or_default(), slots, withheld)
}

/// Returns a task by its place in the draw, with what an analysis asks of its fields.
pub fn task(rules: &Rules, slice: &Slice, analysis: &Analysis, place: u64) -> observed::Task {
    let hole = |field: &str| format!("task.{field}");
    let described = analysis.descriptive.as_ref();
    let groups = described.map_or(&[][..], |described| &described.subgroups);
    let phase = Phase {
        confirmatory: true,
        index: place,
    };
    let id = rules.task_at(slice, phase).unwrap_or_default();
    let task = rules.task_in(slice, &id);
    let fill = |field: &str| task.as_ref()?.fill(&hole(field));
    observed::Task {
        cluster: analysis.cluster.field().and_then(fill),
        groups: groups.iter().map(|field| fill(field)).collect(),
        id,
    }
}

/// Returns a slot that has ended, by the run that says how; what no test reads is left out.
fn seen(rules: &Rules, slot: &plan::Slot, run: Option<&Run>) -> Slot {
    let place = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
    let value = |outcome: &Outcome| {
        let outcomes = run?.outcomes.as_ref()?;
        observed::number(outcome.kind, outcomes.get(&outcome.id)?)
    };
    Slot {
        task: place(slot.task),
        arm: place(slot.arm),
        turn: slot.turn,
        stage: slot.stage,
        started: true,
        fate: match run.map(|run| run.state) {
            Some(State::Scored) => Fate::Scored,
            _ => Fate::Unjudged,
        },
        reason: None,
        values: rules.protocol().outcomes.iter().map(value).collect(),
        wall: None,
        exposed: None,
    }
}
