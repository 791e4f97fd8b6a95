//! On which tasks the arms are compared: frame, splits, draw.

use super::page::{Page, code};
use super::words::{counted, declared};
use crate::protocol::frame::{Task, split_of};
use crate::protocol::model::{ArmsOrder, Draw, DrawMethod, Protocol, SplitKind};

/// Says where the tasks come from and which of them are taken.
pub(super) fn section(page: &mut Page, protocol: &Protocol, tasks: &[Task]) {
    page.heading(2, "On which tasks?");
    frame(page, protocol, tasks);
    splits(page, protocol, tasks);
    let Draw {
        method,
        seed,
        size,
        classes,
        grows,
    } = &protocol.draw;
    page.item(taken(protocol, tasks, *size));
    match method {
        DrawMethod::Listed => page.item("They are taken in the frame's order (`listed`)."),
        DrawMethod::Shuffled => page.item(
            "They are taken in an order that follows from the seed alone (`shuffled`): by the \
             SHA-256 of `prereg-draw/1`, the seed and the task's id, with a line feed after each \
             of the first two, the smallest first; equal ones by id.",
        ),
        DrawMethod::Ranked => page.item(
            "They are taken by class (`ranked`): a task belongs to the first expression below that \
             matches its id, and the classes follow one another as they are listed. Inside a class \
             the first thing that the expression captures sorts as an integer of any length, as 0 \
             where it captures no digits; equal ones by id. Tasks that match none come last, by id.",
        ),
    }
    for (i, class) in classes.iter().enumerate() {
        page.expression(&format!("Class {}", i + 1), class);
    }
    if let Some(text) = seed {
        page.author("Seed", text);
        if *method != DrawMethod::Shuffled && protocol.allocation.arms != ArmsOrder::Shuffled {
            page.item("The seed is recorded and decides nothing.");
        }
    }
    page.item(if *grows {
        "The draw grows (`grows`): it is appended in batches, each of which must agree with what \
         is recorded."
    } else {
        "The draw is made once; no task is added to it."
    });
}

fn frame(page: &mut Page, protocol: &Protocol, tasks: &[Task]) {
    let Some(fields) = &protocol.open_fields else {
        page.item(format!(
            "The frame has {}, each with its fields bound by the frame's digest.",
            counted(tasks.len() as u64, "task", "tasks")
        ));
        return;
    };
    page.item(
        "The frame is open: tasks are added one by one, each is recorded, and an added task never \
         changes.",
    );
    page.item(if fields.is_empty() {
        "A task has no field but `id`, `split` and `dir`.".to_owned()
    } else {
        format!("A task has the fields {}.", declared(fields))
    });
}

fn splits(page: &mut Page, protocol: &Protocol, tasks: &[Task]) {
    let Some(splits) = &protocol.splits else {
        page.item("Every task is confirmatory: its runs count.");
        return;
    };
    for (name, kind) in splits {
        let count = match &protocol.open_fields {
            Some(_) => String::new(),
            None => {
                let own = |task: &&Task| task.text("split") == Some(name);
                let count = tasks.iter().filter(own).count();
                format!(" ({})", counted(count as u64, "task", "tasks"))
            }
        };
        page.item(match kind {
            SplitKind::Confirmatory => format!(
                "Tasks of the split {}{count} are confirmatory: their runs start only after the \
                 registration and only if they are drawn.",
                code(name)
            ),
            SplitKind::Pilot => format!(
                "Tasks of the split {}{count} are for pilot runs, before the registration only.",
                code(name)
            ),
        });
    }
    let lost = tasks
        .iter()
        .filter(|task| split_of(Some(splits), task).is_none());
    if lost.count() > 0 {
        page.item("Tasks of no declared split are not used.");
    }
}

fn taken(protocol: &Protocol, tasks: &[Task], size: Option<u64>) -> String {
    if protocol.open_fields.is_some() {
        return match size {
            Some(size) => format!(
                "At most {} {} drawn.",
                counted(size, "confirmatory task", "confirmatory tasks"),
                if size == 1 { "is" } else { "are" }
            ),
            None => "Every confirmatory task is drawn.".to_owned(),
        };
    }
    let splits = protocol.splits.as_ref();
    let confirmatory = tasks
        .iter()
        .filter(|task| split_of(splits, task) == Some(SplitKind::Confirmatory))
        .count();
    let confirmatory = counted(
        confirmatory as u64,
        "confirmatory task",
        "confirmatory tasks",
    );
    match size {
        Some(size) => format!(
            "Of {confirmatory}, {size} {} drawn.",
            if size == 1 { "is" } else { "are" }
        ),
        None => format!("Of {confirmatory}, all are drawn."),
    }
}
