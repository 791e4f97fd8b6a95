//! Tasks that are added to an open frame, and a draw that is appended to.

use serde_json::Value;

use super::decide::Ruling;
use super::event::Event;
use super::facts::{Fact, FactKey};
use super::frame::Phase;
use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::Slice;
use crate::protocol::frame::Task;
use crate::protocol::model::{FieldKind, SplitKind};
use crate::units::Time;

/// Adds a task to an open frame. The same task again is known; an added task never changes.
pub(super) fn add(rules: &Rules, slice: &Slice, fields: &Value) -> Ruling {
    let Some(declared) = &rules.protocol().open_fields else {
        return Err(Refusal::FrameClosed {});
    };
    let bad = |why: String| Refusal::BadTask { why };
    let task = Task::new(fields.clone()).map_err(bad)?;
    for (name, value) in fields.as_object().into_iter().flatten() {
        match declared.get(name) {
            Some(kind) if !is_of_kind(*kind, value) => {
                return Err(bad(format!(
                    "`{name}` of `{}` is not {}",
                    task.id,
                    told(*kind)
                )));
            }
            None if !matches!(name.as_str(), "id" | "split") => {
                return Err(bad(format!("`{name}` is not a declared field of a task")));
            }
            _ => {}
        }
    }
    if let Some(missing) = declared.keys().find(|name| fields.get(*name).is_none()) {
        return Err(bad(format!("`{}` has no `{missing}`", task.id)));
    }
    let Some(kind) = rules.split_of(&task) else {
        return Err(bad(format!(
            "`{}` has no `split` that the protocol declares",
            task.id
        )));
    };
    match rules.task_in(slice, &task.id) {
        None => Ok(vec![Event::TaskAdded {
            pilot: (kind == SplitKind::Pilot).then_some(slice.standing.pilot_tasks),
            task: task.id,
        }]),
        Some(known) => {
            let names = std::iter::once("split").chain(declared.keys().map(String::as_str));
            let differs = names.filter(|name| known.fields.get(name) != fields.get(name));
            let fields: Vec<String> = differs.map(str::to_owned).collect();
            if fields.is_empty() {
                return Ok(Vec::new());
            }
            Err(Refusal::TaskDiffers {
                task: task.id,
                fields,
            })
        }
    }
}

fn is_of_kind(kind: FieldKind, value: &Value) -> bool {
    match kind {
        FieldKind::Integer => value.is_i64() || value.is_u64(),
        FieldKind::Number => value.is_number(),
        FieldKind::String => value.is_string(),
        FieldKind::Boolean => value.is_boolean(),
        FieldKind::Time => value
            .as_str()
            .is_some_and(|text| text.parse::<Time>().is_ok()),
    }
}

fn told(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Integer => "a whole number",
        FieldKind::Number => "a number",
        FieldKind::String => "a text",
        FieldKind::Boolean => "true or false",
        FieldKind::Time => "a time",
    }
}

/// Appends tasks to a draw that grows. Places that hold a task must be sent with the same task; the
/// rest is appended, all of it or nothing.
pub(super) fn draw(rules: &Rules, slice: &Slice, from: u64, tasks: &[String]) -> Ruling {
    if !rules.grows() {
        return Err(Refusal::DrawClosed {});
    }
    let size = slice.standing.drawn;
    if from == 0 || from > size + 1 {
        return Err(Refusal::DrawGap { size });
    }
    let known = |index: u64| match slice.fact(&FactKey::Drawn(index)) {
        Some(Fact::Place(task)) => Some(task.as_str()),
        _ => None,
    };
    let places = from - 1..;
    let held = places
        .clone()
        .zip(tasks)
        .take_while(|(index, _)| *index < size);
    for (index, task) in held {
        if known(index) != Some(task) {
            return Err(Refusal::DrawConflict {
                position: index + 1,
            });
        }
    }
    let held = usize::try_from(size + 1 - from).unwrap_or(usize::MAX);
    let fresh = tasks.get(held..).unwrap_or_default();
    if fresh.is_empty() {
        return Ok(Vec::new());
    }
    let drawn = size + fresh.len() as u64;
    match rules.protocol().draw.size {
        Some(most) if drawn > most => return Err(Refusal::DrawFull { size: most }),
        _ => {}
    }
    for (i, task) in fresh.iter().enumerate() {
        drawable(rules, slice, task, size + i as u64)?;
        if fresh[..i].contains(task) {
            return Err(Refusal::AlreadyDrawn { task: task.clone() });
        }
    }
    Ok(vec![Event::Drawn {
        tasks: fresh.to_vec(),
        slots: rules.registered_plan().over(drawn).len(),
    }])
}

/// Refuses a task that cannot stand at a place of the draw.
fn drawable(rules: &Rules, slice: &Slice, id: &str, index: u64) -> Result<(), Refusal> {
    let task = rules.task_in(slice, id);
    let Some(task) = task.filter(|task| rules.is_confirmatory(task)) else {
        return Err(Refusal::NotConfirmatory {
            task: id.to_owned(),
        });
    };
    if let Some(Phase { .. }) = rules.phase(slice, &task) {
        return Err(Refusal::AlreadyDrawn {
            task: id.to_owned(),
        });
    }
    // Where the frame is known, so is the order of the whole draw.
    match rules.draw_order(slice, index) {
        Some(next) if next != id => Err(Refusal::DrawConflict {
            position: index + 1,
        }),
        None if !rules.is_open() => Err(Refusal::NotConfirmatory {
            task: id.to_owned(),
        }),
        _ => Ok(()),
    }
}
