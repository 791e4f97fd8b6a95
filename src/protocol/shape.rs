//! The shape of a protocol file: the JSON Schema made from the draft types, and its defects.
//!
//! The schema serves editors and this checker alike. What it finds is put in the words of the
//! language: a missing key is shown at its table, an unknown one at itself, a word with its list.

mod wording;

use std::sync::LazyLock;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind as Kind;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::defect::{Code, DEFECTS_MAX, Defect, Place};
use super::draft::Draft;
use super::source::child;
pub use wording::in_words;
use wording::{meant_key, missing_key, shown, unknown_key, value_defect};

/// Returns the JSON Schema of the protocol file.
///
/// It is one of draft 7, which every editor knows. What stands under an `allOf` in it (ranges of
/// literals, keys that others need) is checked again where its meaning is, and told from there.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<Draft>()
        .to_value();
    without_null(&mut schema);
    for_editors(&mut schema);
    schema
}

/// Makes each description one paragraph, and leaves out what only Rust means by a number.
fn for_editors(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if matches!(object.get("format"), Some(Value::String(_))) {
                object.remove("format");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            object.values_mut().for_each(for_editors);
        }
        Value::Array(items) => items.iter_mut().for_each(for_editors),
        _ => {}
    }
}

/// Takes `null` out of a schema: TOML has no such value, so an absent key is simply absent.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| !(key == "default" && value.is_null()));
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(words)) = object.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            object.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// The schema and its validator, made once: a program may check many files.
static LANGUAGE: LazyLock<Result<(Value, Validator), String>> = LazyLock::new(|| {
    let schema = schema();
    let validator = jsonschema::options().offline().build(&schema);
    let validator = validator.map_err(|error| error.to_string())?;
    Ok((schema, validator))
});

/// What the schema says of a file.
pub struct Shape {
    /// Every defect of shape.
    pub defects: Vec<Defect>,
    /// The file without what is unknown or mistyped, so that the rest can still be checked.
    pub rest: Value,
    /// JSON pointers of what was refused: whatever else is said of it follows from that.
    pub refused: Vec<String>,
}

/// Checks a file's shape.
pub fn check(value: &Value) -> Shape {
    let mut shape = Shape {
        defects: Vec::new(),
        rest: value.clone(),
        refused: Vec::new(),
    };
    if value.as_object().is_some_and(Map::is_empty) {
        let schema = LANGUAGE.as_ref().ok().map(|(schema, _)| schema);
        let needed = schema.and_then(|schema| schema.get("required")?.as_array());
        let names: Vec<String> = needed.into_iter().flatten().map(shown).collect();
        let message = format!(
            "the file says nothing; a protocol needs {}",
            names.join(", ")
        );
        shape
            .defects
            .push(Defect::new(Code::MissingKey, Place::File, message));
        return shape;
    }
    match &*LANGUAGE {
        Ok((schema, validator)) => shape.collect(schema, validator, value),
        Err(message) => {
            let message = format!("the language's own schema is broken: {message}");
            shape
                .defects
                .push(Defect::new(Code::Syntax, Place::File, message));
        }
    }
    shape
}

impl Shape {
    fn collect(&mut self, schema: &Value, validator: &Validator, value: &Value) {
        // Unknown keys first: a key that is misspelt is not missing besides.
        let is_unknown_key = |error: &jsonschema::ValidationError<'_>| {
            matches!(error.kind(), Kind::AdditionalProperties { .. })
        };
        let is_told_here = |error: &jsonschema::ValidationError<'_>| {
            !error.schema_path().as_str().contains("/allOf/")
        };
        let errors = validator.iter_errors(value).filter(is_told_here);
        let mut errors: Vec<_> = errors.take(DEFECTS_MAX).collect();
        errors.sort_by_key(|error| !is_unknown_key(error));
        for error in errors {
            let pointer = error.instance_path().as_str().to_owned();
            let node = parent(schema, error.schema_path().as_str());
            match error.kind() {
                Kind::AdditionalProperties { unexpected } => {
                    for key in unexpected.iter().take(DEFECTS_MAX) {
                        let place = child(&pointer, key);
                        self.defects.push(unknown_key(&place, key, node));
                        remove(&mut self.rest, &place);
                        self.refused
                            .extend(meant_key(key, node).map(|meant| child(&pointer, meant)));
                    }
                }
                Kind::Required { property } => {
                    let key = property.as_str().unwrap_or_default();
                    let place = child(&pointer, key);
                    if !self.refused.contains(&place) {
                        self.defects.push(missing_key(&pointer, key, node));
                        self.refused.push(place);
                    }
                }
                kind => {
                    self.defects.push(value_defect(&error, &pointer, node));
                    let spelling = matches!(
                        kind,
                        Kind::Pattern { .. } | Kind::Minimum { .. } | Kind::Maximum { .. }
                    );
                    if !spelling {
                        remove(&mut self.rest, &pointer);
                    }
                    self.refused.push(pointer);
                }
            }
        }
        self.whole_numbers(schema, value, "");
    }

    /// Refuses `2.0` where an integer is meant: JSON Schema takes them for the same, TOML does not.
    fn whole_numbers(&mut self, schema: &Value, value: &Value, pointer: &str) {
        match value {
            Value::Number(number) if number.is_f64() && !takes_fractions(schema) => {
                if self.refused.iter().any(|refused| refused == pointer)
                    || self.refused.len() >= DEFECTS_MAX
                {
                    return;
                }
                let message = format!(
                    "{} is a number with a fraction; write it as an integer",
                    shown(value)
                );
                let place = Place::Value(pointer.to_owned());
                self.defects.push(Defect::new(Code::Type, place, message));
                self.refused.push(pointer.to_owned());
                remove(&mut self.rest, pointer);
            }
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for (i, item) in items.iter().enumerate() {
                        self.whole_numbers(schema, item, &child(pointer, i));
                    }
                }
            }
            Value::Object(object) => {
                for (key, item) in object {
                    let schema = schema
                        .get("properties")
                        .and_then(|properties| properties.get(key))
                        .or_else(|| schema.get("additionalProperties"));
                    if let Some(schema) = schema {
                        self.whole_numbers(schema, item, &child(pointer, key));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a number with a fraction may stand where a schema holds.
fn takes_fractions(schema: &Value) -> bool {
    match (schema.get("type"), schema.get("enum")) {
        (Some(Value::Array(kinds)), _) => kinds.iter().any(|kind| kind == "number"),
        (Some(kind), _) => kind == "number",
        (None, Some(_)) => false,
        (None, None) => true,
    }
}

/// Returns the schema that a keyword stands in.
fn parent<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.pointer(keyword.rsplit_once('/')?.0)
}

/// Removes a table's key; an array's item stays, so that the places of others stay true.
fn remove(value: &mut Value, pointer: &str) {
    let Some((table, key)) = pointer.rsplit_once('/') else {
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    if let Some(Value::Object(object)) = value.pointer_mut(table) {
        object.remove(&key);
    }
}
