//! Weaknesses: what the language allows and a reviewer will ask about.
//!
//! Each is a defect until `[limitations]` names it by its code, with the author's reason. A reason
//! for a weakness that is not there is a defect too.

use serde_json::Value;

use super::Checker;
use super::differences::{LIMITS, differing, limit_text};
use super::few_tasks::few_tasks;
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{ArmsOrder, Axis, Draft, Expect, LateReport, OutcomeKind, ScoreWord};
use crate::protocol::frame::{Drawn, Task};
use crate::protocol::model::{Arm, OrderBy, Protocol, Voids};
use crate::protocol::plan::Plan;
use crate::protocol::source::child;
use crate::protocol::template;

/// Weaknesses that show when the protocol is played, which is done above this room; one that is named
/// is accepted here.
const PLAYED: &[Code] = &[Code::OutageNotBlind, Code::CanGetStuck];

/// A weakness that is looked for.
struct Weakness {
    code: Code,
    look: fn(&Subject<'_>) -> Option<Finding>,
    /// How it is removed, or when it is no harm.
    way_out: &'static str,
}

/// Every weakness that is looked for.
const WEAKNESSES: &[Weakness] = &[
    Weakness {
        code: Code::OrderUnbalanced,
        look: order_unbalanced,
        way_out: "arms = \"counterbalanced\" puts each arm first equally often",
    },
    Weakness {
        code: Code::OrderConfoundedWithTime,
        look: order_confounded_with_time,
        way_out: "`nest` with \"arm\" last runs the arms side by side",
    },
    Weakness {
        code: Code::FewTasks,
        look: too_few_tasks,
        way_out: "draw more tasks, unless a description is enough",
    },
    Weakness {
        code: Code::UnequalLimits,
        look: unequal_limits,
        way_out: "give every arm the same limit, unless the limit is what you compare",
    },
    Weakness {
        code: Code::UnlimitedVoids,
        look: unlimited_voids,
        way_out: "set `voids_max` to a number, for example 3, and let an outage void blocks, which it counts",
    },
    Weakness {
        code: Code::NoControl,
        look: no_control,
        way_out: "plant a right answer (expect = \"all_resolved\") and an arm that does nothing (expect = \"none_resolved\") under [[controls]]",
    },
    Weakness {
        code: Code::MissingUnbounded,
        look: missing_unbounded,
        way_out: "compare a binary outcome with `missing` = 0 or 1, unless runs are hardly ever lost",
    },
    Weakness {
        code: Code::UnpinnedCommand,
        look: unpinned_command,
        way_out: "let a probe print its version ([[probes]]), or put the program beside the protocol and call it by its path",
    },
    Weakness {
        code: Code::TimeoutUnscored,
        look: timeout_unscored,
        way_out: "on_timeout = \"score\" judges what such a run has left",
    },
    Weakness {
        code: Code::LateReports,
        look: late_reports,
        way_out: "late_report = \"refuse\" makes the deadline the same for all",
    },
    Weakness {
        code: Code::OutcomesUnsealed,
        look: outcomes_unsealed,
        way_out: "seal = true hides them until the end; `--unblind` still shows them, on the record",
    },
    Weakness {
        code: Code::UnlimitedAttempts,
        look: unlimited_attempts,
        way_out: "set `per_slot` to a number, for example 2",
    },
    Weakness {
        code: Code::DrawCanGrow,
        look: draw_can_grow,
        way_out: "fix all tasks before the first run: leave `grows` out",
    },
];

/// Returns whether a code is that of a weakness, which a limitation can accept.
pub fn is_weakness(code: Code) -> bool {
    PLAYED.contains(&code) || WEAKNESSES.iter().any(|weakness| weakness.code == code)
}

/// Says how a weakness is removed, or else accepted.
pub fn way_out(way_out: &str, code: Code) -> String {
    format!(
        "{way_out}; or accept it under [limitations]: \"{}\" = \"why\"",
        code.text()
    )
}

/// Makes the defect of a limitation that names a weakness which is not there.
pub fn not_found(code: &str) -> Defect {
    Defect::new(
        Code::LimitationNotFound,
        Place::Key(child("/limitations", code)),
        format!("this protocol does not have the weakness `{code}`; remove the line"),
    )
}

/// What is looked at: a protocol as it is written and as it is meant, and its tasks.
struct Subject<'a> {
    draft: &'a Draft,
    protocol: &'a Protocol,
    tasks: &'a [Task],
    drawn: &'a Drawn,
}

/// Where a protocol has a weakness, what that does to the result, and what would not be weak.
pub(super) struct Finding {
    place: Place,
    message: String,
    label: Option<String>,
}

impl Finding {
    pub(super) fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: Place::Key(pointer.into()),
            message: message.into(),
            label: None,
        }
    }

    pub(super) fn label(self, label: Option<String>) -> Self {
        Self { label, ..self }
    }
}

impl Checker<'_> {
    /// Refuses each weakness that is not accepted, and each limitation that does not fit.
    pub(super) fn weaknesses(
        &mut self,
        draft: &Draft,
        protocol: &Protocol,
        tasks: &[Task],
        drawn: &Drawn,
        value: &Value,
    ) {
        if self.was_refused("/limitations") {
            return;
        }
        let subject = Subject {
            draft,
            protocol,
            tasks,
            drawn,
        };
        let found = |weakness: &'static Weakness| Some((weakness, (weakness.look)(&subject)?));
        let found: Vec<(&Weakness, Finding)> = WEAKNESSES.iter().filter_map(found).collect();
        let codes: Vec<Code> = found.iter().map(|(weakness, _)| weakness.code).collect();
        let known: Vec<&str> = WEAKNESSES
            .iter()
            .map(|weakness| weakness.code.text())
            .chain(PLAYED.iter().map(|code| code.text()))
            .collect();
        self.unaccepted(draft, value, &known, found);
        self.limitations(draft, &known, &codes);
    }

    /// Refuses weaknesses that no limitation names.
    fn unaccepted(
        &mut self,
        draft: &Draft,
        value: &Value,
        known: &[&str],
        found: Vec<(&Weakness, Finding)>,
    ) {
        // A name that is misspelt is a slip of its own.
        let meant = |name: &String| nearest(name, known.iter().copied());
        let misspelt: Vec<&str> = draft.limitations.keys().filter_map(meant).collect();
        let named = |code: &str| {
            value.pointer(&child("/limitations", code)).is_some() || misspelt.contains(&code)
        };
        let told = found.into_iter().filter(|(weakness, _)| {
            !self.follows_from_a_slip(weakness.code) && !named(weakness.code.text())
        });
        let by_counts = draft.allocation.by == Some(OrderBy::Counts);
        let removed = |weakness: &Weakness| match weakness.code {
            // An order by counts alternates, and nothing else.
            Code::OrderUnbalanced if by_counts => {
                "by = \"plan\" with arms = \"counterbalanced\" puts each arm first equally often"
            }
            _ => weakness.way_out,
        };
        let defects = told.map(|(weakness, finding)| Defect {
            label: finding.label,
            note: Some(way_out(removed(weakness), weakness.code)),
            ..Defect::new(weakness.code, finding.place, finding.message)
        });
        for defect in defects.collect::<Vec<_>>() {
            self.push(defect);
        }
    }

    /// Returns whether a weakness follows from a slip that is told elsewhere.
    fn follows_from_a_slip(&self, code: Code) -> bool {
        let slip_in = |table: &str| self.refused.iter().any(|at| at.starts_with(table));
        match code {
            Code::FewTasks => slip_in("/analysis/") || slip_in("/draw/"),
            Code::UnequalLimits => self.defects.iter().any(|one| one.code == Code::ArmsDiffer),
            Code::UnpinnedCommand => slip_in("/probes"),
            Code::NoControl => slip_in("/controls"),
            Code::MissingUnbounded => slip_in("/outcomes"),
            _ => false,
        }
    }

    /// Refuses limitations that name no weakness, one that is not there, or no reason.
    fn limitations(&mut self, draft: &Draft, known: &[&str], found: &[Code]) {
        for (code, reason) in &draft.limitations {
            let pointer = child("/limitations", code);
            if !known.contains(&code.as_str()) {
                let message = format!("`{code}` is not a weakness that `check` knows");
                let place = Place::Key(pointer);
                self.unknown(Code::UnknownLimitation, place, message, code, known);
            } else if self.defects.is_empty()
                && self.refused.is_empty()
                && !PLAYED.iter().any(|played| played.text() == code)
                && !found.iter().any(|found| found.text() == code)
            {
                self.push(not_found(code));
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

fn order_unbalanced(subject: &Subject<'_>) -> Option<Finding> {
    let protocol = subject.protocol;
    let (drawn, allocation) = (subject.drawn.confirmatory.len(), &protocol.allocation);
    // Where one arm comes after another, none is first in anything but time.
    let listed =
        allocation.arms == ArmsOrder::Alternating && !one_arm_after_another(protocol, drawn);
    let only = drawn == 1 && allocation.repeats == 1;
    if protocol.arms.len() < 2 || !(listed || only) {
        return None;
    }
    let plan = Plan::new(protocol, subject.tasks, &subject.drawn.confirmatory);
    let first = if plan.is_empty() { 0 } else { plan.slot(0).arm };
    let first = usize::try_from(first).unwrap_or_default();
    let message = format!(
        "`{}` is always first: what the first run of a repeat gains or loses by its place looks like an effect",
        protocol.arms[first].id
    );
    Some(Finding::at("/allocation/arms", message))
}

fn order_confounded_with_time(subject: &Subject<'_>) -> Option<Finding> {
    let protocol = subject.protocol;
    let drawn = subject.drawn.confirmatory.len();
    let has = protocol.arms.len() > 1 && one_arm_after_another(protocol, drawn);
    let message = "all runs of one arm come before those of the next: what changes with time looks like an effect";
    has.then(|| Finding::at("/allocation/nest", message))
}

/// Returns whether the plan has every run of an arm before those of the next: the arms stand as
/// listed, and each loop around them, if there is one, goes round once.
fn one_arm_after_another(protocol: &Protocol, drawn: usize) -> bool {
    // Any other order goes through the arms from task to task and from repeat to repeat.
    if protocol.allocation.arms != ArmsOrder::Alternating {
        return false;
    }
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

fn too_few_tasks(subject: &Subject<'_>) -> Option<Finding> {
    let analysis = subject.protocol.analysis.as_ref()?;
    let drawn = &subject.drawn.confirmatory;
    few_tasks(subject.draft, analysis, subject.tasks, drawn)
}

fn unequal_limits(subject: &Subject<'_>) -> Option<Finding> {
    let arms = &subject.protocol.arms;
    let first = &arms.first()?.id;
    let (i, key) = unequal_limit(arms)?;
    let message = format!(
        "`{}` has another {key} than `{first}`: an arm may win by what it may use, not by what it does",
        arms[i].id
    );
    let label = limit_text(&arms[0], key).map(|limit| format!("`{first}` has {limit}"));
    Some(Finding::at(format!("/arms/{i}/{key}"), message).label(label))
}

/// Returns the first arm that has another limit than the first one, and which.
fn unequal_limit(arms: &[Arm]) -> Option<(usize, &'static str)> {
    (1..arms.len()).find_map(|i| {
        let differing = differing(&arms[0], &arms[i]).into_iter();
        let mut limits = differing.filter(|(key, differs)| *differs && LIMITS.contains(key));
        limits.next().map(|(key, _)| (i, key))
    })
}

fn unlimited_voids(subject: &Subject<'_>) -> Option<Finding> {
    if subject.protocol.attempts.voids_max.is_none() {
        let message =
            "a block may be voided without limit: runs could be repeated until they look as wished";
        return Some(Finding::at("/attempts/voids_max", message));
    }
    let message = "an error stop of an outage is no attempt, and `voids_max` limits voids of blocks alone: runs could be repeated until they look as wished";
    let outage = subject.protocol.outage.as_ref();
    let has = outage.is_some_and(|outage| outage.voids == Voids::Run);
    has.then(|| Finding::at("/outage/voids", message))
}

fn no_control(subject: &Subject<'_>) -> Option<Finding> {
    let controls = &subject.draft.controls;
    let without = |expect| !controls.iter().any(|one| one.expect == expect);
    let message = match (without(Expect::AllResolved), without(Expect::NoneResolved)) {
        (true, true) => {
            "there is no control: nothing shows that the instrument sees a right answer, or that it refuses a wrong one"
        }
        (true, false) => {
            "there is no positive control: nothing shows that the instrument sees a right answer"
        }
        (false, true) => {
            "there is no negative control: nothing shows that the instrument refuses a wrong answer"
        }
        (false, false) => return None,
    };
    Some(Finding {
        place: Place::File,
        message: message.to_owned(),
        label: None,
    })
}

fn missing_unbounded(subject: &Subject<'_>) -> Option<Finding> {
    let primary = &subject.draft.analysis.as_ref()?.primary.outcome.0;
    let mut outcomes = subject.protocol.outcomes.iter();
    let i = outcomes.position(|outcome| outcome.id == *primary)?;
    let outcome = &subject.protocol.outcomes[i];
    // That a binary outcome must say what a missing value counts as is told there.
    let said = subject.draft.outcomes[i].missing.is_some();
    let has = outcome.kind != OutcomeKind::Binary || (said && outcome.missing.is_none());
    has.then(|| {
        let message = format!(
            "a missing value of the primary outcome `{}` has no worst case: an arm may win by losing its bad runs",
            outcome.id
        );
        Finding::at(format!("/outcomes/{i}/missing"), message)
    })
}

/// Finds the first arm whose program no probe and no digest holds to its version.
fn unpinned_command(subject: &Subject<'_>) -> Option<Finding> {
    let programs = subject.protocol.arms.iter().enumerate();
    let mut programs = programs.map(|(i, arm)| (i, arm.command.first().map_or("", String::as_str)));
    let (i, program) = programs.find(|(_, program)| {
        let mut probes = subject.draft.probes.iter();
        let probed = probes.any(|probe| probe.command.0.first().is_some_and(|one| one == program));
        let of_task = template::holes(program)
            .first()
            .is_some_and(|hole| hole.range.start == 0);
        let filled = |task: &usize| template::fill(program, |name| subject.tasks[*task].fill(name));
        let beside = |program: &str| program.contains('/') && !program.starts_with('/');
        let mut used = subject.drawn.confirmatory.iter();
        let digested = match of_task {
            true => used.all(|task| filled(task).is_ok_and(|program| beside(&program))),
            false => beside(program),
        };
        !probed && !digested
    })?;
    let message = format!(
        "`{program}` is neither probed nor digested: another version could run in the middle of the study, unnoticed"
    );
    Some(Finding::at(format!("/arms/{i}/command"), message))
}

fn timeout_unscored(subject: &Subject<'_>) -> Option<Finding> {
    let message = "a run that meets its limit has no outcome: an arm may win by being slow where it would fail";
    let has = subject.protocol.scoring.on_timeout == ScoreWord::Unjudged;
    has.then(|| Finding::at("/scoring/on_timeout", message))
}

fn late_reports(subject: &Subject<'_>) -> Option<Finding> {
    let message = "a report after the deadline counts until a start closes the run: who starts the next run decides whether it does";
    let has = subject.protocol.attempts.late_report == LateReport::UntilClosed;
    has.then(|| Finding::at("/attempts/late_report", message))
}

fn outcomes_unsealed(subject: &Subject<'_>) -> Option<Finding> {
    let message = "outcomes by arm can be seen while the study runs: who sees them may stop, void or deviate accordingly";
    let has = !subject.protocol.sealed();
    has.then(|| Finding::at("/analysis/seal", message))
}

fn unlimited_attempts(subject: &Subject<'_>) -> Option<Finding> {
    let message = "a slot may be attempted until it is judged: an arm that is hard to judge gets more tries than the other";
    let has = subject.protocol.attempts.per_slot.is_none();
    has.then(|| Finding::at("/attempts/per_slot", message))
}

fn draw_can_grow(subject: &Subject<'_>) -> Option<Finding> {
    let message = "tasks may be added after outcomes have been seen: the draw could stop where the result is pleasing";
    let has = subject.protocol.draw.grows;
    has.then(|| Finding::at("/draw/grows", message))
}
