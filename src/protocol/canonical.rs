//! JSON with one meaning and one spelling: strict reading, canonical bytes (RFC 8785), digests.

mod place;
mod serializer;
mod spelled;
mod written;

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

pub use place::{Placed, place};

use crate::units::{Digest, EXACT_MAX};

/// How long a text mostly is at the most.
const USUAL_BYTES: usize = 512;
/// The deepest nesting that is read.
const DEPTH_MAX: usize = 64;

/// Reads one JSON document strictly.
///
/// Refuses, with the byte at which it stopped where that is known: anything but UTF-8, a byte
/// order mark, a second document, duplicate keys, numbers that readers disagree on, and nesting
/// deeper than 64.
pub fn read(bytes: &[u8]) -> Result<Value, JsonFault> {
    let text = std::str::from_utf8(bytes).map_err(|error| JsonFault {
        offset: error.valid_up_to(),
        message: "the text is not UTF-8; save it as UTF-8".to_owned(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(JsonFault {
            offset: 0,
            message: "the text begins with a byte order mark; remove it".to_owned(),
        });
    }
    if text.trim().is_empty() {
        return Err(JsonFault {
            offset: 0,
            message: "there is nothing here; write one JSON value".to_owned(),
        });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let strict =
        Strict::deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    strict.map(|strict| strict.0).map_err(|error| JsonFault {
        offset: offset_of(text, error.line(), error.column()),
        message: plain(&error.to_string()),
    })
}

/// Returns the lines of a text that has one JSON document a line, without their ends, and the byte at
/// which each begins.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |raw| {
            let start = next;
            next += raw.len();
            let line = raw.strip_suffix(b"\n").unwrap_or(raw);
            (start, line.strip_suffix(b"\r").unwrap_or(line))
        })
}

/// Why a text is not one JSON document with one meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// The byte at which reading stopped.
    pub offset: usize,
    /// One plain sentence, lower-case, without a full stop.
    pub message: String,
}

/// Puts what the reader of JSON says in plain words, without its own line and column.
fn plain(message: &str) -> String {
    let message = message
        .rsplit_once(" at line ")
        .map_or(message, |(before, _)| before);
    let plain = match message {
        "expected ident" => "this is not a JSON value; texts stand in double quotes",
        "expected value" => {
            "this is not a JSON value; JSON has no comments, NaN or texts without quotes"
        }
        "key must be a string" => "a key is a text in double quotes",
        "trailing characters" => "more follows after the end of the value; remove it",
        "trailing comma" => "a comma stands before the closing bracket; remove it",
        "number out of range" => "the number is too large for every reader",
        "invalid number" => "this is not a number as JSON writes them",
        "invalid escape" => "JSON does not know this escape",
        "expected `:`" => "a colon is missing after the key",
        "expected `,` or `}`" => "a comma or the closing brace is missing",
        "expected `,` or `]`" => "a comma or the closing bracket is missing",
        "unexpected end of hex escape"
        | "lone leading surrogate in hex escape"
        | "lone trailing surrogate in hex escape" => {
            "the escape is half of a surrogate pair; write the whole character"
        }
        _ if message.starts_with("EOF while parsing") => "the text ends too early; complete it",
        _ if message.starts_with("control character") => {
            "a text holds a bare control character; write it as an escape"
        }
        other => other,
    };
    plain.to_owned()
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// Returns the canonical JSON (RFC 8785: sorted keys, shortest numbers, no space) of plain data.
pub fn text(part: &impl Serialize) -> String {
    text_of_about(part, USUAL_BYTES)
}

/// Returns the canonical bytes of plain data.
pub fn bytes(part: &impl Serialize) -> Vec<u8> {
    text(part).into_bytes()
}

/// Returns whether a text is the canonical JSON of plain data.
pub fn is_text(part: &impl Serialize, text: &str) -> bool {
    spelled::is_plainly(part, text) || text_of_about(part, text.len()) == text
}

/// Returns the canonical JSON, for which so many bytes are set aside.
fn text_of_about(part: &impl Serialize, length: usize) -> String {
    // Plain data with text keys and no NaN: none of this can fail.
    let by_value = || {
        let value = serde_json::to_value(part).unwrap_or_default();
        serde_json_canonicalizer::to_string(&value).unwrap_or_default()
    };
    written::written(part, length).unwrap_or_else(by_value)
}

/// Data was not spelled: it is not plain, or something else stands there.
#[derive(Debug)]
struct NotSpelled;

type Spelled = Result<(), NotSpelled>;

impl fmt::Display for NotSpelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not spelled")
    }
}

impl std::error::Error for NotSpelled {}

impl serde::ser::Error for NotSpelled {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// Returns whether some of a text is written as escapes.
fn has_escapes(text: &str) -> bool {
    // To the end, whatever comes: so it is done for many bytes at once.
    text.bytes().fold(false, |has, byte| has | is_escaped(byte))
}

/// Returns whether a byte of a text is written as an escape.
fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Digests the canonical bytes of plain data.
pub fn digest(part: &impl Serialize) -> Digest {
    Digest::of(&[&bytes(part)])
}

/// A JSON value that was read without duplicate keys, inexact numbers or deep nesting.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(StrictVisitor { depth: 0 })
            .map(Strict)
    }
}

struct StrictVisitor {
    depth: usize,
}

impl<'de> serde::de::DeserializeSeed<'de> for StrictVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl StrictVisitor {
    fn deeper<E: Error>(&self) -> Result<Self, E> {
        if self.depth >= DEPTH_MAX {
            return Err(E::custom(format_args!(
                "the nesting is deeper than {DEPTH_MAX}; make it flatter"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }
}

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::from(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        exact(number.unsigned_abs()).map(|_| Value::from(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        exact(number).map(Value::from)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        if !number.is_finite() || (number == 0.0 && number.is_sign_negative()) {
            return Err(E::custom(
                "the number is not one that every reader agrees on",
            ));
        }
        // An integer that did not fit 64 bits arrives here already rounded.
        if number.abs() >= 9_007_199_254_740_992.0 {
            return Err(E::custom(
                "the number lies beyond 2^53 - 1, where readers disagree; use a smaller one",
            ));
        }
        Ok(as_spelled(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key `{key}` stands twice; keep one of the two"
                )));
            }
            let value = entries.next_value_seed(self.deeper()?)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Returns a number as its canonical spelling reads: `1.0` is the integer 1.
pub fn as_spelled(number: f64) -> Value {
    match format!("{number}").parse::<i64>() {
        Ok(integer) => Value::from(integer),
        Err(_) => Value::from(number),
    }
}

fn exact<E: Error>(magnitude: u64) -> Result<u64, E> {
    if magnitude > EXACT_MAX {
        return Err(E::custom(
            "the integer lies beyond 2^53 - 1, where readers disagree; use a smaller one",
        ));
    }
    Ok(magnitude)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    #[test]
    fn only_one_meaning_is_read() {
        let good = br#"{"a": [1, 2.5, "x", null, true], "b": {"c": -3}}"#;
        assert_eq!(
            bytes(&read(good).unwrap()),
            br#"{"a":[1,2.5,"x",null,true],"b":{"c":-3}}"#
        );
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        for bad in [
            "",
            "{",
            "{} {}",
            "{\"a\":1,\"a\":2}",
            "\u{feff}{}",
            "NaN",
            "1e999",
            "9007199254740992",
            "-0.0",
            &deep,
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(read(b"\"\xff\"").is_err());
    }

    /// Any JSON value.
    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1_000_000_i64..1_000_000).prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |number| number
                .is_finite()
                .then(|| Value::from(number))),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Writes the keys of objects the other way round.
    struct Unsorted<'v>(&'v Value);

    impl Serialize for Unsorted<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                Value::Object(object) => {
                    let members = object.iter().rev();
                    serializer.collect_map(members.map(|(key, value)| (key, Unsorted(value))))
                }
                Value::Array(items) => serializer.collect_seq(items.iter().map(Unsorted)),
                other => other.serialize(serializer),
            }
        }
    }

    proptest! {
        #[test]
        fn the_faster_writers_write_the_same(value in any_value()) {
            let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
            prop_assert_eq!(bytes(&value), &canonical[..]);
            prop_assert_eq!(bytes(&Unsorted(&value)), &canonical[..]);
            let text = String::from_utf8(canonical).unwrap();
            prop_assert!(is_text(&value, &text) && is_text(&Unsorted(&value), &text));
        }

        #[test]
        fn what_is_plainly_spelled_is_what_is_written(value in any_value(), other in any_value()) {
            let written = text(&value);
            let loose = serde_json::to_string_pretty(&value).unwrap();
            for spelling in [&written, &text(&other), &loose, &format!("{written} ")] {
                prop_assert!(!spelled::is_plainly(&value, spelling) || *spelling == written);
            }
        }
    }

    /// Data whose fields are not in the order of their names.
    #[derive(Serialize)]
    struct Course {
        way: Way,
        again: Vec<Leg>,
        told: BTreeMap<String, Option<i32>>,
        by: Who,
    }

    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Way {
        Short { length: u64, ascent: i64 },
    }

    #[derive(Serialize)]
    struct Leg {
        to: (&'static str, u64),
        from: &'static str,
    }

    #[derive(Serialize)]
    enum Who {
        Nobody,
        Somebody { name: &'static str, age: u8 },
        Some(bool),
        Two(u8, u8),
    }

    fn course(by: Who) -> Course {
        let leg = |from| Leg {
            to: ("\u{1}\"\\ü", EXACT_MAX),
            from,
        };
        Course {
            way: Way::Short {
                length: 10,
                ascent: -7,
            },
            again: vec![leg("a\",\"to\":["), leg("")],
            told: [("b", None), ("a", Some(-1)), ("", Some(0))]
                .map(|(key, value)| (key.to_owned(), value))
                .into(),
            by,
        }
    }

    #[test]
    fn one_spelling_is_plain_and_no_other() {
        let name = "x";
        for by in [
            Who::Nobody,
            Who::Somebody { name, age: 100 },
            Who::Some(true),
            Who::Two(0, 9),
        ] {
            let course = course(by);
            let written = text(&course);
            assert!(spelled::is_plainly(&course, &written), "{written}");
            let loose = serde_json::to_string(&course).unwrap();
            assert!(!spelled::is_plainly(&course, &loose));
            for at in 0..=written.len() {
                let (Some(before), Some(after)) = (written.get(..at), written.get(at..)) else {
                    continue;
                };
                assert!(!spelled::is_plainly(&course, before) || after.is_empty());
                for more in [" ", "0", "\"", ",", "}", "\"a\":1,"] {
                    assert!(!spelled::is_plainly(
                        &course,
                        &format!("{before}{more}{after}")
                    ));
                }
                let mut rest = after.chars();
                let _ = rest.next();
                let less = format!("{before}{}", rest.as_str());
                assert!(!spelled::is_plainly(&course, &less) || after.is_empty());
            }
        }
    }

    #[test]
    fn members_that_nothing_calls_for_are_not_plain() {
        let leg = Leg {
            to: ("b", 1),
            from: "a",
        };
        assert!(spelled::is_plainly(&leg, r#"{"from":"a","to":["b",1]}"#));
        for text in [
            r#"{"from":"a","more":1,"to":["b",1]}"#,
            r#"{"and":1,"from":"a","to":["b",1]}"#,
            r#"{"from":"a","to":["b",1],"up":{}}"#,
            r#"{"from":"a","from":"a","to":["b",1]}"#,
            r#"{"to":["b",1],"from":"a"}"#,
            r#"{"from":"a","to":["b",01]}"#,
            r#"{"from":"a","to":["b",1.0]}"#,
            r#"{"from":"a","to":["b",1]"#,
            r#"{"from":"a"}"#,
        ] {
            assert!(!spelled::is_plainly(&leg, text), "{text}");
        }
        assert!(!spelled::is_plainly(&(EXACT_MAX + 1), "9007199254740992"));
        assert!(!spelled::is_plainly(&0, "-0") && !spelled::is_plainly(&1.5, "1.5"));
    }

    #[test]
    fn what_is_not_plain_is_written_by_value() {
        let raw = RawValue::from_string(r#"{ "b": 1, "a": [] }"#.to_owned()).unwrap();
        assert_eq!(text(&(1, raw)), r#"[1,{"a":[],"b":1}]"#);
        let numbered = BTreeMap::from([(9, "nine"), (10, "ten")]);
        assert_eq!(text(&numbered), r#"{"10":"ten","9":"nine"}"#);
        let escaped = BTreeMap::from([("\"", 0.5), ("!", 1.0)]);
        assert_eq!(text(&escaped), r#"{"!":1,"\"":0.5}"#);
    }

    #[test]
    fn canonical_bytes_follow_the_examples_of_rfc_8785() {
        let value = read(br#"{"numbers":[333333333.33333329,1E30e0]}"#);
        assert!(value.is_err());
        let value: Value = serde_json::from_str(
            "{\"b\":[333333333.33333329,4.50,2e-3,1e-27],\"a\":\"\\u20ac$\\u000f\"}",
        )
        .unwrap();
        assert_eq!(
            bytes(&value),
            "{\"a\":\"€$\\u000f\",\"b\":[333333333.3333333,4.5,0.002,1e-27]}".as_bytes()
        );
    }
}
