//! What the schema finds, put in the words of the language.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::source::table_name;

/// Returns the keys that a table may have.
fn keys(node: Option<&Value>) -> impl Iterator<Item = &str> + Clone {
    let known = node
        .and_then(|node| node.get("properties"))
        .and_then(Value::as_object);
    known.into_iter().flatten().map(|(name, _)| name.as_str())
}

/// Returns the key that an unknown one was probably meant to be.
pub(super) fn meant_key<'n>(key: &str, node: Option<&'n Value>) -> Option<&'n str> {
    // Keys are written with `_`, whatever stands between their words here.
    nearest(&key.replace('-', "_"), keys(node))
}

pub(super) fn unknown_key(pointer: &str, key: &str, node: Option<&Value>) -> Defect {
    let defect = Defect::new(
        Code::UnknownKey,
        Place::Key(pointer.to_owned()),
        match pointer.matches('/').count() {
            1 => format!("`{key}` is not a key or table of the language"),
            _ => format!("`{key}` is not a key of this table"),
        },
    );
    match meant_key(key, node) {
        Some(name) => defect.label(format!("did you mean `{name}`?")),
        None => defect.note(format!(
            "the keys here are {}",
            keys(node).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// Says of a key of another table that this table's header is missing before it.
pub(super) fn headless_key(pointer: &str, table: &str) -> Defect {
    let message = format!("this is a key of `{table}`, and its header is missing above");
    Defect::new(Code::UnknownKey, Place::Key(pointer.to_owned()), message)
}

pub(super) fn missing_key(pointer: &str, key: &str, node: Option<&Value>) -> Defect {
    let place = if pointer.is_empty() {
        Place::File
    } else {
        Place::Key(pointer.to_owned())
    };
    let description = node
        .and_then(|node| node.pointer(&format!("/properties/{key}/description")))
        .and_then(Value::as_str);
    let table = table_name(pointer);
    let in_list = pointer
        .rsplit('/')
        .next()
        .is_some_and(|name| name.parse::<usize>().is_ok());
    let whole = match table {
        Some(table) if in_list => format!("each of `{table}` needs the key `{key}`"),
        Some(table) => format!("`{table}` needs the key `{key}`"),
        None => format!("the protocol needs `{key}`"),
    };
    let defect = Defect::new(Code::MissingKey, place, whole);
    match description {
        Some(text) => {
            let meaning = text.split_once(". ").map_or(text, |(first, _)| first);
            let mut letters = meaning.trim_end_matches('.').chars();
            let first = letters.next().map(|c| c.to_lowercase().to_string());
            let rest = letters.as_str();
            defect.note(format!("{key}: {}{rest}", first.unwrap_or_default()))
        }
        None => defect,
    }
}

pub(super) fn value_defect(
    error: &ValidationError<'_>,
    pointer: &str,
    node: Option<&Value>,
) -> Defect {
    let place = Place::Value(pointer.to_owned());
    let found = shown(error.instance());
    let title = node
        .and_then(|node| node.get("title"))
        .and_then(Value::as_str);
    let example = node
        .and_then(|node| node.get("examples"))
        .and_then(|list| list.get(0));
    let for_example = example.map_or(String::new(), |example| {
        format!(", for example {}", shown_toml(example))
    });
    let (code, message) = match error.kind() {
        Kind::Type { .. } if list_of_tables(error.instance()) => (
            Code::Type,
            "this is one table and not a list; write its header with single brackets".to_owned(),
        ),
        Kind::Type { kind } => {
            let wanted = title.map_or_else(|| types(kind), str::to_owned);
            let found = match error.instance().as_str() {
                Some(_) => format!("the text {found}"),
                None => found,
            };
            (Code::Type, format!("{found} is not {wanted}{for_example}"))
        }
        Kind::Enum { options } => return word_defect(place, error.instance(), options, title),
        Kind::Pattern { .. } => {
            let title = title.unwrap_or("spelled as it must be");
            match title.split_once(" of ") {
                Some((what, _)) if what == "an identifier" || what == "a name" => {
                    (Code::Id, format!("{found} is not {what}{for_example}"))
                }
                _ => (
                    Code::Literal,
                    format!("{found} is not {title}{for_example}"),
                ),
            }
        }
        Kind::Minimum { .. } | Kind::Maximum { .. } if pointer == "/language" => (
            Code::Range,
            format!("the language {found} is not known to this version; it knows 1"),
        ),
        Kind::Minimum { .. } | Kind::Maximum { .. } => (
            Code::Range,
            format!("{found} is out of range: it must be {}", range(node)),
        ),
        Kind::ExclusiveMinimum { limit } => (
            Code::Range,
            format!("{found} is out of range: it must be more than {limit}"),
        ),
        Kind::MinItems { limit } => (Code::Range, at_least("the list", limit, "item")),
        Kind::MinLength { limit } => (Code::Range, at_least("the text", limit, "character")),
        Kind::MaxItems { limit } => (
            Code::Range,
            format!("the list may have at most {limit} items"),
        ),
        Kind::MaxLength { limit } => (
            Code::Range,
            format!("the text may have at most {limit} characters"),
        ),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => (
            Code::Type,
            format!(
                "{found} is not {}",
                title.unwrap_or("one of the forms that may stand here")
            ),
        ),
        other => (
            Code::Type,
            format!("{found} does not satisfy `{}`", other.keyword()),
        ),
    };
    let defect = Defect::new(code, place, message);
    match title.and_then(|title| title.split_once(" of ")) {
        Some((what, made)) if code == Code::Id => {
            let defect = defect.note(format!("{what} is made of {made}"));
            match error.instance().as_str().and_then(foreign_letter) {
                Some(letter) => defect.label(letter),
                None => defect,
            }
        }
        _ => defect,
    }
}

/// Names the first letter of an identifier that is not one of a to z but may look like one.
fn foreign_letter(text: &str) -> Option<String> {
    let letter = text.chars().find(|c| !c.is_ascii())?;
    Some(format!(
        "`{letter}` is U+{:04X}, not a letter from a to z",
        u32::from(letter)
    ))
}

fn at_least(what: &str, limit: &impl std::fmt::Display, part: &str) -> String {
    match limit.to_string().as_str() {
        "1" => format!("{what} is empty; it needs at least one {part}"),
        limit => format!("{what} needs at least {limit} {part}s"),
    }
}

/// Says between which limits a number must lie.
fn range(node: Option<&Value>) -> String {
    let limit = |key: &str| {
        let limit = node?.get(key)?;
        Some(limit.as_u64().map_or_else(
            || limit.as_f64().unwrap_or_default().to_string(),
            |whole| whole.to_string(),
        ))
    };
    match (limit("minimum"), limit("maximum")) {
        (Some(least), Some(greatest)) => format!("from {least} to {greatest}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(greatest)) => format!("{greatest} or less"),
        (None, None) => "another number".to_owned(),
    }
}

/// Says in plain words how a JSON document breaks its schema.
pub fn in_words(error: &ValidationError<'_>) -> String {
    let found = found_in_words(error.instance());
    match error.kind() {
        Kind::Type { kind } => {
            let wanted = types(kind)
                .replace("a table", "an object")
                .replace(" in quotes", "");
            format!("{found} is not {wanted}")
        }
        Kind::Required { property } => {
            format!("the key `{}` is missing", shown_plain(property))
        }
        Kind::AdditionalProperties { unexpected } => {
            format!("the schema has no key `{}`", unexpected.join("`, `"))
        }
        Kind::Minimum { limit } => format!("{found} is less than {limit}"),
        Kind::Maximum { limit } => format!("{found} is more than {limit}"),
        Kind::Enum { options } => format!("{found} is not one of {options}"),
        other => format!("{found} does not satisfy `{}`", other.keyword()),
    }
}

/// Says in plain words what stands at a place of a JSON document.
pub fn found_in_words(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if !text.is_empty() => format!("the text {}", shown(value)),
        other => shown(other),
    }
}

fn word_defect(place: Place, found: &Value, options: &Value, title: Option<&str>) -> Defect {
    let words: Vec<String> = options
        .as_array()
        .into_iter()
        .flatten()
        .map(shown_plain)
        .collect();
    let message = match title {
        Some(title) => format!("{} is not {title}", shown(found)),
        None if words.len() == 1 => format!("{} must be `{}`", shown(found), words[0]),
        None => format!("{} is not one of {}", shown(found), words.join(", ")),
    };
    let near = found
        .as_str()
        .and_then(|word| nearest(word, words.iter().map(String::as_str)));
    let defect = Defect::new(Code::Word, place, message);
    match near {
        Some(word) => defect.label(format!("did you mean `{word}`?")),
        None => defect,
    }
}

fn types(kind: &TypeKind) -> String {
    let named = |text: &str| match text {
        "object" => "a table".to_owned(),
        "array" => "an array".to_owned(),
        "integer" => "an integer".to_owned(),
        "string" => "a text in quotes".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        other => format!("a {other}"),
    };
    match kind {
        TypeKind::Single(kind) => named(&kind.to_string()),
        TypeKind::Multiple(kinds) => kinds
            .iter()
            .map(|kind| named(&kind.to_string()))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

/// Shows a value of the file in a sentence: short, and in backticks.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "a table".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::String(text) if text.is_empty() => "an empty text".to_owned(),
        other => format!("`{}`", shown_plain(other)),
    }
}

fn shown_plain(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.replace('\n', "\\n").replace('\t', "\\t"),
        other => other.to_string(),
    };
    if text.chars().count() > 40 {
        text.chars().take(37).chain("...".chars()).collect()
    } else {
        text
    }
}

fn list_of_tables(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| items.first().is_some_and(Value::is_object))
}

fn shown_toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown_toml).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
