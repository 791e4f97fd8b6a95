//! Answers in full, as two engines are compared by: what happened, whatever its order, without what
//! is only kept about lanes.

use prereg::engine::budget::{Cost, Over};
use prereg::engine::event::Event;
use prereg::engine::refusal::Refusal;

use super::Given;
use super::words::{happened, refused};

/// Says what came of a move, and of the deadlines that it noticed.
pub fn effects(given: &Given) -> String {
    let expired = given.expired.iter();
    let mut said: Vec<String> = expired
        .map(|(run, events)| format!("expire {run}: {}", all(events)))
        .collect();
    said.push(match &given.ruling {
        Ok(events) => all(events),
        Err(refusal) => no(refusal),
    });
    said.join("; ")
}

fn all(events: &[Event]) -> String {
    sorted(events.iter().filter_map(effect).collect())
}

/// Joins what happened; nothing where nothing did.
pub fn sorted(mut effects: Vec<String>) -> String {
    if effects.is_empty() {
        return "nothing".to_owned();
    }
    effects.sort();
    effects.join(", ")
}

fn effect(event: &Event) -> Option<String> {
    Some(match event {
        Event::SlotAgain { .. }
        | Event::SlotEnded { .. }
        | Event::SlotWaits { .. }
        | Event::Counted { .. } => return None,
        Event::Started {
            run,
            place: Some(place),
            ..
        } if place.by_counts => {
            let pilot = if place.lane.draft == 0 { "" } else { "pilot " };
            format!(
                "{pilot}run {run} slot {} attempt {}",
                place.repeat, place.attempt
            )
        }
        Event::Ended {
            error_stop, cost, ..
        } => {
            let error = if *error_stop == Some(true) {
                " by an error"
            } else {
                ""
            };
            format!("ended{error} at {}", cost_of(*cost))
        }
        Event::Tallied {
            window,
            tally,
            error,
            ..
        } => {
            let errors: Vec<String> = tally
                .errors
                .iter()
                .map(|(arm, count)| format!(" {arm} {count}"))
                .collect();
            format!(
                "window {} {} ended{} {error}",
                window.0,
                tally.ended,
                errors.concat()
            )
        }
        Event::BlockVoided {
            block,
            voids,
            requeued,
            ..
        } => format!("block {block} void {voids} {requeued}"),
        Event::Priced { run, cost } => format!("run {run} cost {}", cost.0),
        Event::BlockLasted { span, middle } => {
            format!(
                "block {} took {} middle {}",
                span.block, span.lasted.0, middle.block
            )
        }
        Event::Spent {
            budget,
            per,
            ledger,
        } => format!(
            "budget {budget} {per}: {} {} {} {} {}",
            ledger.settled.0, ledger.unknown, ledger.unreadable, ledger.live, ledger.reruns
        ),
        Event::Read { fields, .. } => format!(
            "read {} {}",
            fields.get("level").unwrap_or(&serde_json::Value::Null),
            fields.contains_key("until")
        ),
        Event::Drawn { tasks, slots } => format!("drawn {}: {slots} slots", tasks.join(" ")),
        other => happened(other, true),
    })
}

fn cost_of(cost: Cost) -> String {
    match cost {
        Cost::Known(money) => money.0.to_string(),
        Cost::Unknown => "unknown".to_owned(),
        Cost::Unreadable => "unreadable".to_owned(),
    }
}

fn no(refusal: &Refusal) -> String {
    let code = refusal.code();
    match refusal {
        Refusal::AlreadyClosed { state, cause, .. } => {
            let cause = cause.map_or("", |cause| cause.text());
            format!("{code}, {} {cause}", state.text())
        }
        Refusal::EarlierTaskOpen { earlier } => format!("{code}, earlier {earlier}"),
        Refusal::ArmTurn { before, need, has } => {
            format!("{code}, before {before} {need} {has}")
        }
        Refusal::Held {
            until, unknown, of, ..
        } => {
            let until = until.map_or(0, |until| until.0);
            format!("held {code} {until} {unknown}{}", for_one(of.as_deref()))
        }
        Refusal::StopFired { unknown, of, .. } => {
            format!("stopped {code} {unknown}{}", for_one(of.as_deref()))
        }
        Refusal::StageClosed { stage, .. } => format!("{code} {stage}"),
        Refusal::NotReady { arm, status } => {
            format!("{code} {arm} {}", status.as_deref().unwrap_or("none"))
        }
        Refusal::OverBudget { budget, over } => {
            let kind = match over {
                Over::Money { for_good, .. } => format!("money {for_good}"),
                Over::Reruns { .. } => "reruns".to_owned(),
                Over::Hold => "hold".to_owned(),
                Over::Stop => "stop".to_owned(),
                Over::Unreadable => "unreadable".to_owned(),
            };
            format!("{code} {budget} {kind}")
        }
        Refusal::TaskDiffers { task, fields } => format!("{code} {task} {}", fields.join(" ")),
        Refusal::DrawGap { size } | Refusal::DrawFull { size } => format!("{code} {size}"),
        Refusal::DrawConflict { position } => format!("{code} {position}"),
        Refusal::NotConfirmatory { task } | Refusal::AlreadyDrawn { task } => {
            format!("{code} {task}")
        }
        Refusal::LookDue { look, tasks } => format!("{code} {look} {tasks}"),
        Refusal::LookStopped { look } => format!("{code} {look}"),
        Refusal::LookNotDue { next, open } => format!("{code} {next:?} {open:?}"),
        other => refused(other),
    }
}

/// Says which arm or stage alone a condition is about.
pub fn for_one(of: Option<&str>) -> String {
    of.map_or(String::new(), |of| format!(" for {of}"))
}
