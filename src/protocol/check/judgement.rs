//! Checks who judges, what is measured, and that the analysis names what exists.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Checker;
use crate::protocol::canonical;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{Draft, OutcomeKind, ScoreWord, Scoring as ScoringDraft};
use crate::protocol::expression::{Expected, Expression, Scope, Slip, Type};
use crate::protocol::frame::{self, Task};
use crate::protocol::model::{Claim, Judge, Outcome, Scoring};
use crate::units::Micros;

/// The largest schema file that is read, in bytes.
const SCHEMA_MAX: usize = 1024 * 1024;
/// Words that CEL keeps for itself.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

impl Checker<'_> {
    /// Returns the names that outcomes may read, before any outcome is declared.
    pub(super) fn scopes(&mut self, draft: &Draft, tasks: &[Task]) -> Scope {
        let mut scope = Scope::default();
        scope.insert("task".to_owned(), task_type(tasks));
        scope.insert("run".to_owned(), run_type());
        if draft.observation.is_some() {
            scope.insert("observed".to_owned(), Type::Any);
        }
        if draft.claim.is_some() {
            scope.insert("claim".to_owned(), object([("done", Type::Bool)]));
        }
        if let Some(judge) = &draft.judge {
            scope.insert(
                "report".to_owned(),
                self.schema(&judge.schema.0)
                    .map_or(Type::Any, |schema| schema_type(&schema)),
            );
        }
        scope
    }

    fn schema(&self, path: &str) -> Option<Value> {
        canonical::read(&self.folder.read(path, SCHEMA_MAX).ok()?).ok()
    }

    /// Checks one expression against its scope; every finding points into the text.
    fn expression(&mut self, pointer: &str, text: &str, scope: &Scope, expected: Expected) {
        let findings = match Expression::parse(text) {
            Err(finding) => vec![finding],
            Ok(expression) => expression.check(scope, expected),
        };
        for finding in findings {
            let code = match finding.kind {
                Slip::Syntax => Code::Expression,
                Slip::Name => Code::UnknownName,
                Slip::Type => Code::ExpressionType,
            };
            let defect = Defect::new(
                code,
                Place::Within(pointer.to_owned(), finding.range),
                finding.message,
            );
            self.push(match finding.suggestion {
                Some(near) => defect.label(format!("did you mean `{near}`?")),
                None => defect,
            });
        }
    }

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
            if RESERVED.contains(&outcome.id.0.as_str()) {
                self.refuse(
                    Code::Id,
                    Place::Value(format!("{table}/id")),
                    format!("`{}` is a word of CEL; choose another name", outcome.id.0),
                );
            }
            let (expected, kind) = match outcome.kind {
                OutcomeKind::Binary => (Expected::Bool, Type::Bool),
                _ => (Expected::Number, Type::Number),
            };
            scope.insert(
                "outcomes".to_owned(),
                Type::Object {
                    fields: declared.clone(),
                    closed: true,
                },
            );
            self.expression(
                &format!("{table}/value"),
                &outcome.value.0,
                &scope,
                expected,
            );
            declared.insert(outcome.id.0.clone(), kind);
            outcomes.push(Outcome {
                id: outcome.id.0.clone(),
                kind: outcome.kind,
                value: outcome.value.0.clone(),
                better: outcome.better,
                missing: outcome
                    .missing
                    .0
                    .as_u64()
                    .and_then(|missing| u8::try_from(missing).ok()),
            });
        }
        outcomes
    }

    pub(super) fn claim(&mut self, draft: &Draft) -> Option<Claim> {
        let claim = draft.claim.as_ref()?;
        self.inside(Place::Value("/claim/file".to_owned()), &claim.file.0);
        let mut scope = Scope::default();
        scope.insert("claim".to_owned(), Type::Any);
        self.expression("/claim/done", &claim.done.0, &scope, Expected::Bool);
        Some(Claim {
            file: claim.file.0.clone(),
            done: claim.done.0.clone(),
        })
    }

    pub(super) fn judge(&mut self, draft: &Draft) -> Option<Judge> {
        let judge = draft.judge.as_ref()?;
        self.command("/judge/command", &judge.command.0);
        self.inside(Place::Value("/judge/report".to_owned()), &judge.report.0);
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
        if !self.inside(place.clone(), path) {
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
                self.push(Defect::new(Code::ReportSchema, place, fault.message).in_file(path));
                return None;
            }
        };
        if let Err(error) = jsonschema::options().offline().build(&schema) {
            self.refuse(
                Code::ReportSchema,
                place,
                format!("`{path}` is not a JSON Schema: {error}"),
            );
            return None;
        }
        Some(schema)
    }

    pub(super) fn scoring(&mut self, draft: &Draft, scope: &Scope) -> Scoring {
        let default = ScoringDraft::default();
        let scoring = draft.scoring.as_ref().unwrap_or(&default);
        if let Some(unjudged) = &scoring.unjudged {
            self.expression("/scoring/unjudged", &unjudged.0, scope, Expected::Bool);
        }
        Scoring {
            unjudged: scoring.unjudged.as_ref().map(|text| text.0.clone()),
            on_timeout: scoring.on_timeout.unwrap_or(ScoreWord::Score),
            on_error_stop: scoring.on_error_stop.unwrap_or(ScoreWord::Score),
        }
    }

    /// Checks that the analysis names what exists; returns it with its defaults written out.
    pub(super) fn analysis(
        &mut self,
        draft: &Draft,
        value: &Value,
        tasks: &[Task],
    ) -> Option<Value> {
        let analysis = draft.analysis.as_ref()?;
        let arms: Vec<&str> = draft.arms.iter().map(|arm| arm.id.0.as_str()).collect();
        let outcomes: Vec<&str> = draft
            .outcomes
            .iter()
            .map(|outcome| outcome.id.0.as_str())
            .collect();
        let arm = |checker: &mut Self, pointer: String, id: &str| {
            if !arms.contains(&id) {
                checker.unknown(
                    Code::UnknownArm,
                    Place::Value(pointer),
                    format!("`{id}` is not an arm of this protocol"),
                    id,
                    &arms,
                );
            }
        };
        arm(
            self,
            "/analysis/reference".to_owned(),
            &analysis.reference.0,
        );
        for (i, treatment) in analysis.treatments.iter().enumerate() {
            arm(self, format!("/analysis/treatments/{i}"), &treatment.0);
            if treatment == &analysis.reference {
                let place = Place::Value(format!("/analysis/treatments/{i}"));
                self.refuse(
                    Code::Analysis,
                    place,
                    format!(
                        "`{}` is the reference; it cannot be compared with itself",
                        treatment.0
                    ),
                );
            }
        }
        let named = std::iter::once((
            "/analysis/primary/outcome".to_owned(),
            &analysis.primary.outcome.0,
        ));
        let secondary = analysis
            .secondary
            .iter()
            .enumerate()
            .map(|(i, one)| (format!("/analysis/secondary/{i}/outcome"), &one.outcome.0));
        for (pointer, id) in named.chain(secondary) {
            if !outcomes.contains(&id.as_str()) {
                let message = format!("`{id}` is not an outcome of this protocol");
                self.unknown(
                    Code::UnknownOutcome,
                    Place::Value(pointer),
                    message,
                    id,
                    &outcomes,
                );
            }
        }
        let ids = analysis
            .secondary
            .iter()
            .enumerate()
            .map(|(i, one)| (format!("/analysis/secondary/{i}/id"), one.id.0.as_str()));
        self.distinct(ids);
        let fields = frame::field_names(tasks);
        match analysis.cluster.as_deref() {
            None | Some("none") => {}
            Some(field) if tasks.is_empty() || fields.iter().any(|name| name == field) => {}
            Some(field) => {
                let known: Vec<&str> = fields.iter().map(String::as_str).collect();
                let message = format!("`{field}` is not a field of the tasks, nor \"none\"");
                self.unknown(
                    Code::Analysis,
                    Place::Value("/analysis/cluster".to_owned()),
                    message,
                    field,
                    &known,
                );
            }
        }
        Some(with_defaults(value.get("analysis")?))
    }
}

fn with_defaults(analysis: &Value) -> Value {
    let mut analysis = analysis.clone();
    let defaults = [
        ("alpha", Value::from(0.05)),
        ("cluster", Value::from("none")),
        ("missing_share_max", Value::from(0.1)),
        ("seal", Value::from(true)),
    ];
    if let Some(object) = analysis.as_object_mut() {
        for (key, value) in defaults {
            object.entry(key).or_insert(value);
        }
    }
    analysis
}

fn object<const N: usize>(fields: [(&str, Type); N]) -> Type {
    let fields = fields
        .into_iter()
        .map(|(name, kind)| (name.to_owned(), kind))
        .collect();
    Type::Object {
        fields,
        closed: true,
    }
}

fn task_type(tasks: &[Task]) -> Type {
    let fields = frame::field_names(tasks)
        .into_iter()
        .map(|name| (name, Type::Any))
        .collect();
    Type::Object {
        fields,
        closed: !tasks.is_empty(),
    }
}

fn run_type() -> Type {
    object([
        ("arm", Type::Text),
        ("task", Type::Text),
        ("repeat", Type::Int),
        ("attempt", Type::Int),
        ("exit", Type::Int),
        ("signal", Type::Int),
        ("timed_out", Type::Bool),
        ("wall_ms", Type::Int),
        ("cpu_ms", Type::Int),
        ("error_stop", Type::Bool),
        ("cost", Type::Number),
    ])
}

/// Reads the type that a JSON Schema gives a value, as far as `type` and `properties` say it.
fn schema_type(schema: &Value) -> Type {
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Type::Bool,
        Some("integer") => Type::Int,
        Some("number") => Type::Number,
        Some("string") => Type::Text,
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties
                .into_iter()
                .flatten()
                .map(|(name, field)| (name.clone(), schema_type(field)))
                .collect();
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
                && schema.get("patternProperties").is_none();
            Type::Object { fields, closed }
        }
        _ => Type::Any,
    }
}
