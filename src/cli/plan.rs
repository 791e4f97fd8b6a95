//! The verb `plan`: the slots of a study in run order, one a line.
//!
//! A plan can have millions of slots, so lines are written as they are made.

use std::fmt::{self, Display};
use std::io::{self, BufWriter, Write};

use serde::{Serialize, Serializer};

use super::args::Plan as Args;
use super::reply::{self, Failure, Reply};
use super::study::ProtocolFile;
use crate::protocol::model::Protocol;
use crate::protocol::plan::{Plan, Slot, run_seed};

/// A slot as it is printed. Repeats, blocks, positions and slots are counted from 1.
#[derive(Debug, Serialize)]
struct Line<'a> {
    position: u64,
    stage: Option<&'a str>,
    block: u64,
    task: &'a str,
    repeat: u64,
    arm: &'a str,
    slot: SlotName<'a>,
    run_seed: Option<u32>,
}

/// Names a slot: `task/arm/repeat`. No task's or arm's name holds a slash.
#[derive(Debug)]
struct SlotName<'a> {
    task: &'a str,
    arm: &'a str,
    repeat: u64,
}

impl Display for SlotName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.task, self.arm, self.repeat)
    }
}

impl Serialize for SlotName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Prints the registered plan, or that of the pilot.
pub(super) fn plan(args: &Args, as_json: bool) -> Result<Reply, Failure> {
    let loaded = ProtocolFile::read(&args.file)?;
    must_have_slots(&loaded, args.pilot)?;
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    reply::streamed(write_plan(&loaded, args.pilot, as_json, out))
}

/// Refuses to print a plan that is empty for a reason.
fn must_have_slots(loaded: &ProtocolFile, pilot: bool) -> Result<(), Failure> {
    let protocol = &loaded.checked.registration.protocol;
    let (code, message) = if protocol.open_fields.is_some() {
        (
            "open-frame",
            "the frame is open: its tasks are added later, so there is no plan yet",
        )
    } else if pilot && loaded.checked.drawn.pilot.is_empty() {
        ("no-pilot", "no task of this protocol is in a pilot split")
    } else {
        return Ok(());
    };
    Err(Failure::Usage {
        code,
        message: message.to_owned(),
    })
}

fn write_plan(
    loaded: &ProtocolFile,
    pilot: bool,
    as_json: bool,
    mut out: impl Write,
) -> io::Result<()> {
    let protocol = &loaded.checked.registration.protocol;
    let tasks = &loaded.checked.tasks;
    let drawn = &loaded.checked.drawn;
    let (plan, drawn) = if pilot {
        (Plan::pilot(protocol, tasks, &drawn.pilot), &drawn.pilot)
    } else {
        let drawn = &drawn.confirmatory;
        (Plan::new(protocol, tasks, drawn), drawn)
    };
    let ids: Vec<&str> = drawn.iter().map(|task| tasks[*task].id.as_str()).collect();
    let table = Table::new(protocol, &plan, &ids);
    if !as_json {
        table.heading(&mut out)?;
    }
    for position in 0..plan.len() {
        let line = line(protocol, &plan, &plan.slot(position), &ids);
        if as_json {
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
        } else {
            table.row(&mut out, &line)?;
        }
    }
    out.flush()
}

fn line<'a>(protocol: &'a Protocol, plan: &Plan, slot: &Slot, ids: &[&'a str]) -> Line<'a> {
    let task = usize::try_from(slot.task).map_or("", |task| ids[task]);
    let arm = usize::try_from(slot.arm).map_or("", |arm| protocol.arms[arm].id.as_str());
    let stage = protocol.stages.get(slot.stage);
    let seeded = protocol.allocation.run_seed;
    Line {
        position: slot.position + 1,
        stage: stage.map(|stage| stage.id.as_str()),
        block: plan.block(slot) + 1,
        task,
        repeat: slot.repeat + 1,
        arm,
        slot: SlotName {
            task,
            arm,
            repeat: slot.repeat + 1,
        },
        run_seed: seeded.map(|_| run_seed(task, slot.repeat)),
    }
}

/// The columns of the plan for people, each as wide as its widest entry.
struct Table {
    position: usize,
    /// Nothing where the plan has no stages.
    stage: Option<usize>,
    block: usize,
    task: usize,
    repeat: usize,
    arm: usize,
    /// Nothing where no seed is derived.
    run_seed: Option<usize>,
}

impl Table {
    fn new(protocol: &Protocol, plan: &Plan, ids: &[&str]) -> Self {
        let digits = |number: u64| number.to_string().len();
        let stages = protocol.stages.iter().map(|stage| stage.id.as_str());
        let arms = protocol.arms.iter().map(|arm| arm.id.as_str());
        Self {
            position: digits(plan.len()).max("position".len()),
            stage: (!protocol.stages.is_empty()).then(|| widest("stage", stages)),
            block: digits(plan.len()).max("block".len()),
            task: widest("task", ids.iter().copied()),
            repeat: digits(plan.repeats()).max("repeat".len()),
            arm: widest("arm", arms),
            run_seed: protocol.allocation.run_seed.map(|_| "run_seed".len()),
        }
    }

    fn heading(&self, out: &mut impl Write) -> io::Result<()> {
        let named = ("position", "stage", "block", "repeat", "run_seed");
        self.columns(out, named, ("task", "arm", "slot"))
    }

    fn row(&self, out: &mut impl Write, line: &Line<'_>) -> io::Result<()> {
        let stage = line.stage.unwrap_or_default();
        let run_seed = line.run_seed.unwrap_or_default();
        let numbers = (line.position, stage, line.block, line.repeat, run_seed);
        self.columns(out, numbers, (line.task, line.arm, &line.slot))
    }

    /// Writes one line: the stage's name, numbers to the right, names to the left.
    fn columns<P: Display, B: Display, R: Display, S: Display, N: Display>(
        &self,
        out: &mut impl Write,
        (position, stage, block, repeat, run_seed): (P, &str, B, R, S),
        (task, arm, slot): (&str, &str, N),
    ) -> io::Result<()> {
        write!(out, "{position:>0$}  ", self.position)?;
        if let Some(width) = self.stage {
            write!(out, "{stage:<width$}  ")?;
        }
        write!(out, "{block:>0$}  {task:<1$}  ", self.block, self.task)?;
        write!(out, "{repeat:>0$}  {arm:<1$}  ", self.repeat, self.arm)?;
        if let Some(width) = self.run_seed {
            write!(out, "{run_seed:>width$}  ")?;
        }
        writeln!(out, "{slot}")
    }
}

/// Returns how wide a column of names is below its heading.
fn widest<'a>(heading: &str, names: impl Iterator<Item = &'a str>) -> usize {
    names.map(str::len).max().unwrap_or(0).max(heading.len())
}
