//! How large the sample is: slots and stages.

use super::page::{Page, code};
use super::words::{counted, times};
use super::{guards, limits, stopping};
use crate::protocol::frame::Drawn;
use crate::protocol::model::{Estimate, Fits, Protocol, Stage};

/// Says how many slots there are, and what makes starts wait or end.
pub(super) fn section(page: &mut Page, protocol: &Protocol, drawn: &Drawn) {
    page.heading(2, "How large is the sample, and when does the study stop?");
    let repeats = u64::from(protocol.allocation.repeats);
    page.item(format!(
        "Each arm is executed {} on each drawn task.",
        times(repeats)
    ));
    page.item(slots(protocol, drawn, repeats));
    page.item(
        "The study is complete when every slot has ended. What is counted is counted over the \
         slots that are registered, not over those that went well.",
    );
    for stage in &protocol.stages {
        self::stage(page, protocol, drawn, stage);
    }
    stopping::section(page, protocol);
    limits::section(page, protocol);
    guards::section(page, protocol);
}

fn slots(protocol: &Protocol, drawn: &Drawn, repeats: u64) -> String {
    let arms = protocol.arms.len() as u64;
    let each = format!(
        "{} × {}",
        counted(repeats, "repeat", "repeats"),
        counted(arms, "arm", "arms")
    );
    let all = |tasks: u64| {
        format!(
            "{} × {each} = {}",
            counted(tasks, "task", "tasks"),
            counted(tasks * repeats * arms, "slot", "slots")
        )
    };
    match (&protocol.open_fields, protocol.draw.size) {
        (Some(_), Some(size)) => format!("At most {}.", all(size)),
        (Some(_), None) => format!(
            "For each task {each} = {}.",
            counted(repeats * arms, "slot", "slots")
        ),
        (None, _) => format!("{}.", all(drawn.confirmatory.len() as u64)),
    }
}

fn stage(page: &mut Page, protocol: &Protocol, drawn: &Drawn, stage: &Stage) {
    let Stage {
        id,
        repeats,
        opens,
        fits,
    } = stage;
    page.heading(3, &format!("Stage {}", code(id)));
    page.item(slots(protocol, drawn, u64::from(*repeats)));
    match opens {
        None => page.item("It is open from the beginning."),
        Some(opens) => {
            page.expression("It opens when", opens);
            page.item(
                "`gates.go` holds while no stop and no hold fires; a stage is complete when all of \
                 its slots have ended. If this one never opens, its slots are listed and not \
                 counted.",
            );
        }
    }
    match fits {
        None => {}
        Some(Fits { margin, estimate }) => {
            let estimate = match estimate {
                Estimate::MedianCompleteBlock => {
                    "the median of the complete blocks (`median_complete_block`)"
                }
            };
            page.item(format!(
                "A block starts only if it is expected to end before the cut-off. What it takes is \
                 estimated as {estimate}, times {margin}; without an estimate it does not start."
            ));
        }
    }
}
