//! Weaknesses: what the language allows and a reviewer will ask about.
//!
//! Each is a defect until `[limitations]` names it by its code, with the author's reason. A reason
//! for a weakness that is not there is a defect too.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Checker;
use super::differences::{LIMITS, differing, limit_text};
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{
    Alternative, ArmsOrder, Axis, Draft, Expect, LateReport, Objective, OutcomeKind, ScoreWord,
    Test,
};
use crate::protocol::frame::{Drawn, Task};
use crate::protocol::model::{Arm, Protocol};
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

/// A weakness that a protocol has: its code, where, what it does to the result, and what would not
/// be weak.
struct Weakness {
    code: Code,
    place: Place,
    message: String,
    label: Option<String>,
}

impl Checker<'_> {
    pub(super) fn weaknesses(
        &mut self,
        draft: &Draft,
        protocol: &Protocol,
        tasks: &[Task],
        drawn: &Drawn,
        value: &Value,
    ) {
        let found = find(draft, protocol, tasks, drawn);
        // What follows from a slip that is told elsewhere is no finding of its own.
        let slips = self.refused.iter();
        let mut slips = slips.filter(|at| at.starts_with("/analysis/") || at.starts_with("/draw/"));
        let unsure = slips.next().is_some();
        let differing = self.defects.iter().any(|one| one.code == Code::ArmsDiffer);
        let slip_in = |table: &str| self.refused.iter().any(|at| at.starts_with(table));
        let follows = |code: Code| match code {
            Code::FewTasks => unsure,
            Code::UnequalLimits => differing,
            Code::UnpinnedCommand => slip_in("/probes"),
            Code::NoControl => slip_in("/controls"),
            Code::MissingUnbounded => slip_in("/outcomes"),
            _ => false,
        };
        if self.was_refused("/limitations") {
            return;
        }
        let known: Vec<&str> = LOOKED_FOR
            .iter()
            .map(|code| code.text())
            .chain(NOT_LOOKED_FOR.iter().copied())
            .collect();
        // A name that is misspelt is a slip of its own.
        let meant = |name: &String| nearest(name, known.iter().copied());
        let misspelt: Vec<&str> = draft.limitations.keys().filter_map(meant).collect();
        let named = |code: Code| {
            value.pointer(&child("/limitations", code.text())).is_some()
                || misspelt.contains(&code.text())
        };
        let told = found
            .iter()
            .filter(|one| !follows(one.code) && !named(one.code));
        let defects = told.map(|weakness| {
            let code = weakness.code.text();
            let way = way_out(weakness.code);
            Defect {
                code: weakness.code,
                file: None,
                place: weakness.place.clone(),
                message: weakness.message.clone(),
                label: weakness.label.clone(),
                note: Some(format!(
                    "{way}; or accept it under [limitations]: \"{code}\" = \"why\""
                )),
            }
        });
        for defect in defects.collect::<Vec<_>>() {
            self.push(defect);
        }
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
                && self.refused.is_empty()
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

/// Says how a weakness is removed, or when it is no harm.
fn way_out(code: Code) -> &'static str {
    match code {
        Code::OrderUnbalanced => "arms = \"counterbalanced\" puts each arm first equally often",
        Code::OrderConfoundedWithTime => "`nest` with \"arm\" last runs the arms side by side",
        Code::FewTasks => "draw more tasks, unless a description is enough",
        Code::UnequalLimits => {
            "give every arm the same limit, unless the limit is what you compare"
        }
        Code::UnlimitedVoids => "set `voids_max` to a number, for example 3",
        Code::NoControl => {
            "plant a right answer (expect = \"all_resolved\") and an arm that does nothing (expect = \"none_resolved\") under [[controls]]"
        }
        Code::MissingUnbounded => {
            "compare a binary outcome with `missing` = 0 or 1, unless runs are hardly ever lost"
        }
        Code::UnpinnedCommand => {
            "let a probe print its version ([[probes]]), or put the program beside the protocol and call it by its path"
        }
        Code::TimeoutUnscored => "on_timeout = \"score\" judges what such a run has left",
        Code::LateReports => "late_report = \"refuse\" makes the deadline the same for all",
        Code::OutcomesUnsealed => {
            "seal = true hides them until the end; `--unblind` still shows them, on the record"
        }
        Code::UnlimitedAttempts => "set `per_slot` to a number, for example 2",
        Code::DrawCanGrow => "fix all tasks before the first run: leave `grows` out",
        _ => "mend it",
    }
}

fn find(draft: &Draft, protocol: &Protocol, tasks: &[Task], drawn: &Drawn) -> Vec<Weakness> {
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
                label: None,
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
        format!(
            "`{first}` is always first: what the first run of a repeat gains or loses by its place looks like an effect"
        ),
    );
    add(
        several && one_arm_after_another(protocol, drawn.confirmatory.len()),
        Code::OrderConfoundedWithTime,
        "/allocation/nest",
        "all runs of one arm come before those of the next: what changes with time looks like an effect".to_owned(),
    );
    if let Some((i, key)) = unequal_limit(&protocol.arms) {
        let message = format!(
            "`{}` has another {key} than `{first}`: an arm may win by what it may use, not by what it does",
            protocol.arms[i].id
        );
        let pointer = format!("/arms/{i}/{key}");
        add(true, Code::UnequalLimits, &pointer, message);
    }
    let voids = draft.attempts.is_some() && attempts.voids_max.is_none();
    add(
        voids,
        Code::UnlimitedVoids,
        "/attempts/voids_max",
        "a block may be voided without limit: runs could be repeated until they look as wished"
            .to_owned(),
    );
    let without = |expect| !draft.controls.iter().any(|one| one.expect == expect);
    let no_control = match (without(Expect::AllResolved), without(Expect::NoneResolved)) {
        (true, true) => {
            "there is no control: nothing shows that the instrument sees a right answer, or that it refuses a wrong one"
        }
        (true, false) => {
            "there is no positive control: nothing shows that the instrument sees a right answer"
        }
        (false, true) => {
            "there is no negative control: nothing shows that the instrument refuses a wrong answer"
        }
        (false, false) => "",
    };
    add(
        !no_control.is_empty(),
        Code::NoControl,
        "",
        no_control.to_owned(),
    );
    let few = few_tasks(draft, tasks, &drawn.confirmatory);
    if let Some(few) = &few {
        add(true, Code::FewTasks, few.pointer, few.message.clone());
    }
    if let Some(i) = draft.analysis.as_ref().and_then(|analysis| {
        protocol
            .outcomes
            .iter()
            .position(|outcome| outcome.id == analysis.primary.outcome.0)
    }) {
        let outcome = &protocol.outcomes[i];
        // That a binary outcome must say what a missing value counts as is told there.
        let said = draft.outcomes[i].missing.is_some();
        let unbounded = outcome.kind != OutcomeKind::Binary || (said && outcome.missing.is_none());
        add(
            unbounded,
            Code::MissingUnbounded,
            &format!("/outcomes/{i}/missing"),
            format!(
                "a missing value of the primary outcome `{}` has no worst case: an arm may win by losing its bad runs",
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
                "`{program}` is neither probed nor digested: another version could run in the middle of the study, unnoticed"
            ),
        );
    }
    add(
        protocol.scoring.on_timeout == ScoreWord::Unjudged,
        Code::TimeoutUnscored,
        "/scoring/on_timeout",
        "a run that meets its limit has no outcome: an arm may win by being slow where it would fail".to_owned(),
    );
    add(
        attempts.late_report == LateReport::UntilClosed,
        Code::LateReports,
        "/attempts/late_report",
        "a report after the deadline counts until a start closes the run: who starts the next run decides whether it does".to_owned(),
    );
    add(
        !protocol.sealed(),
        Code::OutcomesUnsealed,
        "/analysis/seal",
        "outcomes by arm can be seen while the study runs: who sees them may stop, void or deviate accordingly".to_owned(),
    );
    add(
        attempts.per_slot.is_none(),
        Code::UnlimitedAttempts,
        "/attempts/per_slot",
        "a slot may be attempted until it is judged: an arm that is hard to judge gets more tries than the other".to_owned(),
    );
    let grows = draft
        .draw
        .as_ref()
        .is_some_and(|draw| draw.grows == Some(true));
    add(
        grows,
        Code::DrawCanGrow,
        "/draw/grows",
        "tasks may be added after outcomes have been seen: the draw could stop where the result is pleasing".to_owned(),
    );
    for weakness in &mut found {
        weakness.label = match weakness.code {
            Code::FewTasks => few.as_ref().map(|few| few.label.clone()),
            Code::UnequalLimits => unequal_limit(&protocol.arms)
                .and_then(|(_, key)| limit_text(&protocol.arms[0], key))
                .map(|limit| format!("`{first}` has {limit}")),
            _ => None,
        };
    }
    first_of_each(found)
}

/// Where a study has too few tasks, what follows, and how many would do.
struct Few {
    pointer: &'static str,
    message: String,
    label: String,
}

/// Returns whether the plan has every run of an arm before those of the next: each loop around the
/// arms, if there is one, goes round once.
fn one_arm_after_another(protocol: &Protocol, drawn: usize) -> bool {
    let rounds = |axis: &Axis| match axis {
        Axis::Task => drawn,
        Axis::Repeat => protocol.allocation.repeats as usize,
        Axis::Arm => 1,
    };
    let nest = &protocol.allocation.nest;
    let outer = nest.iter().take_while(|axis| **axis != Axis::Arm);
    let inner = nest.iter().skip_while(|axis| **axis != Axis::Arm);
    nest[0] == Axis::Arm
        || outer.map(rounds).all(|rounds| rounds == 1) && inner.map(rounds).any(|rounds| rounds > 1)
}

/// Returns the first arm that has another limit than the first one, and which.
fn unequal_limit(arms: &[Arm]) -> Option<(usize, &'static str)> {
    (1..arms.len()).find_map(|i| {
        let differing = differing(&arms[0], &arms[i]).into_iter();
        let mut limits = differing.filter(|(key, differs)| *differs && LIMITS.contains(key));
        limits.next().map(|(key, _)| (i, key))
    })
}

/// Says that the primary test cannot reach its level, whatever the runs say.
///
/// The tests of signs and ranks have a smallest p: all units on one side, of 2^n ways. The other
/// test needs two units to see any spread.
fn few_tasks(draft: &Draft, tasks: &[Task], drawn: &[usize]) -> Option<Few> {
    let analysis = draft.analysis.as_ref()?;
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
    let ways = |halvings: usize| 1_u128 << halvings.min(63);
    let reached = |halvings: usize| u128::from(level.den) <= u128::from(level.num) * ways(halvings);
    if reached(halvings) {
        return None;
    }
    let more = match primary.test? {
        Test::TCr2 => 1,
        _ => (1..63).find(|more| reached(halvings + more)).unwrap_or(63),
    };
    let what = if field.is_some() { "cluster" } else { "task" };
    let plural = if units == 1 { "" } else { "s" };
    let least = match ways(halvings) {
        1 => "1".to_owned(),
        ways => format!("1/{ways}"),
    };
    let pointer = match &draft.draw {
        Some(draw) if draw.size.is_some() => "/draw/size",
        _ => "/tasks/frame",
    };
    let message = format!(
        "with {units} {what}{plural} the smallest possible p is {least}, above alpha: the verdict can only be descriptive"
    );
    Some(Few {
        pointer,
        message,
        label: format!("at least {} {what}s are needed", units + more),
    })
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
