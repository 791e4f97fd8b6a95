//! The guards of a start, in their registered order: the first that refuses answers.
//!
//! What stands here is looked at before a slot is: it closes no stale run and knows no order.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::blocks;
use super::command::Executed;
use super::conditions::{self, Fired, Whom, World};
use super::decide::Ruling;
use super::durations;
use super::event::Event;
use super::fits;
use super::frame::Phase;
use super::lanes;
use super::looks;
use super::preflight::{self, Status};
use super::probes;
use super::refusal::Refusal;
use super::rules::Rules;
use super::settings;
use super::slice::{Slice, SwitchSaid};
use super::spending;
use crate::protocol::frame::Task;
use crate::protocol::model::{Stop, StopAt, StopScope};
use crate::protocol::plan::Slot;
use crate::units::Time;

/// Passes a start through the guards before its slot is looked for; returns what the task is for
/// and the arm's place in the listed order. A control has neither: it skips to concurrency.
pub(super) fn admissible(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    at: Time,
) -> Result<Option<(Phase, usize)>, Refusal> {
    switch(rules, slice)?;
    let Some(task) = rules.task_in(slice, task) else {
        return Err(Refusal::UnknownTask {
            task: task.to_owned(),
        });
    };
    let listed = rules.protocol().arm(arm);
    if listed.is_none() && rules.protocol().control(arm).is_none() {
        return Err(Refusal::UnknownArm {
            arm: arm.to_owned(),
        });
    }
    breaker(rules, slice, arm)?;
    let Some(listed) = listed else {
        return Ok(None);
    };
    let phase = lock(rules, slice, &task)?;
    if phase.confirmatory {
        looks::guard(rules, slice, phase.index)?;
    }
    readiness(rules, slice)?;
    probes(rules, slice)?;
    settings::guard(rules, slice, arm)?;
    let in_session = executed == &Executed::Here;
    let slot = asked(rules, slice, (phase, listed), at, in_session);
    let of_stage = slot.and_then(|slot| rules.protocol().stages.get(slot.stage));
    let of_stage = of_stage.map(|stage| stage.id.as_str());
    let whom = Whom {
        arms: &[arm],
        stages: of_stage.as_slice(),
    };
    conditions(rules, slice, whom, at, |stop| is_asked(stop, in_session))?;
    stage(rules, slice, slot, at)?;
    cutoff(rules, at)?;
    spending::guard(rules, slice, &task.id, arm, false)?;
    Ok(Some((phase, listed)))
}

/// Passes the beginning of a session through the stops that are looked at then.
pub(super) fn session(rules: &Rules, slice: &Slice, at: Time) -> Ruling {
    switch(rules, slice)?;
    preflight::session(rules.protocol())?;
    let arms: Vec<&str> = preflight::direct(rules.protocol())
        .map(|arm| arm.id.as_str())
        .collect();
    let stages = under_way(rules, slice, at);
    let whom = Whom {
        arms: &arms,
        stages: &stages,
    };
    // What is about one arm or stage and is looked at when it starts leaves the others to be executed.
    let looks = |stop: &Stop| stop.scope == StopScope::Study || stop.at == StopAt::Session;
    conditions(rules, slice, whom, at, looks)?;
    Ok(Vec::new())
}

/// Returns the slot that a start would fill, where there are stages: the first that is not taken.
/// Those of a stage that is not open, or is stopped, are passed over if one may start after them, as
/// the order passes over them.
fn asked(
    rules: &Rules,
    slice: &Slice,
    (phase, arm): (Phase, usize),
    at: Time,
    in_session: bool,
) -> Option<Slot> {
    let staged = !rules.protocol().stages.is_empty();
    if !staged || !phase.confirmatory || rules.goes_by_counts() {
        return None;
    }
    let plan = rules.plan_of(slice, true);
    let may_start = |slot: &Slot| may_start(rules, slice, slot.stage, at, in_session);
    let mut free = lanes::free(slice, &plan, phase, arm);
    let first = free.next()?;
    if may_start(&first) {
        return Some(first);
    }
    Some(free.find(may_start).unwrap_or(first))
}

/// Returns the stages that are open and not complete, where a stop is about one stage alone.
fn under_way<'r>(rules: &'r Rules, slice: &Slice, at: Time) -> Vec<&'r str> {
    if !rules.stops_one(StopScope::Stage) {
        return Vec::new();
    }
    let complete = complete(rules, slice);
    let stages = rules.protocol().stages.iter().enumerate();
    let stages = stages.filter(|(place, stage)| {
        complete.get(&stage.id) == Some(&false) && is_open(rules, slice, *place, at)
    });
    stages.map(|(_, stage)| stage.id.as_str()).collect()
}

/// Returns whether a start looks at a stop; in a session those that are looked at when it begins have
/// been passed.
fn is_asked(stop: &Stop, in_session: bool) -> bool {
    !in_session || stop.at == StopAt::Start
}

/// Returns the rule that has ended the study before all its slots had, if one has.
pub fn stopped_by(rules: &Rules, slice: &Slice, at: Time) -> Option<Refusal> {
    let over = looks::stopped(rules, slice).or_else(|| cutoff(rules, at).err());
    over.or_else(|| spending::over_for_good(rules, slice))
}

/// Refuses everything until each arm that is executed here was looked at and is ready.
fn readiness(rules: &Rules, slice: &Slice) -> Result<(), Refusal> {
    let protocol = rules.protocol();
    if protocol.preflight.is_none() {
        return Ok(());
    }
    for arm in preflight::direct(protocol) {
        let status = slice.standing.preflight.get(&arm.id);
        if status.map(String::as_str) != Some(Status::Ready.text()) {
            return Err(Refusal::NotReady {
                arm: arm.id.clone(),
                status: status.cloned(),
            });
        }
    }
    Ok(())
}

/// Refuses everything while a probe says something else than it should. What was not observed is
/// not known to have changed.
fn probes(rules: &Rules, slice: &Slice) -> Result<(), Refusal> {
    for probe in &rules.protocol().probes {
        let Some(observed) = slice.standing.probes.get(&probe.id) else {
            continue;
        };
        let observed = observed.clone().unwrap_or(Value::Null);
        let bound = slice.standing.bound.get(&probe.id);
        let bound = bound.and_then(Option::as_ref);
        let differs = probes::compare(probe, bound, &observed);
        if let Some(differs) = differs.into_iter().find(|compared| !compared.matches) {
            return Err(Refusal::ProbeDiffers {
                probe: probe.id.clone(),
                name: differs.name,
                expected: differs.expected,
                observed: differs.observed,
            });
        }
    }
    Ok(())
}

/// Asks the stops that are looked at, then the holds.
fn conditions(
    rules: &Rules,
    slice: &Slice,
    whom: Whom<'_>,
    at: Time,
    looks: impl Fn(&Stop) -> bool,
) -> Result<(), Refusal> {
    let protocol = rules.protocol();
    if protocol.stops.is_empty() && protocol.holds.is_empty() {
        return Ok(());
    }
    let complete = complete(rules, slice);
    let world = world(slice, &complete, at);
    let conditions = rules.conditions().map_err(broken)?;
    match conditions.stop(&world, whom, looks) {
        Some(fired) => Err(refused("stops", fired)),
        None => match conditions.hold(&world) {
            Some(fired) => Err(refused("holds", fired)),
            None => Ok(()),
        },
    }
}

fn broken(error: &str) -> Refusal {
    Refusal::BadReading {
        why: error.to_owned(),
    }
}

/// Returns what conditions may read.
fn world<'a>(slice: &'a Slice, complete: &'a BTreeMap<String, bool>, at: Time) -> World<'a> {
    World {
        readings: &slice.standing.readings,
        apart: &slice.standing.apart,
        complete,
        now: at,
    }
}

/// Returns the refusal of the stop that is about this stage alone, if one fires for it or cannot be read.
pub(super) fn stopped_stage(
    rules: &Rules,
    slice: &Slice,
    stage: usize,
    at: Time,
    in_session: bool,
) -> Option<Refusal> {
    if !rules.stops_one(StopScope::Stage) {
        return None;
    }
    let stages = [rules.protocol().stages.get(stage)?.id.as_str()];
    let complete = complete(rules, slice);
    let whom = Whom {
        arms: &[],
        stages: &stages,
    };
    let of_stage = |stop: &Stop| stop.scope == StopScope::Stage && is_asked(stop, in_session);
    let conditions = match rules.conditions() {
        Ok(conditions) => conditions,
        Err(error) => return Some(broken(error)),
    };
    let fired = conditions.stop(&world(slice, &complete, at), whom, of_stage)?;
    Some(refused("stops", fired))
}

/// Returns whether slots of a stage may start: it is open, and no stop is about it alone and fires.
pub(super) fn may_start(
    rules: &Rules,
    slice: &Slice,
    stage: usize,
    at: Time,
    in_session: bool,
) -> bool {
    is_open(rules, slice, stage, at) && stopped_stage(rules, slice, stage, at, in_session).is_none()
}

fn refused(table: &str, fired: Fired) -> Refusal {
    if fired.holds {
        return Refusal::Held {
            table: table.to_owned(),
            rule: fired.rule,
            id: fired.id,
            of: fired.of,
            until: fired.until,
            shows: fired.shows,
            unknown: fired.unknown,
        };
    }
    Refusal::StopFired {
        table: table.to_owned(),
        rule: fired.rule,
        id: fired.id,
        of: fired.of,
        shows: fired.shows,
        unknown: fired.unknown,
    }
}

/// Returns whether every slot of each stage has ended.
fn complete(rules: &Rules, slice: &Slice) -> BTreeMap<String, bool> {
    let plan = rules.plan_of(slice, true);
    let stages = rules.protocol().stages.iter().enumerate();
    let complete = stages.map(|(i, stage)| {
        let ended = slice
            .standing
            .stages
            .get(i)
            .map_or(0, |stage| stage.slots_ended);
        (
            stage.id.clone(),
            blocks::is_complete(ended, plan.stage_len(i)),
        )
    });
    complete.collect()
}

/// Confirmatory tasks start once they are registered and drawn, pilots before.
fn lock(rules: &Rules, slice: &Slice, task: &Task) -> Result<Phase, Refusal> {
    let registered = slice.standing.registered.is_some();
    let confirmatory = rules.is_confirmatory(task);
    let id = || task.id.clone();
    match confirmatory {
        false if registered => Err(Refusal::SplitClosed { task: id() }),
        true if !registered => Err(Refusal::NotRegistered { task: id() }),
        _ => rules
            .phase(slice, task)
            .ok_or_else(|| Refusal::NotDrawn { task: id() }),
    }
}

fn switch(rules: &Rules, slice: &Slice) -> Result<(), Refusal> {
    match (&rules.protocol().switch, &slice.standing.switch) {
        (None, _) => Ok(()),
        (Some(_), SwitchSaid::Text(text)) if text == "on" => Ok(()),
        (Some(_), SwitchSaid::Unreadable) => Err(Refusal::SwitchUnreadable {}),
        (Some(_), _) => Err(Refusal::Off {}),
    }
}

/// Refuses a slot whose stage is not open, and one that begins a block which would not end in time.
fn stage(rules: &Rules, slice: &Slice, slot: Option<Slot>, at: Time) -> Result<(), Refusal> {
    let Some(next) = slot else {
        return Ok(());
    };
    let plan = rules.plan_of(slice, true);
    let stage = &rules.protocol().stages[next.stage];
    let place = next.stage;
    let id = || stage.id.clone();
    if !is_open(rules, slice, place, at) {
        return Err(Refusal::StageClosed { stage: id(), place });
    }
    let Some(rule) = &stage.fits else {
        return Ok(());
    };
    let estimate = durations::median(slice);
    let fits = fits::fits(rule, estimate, rules.protocol().cutoff, at);
    if fits || durations::has_begun(slice, &plan, plan.block(&next)) {
        return Ok(());
    }
    Err(Refusal::DoesNotFit { stage: id(), place })
}

/// Records a reading of the world, where that is news.
pub(super) fn read(rules: &Rules, slice: &Slice, id: &str, fields: &Map<String, Value>) -> Ruling {
    let mut readings = rules.protocol().readings.iter();
    let bad = |why: String| Refusal::BadReading { why };
    let Some(reading) = readings.find(|reading| reading.id == id) else {
        return Err(bad(format!("`{id}` is not a reading of this protocol")));
    };
    let fields = Value::Object(fields.clone());
    let fields = conditions::read(reading, &fields).map_err(bad)?;
    let standing = &slice.standing;
    if standing.readings.get(id) == Some(&fields) && !standing.apart.has(id) {
        return Ok(Vec::new());
    }
    Ok(vec![Event::Read {
        id: id.to_owned(),
        fields,
        arm: None,
        stage: None,
    }])
}

/// Returns whether a stage of the plan is open.
pub(super) fn is_open(rules: &Rules, slice: &Slice, stage: usize, at: Time) -> bool {
    let stages = &rules.protocol().stages;
    if stages.get(stage).is_none_or(|stage| stage.opens.is_none()) {
        return true;
    }
    let complete = complete(rules, slice);
    let world = world(slice, &complete, at);
    let conditions = rules.conditions();
    conditions.is_ok_and(|conditions| conditions.opens(stage, &world))
}

fn cutoff(rules: &Rules, at: Time) -> Result<(), Refusal> {
    match rules.protocol().cutoff {
        Some(cutoff) if at >= cutoff => Err(Refusal::PastCutoff { cutoff }),
        _ => Ok(()),
    }
}

fn breaker(rules: &Rules, slice: &Slice, arm: &str) -> Result<(), Refusal> {
    if slice.standing.breaker.open && is_guarded(rules, arm) {
        return Err(Refusal::BreakerOpen {
            failures: slice.standing.breaker.failures,
        });
    }
    Ok(())
}

/// Returns whether the breaker is about an arm; one that names no arms is about controls too.
fn is_guarded(rules: &Rules, arm: &str) -> bool {
    let breaker = rules.protocol().breaker.as_ref();
    breaker.is_some_and(|breaker| {
        breaker.arms.is_empty() || breaker.arms.iter().any(|guarded| guarded == arm)
    })
}

/// Returns what the breaker makes of a run that was executed, or could not be: failures in a row
/// are counted, and open it.
pub(super) fn after_start(
    rules: &Rules,
    slice: &Slice,
    arm: &str,
    was_executed: bool,
) -> Option<Event> {
    let limit = rules.protocol().breaker.as_ref()?.failures;
    let stands = slice.standing.breaker;
    if !is_guarded(rules, arm) || (was_executed && stands.failures == 0) {
        return None;
    }
    let failures = if was_executed { 0 } else { stands.failures + 1 };
    Some(Event::Breaker {
        failures,
        open: stands.open || failures >= limit,
    })
}
