//! Checks who judges and what is measured.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Checker;
use super::expressions::SCHEMA_MAX;
use crate::protocol::canonical;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{
    self, CEL_WORDS, Draft, OutcomeKind, ScoreWord, Scoring as ScoringDraft,
};
use crate::protocol::expression::{Expected, Scope, Type};
use crate::protocol::model::{Claim, Judge, Outcome, Scoring};
use crate::protocol::source::child;
use crate::units::Micros;

impl Checker<'_> {
    pub(super) fn outcomes(&mut self, draft: &Draft, scope: &Scope) -> Vec<Outcome> {
        let ids = draft
            .outcomes
            .iter()
            .enumerate()
            .map(|(i, outcome)| (format!("/outcomes/{i}/id"), outcome.id.0.as_str()));
        self.distinct(ids);
        let mut scope = scope.clone();
        let mut declared: BTreeMap<String, Type> = BTreeMap::new();
        let mut outcomes = Vec::new();
        for (i, outcome) in draft.outcomes.iter().enumerate() {
            let table = format!("/outcomes/{i}");
            if CEL_WORDS.contains(&outcome.id.0.as_str()) {
                self.refuse(
                    Code::Id,
                    Place::Value(format!("{table}/id")),
                    format!("`{}` is a word of CEL; choose another name", outcome.id.0),
                );
            }
            let (expected, kind) = match outcome.kind {
                _ if self.was_refused(&format!("{table}/kind")) => (Expected::Any, Type::Any),
                OutcomeKind::Binary => (Expected::Bool, Type::Bool),
                _ => (Expected::Number, Type::Double),
            };
            scope.insert(
                "outcomes".to_owned(),
                self.named("/outcomes", declared.clone()),
            );
            self.expression(&format!("{table}/value"), &outcome.value, &scope, expected);
            declared.insert(outcome.id.0.clone(), kind);
            let missing = self.missing_counts_as(&table, outcome);
            outcomes.push(Outcome {
                id: outcome.id.0.clone(),
                kind: outcome.kind,
                value: outcome.value.0.clone(),
                better: outcome.better,
                missing,
            });
        }
        outcomes
    }

    /// Reads what a missing value counts as: 0 or 1, or nothing.
    fn missing_counts_as(&mut self, table: &str, outcome: &draft::Outcome) -> Option<u8> {
        if self.was_refused(&format!("{table}/kind")) {
            return None;
        }
        let binary = outcome.kind == OutcomeKind::Binary;
        let counts_as = outcome
            .missing
            .as_ref()
            .and_then(|missing| missing.0.as_u64());
        if binary && outcome.missing.is_none() {
            self.missing(table, "missing", "what a missing value counts as");
        }
        if !binary && counts_as.is_some() {
            self.refuse(
                Code::Range,
                Place::Value(format!("{table}/missing")),
                "only a binary outcome can count a missing value as 0 or 1; write \"available\"",
            );
        }
        counts_as.and_then(|counts_as| u8::try_from(counts_as).ok())
    }

    pub(super) fn claim(&mut self, draft: &Draft) -> Option<Claim> {
        let claim = draft.claim.as_ref()?;
        self.inside(Place::Value("/claim/file".to_owned()), &claim.file.0);
        let mut scope = Scope::default();
        scope.insert("claim".to_owned(), Type::Any);
        self.expression("/claim/done", &claim.done, &scope, Expected::Bool);
        Some(Claim {
            file: claim.file.0.clone(),
            done: claim.done.0.clone(),
        })
    }

    pub(super) fn judge(&mut self, draft: &Draft) -> Option<Judge> {
        let judge = draft.judge.as_ref()?;
        self.command("/judge/command", &judge.command.0);
        let report = Place::Value("/judge/report".to_owned());
        self.inside(report.clone(), &judge.report.0);
        let laid = judge.files.keys();
        let laid = laid.map(|to| (Place::Key(child("/judge/files", to)), to.as_str()));
        // The judge's report is read where it stands, and so must be nobody else's file.
        let claim = draft.claim.iter();
        let claim = claim.map(|claim| {
            (
                Place::Value("/claim/file".to_owned()),
                claim.file.0.as_str(),
            )
        });
        self.apart(laid.chain([(report.clone(), judge.report.0.as_str())]));
        self.apart(claim.chain([(report, judge.report.0.as_str())]));
        let timeout = self.duration("/judge/timeout", Some(&judge.timeout));
        let schema = self.report_schema(&judge.schema.0)?;
        Some(Judge {
            files: judge.files.clone(),
            command: judge.command.0.clone(),
            report: judge.report.0.clone(),
            schema,
            timeout: timeout.unwrap_or(Micros::MAX),
        })
    }

    fn report_schema(&mut self, path: &str) -> Option<Value> {
        let place = Place::Value("/judge/schema".to_owned());
        if self.was_refused("/judge/schema") || !self.inside(place.clone(), path) {
            return None;
        }
        let bytes = match self.folder.read(path, SCHEMA_MAX) {
            Ok(bytes) => bytes,
            Err(fault) => {
                self.refuse_fault(place, path, fault);
                return None;
            }
        };
        let schema = match canonical::read(&bytes) {
            Ok(schema) => schema,
            Err(fault) => {
                let place = Place::Span(fault.offset..fault.offset + 1);
                let message = format!("the report's schema is not JSON: {}", fault.message);
                self.push(Defect::new(Code::ReportSchema, place, message).in_file(path));
                return None;
            }
        };
        if let Err(error) = jsonschema::options().offline().build(&schema) {
            let at = error.instance_path().to_string();
            let message =
                format!("`{path}` is not a JSON Schema: what stands at `{at}` in it is wrong");
            self.refuse(Code::ReportSchema, place, message);
            return None;
        }
        Some(schema)
    }

    pub(super) fn scoring(&mut self, draft: &Draft, scope: &Scope) -> Scoring {
        let default = ScoringDraft::default();
        let scoring = draft.scoring.as_ref().unwrap_or(&default);
        if let Some(unjudged) = &scoring.unjudged {
            self.expression("/scoring/unjudged", unjudged, scope, Expected::Bool);
        }
        Scoring {
            unjudged: scoring.unjudged.as_ref().map(|text| text.0.clone()),
            on_timeout: scoring.on_timeout.unwrap_or(ScoreWord::Score),
            on_error_stop: scoring.on_error_stop.unwrap_or(ScoreWord::Score),
        }
    }
}
