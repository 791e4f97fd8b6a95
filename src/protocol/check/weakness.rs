//! Weaknesses: what the language allows and a reviewer will ask about.
//!
//! Each is a defect until `[limitations]` names it by its code, with the author's reason. A reason
//! for a weakness that is not there is a defect too.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Checker;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{
    Alternative, ArmsOrder, Axis, Draft, Expect, LateReport, Objective, OutcomeKind, ScoreWord,
    Test,
};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{Execution, Protocol};
use crate::protocol::source::child;
use crate::units::Share;

/// Weaknesses that a later version looks for; naming one is accepted now.
const NOT_LOOKED_FOR: &[&str] = &["outage-not-blind", "can-get-stuck"];

/// Weaknesses that are looked for.
pub const LOOKED_FOR: &[Code] = &[
    Code::OrderUnbalanced,
    Code::OrderConfoundedWithTime,
    Code::FewTasks,
    Code::UnequalLimits,
    Code::UnlimitedVoids,
    Code::NoControl,
    Code::MissingUnbounded,
    Code::UnpinnedCommand,
    Code::TimeoutUnscored,
    Code::LateReports,
    Code::OutcomesUnsealed,
    Code::UnlimitedAttempts,
    Code::DrawCanGrow,
];

/// A weakness that a protocol has: its code, where, and what it is.
struct Weakness {
    code: Code,
    place: Place,
    message: String,
}

impl Checker<'_> {
    pub(super) fn weaknesses(
        &mut self,
        draft: &Draft,
        protocol: &Protocol,
        tasks: &[Task],
        value: &Value,
    ) {
        let mut found = find(draft, protocol, tasks);
        // What follows from a slip that is told elsewhere is no finding of its own.
        let slips = self.refused.iter();
        let mut slips = slips.filter(|at| at.starts_with("/analysis/") || at.starts_with("/draw/"));
        let unsure = slips.next().is_some();
        let differing = self.defects.iter().any(|one| one.code == Code::ArmsDiffer);
        found.retain(|weakness| match weakness.code {
            Code::FewTasks => !unsure,
            Code::UnequalLimits => !differing,
            _ => true,
        });
        let named = |code: Code| value.pointer(&child("/limitations", code.text())).is_some();
        for weakness in &found {
            if !named(weakness.code) {
                let note = format!(
                    "mend it, or write in [limitations]: \"{}\" = \"why\"",
                    weakness.code.text()
                );
                self.push(
                    Defect::new(
                        weakness.code,
                        weakness.place.clone(),
                        weakness.message.clone(),
                    )
                    .note(note),
                );
            }
        }
        let known: Vec<&str> = LOOKED_FOR
            .iter()
            .map(|code| code.text())
            .chain(NOT_LOOKED_FOR.iter().copied())
            .collect();
        for (code, reason) in &draft.limitations {
            let pointer = child("/limitations", code);
            if !known.contains(&code.as_str()) {
                let message = format!("`{code}` is not a weakness that `check` knows");
                self.unknown(
                    Code::UnknownLimitation,
                    Place::Key(pointer),
                    message,
                    code,
                    &known,
                );
            } else if self.defects.is_empty()
                && !NOT_LOOKED_FOR.contains(&code.as_str())
                && !found.iter().any(|weakness| weakness.code.text() == code)
            {
                let message =
                    format!("this protocol does not have the weakness `{code}`; remove the line");
                self.refuse(Code::LimitationNotFound, Place::Key(pointer), message);
            } else if reason.trim().is_empty() {
                self.refuse(
                    Code::Range,
                    Place::Value(pointer),
                    "a limitation needs its reason: why the weakness is accepted",
                );
            }
        }
    }
}

fn find(draft: &Draft, protocol: &Protocol, tasks: &[Task]) -> Vec<Weakness> {
    let mut found = Vec::new();
    let mut add = |has: bool, code: Code, pointer: &str, message: String| {
        if has {
            let place = match pointer {
                "" => Place::File,
                pointer => Place::Key(pointer.to_owned()),
            };
            found.push(Weakness {
                code,
                place,
                message,
            });
        }
    };
    let allocation = &protocol.allocation;
    let attempts = &protocol.attempts;
    let several = protocol.arms.len() > 1;
    let first = protocol.arms.first().map_or("", |arm| arm.id.as_str());
    add(
        several && allocation.arms == ArmsOrder::Alternating,
        Code::OrderUnbalanced,
        "/allocation/arms",
        format!("`{first}` is always first: whatever changes within a repeat favours or harms it"),
    );
    add(
        several && allocation.nest[0] == Axis::Arm,
        Code::OrderConfoundedWithTime,
        "/allocation/nest",
        "all runs of one arm come before those of the next, so what changes with time looks like an effect".to_owned(),
    );
    let unequal = protocol
        .arms
        .iter()
        .position(|arm| limits(&arm.execution) != limits(&protocol.arms[0].execution));
    if let Some(i) = unequal {
        let (one, other) = (&protocol.arms[0].execution, &protocol.arms[i].execution);
        let key = if one.timeout != other.timeout {
            "timeout"
        } else if one.grace != other.grace {
            "grace"
        } else {
            "output_max"
        };
        let message = format!("`{}` has another {key} than `{first}`", protocol.arms[i].id);
        add(
            true,
            Code::UnequalLimits,
            &format!("/arms/{i}/{key}"),
            message,
        );
    }
    let voids = draft.attempts.is_some() && attempts.voids_max.is_none();
    add(
        voids,
        Code::UnlimitedVoids,
        "/attempts/voids_max",
        "a block may be voided without limit, until it looks as wished".to_owned(),
    );
    for (expect, word) in [
        (Expect::AllResolved, "positive"),
        (Expect::NoneResolved, "negative"),
    ] {
        let missing = !draft
            .controls
            .iter()
            .any(|control| control.expect == expect);
        let message = format!(
            "no {word} control: nothing shows that the instrument can tell success from failure"
        );
        add(missing, Code::NoControl, "", message);
    }
    if let Some((pointer, message)) = few_tasks(draft, protocol, tasks) {
        add(true, Code::FewTasks, pointer, message);
    }
    if let Some(i) = draft.analysis.as_ref().and_then(|analysis| {
        protocol
            .outcomes
            .iter()
            .position(|outcome| outcome.id == analysis.primary.outcome.0)
    }) {
        let outcome = &protocol.outcomes[i];
        let unbounded = outcome.kind != OutcomeKind::Binary || outcome.missing.is_none();
        add(
            unbounded,
            Code::MissingUnbounded,
            &format!("/outcomes/{i}/missing"),
            format!(
                "a missing value of the primary outcome `{}` has no worst case",
                outcome.id
            ),
        );
    }
    for (i, arm) in protocol.arms.iter().enumerate() {
        let program = arm.command.first().map_or("", String::as_str);
        let probed = draft.probes.iter().any(|probe| {
            probe
                .command
                .0
                .first()
                .is_some_and(|probed| probed == program)
        });
        let digested = program.contains('/') && !program.starts_with('/');
        add(
            !probed && !digested,
            Code::UnpinnedCommand,
            &format!("/arms/{i}/command"),
            format!(
                "`{program}` is neither probed nor digested: another version could run unnoticed"
            ),
        );
    }
    add(
        protocol.scoring.on_timeout == ScoreWord::Unjudged,
        Code::TimeoutUnscored,
        "/scoring/on_timeout",
        "a run that meets its limit has no outcome: an arm may gain by being slow where it would fail".to_owned(),
    );
    add(
        attempts.late_report == LateReport::UntilClosed,
        Code::LateReports,
        "/attempts/late_report",
        "a report after the deadline counts until a start closes the run".to_owned(),
    );
    add(
        !protocol.sealed(),
        Code::OutcomesUnsealed,
        "/analysis/seal",
        "outcomes by arm can be seen while the study runs".to_owned(),
    );
    add(
        attempts.per_slot.is_none(),
        Code::UnlimitedAttempts,
        "/attempts/per_slot",
        "a slot may be attempted until it is judged".to_owned(),
    );
    let grows = draft
        .draw
        .as_ref()
        .is_some_and(|draw| draw.grows == Some(true));
    add(
        grows,
        Code::DrawCanGrow,
        "/draw/grows",
        "tasks may be added after outcomes have been seen".to_owned(),
    );
    first_of_each(found)
}

/// Says that the primary test cannot reach its level, whatever the runs say.
///
/// The tests of signs and ranks have a smallest p: all units on one side, of 2^n ways. The other
/// test needs two units to see any spread.
fn few_tasks(draft: &Draft, protocol: &Protocol, tasks: &[Task]) -> Option<(&'static str, String)> {
    let analysis = draft.analysis.as_ref()?;
    let drawn = frame::draw(protocol, tasks).confirmatory;
    let field = analysis.cluster.as_deref().filter(|field| *field != "none");
    let units = match field {
        None => drawn.len(),
        Some(field) => {
            let values = drawn
                .iter()
                .map(|i| tasks[*i].fields.get(field).map(Value::to_string));
            let values: BTreeSet<_> = values.flatten().collect();
            values.len()
        }
    };
    if units == 0 {
        return None;
    }
    let primary = &analysis.primary;
    let sides = match (primary.alternative, primary.objective) {
        (None | Some(Alternative::TwoSided), None | Some(Objective::Superiority)) => 1,
        _ => 0,
    };
    // The smallest p is 1 / 2^halvings.
    let halvings = match primary.test? {
        Test::TCr2 if units > 1 => return None,
        Test::TCr2 => 0,
        Test::SignFlip | Test::Wilcoxon | Test::McnemarExact => units.saturating_sub(sides),
        Test::McnemarMid => (units + 1).saturating_sub(sides),
    };
    let level: Share = analysis.alpha.unwrap_or(0.05).to_string().parse().ok()?;
    let ways = 1_u128 << halvings.min(63);
    if u128::from(level.den) <= u128::from(level.num) * ways {
        return None;
    }
    let what = if field.is_some() { "clusters" } else { "tasks" };
    let pointer = match &draft.draw {
        Some(draw) if draw.size.is_some() => "/draw/size",
        _ => "/tasks/frame",
    };
    let message = format!(
        "with {units} {what} the smallest possible p is 1/{ways}, above alpha: the verdict can only be descriptive"
    );
    Some((pointer, message))
}

/// Keeps the first finding of each code: one limitation answers them all.
fn first_of_each(found: Vec<Weakness>) -> Vec<Weakness> {
    let mut kept: Vec<Weakness> = Vec::new();
    for weakness in found {
        if !kept.iter().any(|earlier| earlier.code == weakness.code) {
            kept.push(weakness);
        }
    }
    kept
}

fn limits(execution: &Execution) -> impl PartialEq {
    (execution.timeout, execution.grace, execution.output_max)
}
