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
pub use wording::{found_in_words, in_words};
use wording::{headless_key, meant_key, missing_key, shown, unknown_key, value_defect};

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
    /// The file without what is unknown or mistyped, so that the rest can still be checked; what
    /// must be there is stood in for.
    pub rest: Value,
    /// JSON pointers of what was refused or stood in for: whatever else is said of it follows from
    /// that.
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
        // Unknown keys first: a key that is misspelt is not missing besides. Of what is wrong with
        // one value, the words that may stand there say most.
        let rank = |error: &jsonschema::ValidationError<'_>| match error.kind() {
            Kind::AdditionalProperties { .. } => 0,
            Kind::Enum { .. } => 1,
            _ => 2,
        };
        let is_told_here = |error: &jsonschema::ValidationError<'_>| {
            !error.schema_path().as_str().contains("/allOf/")
        };
        let errors = validator.iter_errors(value).filter(is_told_here);
        let mut errors: Vec<_> = errors.take(DEFECTS_MAX).collect();
        errors.sort_by_key(rank);
        for error in errors {
            let pointer = error.instance_path().as_str().to_owned();
            let node = parent(schema, error.schema_path().as_str());
            match error.kind() {
                Kind::AdditionalProperties { unexpected } => {
                    let keys: Vec<&str> = unexpected.iter().map(String::as_str).collect();
                    let table = table_of(schema, &keys);
                    let headless = table.as_ref();
                    self.refused
                        .extend(headless.map(|table| format!("/{}", table.replace('.', "/"))));
                    for key in unexpected.iter().take(DEFECTS_MAX) {
                        let place = child(&pointer, key);
                        self.defects.push(match &table {
                            Some(table) => headless_key(&place, table),
                            None => unknown_key(&place, key, node),
                        });
                        remove(&mut self.rest, &place);
                        let meant = meant_key(key, node).filter(|_| table.is_none());
                        self.refused
                            .extend(meant.map(|meant| child(&pointer, meant)));
                    }
                }
                Kind::Required { property } => {
                    let key = property.as_str().unwrap_or_default();
                    let place = child(&pointer, key);
                    if !within(&self.refused, &place) {
                        self.defects.push(missing_key(&pointer, key, node));
                        self.refused.push(place);
                    }
                }
                _ if self.refused.contains(&pointer) => {}
                kind => {
                    self.defects.push(value_defect(&error, &pointer, node));
                    let spelling = match kind {
                        Kind::Pattern { .. } => true,
                        Kind::Minimum { .. } | Kind::Maximum { .. } => {
                            let number = error.instance().as_f64();
                            number
                                .is_some_and(|number| (0.0..=f64::from(u32::MAX)).contains(&number))
                        }
                        _ => false,
                    };
                    if !spelling {
                        let place = list_around(&self.rest, &pointer)
                            .unwrap_or(&pointer)
                            .to_owned();
                        remove(&mut self.rest, &place);
                        if place != pointer {
                            self.refused.push(place);
                        }
                    }
                    self.refused.push(pointer);
                }
            }
        }
        self.whole_numbers(schema, value, "");
        stand_in_for_missing(schema, &mut self.rest, "", &mut self.refused);
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

/// Returns whether a place is one of some, or lies in one.
pub fn within(places: &[String], pointer: &str) -> bool {
    places.iter().any(|place| {
        !place.is_empty()
            && pointer
                .strip_prefix(place.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Puts something harmless where the language needs a value and none can be used, so that the rest
/// can be checked; says where.
fn stand_in_for_missing(
    schema: &Value,
    value: &mut Value,
    pointer: &str,
    refused: &mut Vec<String>,
) {
    match value {
        Value::Object(object) => {
            let known = schema.get("properties");
            let required = schema.get("required").and_then(Value::as_array);
            for key in required.into_iter().flatten().filter_map(Value::as_str) {
                let schema = known.and_then(|known| known.get(key));
                if let (false, Some(schema)) = (object.contains_key(key), schema) {
                    object.insert(key.to_owned(), stand_in(schema));
                    refused.push(child(pointer, key));
                }
            }
            for (key, item) in object {
                let schema = known
                    .and_then(|known| known.get(key))
                    .or_else(|| schema.get("additionalProperties"));
                if let Some(schema) = schema {
                    stand_in_for_missing(schema, item, &child(pointer, key), refused);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (i, item) in items.iter_mut().enumerate() {
                    stand_in_for_missing(schema, item, &child(pointer, i), refused);
                }
            }
        }
        _ => {}
    }
}

/// Returns a value that a schema takes.
fn stand_in(schema: &Value) -> Value {
    let listed = |key: &str| schema.get(key).and_then(|list| list.get(0)).cloned();
    if let Some(value) = listed("enum").or_else(|| listed("examples")) {
        return value;
    }
    let kind = schema.get("type");
    match kind.and_then(Value::as_str) {
        Some("object") => Value::Object(Map::new()),
        Some("array") => Value::Array(Vec::new()),
        Some("boolean") => Value::from(false),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(Value::from(1)),
        _ => Value::from("stand-in"),
    }
}

/// Returns the list of plain values that a place lies in, if it does.
fn list_around<'p>(value: &Value, pointer: &'p str) -> Option<&'p str> {
    let (list, _) = pointer.rsplit_once('/')?;
    let items = value.pointer(list)?.as_array()?;
    let plain = |item: &Value| !item.is_object();
    items.iter().all(plain).then_some(list)
}

/// Returns the only table of the language that has all of several keys, or the only list of tables:
/// its header is missing where they stand.
fn table_of(schema: &Value, keys: &[&str]) -> Option<String> {
    if keys.len() < 2 {
        return None;
    }
    let outer = schema.get("properties")?.as_object()?;
    let inner = outer.iter().flat_map(|(name, table)| {
        let tables = table.get("properties").and_then(Value::as_object);
        let dotted = move |(key, table)| (format!("{name}.{key}"), table);
        tables.into_iter().flatten().map(dotted)
    });
    let tables = outer.iter().map(|(name, table)| (name.clone(), table));
    let tables: Vec<(String, &Value)> = tables.chain(inner).collect();
    ["/properties", "/items/properties"].iter().find_map(|at| {
        let mut fitting = tables.iter().filter(|(_, table)| {
            let known = table.pointer(at);
            known.is_some_and(|known| keys.iter().all(|key| known.get(key).is_some()))
        });
        match (fitting.next(), fitting.next()) {
            (Some((name, _)), None) => Some(name.clone()),
            _ => None,
        }
    })
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
