//! Checks that arms differ from the reference only in what they declare.

use super::Checker;
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{DIFFERENCES, Draft};
use crate::protocol::model::Arm;

/// Keys whose difference is a weakness too.
pub(super) const LIMITS: &[&str] = &[
    "timeout",
    "grace",
    "output_max",
    "memory_max",
    "processes_max",
    "cpu_time_max",
];

impl Checker<'_> {
    /// Refuses a difference from the reference that the arm does not declare.
    pub(super) fn differences(&mut self, draft: &Draft, arms: &[Arm]) {
        let reference = draft
            .analysis
            .as_ref()
            .map(|analysis| analysis.reference.0.as_str());
        let is_reference = |arm: &Arm| reference.is_none_or(|id| arm.id == id);
        // That the reference is none of the arms is told there.
        let reference = arms.iter().position(is_reference);
        for (i, arm) in arms.iter().enumerate() {
            self.difference_words(i, arm);
            let Some(reference) = reference.filter(|reference| *reference != i) else {
                continue;
            };
            if self.was_refused(&format!("/arms/{i}/differs")) {
                continue;
            }
            for (key, differs) in differing(&arms[reference], arm) {
                let refused = |arm: usize| self.was_refused(&format!("/arms/{arm}/{key}"));
                if differs && !refused(i) && !refused(reference) {
                    self.difference(i, arm, &arms[reference], key);
                }
            }
        }
    }

    /// Refuses words of an arm's `differs` that are no keys in which arms can differ.
    fn difference_words(&mut self, i: usize, arm: &Arm) {
        let words = arm.differs.iter().enumerate();
        for (j, word) in words.filter(|(_, word)| !DIFFERENCES.contains(&word.as_str())) {
            let message = format!("`{word}` is not a key in which arms can differ");
            let place = Place::Value(format!("/arms/{i}/differs/{j}"));
            self.unknown(Code::Word, place, message, word, DIFFERENCES);
        }
    }

    /// Refuses a key in which an arm does differ, unless it declares that.
    fn difference(&mut self, i: usize, arm: &Arm, reference: &Arm, key: &str) {
        let place = Place::Value(format!("/arms/{i}/{key}"));
        if key == "containment" {
            let message = format!(
                "`{}` has another containment than `{}`; it is equal for all arms",
                arm.id, reference.id
            );
            self.push(
                Defect::new(Code::ArmsDiffer, place, message)
                    .note("write it once, under [execution]"),
            );
            return;
        }
        // A word that is nearly the key is told as a slip of its own.
        let means =
            |word: &String| word == key || nearest(word, DIFFERENCES.iter().copied()) == Some(key);
        if arm.differs.iter().any(means) {
            return;
        }
        let declared = if arm.differs.is_empty() {
            "nothing".to_owned()
        } else {
            arm.differs.join(", ")
        };
        let message = format!(
            "`{}` may differ from `{}` in {declared}, but its {key} differs too",
            arm.id, reference.id
        );
        let mut words = arm.differs.clone();
        words.push(key.to_owned());
        let limits = if LIMITS.contains(&key) {
            ", and the limitation `unequal-limits`"
        } else {
            ""
        };
        let defect = Defect::new(Code::ArmsDiffer, place, message).note(format!(
            "make them equal, or declare it: differs = {words:?}{limits}"
        ));
        self.push(match limit_text(reference, key) {
            Some(limit) => defect.label(format!("`{}` has {limit}", reference.id)),
            None => defect,
        });
    }
}

/// Returns a limit of an arm in words, for the keys that have one.
pub(super) fn limit_text(arm: &Arm, key: &str) -> Option<String> {
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

/// Returns for each key in which arms can differ whether two arms do, by what holds for them: what
/// an arm does not say itself is said under `[execution]`.
pub(super) fn differing(a: &Arm, b: &Arm) -> [(&'static str, bool); 16] {
    let (x, y) = (&a.execution, &b.execution);
    [
        ("command", a.command != b.command),
        ("files", a.files != b.files),
        ("executed", a.executed != b.executed),
        ("workspace", x.workspace != y.workspace),
        ("timeout", x.timeout != y.timeout),
        ("grace", x.grace != y.grace),
        ("env", x.env != y.env),
        ("env_pass", x.env_pass != y.env_pass),
        ("output_max", x.output_max != y.output_max),
        ("requests", x.requests != y.requests),
        ("memory_max", x.memory_max != y.memory_max),
        ("processes_max", x.processes_max != y.processes_max),
        ("cpu_time_max", x.cpu_time_max != y.cpu_time_max),
        ("free_space_min", x.free_space_min != y.free_space_min),
        ("containment", x.containment != y.containment),
        ("cleanup", x.cleanup != y.cleanup),
    ]
}
