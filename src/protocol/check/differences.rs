//! Checks that arms differ from the reference only in what they declare.

use super::Checker;
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{self, DIFFERENCES, Draft};
use crate::protocol::model::Arm;

/// Keys whose difference is a weakness too.
pub(super) const LIMITS: &[&str] = &["timeout", "grace", "output_max"];

impl Checker<'_> {
    /// Refuses a difference from the reference that the arm does not declare.
    pub(super) fn differences(&mut self, draft: &Draft, arms: &[Arm]) {
        let reference = draft
            .analysis
            .as_ref()
            .map(|analysis| analysis.reference.0.as_str());
        let Some(reference) = arms
            .iter()
            .position(|arm| Some(arm.id.as_str()) == reference)
            .or((!arms.is_empty()).then_some(0))
        else {
            return;
        };
        for (i, arm) in arms.iter().enumerate() {
            for (j, word) in arm
                .differs
                .iter()
                .enumerate()
                .filter(|(_, word)| !DIFFERENCES.contains(&word.as_str()))
            {
                let message = format!("`{word}` is not a key in which arms can differ");
                self.unknown(
                    Code::Word,
                    Place::Value(format!("/arms/{i}/differs/{j}")),
                    message,
                    word,
                    DIFFERENCES,
                );
            }
            if i == reference {
                continue;
            }
            for (key, differs) in differing(
                &arms[reference],
                arm,
                &draft.arms[reference],
                &draft.arms[i],
            ) {
                // A word that is nearly the key is told as a slip of its own.
                let means = |word: &String| {
                    word == key || nearest(word, DIFFERENCES.iter().copied()) == Some(key)
                };
                if !differs || arm.differs.iter().any(means) {
                    continue;
                }
                let declared = if arm.differs.is_empty() {
                    "nothing".to_owned()
                } else {
                    arm.differs.join(", ")
                };
                let message = format!(
                    "`{}` may differ from `{}` in {declared}, but its {key} differs too",
                    arm.id, arms[reference].id
                );
                let mut words = arm.differs.clone();
                words.push(key.to_owned());
                let limits = if LIMITS.contains(&key) {
                    ", and the limitation `unequal-limits`"
                } else {
                    ""
                };
                let defect = Defect::new(
                    Code::ArmsDiffer,
                    Place::Value(format!("/arms/{i}/{key}")),
                    message,
                )
                .note(format!(
                    "make them equal, or declare it: differs = {words:?}{limits}"
                ));
                self.push(match limit_text(&arms[reference], key) {
                    Some(limit) => defect.label(format!("`{}` has {limit}", arms[reference].id)),
                    None => defect,
                });
            }
        }
    }
}

/// Returns a limit of an arm in words, for the keys that have one.
fn limit_text(arm: &Arm, key: &str) -> Option<String> {
    match key {
        "timeout" => Some(
            arm.execution
                .timeout
                .map_or("none".to_owned(), |limit| limit.to_string()),
        ),
        "grace" => Some(arm.execution.grace.to_string()),
        "output_max" => Some(format!("{} bytes", arm.execution.output_max.0)),
        _ => None,
    }
}

/// Returns for each key in which arms can differ whether two arms do.
fn differing(
    a: &Arm,
    b: &Arm,
    a_draft: &draft::Arm,
    b_draft: &draft::Arm,
) -> Vec<(&'static str, bool)> {
    let (x, y) = (&a.execution, &b.execution);
    vec![
        ("command", a.command != b.command),
        ("files", a.files != b.files),
        ("executed", a_draft.executed != b_draft.executed),
        (
            "workspace",
            x.copy != y.copy || a_draft.workspace != b_draft.workspace,
        ),
        ("timeout", x.timeout != y.timeout),
        ("grace", x.grace != y.grace),
        ("env", x.env != y.env),
        ("env_pass", x.env_pass != y.env_pass),
        ("output_max", x.output_max != y.output_max),
        ("requests", a_draft.requests != b_draft.requests),
        ("memory_max", a_draft.memory_max != b_draft.memory_max),
        (
            "processes_max",
            a_draft.processes_max != b_draft.processes_max,
        ),
        ("cpu_time_max", a_draft.cpu_time_max != b_draft.cpu_time_max),
        (
            "free_space_min",
            a_draft.free_space_min != b_draft.free_space_min,
        ),
        ("containment", a_draft.containment != b_draft.containment),
        ("cleanup", a_draft.cleanup != b_draft.cleanup),
    ]
}
