//! What an expression may read in each place, and the check of its text.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Checker;
use crate::protocol::canonical;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{Draft, ExpressionText, FieldKind, Reading};
use crate::protocol::expression::{Expected, Expression, Scope, Slip, Type};
use crate::protocol::frame::Task;

/// The largest schema file that is read, in bytes.
pub(super) const SCHEMA_MAX: usize = 1024 * 1024;

impl Checker<'_> {
    /// Returns the names that outcomes may read, before any outcome is declared.
    pub(super) fn scopes(&mut self, draft: &Draft, tasks: &[Task]) -> Scope {
        let mut scope = self.seen(draft);
        scope.insert("task".to_owned(), self.task_type(draft, tasks));
        if draft.claim.is_some() {
            scope.insert("claim".to_owned(), object([("done", Type::Bool)]));
        } else if self.was_refused("/claim") {
            scope.insert("claim".to_owned(), Type::Any);
        }
        if let Some(judge) = &draft.judge {
            let schema = self.schema(&judge.schema.0);
            scope.insert(
                "report".to_owned(),
                schema.map_or(Type::Any, |schema| schema_type(&schema)),
            );
        } else if self.was_refused("/judge") {
            scope.insert("report".to_owned(), Type::Any);
        }
        scope
    }

    /// Returns what is seen of a run without judging it.
    pub(super) fn seen(&self, draft: &Draft) -> Scope {
        let mut scope = Scope::from([("run".to_owned(), self.run_type(draft))]);
        if draft.observation.is_some() || self.was_refused("/observation") {
            scope.insert("observed".to_owned(), Type::Any);
        }
        scope
    }

    /// Returns the names that stops, holds and stages may read.
    pub(super) fn rule_scope(&self, draft: &Draft) -> Scope {
        let readings = draft
            .readings
            .iter()
            .enumerate()
            .map(|(i, reading)| (reading.id.0.clone(), self.reading_type(i, reading)));
        Scope::from([
            (
                "readings".to_owned(),
                self.named("/readings", readings.collect()),
            ),
            (
                "stages".to_owned(),
                self.stages_before(draft, draft.stages.len()),
            ),
            ("now".to_owned(), Type::Time),
        ])
    }

    /// Returns the type of `stages` where so many of them come before.
    pub(super) fn stages_before(&self, draft: &Draft, count: usize) -> Type {
        let complete = || object([("complete", Type::Bool)]);
        let stages = draft.stages.iter().take(count);
        let stages = stages.map(|stage| (stage.id.0.clone(), complete()));
        self.named("/stages", stages.collect())
    }

    /// Returns the type of a reading; one whose fields were refused may have any.
    pub(super) fn reading_type(&self, i: usize, reading: &Reading) -> Type {
        let pointer = format!("/readings/{i}/fields");
        Type::Object {
            fields: self.declared(&pointer, &reading.fields),
            closed: !self.was_refused(&pointer),
        }
    }

    /// Returns the type of `run`: what is always known of a run, and what `[observation]` tells.
    fn run_type(&self, draft: &Draft) -> Type {
        let observation = draft.observation.as_ref();
        let told = |given: Option<bool>, key: &str| {
            given == Some(true) || self.was_refused(&format!("/observation/{key}"))
        };
        let mut fields = run_fields();
        if told(
            observation.map(|one| one.error_stop.is_some()),
            "error_stop",
        ) {
            fields.insert("error_stop".to_owned(), Type::Bool);
        }
        if told(observation.map(|one| one.cost.is_some()), "cost") {
            fields.insert("cost".to_owned(), Type::Double);
        }
        Type::closed(fields)
    }

    fn task_type(&self, draft: &Draft, tasks: &[Task]) -> Type {
        if let Some(fields) = &draft.tasks.fields {
            let mut fields = self.declared("/tasks/fields", fields);
            for name in ["id", "split", "dir"] {
                fields.entry(name.to_owned()).or_insert(Type::Text);
            }
            return Type::closed(fields);
        }
        let mut fields: BTreeMap<&str, Type> = BTreeMap::new();
        let objects = tasks.iter().filter_map(|task| task.fields.as_object());
        for (name, value) in objects.flatten() {
            let found = value_type(value);
            match fields.get_mut(name.as_str()) {
                Some(known) if *known == found => {}
                Some(known) => *known = std::mem::replace(known, Type::Any).join(found),
                None => drop(fields.insert(name, found)),
            }
        }
        let fields = fields.into_iter();
        Type::Object {
            fields: fields
                .map(|(name, kind)| (name.to_owned(), in_every_task(kind)))
                .collect(),
            closed: !tasks.is_empty(),
        }
    }

    /// Returns the types of declared fields; a field whose type was refused may be anything.
    pub(super) fn declared(
        &self,
        pointer: &str,
        fields: &BTreeMap<String, FieldKind>,
    ) -> BTreeMap<String, Type> {
        let mut types = Type::declared(fields);
        for refused in &self.refused {
            if let Some((table, name)) = refused.rsplit_once('/')
                && table == pointer
            {
                types.entry(name.to_owned()).or_insert(Type::Any);
            }
        }
        types
    }

    /// Returns the type of a table of things with ids; some may have been refused.
    pub(super) fn named(&self, list: &str, fields: BTreeMap<String, Type>) -> Type {
        Type::Object {
            fields,
            closed: !self.names_refused(list),
        }
    }

    fn schema(&self, path: &str) -> Option<Value> {
        if self.was_refused("/judge/schema") {
            return None;
        }
        canonical::read(&self.folder.read(path, SCHEMA_MAX).ok()?).ok()
    }

    /// Checks one expression against its scope; every finding points into the text.
    pub(super) fn expression(
        &mut self,
        pointer: &str,
        text: &ExpressionText,
        scope: &Scope,
        expected: Expected,
    ) {
        let findings = match Expression::parse(&text.0) {
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

    /// Checks an expression that may be absent.
    pub(super) fn expression_if(
        &mut self,
        pointer: &str,
        text: Option<&ExpressionText>,
        scope: &Scope,
        expected: Expected,
    ) {
        if let Some(text) = text {
            self.expression(pointer, text, scope, expected);
        }
    }
}

/// Returns the text of an expression that may be absent.
pub(super) fn text(expression: Option<&ExpressionText>) -> Option<String> {
    expression.map(|expression| expression.0.clone())
}

/// Returns the type of a table that has these fields and no others.
pub(super) fn object<const N: usize>(fields: [(&str, Type); N]) -> Type {
    Type::closed(fields.map(|(name, kind)| (name.to_owned(), kind)).into())
}

/// Returns the type that a field has in every task: one with a fraction in some has one in all.
fn in_every_task(kind: Type) -> Type {
    match kind {
        Type::Number => Type::Double,
        kind => kind,
    }
}

/// Returns the type that a value has; what is inside lists and objects is left open.
fn value_type(value: &Value) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Number(number) if number.is_f64() => Type::Double,
        Value::Number(_) => Type::Int,
        Value::String(_) => Type::Text,
        Value::Array(_) => Type::List(Box::new(Type::Any)),
        Value::Object(_) => Type::Object {
            fields: BTreeMap::new(),
            closed: false,
        },
        Value::Null => Type::Any,
    }
}

/// What is always known of a run.
fn run_fields() -> BTreeMap<String, Type> {
    let fields = [
        ("arm", Type::Text),
        ("task", Type::Text),
        ("repeat", Type::Int),
        ("attempt", Type::Int),
        ("exit", Type::Int),
        ("signal", Type::Int),
        ("timed_out", Type::Bool),
        ("wall_ms", Type::Int),
        ("cpu_ms", Type::Int),
    ];
    let named = fields.map(|(name, kind)| (name.to_owned(), kind));
    named.into()
}

/// Reads the type that a JSON Schema gives a value, as far as `type`, `properties`, `items`, `enum`
/// and `const` say it.
fn schema_type(schema: &Value) -> Type {
    // A number that the schema calls so has a fraction, also where it is one of a list of whole ones.
    if schema["type"] == "number" {
        return Type::Double;
    }
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        let types = listed.iter().map(value_type);
        return types.reduce(Type::join).unwrap_or(Type::Any);
    }
    if let Some(only) = schema.get("const") {
        return value_type(only);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Type::Bool,
        Some("integer") => Type::Int,
        Some("string") => Type::Text,
        Some("array") => {
            let items = schema.get("items").map_or(Type::Any, schema_type);
            Type::List(Box::new(items))
        }
        Some("object") => object_type(schema),
        _ => Type::Any,
    }
}

fn object_type(schema: &Value) -> Type {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties.into_iter().flatten();
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    Type::Object {
        fields: fields
            .map(|(name, field)| (name.clone(), schema_type(field)))
            .collect(),
        closed,
    }
}
