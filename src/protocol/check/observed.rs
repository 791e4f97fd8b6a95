//! Checks what is observed around a run: probes, preflight, observation, exposure, what is kept.

use serde_json::Value;

use super::Checker;
use crate::protocol::defect::{Code, Place};
use crate::protocol::draft::{Draft, Probe, ProbeFormat};
use crate::protocol::expression::{Expected, Scope};
use crate::protocol::source::child;

impl Checker<'_> {
    pub(super) fn observed(&mut self, draft: &Draft, outcomes: &Scope) {
        if let Some(preflight) = &draft.preflight {
            self.command("/preflight/command", &preflight.command.0);
        }
        self.probes(draft);
        self.observation(draft, outcomes);
        if let Some(checkpoint) = &draft.checkpoint {
            let arms: Vec<&str> = checkpoint.arms.iter().map(|arm| arm.0.as_str()).collect();
            self.arm_list(draft, "/checkpoint/arms", &arms);
        }
        for (arm, text) in draft.manipulation_check.iter().flatten() {
            let pointer = child("/manipulation_check", arm);
            self.known_arm(draft, Place::Key(pointer.clone()), arm);
            self.expression(&pointer, text, outcomes, Expected::Bool);
        }
        self.kept(draft);
    }

    fn probes(&mut self, draft: &Draft) {
        let ids = draft.probes.iter().enumerate();
        self.distinct(ids.map(|(i, probe)| (format!("/probes/{i}/id"), probe.id.0.as_str())));
        for (i, probe) in draft.probes.iter().enumerate() {
            let table = format!("/probes/{i}");
            self.command(&format!("{table}/command"), &probe.command.0);
            let json = probe.format == Some(ProbeFormat::Json);
            match &probe.expect {
                Some(Value::Object(_)) | None if json => {}
                Some(Value::String(_)) | None => {}
                Some(_) => {
                    let wanted = if json {
                        "a table, as format = \"json\" says"
                    } else {
                        "a text; with format = \"json\" it may be a table"
                    };
                    let place = Place::Value(format!("{table}/expect"));
                    let message = format!("what a probe expects is {wanted}");
                    self.refuse(Code::Type, place, message);
                }
            }
            self.probe_lists(&table, probe);
            let lists = [
                ("expect_absent", probe.expect_absent.is_some()),
                ("record_only", probe.record_only.is_some()),
            ];
            for (key, given) in lists {
                if given && !json {
                    self.refuse(
                        Code::UnknownKey,
                        Place::Key(format!("{table}/{key}")),
                        format!("only a probe with format = \"json\" has `{key}`"),
                    );
                }
            }
        }
    }

    /// Refuses a key of a probe's output that is expected and is to be absent or ignored as well.
    fn probe_lists(&mut self, table: &str, probe: &Probe) {
        let expected = probe.expect.as_ref().and_then(Value::as_object);
        for (list, keys, otherwise) in [
            ("expect_absent", &probe.expect_absent, "must be absent"),
            ("record_only", &probe.record_only, "is only recorded"),
        ] {
            let pointer = format!("{table}/{list}");
            let keys = keys.as_deref().unwrap_or_default();
            self.once(&pointer, keys);
            for (i, key) in keys.iter().enumerate() {
                if expected.is_some_and(|expected| expected.contains_key(key)) {
                    self.refuse(
                        Code::DuplicateId,
                        Place::Value(format!("{pointer}/{i}")),
                        format!(
                            "`{key}` has a value under `expect` and {otherwise} here; keep one"
                        ),
                    );
                }
            }
        }
    }

    fn observation(&mut self, draft: &Draft, outcomes: &Scope) {
        let Some(observation) = &draft.observation else {
            return;
        };
        if observation.from != "stdout" {
            let place = Place::Value("/observation/from".to_owned());
            self.inside(place, &observation.from);
        }
        let mut scope = self.seen(draft);
        if let Some(task) = outcomes.get("task") {
            scope.insert("task".to_owned(), task.clone());
        }
        let error_stop = observation.error_stop.as_ref();
        self.expression_if(
            "/observation/error_stop",
            error_stop,
            &scope,
            Expected::Bool,
        );
        let cost = observation.cost.as_ref();
        self.expression_if("/observation/cost", cost, &scope, Expected::Number);
        for (name, text) in observation.effective.iter().flatten() {
            let pointer = child("/observation/effective", name);
            self.expression(&pointer, text, &scope, Expected::Any);
        }
    }

    fn kept(&mut self, draft: &Draft) {
        if let Some(artefacts) = &draft.artefacts {
            self.once("/artefacts/keep", &artefacts.keep);
            for (i, pattern) in artefacts.keep.iter().enumerate() {
                self.inside(Place::Value(format!("/artefacts/keep/{i}")), pattern);
            }
            let kept = artefacts.keep_diff_for.as_deref().unwrap_or_default();
            self.once("/artefacts/keep_diff_for", kept);
            let splits: Vec<&str> = draft
                .tasks
                .splits
                .iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect();
            for (i, split) in artefacts.keep_diff_for.iter().flatten().enumerate() {
                let refused = self.was_refused(&child("/tasks/splits", split));
                if !splits.contains(&split.as_str()) && !refused {
                    let place = Place::Value(format!("/artefacts/keep_diff_for/{i}"));
                    let message = format!("`{split}` is not declared under [tasks.splits]");
                    self.unknown(Code::UnknownSplit, place, message, split, &splits);
                }
            }
        }
        if let Some(evidence) = &draft.evidence {
            self.once("/evidence/required", &evidence.required);
        }
        if let Some(actors) = &draft.actors {
            let kinds: Vec<&str> = actors.kinds.iter().map(|kind| kind.0.as_str()).collect();
            self.once("/actors/kinds", &kinds);
        }
    }
}
