//! A study as two tables: one row a slot, one row a run.
//!
//! The slots have the columns of the data that analyses read, then each outcome by its id. An outcome that
//! is called as one of those columns stands there; one that is called as another column is
//! `outcomes.<id>`.

pub use super::cells::Cells;
use super::slots::Became;
use super::told::{By, Occupant, Told, Values};
use crate::engine::frame::Phase;
use crate::engine::rules::Rules;
use crate::engine::slice::Slice;
use crate::protocol::model::{OutcomeKind, Protocol};
use crate::protocol::plan::{Plan, Slot};
use crate::units::Micros;

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// One row a slot of the registered plan.
    Slots,
    /// One row a run.
    Runs,
}

const SLOT: [&str; 7] = [
    "task", "cluster", "arm", "repeat", "position", "status", "reason",
];
const MEASURED: [&str; 7] = [
    "resolved",
    "claimed",
    "false_claim",
    "cost_usd",
    "input_tokens",
    "output_tokens",
    "duration_s",
];
const WHEN: [&str; 2] = ["started_at", "ended_at"];
const RUN: [&str; 28] = [
    "run",
    "phase",
    "draft",
    "task",
    "arm",
    "stage",
    "block",
    "slot",
    "repeat",
    "turn",
    "attempt",
    "state",
    "cause",
    "note",
    "executed",
    "reference",
    "seed",
    "started_at",
    "ended_at",
    "closed_at",
    "duration_s",
    "timed_out",
    "error_stop",
    "cost_usd",
    "checkpoint",
    "exit",
    "signal",
    "cpu_s",
];

/// A task as the table of slots says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCells {
    id: String,
    cluster: Option<String>,
}

/// Returns the tasks of a plan, in its order; the ids of those at its begin may be known.
pub fn tasks(rules: &Rules, slice: &Slice, plan: &Plan, known: &[String]) -> Vec<TaskCells> {
    let analysis = rules.protocol().analysis.as_ref();
    let field = analysis.and_then(|analysis| analysis.cluster.field());
    let hole = field.map(|field| format!("task.{field}"));
    let of_index = |index| {
        let phase = Phase {
            confirmatory: true,
            index,
        };
        let known = usize::try_from(index)
            .ok()
            .and_then(|index| known.get(index));
        let id = known.cloned().or_else(|| rules.task_at(slice, phase));
        let id = id.unwrap_or_default();
        let task = hole.as_ref().and_then(|_| rules.task_in(slice, &id));
        let cluster = task.zip(hole.as_deref());
        TaskCells {
            cluster: cluster.and_then(|(task, hole)| task.fill(hole)),
            id,
        }
    };
    (0..plan.tasks()).map(of_index).collect()
}

/// An outcome that has a column.
#[derive(Clone, Copy, Debug)]
struct Measure<'a> {
    id: &'a str,
    kind: OutcomeKind,
}

/// The outcomes that have a column of their own, and how the columns are called.
struct Own<'a> {
    measures: Vec<Measure<'a>>,
    names: Vec<String>,
}

impl<'a> Own<'a> {
    /// Gives every outcome a column beside those that are taken, unless one of these is meant for it.
    fn of(protocol: Option<&'a Protocol>, taken: &[&str], meant: &[&str]) -> Self {
        let outcomes = protocol.map_or(&[][..], |protocol| &protocol.outcomes);
        let own = outcomes
            .iter()
            .filter(|outcome| !meant.contains(&outcome.id.as_str()));
        let measures: Vec<Measure<'_>> = own
            .map(|outcome| Measure {
                id: &outcome.id,
                kind: outcome.kind,
            })
            .collect();
        let name = |measure: &Measure<'_>| match taken.contains(&measure.id) {
            true => format!("outcomes.{}", measure.id),
            false => measure.id.to_owned(),
        };
        Self {
            names: measures.iter().map(name).collect(),
            measures,
        }
    }

    fn write(&self, cells: &mut Cells, values: Option<&Values<'_>>) {
        for measure in &self.measures {
            cells.outcome(measure.kind, Values::one(values, measure.id));
        }
    }
}

fn header(columns: &[&str]) -> String {
    let mut cells = Cells::new(columns.len());
    cells.header(columns.iter().copied());
    cells.finish()
}

/// What the table of slots says, on however many threads it is written.
pub struct SlotTable<'a> {
    arms: Vec<&'a str>,
    tasks: Vec<TaskCells>,
    /// Which outcome stands in each column that has a name of its own.
    measured: [Option<Measure<'a>>; MEASURED.len()],
    own: Own<'a>,
    sealed: bool,
}

impl<'a> SlotTable<'a> {
    /// Makes the table of a protocol; sealed values are left out.
    pub fn new(protocol: Option<&'a Protocol>, tasks: Vec<TaskCells>, sealed: bool) -> Self {
        let taken: Vec<&str> = SLOT.into_iter().chain(WHEN).collect();
        let arms = protocol.map_or(&[][..], |protocol| &protocol.arms);
        Self {
            arms: arms.iter().map(|arm| arm.id.as_str()).collect(),
            tasks,
            measured: MEASURED.map(|name| measured(protocol?, name)),
            own: Own::of(protocol, &taken, &MEASURED),
            sealed,
        }
    }

    fn columns(&self) -> Vec<&str> {
        let own = self.own.names.iter().map(String::as_str);
        let names = SLOT.into_iter().chain(MEASURED).chain(WHEN);
        names.chain(own).collect()
    }

    /// Returns the names of the columns as they are written.
    pub fn header(&self) -> String {
        header(&self.columns())
    }

    /// Starts some rows.
    pub fn rows(&self) -> Cells {
        Cells::new(self.columns().len())
    }

    /// Writes a slot, what became of it, and its run where one is known.
    pub fn row(&self, cells: &mut Cells, slot: &Slot, became: Became, run: Option<&Occupant<'_>>) {
        let place = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
        let task = self.tasks.get(place(slot.task));
        cells.text(task.map(|task| task.id.as_str()));
        cells.text(task.and_then(|task| task.cluster.as_deref()));
        cells.text(self.arms.get(place(slot.arm)).copied());
        cells.number(Some(slot.repeat + 1));
        cells.number(Some(slot.task + 1));
        cells.plain(became.status());
        cells.plain(
            became
                .reason()
                .or(run.and_then(Occupant::reason))
                .unwrap_or_default(),
        );
        let Some(run) = run.filter(|_| became.run().is_some()) else {
            return cells.end();
        };
        self.measure(cells, run);
        cells.time(Some(run.started_at));
        cells.time(run.ended_at);
        if !self.sealed {
            self.own.write(cells, run.outcomes.as_ref());
        }
        cells.end()
    }

    fn measure(&self, cells: &mut Cells, run: &Occupant<'_>) {
        let sealed = self.sealed;
        for (name, measure) in MEASURED.into_iter().zip(self.measured) {
            match (measure, name) {
                (Some(measure), _) if !sealed => cells.outcome(measure.kind, run.value(measure.id)),
                (None, "false_claim") if !sealed => {
                    let [resolved, claimed, ..] = self.measured;
                    cells.flag(false_claim(run, resolved, claimed));
                }
                (None, "cost_usd") => cells.dollars(run.cost.known()),
                (None, "duration_s") => {
                    cells.seconds(run.ending.as_ref().and_then(|ending| ending.wall));
                }
                _ => cells.unknown(),
            }
        }
    }
}

/// Returns the outcome that stands in a column: the one that is called so; else for `resolved` what counts as a
/// success, and for `claimed` what the arm claims.
fn measured<'a>(protocol: &'a Protocol, name: &str) -> Option<Measure<'a>> {
    let found = match name {
        "resolved" => protocol.success(),
        "claimed" => protocol.claimed(),
        _ => protocol.outcome(name),
    }?;
    Some(Measure {
        id: &found.id,
        kind: found.kind,
    })
}

/// Returns whether an arm claimed what is not so; none where either is not known.
fn false_claim(
    run: &Occupant<'_>,
    resolved: Option<Measure<'_>>,
    claimed: Option<Measure<'_>>,
) -> Option<bool> {
    let said = |measure: Option<Measure<'_>>| run.value(measure?.id).as_bool();
    Some(said(claimed)? && !said(resolved)?)
}

/// What the table of runs says, on however many threads it is written.
pub struct RunTable<'a> {
    protocol: Option<&'a Protocol>,
    own: Own<'a>,
    sealed: bool,
}

impl<'a> RunTable<'a> {
    /// Makes the table of a protocol; sealed values are left out.
    pub fn new(protocol: Option<&'a Protocol>, sealed: bool) -> Self {
        Self {
            protocol,
            own: Own::of(protocol, &RUN, &[]),
            sealed,
        }
    }

    fn columns(&self) -> Vec<&str> {
        let own = self.own.names.iter().map(String::as_str);
        RUN.into_iter().chain(own).collect()
    }

    /// Returns the names of the columns as they are written.
    pub fn header(&self) -> String {
        header(&self.columns())
    }

    /// Starts some rows.
    pub fn rows(&self) -> Cells {
        Cells::new(self.columns().len())
    }

    /// Writes a run.
    pub fn row(&self, cells: &mut Cells, run: &Told<'_>) {
        self.place(cells, run);
        self.course(cells, run);
        if !self.sealed {
            self.observed(cells, run);
            self.own.write(cells, run.outcomes.as_ref());
        }
        cells.end()
    }

    /// Writes which run it is and where it stands in the plan, counted from 1 as `plan` prints it.
    fn place(&self, cells: &mut Cells, run: &Told<'_>) {
        let place = run.place;
        let of_plan = place.filter(|place| place.lane.is_registered());
        cells.number(Some(run.run.0));
        cells.plain(match (place, of_plan) {
            (None, _) => "control",
            (_, Some(_)) => "confirmatory",
            (_, None) => "pilot",
        });
        let draft = place.filter(|place| !place.lane.is_registered());
        cells.number(draft.map(|place| place.lane.draft));
        cells.text(Some(&run.task));
        cells.text(Some(&run.arm));
        let stages = self.protocol.map(|protocol| &protocol.stages);
        let stage = stages
            .zip(place)
            .and_then(|(stages, place)| stages.get(place.stage));
        cells.text(stage.map(|stage| stage.id.as_str()));
        cells.number(of_plan.map(|place| place.block + 1));
        cells.number(place.map(|place| place.position + 1));
        cells.number(place.map(|place| place.repeat));
        cells.number(place.map(|place| place.turn));
        cells.number(place.map(|place| u64::from(place.attempt)))
    }

    /// Writes what everybody may see of a run.
    fn course(&self, cells: &mut Cells, run: &Told<'_>) {
        cells.plain(run.state.text());
        cells.plain(run.cause.map(|cause| cause.text()).unwrap_or_default());
        cells.text(run.note.as_ref().map(|note| &*note.0));
        match &run.executed {
            By::Here => {
                cells.plain("here");
                cells.unknown();
            }
            By::Elsewhere(reference) => {
                cells.plain("elsewhere");
                cells.text(reference.as_ref().map(|reference| &*reference.0));
            }
        }
        cells.number(run.seed.map(u64::from));
        cells.time(Some(run.started_at));
        cells.time(run.ended_at);
        cells.time(run.closed_at);
        let ending = run.ending.as_ref();
        cells.seconds(ending.and_then(|ending| ending.wall));
        cells.flag(ending.map(|ending| ending.timed_out));
        cells.flag(run.error_stop);
        cells.dollars(run.cost.known());
        cells.flag(run.checkpoint)
    }

    /// Writes what is sealed of how a run ended.
    fn observed(&self, cells: &mut Cells, run: &Told<'_>) {
        let execution = run.execution.as_ref();
        cells.signed(execution.and_then(|execution| execution.exit));
        cells.signed(execution.and_then(|execution| execution.signal));
        let cpu = execution.and_then(|execution| execution.cpu_ms);
        cells.seconds(cpu.map(|millis| Micros(millis.saturating_mul(1000))))
    }
}
