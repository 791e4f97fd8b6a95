//! What is measured, and by whom.

use super::page::{Page, code, command};
use super::scoring;
use super::words::{counted, names};
use crate::protocol::model::{Better, Claim, Judge, Observation, Outcome, OutcomeKind, Protocol};

/// Says what is observed, claimed, judged and computed.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "What is measured, and how?");
    page.say(&format!(
        "{} computed by prereg, in the order below, from the task, the run{}{}{} and the outcomes \
         before it. A field that is absent is unknown; an outcome that is unknown is missing, for \
         that outcome alone and never as 0.",
        counted(protocol.outcomes.len() as u64, "outcome is", "outcomes are"),
        if protocol.observation.is_some() {
            ", what was observed of it"
        } else {
            ""
        },
        if protocol.claim.is_some() {
            ", the arm's claim"
        } else {
            ""
        },
        if protocol.judge.is_some() {
            ", the judge's report"
        } else {
            ""
        },
    ));
    for outcome in &protocol.outcomes {
        one(page, outcome);
    }
    judge(page, protocol.judge.as_ref());
    claim(page, protocol.claim.as_ref());
    observation(page, protocol.observation.as_ref());
    exposure(page, protocol);
    scoring::section(page, protocol);
}

fn one(page: &mut Page, outcome: &Outcome) {
    let Outcome {
        id,
        kind,
        value,
        better,
        missing,
    } = outcome;
    page.heading(3, &format!("Outcome {}", code(id)));
    page.item(match kind {
        OutcomeKind::Binary => "It is binary: true or false.",
        OutcomeKind::Number => "It is a number.",
        OutcomeKind::Money => "It is money: USD, rounded half to even to micro-dollars.",
        OutcomeKind::Duration => "It is a duration, in milliseconds.",
    });
    page.expression("It is the value of", value);
    page.item(match better {
        Better::Higher => "Higher is better.",
        Better::Lower => "Lower is better.",
    });
    page.item(match missing {
        Some(value) => format!("A missing value counts as {value}."),
        None => "A missing value is left out: only available values count.".to_owned(),
    });
}

fn judge(page: &mut Page, judge: Option<&Judge>) {
    page.heading(3, "The judge");
    let Some(judge) = judge else {
        page.item("There is no judge: outcomes come from what is observed of a run alone.");
        return;
    };
    let Judge {
        files,
        command: words,
        report,
        schema,
        timeout,
    } = judge;
    page.item(format!(
        "Once the arm's last process is dead, {} is executed in the run's workspace; it may take \
         {timeout}.",
        command(words)
    ));
    for (to, from) in files {
        page.item(format!(
            "Before that, and never before the arm is dead, {} is laid there as {}, its digest \
             checked right before use.",
            code(from),
            code(to)
        ));
    }
    page.item("It has the run's environment, and sees the task's folder as `PREREG_TASK_DIR`.");
    page.item(format!(
        "It must exit with status 0 and leave the file {} in the workspace, which must satisfy the \
         schema below; anything else leaves the run unjudged.",
        code(report)
    ));
    page.json("The report's JSON Schema", schema);
}

fn claim(page: &mut Page, claim: Option<&Claim>) {
    let Some(Claim { file, done }) = claim else {
        return;
    };
    page.heading(3, "The arm's claim");
    page.item(format!(
        "The arm may write what it says of itself to {} in its workspace; without that file it \
         claims nothing, and `claim.done` is false.",
        code(file)
    ));
    page.expression("It claims to be done when", done);
}

fn observation(page: &mut Page, observation: Option<&Observation>) {
    let Some(Observation {
        from,
        error_stop,
        cost,
        effective,
    }) = observation
    else {
        return;
    };
    page.heading(3, "What the arm's own output says");
    page.item(match from.as_str() {
        "stdout" => "It is read from the run's standard output (`stdout`).".to_owned(),
        file => format!("It is read from the file {} in the workspace.", code(file)),
    });
    page.expression_if(
        "An error stopped the run (error stop) when",
        error_stop.as_ref(),
    );
    page.expression_if("The run's cost in USD is", cost.as_ref());
    for (name, text) in effective {
        page.expression(
            &format!("The setting {} that was used is", code(name)),
            text,
        );
    }
    if error_stop.is_none() {
        page.item("It does not say whether an error stopped the run.");
    }
    if cost.is_none() {
        page.item("It does not say what the run cost.");
    }
}

fn exposure(page: &mut Page, protocol: &Protocol) {
    if protocol.manipulation_check.is_empty() {
        return;
    }
    page.heading(3, "Was a run exposed to what its arm stands for?");
    for (arm, text) in &protocol.manipulation_check {
        page.expression(&format!("A run of {} was exposed when", code(arm)), text);
    }
    let unchecked: Vec<&String> = protocol
        .arms
        .iter()
        .map(|arm| &arm.id)
        .filter(|id| !protocol.manipulation_check.contains_key(*id))
        .collect();
    if !unchecked.is_empty() {
        page.item(format!("For {} this is not checked.", names(unchecked)));
    }
}
