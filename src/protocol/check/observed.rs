//! Checks what is observed around a run: probes, preflight, observation, exposure, what is kept.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Checker;
use super::expressions::text;
use crate::protocol::defect::{Code, Place};
use crate::protocol::draft::{self, Draft};
use crate::protocol::expression::{Expected, Scope};
use crate::protocol::model::{
    Artefacts, EvidenceWord, Executed, Observation, Probe, ProbeFormat, Retain,
};
use crate::protocol::pattern::Pattern;
use crate::protocol::source::child;

impl Checker<'_> {
    pub(super) fn preflight(&mut self, draft: &Draft) -> Option<Vec<String>> {
        let command = &draft.preflight.as_ref()?.command.0;
        self.command("/preflight/command", command);
        Some(command.clone())
    }

    pub(super) fn checkpoint(&mut self, draft: &Draft) -> Vec<String> {
        let arms = draft
            .checkpoint
            .iter()
            .flat_map(|checkpoint| &checkpoint.arms);
        let arms: Vec<&str> = arms.map(|arm| arm.0.as_str()).collect();
        self.arm_list(draft, "/checkpoint/arms", &arms);
        arms.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn manipulation_check(
        &mut self,
        draft: &Draft,
        outcomes: &Scope,
    ) -> BTreeMap<String, String> {
        let mut checks = BTreeMap::new();
        for (arm, text) in draft.manipulation_check.iter().flatten() {
            let pointer = child("/manipulation_check", arm);
            self.known_arm(draft, Place::Key(pointer.clone()), arm);
            self.expression(&pointer, text, outcomes, Expected::Bool);
            checks.insert(arm.clone(), text.0.clone());
        }
        checks
    }

    pub(super) fn probes(&mut self, draft: &Draft) -> Vec<Probe> {
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
        draft.probes.iter().map(probe).collect()
    }

    /// Refuses a key of a probe's output that is expected and is to be absent or ignored as well.
    fn probe_lists(&mut self, table: &str, probe: &draft::Probe) {
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

    pub(super) fn observation(&mut self, draft: &Draft, outcomes: &Scope) -> Option<Observation> {
        let observation = draft.observation.as_ref()?;
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
        let mut effective = BTreeMap::new();
        for (name, text) in observation.effective.iter().flatten() {
            let pointer = child("/observation/effective", name);
            self.expression(&pointer, text, &scope, Expected::Any);
            self.requested(draft, &pointer, name);
            effective.insert(name.clone(), text.0.clone());
        }
        Some(Observation {
            from: observation.from.clone(),
            error_stop: text(error_stop),
            cost: text(cost),
            effective,
        })
    }

    /// Refuses a setting that is told and that no arm is asked to use: it would be compared with nothing.
    fn requested(&mut self, draft: &Draft, pointer: &str, name: &str) {
        let arms = draft.arms.iter().map(|arm| &arm.requests);
        let base = draft.execution.iter().map(|execution| &execution.requests);
        let names: BTreeSet<&str> = base
            .chain(arms)
            .flatten()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
            .collect();
        if names.contains(name) || self.refused.iter().any(|place| place.contains("/requests")) {
            return;
        }
        let message = format!("no arm is asked to use `{name}`: `requests` does not name it");
        let names: Vec<&str> = names.into_iter().collect();
        let place = Place::Key(pointer.to_owned());
        self.unknown(Code::UnknownName, place, message, name, &names);
    }

    pub(super) fn artefacts(&mut self, draft: &Draft) -> Option<Artefacts> {
        let artefacts = draft.artefacts.as_ref()?;
        self.once("/artefacts/keep", &artefacts.keep);
        for (i, pattern) in artefacts.keep.iter().enumerate() {
            let place = Place::Value(format!("/artefacts/keep/{i}"));
            if self.inside(place.clone(), pattern)
                && let Err(message) = Pattern::read(pattern)
            {
                self.refuse(Code::Path, place, message);
            }
        }
        let splits = draft.tasks.splits.iter().flatten();
        let splits: Vec<&str> = splits.map(|(name, _)| name.as_str()).collect();
        let keep_diff_for = artefacts.keep_diff_for.clone().unwrap_or_default();
        self.once("/artefacts/keep_diff_for", &keep_diff_for);
        for (i, split) in keep_diff_for.iter().enumerate() {
            let refused = self.was_refused(&child("/tasks/splits", split));
            if !splits.contains(&split.as_str()) && !refused {
                let place = Place::Value(format!("/artefacts/keep_diff_for/{i}"));
                let message = format!("`{split}` is not declared under [tasks.splits]");
                self.unknown(Code::UnknownSplit, place, message, split, &splits);
            }
        }
        Some(Artefacts {
            keep: artefacts.keep.clone(),
            keep_diff_for,
            retain: artefacts.retain.unwrap_or(Retain::Always),
        })
    }

    pub(super) fn evidence(&mut self, draft: &Draft) -> Vec<EvidenceWord> {
        let Some(evidence) = &draft.evidence else {
            return Vec::new();
        };
        let words = evidence.required.iter().map(|word| word.text().to_owned());
        self.once("/evidence/required", &words.collect::<Vec<_>>());
        let mut arms = draft.arms.iter();
        let elsewhere = arms.find(|arm| arm.executed == Some(Executed::Elsewhere));
        if let (Some(arm), false) = (elsewhere, evidence.required.is_empty()) {
            self.refuse(
                Code::Arms,
                Place::Value("/evidence/required/0".to_owned()),
                format!(
                    "runs of `{}` are executed elsewhere and leave no measurement, so none of them would be scored; remove it here",
                    arm.id.0
                ),
            );
        }
        evidence.required.clone()
    }

    pub(super) fn actors(&mut self, draft: &Draft) -> Vec<String> {
        let kinds = draft.actors.iter().flat_map(|actors| &actors.kinds);
        let kinds: Vec<String> = kinds.map(|kind| kind.0.clone()).collect();
        self.once("/actors/kinds", &kinds);
        kinds
    }
}

fn probe(probe: &draft::Probe) -> Probe {
    Probe {
        id: probe.id.0.clone(),
        command: probe.command.0.clone(),
        format: probe.format.unwrap_or(ProbeFormat::Text),
        expect: probe.expect.clone(),
        expect_absent: probe.expect_absent.clone().unwrap_or_default(),
        record_only: probe.record_only.clone().unwrap_or_default(),
    }
}
