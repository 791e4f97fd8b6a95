//! Shapes that a report must have: the schema that a protocol registers, held to a document.

use std::collections::BTreeSet;

use prereg::engine::scoring::Scorer;
use prereg::protocol::check::Checked;
use prereg::protocol::shape;
use serde_json::{Value, json};
use std::sync::LazyLock;

use super::shipped::with;

static CHECKED: LazyLock<Checked> =
    LazyLock::new(|| with("matrix-attempts.toml", &["fixture"], |_| {}));

/// A registered schema, compiled.
pub(super) struct Shape(Scorer);

impl Shape {
    /// Registers a schema for the judge's report of the shipped matrix.
    pub(super) fn of(schema: Value) -> Self {
        let mut protocol = CHECKED.registration.protocol.clone();
        protocol.judge.as_mut().unwrap().schema = schema;
        Self(Scorer::new(&protocol, &BTreeSet::new()).unwrap())
    }

    /// Returns whether a document has that shape.
    pub(super) fn fits(&self, document: &Value) -> bool {
        self.0.read_report(document.to_string().as_bytes()).is_ok()
    }
}

/// The forms of names: those of runs, attempts and preflights are foreign, and stand in a schema as an
/// author would register them; a digest and the name of an arm are the language's own.
pub(super) fn id_format(case: &Value) -> Value {
    static FORMS: LazyLock<Vec<(&str, Shape)>> = LazyLock::new(|| {
        let text = |pattern: &str| Shape::of(json!({ "type": "string", "pattern": pattern }));
        let language = shape::schema();
        let arm = language.pointer("/properties/arms/items/properties/id");
        // A cell is named as an arm is, without upper case and `.`; repeats are counted from 1.
        let cell = json!({ "allOf": [arm, { "pattern": "^[a-z0-9_-]*$" }] });
        let repetition = json!({ "type": "integer", "minimum": 1 });
        let slot = json!({ "properties": { "text": cell, "repetition": repetition } });
        vec![
            ("run_id", text("^run-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}$")),
            ("attempt", text("^attempt-[0-9]{6}$")),
            ("preflight", text(r"^preflight-[0-9]{6}\.json$")),
            ("slot", Shape::of(slot)),
        ]
    });
    let (kind, text) = (case["kind"].as_str().unwrap(), &case["text"]);
    if kind == "digest" {
        let bare = text.as_str().unwrap().strip_prefix("sha256:");
        let read = bare.map(str::parse::<prereg::units::Digest>);
        return Value::from(matches!(read, Some(Ok(_))));
    }
    let (_, form) = FORMS.iter().find(|(name, _)| *name == kind).unwrap();
    Value::from(match kind {
        "slot" => form.fits(case),
        _ => form.fits(text),
    })
}
