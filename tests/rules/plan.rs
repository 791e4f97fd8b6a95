//! Orders of tasks and arms, and the plans made of them.

use std::sync::OnceLock;

use prereg::protocol::classes::Classes;
use prereg::protocol::frame::{self, Task};
use prereg::protocol::model::Protocol;
use prereg::protocol::plan::{self, Plan};
use serde_json::{Value, json};
use toml::Table;

use super::shipped::{TASKS, name_arms, staged, table, texts, with};

/// The shipped protocol in stages.
fn in_stages() -> Protocol {
    staged(&[]).registration.protocol.clone()
}

/// The same with the tasks in the order of the frame.
fn as_listed() -> Protocol {
    static CHECKED: OnceLock<Protocol> = OnceLock::new();
    let check = || {
        with("block-stages.toml", &TASKS, draw_as_listed)
            .registration
            .protocol
    };
    CHECKED.get_or_init(check).clone()
}

fn draw_as_listed(protocol: &mut Table) {
    let draw = table(protocol, "draw");
    draw.clear();
    draw.insert("method".to_owned(), "listed".into());
}

fn task(id: &str) -> Task {
    Task {
        id: id.to_owned(),
        fields: json!({ "id": id }),
    }
}

pub(super) fn priority_key(case: &Value) -> Value {
    let id = case["task_id"].as_str().unwrap();
    let classes = Classes::read(&in_stages().draw.classes).unwrap();
    let rank = classes.rank(id);
    let integer = match rank.integer() {
        "" => "0",
        integer => integer,
    };
    json!([rank.class(), integer, id])
}

/// Ids that no frame would take, or takes twice, are drawn all the same.
pub(super) fn order_tasks(case: &Value) -> Value {
    let protocol = if case["explicit"] == true {
        as_listed()
    } else {
        in_stages()
    };
    let tasks: Vec<Task> = texts(&case["task_ids"]).into_iter().map(task).collect();
    let drawn = frame::draw(&protocol, &tasks).confirmatory;
    drawn.iter().map(|i| tasks[*i].id.as_str()).collect()
}

/// The order of so many arms at a place, by the plan of a study that reaches so far.
fn arms_at(case: &Value, arms: usize) -> Vec<usize> {
    let number = |name: &str| usize::try_from(case[name].as_u64().unwrap()).unwrap();
    let (place, repeat) = (number("task_pos"), number("run_index"));
    let mut protocol = in_stages();
    protocol.stages.clear();
    protocol.allocation.repeats = u32::try_from(repeat + 1).unwrap();
    let arm = protocol.arms[0].clone();
    protocol.arms = vec![arm; arms];
    let plan = Plan::new(&protocol, &[task("t")], &vec![0; place + 1]);
    let first = (place * (repeat + 1) + repeat) * arms;
    let slots = (first..first + arms).map(|position| plan.slot(position as u64));
    slots
        .map(|slot| {
            assert_eq!((slot.task, slot.repeat), (place as u64, repeat as u64));
            usize::try_from(slot.arm).unwrap()
        })
        .collect()
}

pub(super) fn first_arm_index(case: &Value) -> Value {
    let arms = usize::try_from(case["n_arms"].as_u64().unwrap()).unwrap();
    Value::from(arms_at(case, arms)[0])
}

pub(super) fn arm_order(case: &Value) -> Value {
    let arms = texts(&case["arms"]);
    let order = arms_at(case, arms.len());
    order.iter().map(|arm| arms[*arm]).collect()
}

pub(super) fn probe_seed(case: &Value) -> Value {
    let (task, repeat) = (case["task_id"].as_str().unwrap(), &case["run_index"]);
    Value::from(plan::run_seed(task, repeat.as_u64().unwrap()))
}

/// A stage without repeats is no stage; without any stage, task or arm there is nothing to plan.
pub(super) fn build_blocks(case: &Value) -> Value {
    let (tasks, arms) = (texts(&case["task_ids"]), texts(&case["arms"]));
    let stages: Vec<(usize, i64)> = ["phase1_runs", "phase2_runs"]
        .into_iter()
        .enumerate()
        .map(|(i, name)| (i + 1, case[name].as_i64().unwrap()))
        .filter(|(_, repeats)| *repeats > 0)
        .collect();
    if tasks.is_empty() || arms.is_empty() || stages.is_empty() {
        return json!([]);
    }
    let (plan, ids) = planned(&tasks, &arms, &stages);
    let mut blocks: Vec<Value> = Vec::new();
    let mut newest = None;
    for position in 0..plan.len() {
        let slot = plan.slot(position);
        let (task, arm) = (&ids[slot.task as usize], arms[slot.arm as usize]);
        if newest != Some(plan.block(&slot)) {
            newest = Some(plan.block(&slot));
            let phase = stages[slot.stage].0;
            blocks.push(json!({ "id": format!("P{phase}-{task}"), "phase": phase, "task": task, "runs": [], "entries": [] }));
        }
        let block = blocks.last_mut().unwrap();
        let runs = block["runs"].as_array_mut().unwrap();
        if runs.last() != Some(&Value::from(slot.repeat)) {
            runs.push(Value::from(slot.repeat));
        }
        let run = slot.repeat + 1;
        block["entries"].as_array_mut().unwrap().push(json!([
            format!("{task}-r{run}-{arm}"),
            slot.repeat,
            run,
            arm,
            slot.task,
            slot.turn,
            slot.turn == 0,
            slot.position
        ]));
    }
    Value::Array(blocks)
}

/// The plan of the shipped protocol in stages, with the tasks in the order in which they are given.
pub(super) fn planned(
    tasks: &[&str],
    arms: &[&str],
    stages: &[(usize, i64)],
) -> (Plan, Vec<String>) {
    let ids = tasks.iter().map(|id| (*id).to_owned()).collect();
    if arms.len() < 2 {
        // A comparison has two arms: what has one is asked of the plan itself.
        let mut protocol = in_stages();
        protocol.arms.truncate(1);
        let stage = protocol.stages[0].clone();
        let repeats = stages
            .iter()
            .map(|(_, repeats)| u32::try_from(*repeats).unwrap());
        protocol.stages = repeats
            .map(|repeats| prereg::protocol::model::Stage {
                repeats,
                ..stage.clone()
            })
            .collect();
        let tasks: Vec<Task> = tasks.iter().map(|id| task(id)).collect();
        let drawn: Vec<usize> = (0..tasks.len()).collect();
        return (Plan::new(&protocol, &tasks, &drawn), ids);
    }
    // Some ids are none that a frame takes; the plan goes by places.
    let numbered: Vec<String> = (0..tasks.len()).map(|i| format!("task-{i}")).collect();
    let numbered: Vec<&str> = numbered.iter().map(String::as_str).collect();
    let checked = with("block-stages.toml", &numbered, |protocol| {
        draw_as_listed(protocol);
        name_arms(protocol, arms);
        let stage = |(phase, repeats): &(usize, i64)| {
            let mut stage = Table::new();
            stage.insert("id".to_owned(), format!("phase-{phase}").into());
            stage.insert("repeats".to_owned(), (*repeats).into());
            toml::Value::Table(stage)
        };
        let stages: Vec<toml::Value> = stages.iter().map(stage).collect();
        protocol.insert("stages".to_owned(), stages.into());
    });
    let protocol = &checked.registration.protocol;
    let plan = Plan::new(protocol, &checked.tasks, &checked.drawn.confirmatory);
    (plan, ids)
}

/// The slots of the shipped matrix, cell by cell; no cells or no repetitions are no slots.
pub(super) fn slot_enumeration(case: &Value) -> Value {
    let cells = texts(&case["cells"]);
    let repetitions = case["repetitions"].as_i64().unwrap();
    if cells.is_empty() || repetitions < 1 {
        return json!([]);
    }
    let checked = with("matrix-attempts.toml", &["fixture"], |protocol| {
        name_arms(protocol, &cells);
        table(protocol, "allocation").insert("repeats".to_owned(), repetitions.into());
    });
    let protocol = &checked.registration.protocol;
    let plan = Plan::new(protocol, &checked.tasks, &checked.drawn.confirmatory);
    let slots = (0..plan.len()).map(|position| plan.slot(position));
    slots
        .map(|slot| json!([cells[slot.arm as usize], slot.repeat + 1]))
        .collect()
}
