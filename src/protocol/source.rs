//! The protocol's text as a tree of JSON values, and the way back from a value to its place.
//!
//! TOML is read once, with spans. One walk makes the JSON value that everything later reads and
//! refuses what JSON cannot carry exactly (dates, NaN, infinity, integers beyond 2^53). A place is
//! a JSON pointer; the same tree answers which bytes of the text it names.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::defect::{Code, DEFECTS_MAX, Defect, Place};
use crate::units::EXACT_MAX;

/// The largest protocol file that is read, in bytes.
pub const TEXT_MAX: usize = 256 * 1024;
/// The most keys and array items that a protocol may have.
const NODES_MAX: usize = 20_000;

/// A protocol text that is well-formed TOML, with its values and their places.
pub struct Source<'t> {
    root: Spanned<DeTable<'t>>,
    value: Value,
}

/// What of a table is meant: the value, or the key before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Key,
    Value,
}

impl<'t> Source<'t> {
    /// Reads a text; otherwise returns every syntax defect, each at its place.
    pub fn read(text: &'t str) -> Result<Self, Vec<Defect>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(syntax_defects(text, &errors));
        }
        let mut walk = Walk {
            text,
            nodes: 0,
            defects: Vec::new(),
        };
        let value = walk.table(root.get_ref());
        if walk.nodes > NODES_MAX {
            let message = format!(
                "the file has more than {NODES_MAX} keys and items; keep task data in the frame"
            );
            return Err(vec![Defect::new(Code::TooLarge, Place::File, message)]);
        }
        if walk.defects.is_empty() {
            return Ok(Self { root, value });
        }
        walk.defects.sort_by_key(|defect| match &defect.place {
            Place::Span(span) => span.start,
            _ => 0,
        });
        Err(walk.defects)
    }

    /// Returns the whole file as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the bytes of the text that a place names; the nearest enclosing place if it is absent.
    pub fn span(&self, place: &Place) -> Range<usize> {
        match place {
            Place::File => 0..0,
            Place::Span(span) => span.clone(),
            Place::Key(pointer) => self.locate(pointer, Part::Key),
            Place::Value(pointer) => self.locate(pointer, Part::Value),
            Place::Within(pointer, inner) => {
                let span = self.locate(pointer, Part::Value);
                let start = span.start + 1 + inner.start;
                let end = span.start + 1 + inner.end;
                // A string with escapes or several quotes does not map byte by byte.
                if end < span.end && span.len() == self.text_len(pointer) + 2 {
                    start..end
                } else {
                    span
                }
            }
        }
    }

    fn text_len(&self, pointer: &str) -> usize {
        self.value
            .pointer(pointer)
            .and_then(Value::as_str)
            .map_or(0, str::len)
    }

    fn locate(&self, pointer: &str, part: Part) -> Range<usize> {
        let mut key = 0..0;
        let mut span = 0..0;
        let mut node: Option<&Spanned<DeValue<'t>>> = None;
        for token in pointer.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            let table = match node.map(Spanned::get_ref) {
                None => Some(self.root.get_ref()),
                Some(DeValue::Table(table)) => Some(table),
                Some(_) => None,
            };
            let next = match (table, node.map(Spanned::get_ref)) {
                (Some(table), _) => table
                    .get_key_value(name.as_str())
                    .map(|(key, value)| (key.span(), value)),
                (None, Some(DeValue::Array(items))) => name
                    .parse::<usize>()
                    .ok()
                    .and_then(|i| items.get(i))
                    .map(|item| (item.span(), item)),
                _ => None,
            };
            let Some((found, value)) = next else { break };
            key = found;
            span = value.span();
            node = Some(value);
        }
        // A table's own span is its header; a key that is asked for stands before its value.
        if part == Part::Key
            || matches!(node.map(Spanned::get_ref), Some(DeValue::Table(_))) && span.is_empty()
        {
            key
        } else {
            span
        }
    }
}

/// Returns what is wrong with a text that is not TOML.
///
/// Everything after a slip is read by guesswork, so the first slip is the last that is shown; keys
/// that stand twice before it are certain. A table that stands twice answers for its keys.
fn syntax_defects(text: &str, errors: &[toml::de::Error]) -> Vec<Defect> {
    let mut spots: Vec<(Range<usize>, &str)> = errors
        .iter()
        .map(|error| (error.span().unwrap_or(0..0), error.message()))
        .collect();
    spots.sort_by_key(|(span, _)| span.start);
    let mut defects: Vec<Defect> = Vec::new();
    let mut repeated_table = None;
    let mut repeated_line = None;
    for (span, message) in spots.into_iter().take(DEFECTS_MAX) {
        let header = text[..span.start.min(text.len())].rfind("\n[");
        if !message.starts_with("duplicate key") {
            let message = plain(message, &text[span.start..]);
            defects.push(Defect::new(Code::Syntax, Place::Span(span), message));
            break;
        }
        if repeated_table.is_some() && repeated_table == header {
            continue;
        }
        let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let line = line_of(text, span.start);
        let is_table = text[line_start..span.start].trim_start().starts_with('[');
        if is_table {
            repeated_table = header;
        } else if repeated_line.is_some_and(|before| before + 1 == line) {
            // Several keys in a row: what is missing is the header of a table of their own.
            repeated_line = Some(line);
            if let Some(first) = defects.last_mut() {
                first.note = Some(
                    "more keys after it stand twice; a header such as `[[arms]]` may be missing before them"
                        .to_owned(),
                );
            }
            continue;
        }
        repeated_line = (!is_table).then_some(line);
        let kind = if is_table { "table" } else { "key" };
        let name = text[span.clone()].trim();
        let message = format!("the {kind} `{name}` stands twice; keep one of the two");
        defects.push(Defect::new(Code::DuplicateKey, Place::Span(span), message));
    }
    defects
}

/// Puts what the reader of TOML says of a place in plain words; `rest` is the text from there on.
fn plain(message: &str, rest: &str) -> String {
    let unquoted = message.starts_with("string values must be quoted")
        || message.starts_with("invalid float")
        || message.starts_with("invalid boolean");
    let line = rest.lines().next().unwrap_or_default().trim();
    let plain = if rest.starts_with("<<<<<<<") || rest.starts_with(">>>>>>>") {
        "a merge conflict is left in the file; resolve it"
    } else if rest.starts_with('\r') {
        "a carriage return stands alone; end lines with a line feed"
    } else if rest.starts_with('{') {
        "this is not TOML but looks like JSON; write `key = value`, a line each"
    } else if unquoted && (line.is_empty() || line.starts_with('#')) {
        "the value is missing; write one after `=`"
    } else if unquoted {
        "this is not a value; a text stands in quotes"
    } else if message.starts_with("key with no value") {
        "this key has no value; write `=` and the value after it"
    } else if message.starts_with("missing comma between array elements") {
        "a comma is missing before this, or the array is not closed with `]`"
    } else if message == "invalid basic string, expected `\"`" {
        "the text is not closed; end it with `\"`"
    } else if message.starts_with("invalid basic string") {
        "the text holds a bare control character; write it as an escape"
    } else if message.starts_with("unclosed table") {
        "the header is not closed; end it with `]`"
    } else if message.starts_with("unclosed array") {
        "the array is not closed; end it with `]`"
    } else if message.starts_with("invalid unquoted key") {
        "this is not a key; a key has letters, digits, `-` and `_`, or stands in quotes"
    } else if message.starts_with("cannot recurse further") || message == "recursion limit" {
        "this is nested deeper than a protocol can be; write it flat"
    } else if message.starts_with("missing escaped value") {
        "this escape is not known; write a backslash itself as `\\\\`"
    } else {
        return message.trim().replace('\n', "; ");
    };
    plain.to_owned()
}

/// Names the table that a pointer leads to, without the places in its lists: `analysis.primary`.
pub fn table_name(pointer: &str) -> Option<String> {
    let names: Vec<&str> = pointer
        .split('/')
        .filter(|name| !name.is_empty() && name.parse::<usize>().is_err())
        .collect();
    (!names.is_empty()).then(|| names.join("."))
}

/// Appends a name to a JSON pointer, with the escapes that pointers need.
pub fn child(pointer: &str, name: impl std::fmt::Display) -> String {
    let name = name.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{name}")
}

struct Walk<'t> {
    text: &'t str,
    nodes: usize,
    defects: Vec<Defect>,
}

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Value {
        let mut object = Map::new();
        for (key, value) in table {
            if key.get_ref().is_empty() {
                self.refuse(
                    Code::Syntax,
                    key.span(),
                    "a key must not be empty; give it a name",
                );
            }
            self.readable(key.get_ref(), key.span());
            object.insert(key.get_ref().to_string(), self.value(value));
        }
        Value::Object(object)
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Value {
        self.nodes += 1;
        let span = value.span();
        match value.get_ref() {
            DeValue::String(text) => {
                self.readable(text, span);
                Value::from(text.as_ref())
            }
            DeValue::Integer(integer) => {
                let digits = integer.as_str().replace('_', "");
                match i64::from_str_radix(&digits, integer.radix()) {
                    Ok(number) if number.unsigned_abs() <= EXACT_MAX => Value::from(number),
                    _ => self.refuse(
                        Code::Number,
                        span,
                        "the integer lies beyond 2^53 - 1, where readers disagree; use a smaller one",
                    ),
                }
            }
            DeValue::Float(float) => {
                let number = float.as_str().replace('_', "").parse::<f64>().ok();
                match number.filter(|n| n.is_finite() && !(*n == 0.0 && n.is_sign_negative())) {
                    Some(number) => Value::from(number),
                    None => self.refuse(
                        Code::Number,
                        span,
                        "this is not a finite number that every reader agrees on",
                    ),
                }
            }
            DeValue::Boolean(flag) => Value::from(*flag),
            DeValue::Datetime(time) => {
                let hint = format!("write a time as text, with `Z`: \"{time}\"");
                self.refuse(Code::Type, span, hint)
            }
            DeValue::Array(items) => {
                Value::Array(items.iter().map(|item| self.value(item)).collect())
            }
            DeValue::Table(table) => self.table(table),
        }
    }

    /// Refuses a text with a character that a reader does not see, at the character if it stands
    /// there as itself, and else at the text.
    fn readable(&mut self, text: &str, span: Range<usize>) {
        let Some(hidden) = text.chars().find(|c| is_hidden(*c)) else {
            return;
        };
        let place = match self.text[span.clone()].find(hidden) {
            Some(at) => span.start + at..span.start + at + hidden.len_utf8(),
            None => span,
        };
        let message = format!(
            "the text holds U+{:04X}, which a reader cannot see; remove it",
            u32::from(hidden)
        );
        self.refuse(Code::Text, place, message);
    }

    fn refuse(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) -> Value {
        if self.defects.len() < DEFECTS_MAX {
            self.defects
                .push(Defect::new(code, Place::Span(span), message));
        }
        Value::Null
    }
}

/// Returns the line of a text, from 1, in which a byte stands.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns whether a character is one that a reader of the text would not see.
pub fn is_hidden(c: char) -> bool {
    let bidi = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    bidi || (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
}
