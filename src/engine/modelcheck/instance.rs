//! The small instance of a protocol that is played.

use serde_json::json;

use crate::engine::conditions;
use crate::engine::rules::Rules;
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{Draw, DrawMethod, Protocol, Stage};
use crate::protocol::registration::Registration;
use crate::units::Micros;

/// The tasks that are played.
pub(super) const TASKS: [&str; 2] = ["task-1", "task-2"];

/// How many repeats of a task and arm are played, unless there are more stages.
const REPEATS_MAX: u32 = 3;
/// How many endings an outage needs at most.
const ENDED_MAX: u32 = 4;
/// How many attempts a slot has at most, unless they are without limit.
const ATTEMPTS_MAX: u32 = 3;
/// How many runs are live at once at most.
const LIVE_MAX: u32 = 4;
/// A deadline that no run meets because hours pass: a thousand years.
const PATIENCE: Micros = Micros(31_557_600_000_000_000);

/// Makes the small instance: two tasks, drawn; the arms; the order, with few repeats; the stages with
/// their conditions, as far as they speak of stages; attempts and outages. The rest is left out, as
/// it makes starts wait or end whatever the order is.
pub fn instance(registration: &Registration) -> Result<Rules, String> {
    rules(registration, registration.protocol.attempts.stale_after)
}

/// Makes the small instance for the search: a run passes its deadline only by a step of its own.
pub(super) fn patient(registration: &Registration) -> Result<Rules, String> {
    rules(registration, PATIENCE)
}

fn rules(registration: &Registration, stale_after: Micros) -> Result<Rules, String> {
    let tasks = TASKS.map(|id| Task::new(json!({ "id": id })));
    let tasks: Vec<Task> = tasks.into_iter().collect::<Result<_, _>>()?;
    let small = Registration {
        language: registration.language,
        frame: frame::digest(&tasks),
        protocol: small(&registration.protocol, stale_after),
        files: registration.files.clone(),
    };
    Rules::new(small, tasks)
}

fn small(protocol: &Protocol, stale_after: Micros) -> Protocol {
    let mut small = Protocol {
        open_fields: None,
        splits: None,
        draw: Draw {
            method: DrawMethod::Listed,
            size: None,
            classes: Vec::new(),
            grows: false,
            ..protocol.draw.clone()
        },
        controls: Vec::new(),
        stages: stages(&protocol.stages),
        readings: Vec::new(),
        stops: Vec::new(),
        holds: Vec::new(),
        backoff: None,
        cutoff: None,
        budgets: Vec::new(),
        breaker: None,
        switch: None,
        preflight: None,
        probes: Vec::new(),
        observation: None,
        claim: None,
        judge: None,
        checkpoint: Vec::new(),
        actors: Vec::new(),
        analysis: None,
        ..protocol.clone()
    };
    let allocation = &mut small.allocation;
    allocation.repeats = allocation.repeats.min(REPEATS_MAX);
    allocation.runs_max = allocation.runs_max.min(LIVE_MAX);
    let attempts = &mut small.attempts;
    attempts.per_slot = attempts.per_slot.map(|most| most.min(ATTEMPTS_MAX));
    attempts.stale_after = stale_after;
    if let Some(outage) = &mut small.outage {
        outage.ended_min = outage.ended_min.min(ENDED_MAX);
        "run.error_stop".clone_into(&mut outage.error);
    }
    small
}

/// Returns the stages with so few repeats that each keeps one.
fn stages(stages: &[Stage]) -> Vec<Stage> {
    let mut left = REPEATS_MAX.saturating_sub(u32::try_from(stages.len()).unwrap_or(u32::MAX));
    let few = |(place, stage): (usize, &Stage)| {
        let more = stage.repeats.saturating_sub(1).min(left);
        left -= more;
        Stage {
            repeats: 1 + more,
            opens: conditions::opens_by_stages(stages, place),
            fits: None,
            ..stage.clone()
        }
    };
    stages.iter().enumerate().map(few).collect()
}
