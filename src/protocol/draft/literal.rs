//! The literals of the language as the schema knows them: text with a spelling and a range.
//!
//! The spelling is the schema's `pattern`. What a text of that spelling may not say stands under
//! `allOf`: editors and other validators refuse it there, the checker in words of its own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::units::{EXACT_MAX, Micros};

macro_rules! literal {
    ($name:ident, $title:literal, $pattern:literal, $rules:expr, $examples:expr, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!({
                    "type": "string",
                    "title": $title,
                    "pattern": $pattern,
                    "examples": $examples,
                });
                let rules: Vec<Value> = $rules;
                if !rules.is_empty() {
                    schema.insert("allOf".to_owned(), rules.into());
                }
                schema
            }
        }
    };
}

literal!(
    DurationText,
    "a duration in ms, s, m or h",
    "^[0-9]{1,12}(ms|s|m|h)$",
    none_of(&counts_beyond(&[
        ("ms", Micros::MAX.0 / 1_000),
        ("s", Micros::MAX.0 / 1_000_000),
        ("m", Micros::MAX.0 / 60_000_000),
        ("h", Micros::MAX.0 / 3_600_000_000),
    ])),
    ["45m", "90s"],
    "A duration such as `45m`: more than zero and at most thirty days."
);
literal!(
    SizeText,
    "a size in B, KiB, MiB or GiB",
    "^[0-9]{1,12}(B|KiB|MiB|GiB)$",
    none_of(&counts_beyond(&[
        ("B", EXACT_MAX),
        ("KiB", EXACT_MAX >> 10),
        ("MiB", EXACT_MAX >> 20),
        ("GiB", EXACT_MAX >> 30),
    ])),
    ["32MiB", "2GiB"],
    "A size such as `32MiB`: more than zero and below 8 PiB."
);
literal!(
    MoneyText,
    "an amount of money in USD",
    r"^[0-9]{1,9}(\.[0-9]{1,6})? USD$",
    Vec::new(),
    ["2.50 USD", "400 USD"],
    "An amount such as `2.50 USD`, to the micro-dollar."
);
literal!(
    TimeText,
    "a time in UTC with `Z`",
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$",
    none_of(NO_SUCH_TIME),
    ["2026-12-24T00:00:00Z"],
    "A time such as `2026-12-24T00:00:00Z`, from 1970 on."
);
literal!(
    IdText,
    "an identifier of at most 64 letters, digits, `-`, `_` and `.`, a letter or digit first",
    "^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$",
    Vec::new(),
    ["baseline"],
    "An identifier: letters, digits, `-`, `_`, `.`; at most 64 characters."
);
literal!(
    NameText,
    "a name of at most 64 lower-case letters, digits and `_`, a letter first",
    "^[a-z][a-z0-9_]{0,63}$",
    Vec::new(),
    ["resolved"],
    "A name that expressions can use: lower-case letters, digits, `_`."
);
literal!(
    ExpressionText,
    "a CEL expression",
    r"^[\s\S]+$",
    Vec::new(),
    ["report.passed == task.count"],
    "An expression in CEL."
);
literal!(
    PathText,
    "a relative path with `/` between its names",
    r"^[^/\x00\\][^\x00\\]*$",
    Vec::new(),
    ["files/CLAUDE.md"],
    "A relative path with `/`."
);

/// Times of the right spelling that no calendar since 1970 has, nor the clock of this program.
const NO_SUCH_TIME: &[&str] = &[
    "^(0|1[0-8]|19[0-6])",
    "^[0-9]{4}-(00|1[3-9]|[2-9])",
    "-(00|3[2-9]|[4-9][0-9])T",
    "-(04|06|09|11)-31T",
    "-02-3",
    "^[0-9]{2}([02468][1235679]|[13579][01345789])-02-29T",
    "^([02468][1235679]|[13579][01345789])00-02-29T",
    "T(2[4-9]|[3-9])",
    ":[6-9]",
    "^9999-12-(31|30T(23|22:(00:(0[1-9]|[1-5])|0[1-9]|[1-5])))",
];

/// Names that some file systems keep for devices.
pub const DEVICES: &[&str] = &[
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "lpt1", "lpt2", "lpt3",
];

/// Words that CEL keeps for itself.
pub const CEL_WORDS: &[&str] = &[
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

/// Keys in which arms can differ.
pub const DIFFERENCES: &[&str] = &[
    "command",
    "files",
    "executed",
    "workspace",
    "timeout",
    "grace",
    "env",
    "env_pass",
    "requests",
    "output_max",
    "memory_max",
    "processes_max",
    "cpu_time_max",
    "free_space_min",
    "containment",
    "cleanup",
];

/// Returns the rules that a text matches none of some patterns.
fn none_of<P: AsRef<str>>(patterns: &[P]) -> Vec<Value> {
    // A value of another type is refused for its type alone.
    let rule = |pattern: &P| json!({ "not": { "type": "string", "pattern": pattern.as_ref() } });
    patterns.iter().map(rule).collect()
}

/// Returns, for each unit, a pattern of the counts that are zero or above the unit's greatest.
fn counts_beyond(units: &[(&str, u64)]) -> Vec<String> {
    let pattern = |(unit, most): &(&str, u64)| format!("^0*({})?{unit}$", above(*most));
    units.iter().map(pattern).collect()
}

/// Returns a pattern of the decimal numbers above a limit, without leading zeros.
///
/// Such a number has more digits; or it agrees with the limit up to a digit, which is greater.
fn above(limit: u64) -> String {
    let digits = limit.to_string();
    let mut choices = vec![format!("[1-9][0-9]{{{},}}", digits.len())];
    for (at, digit) in digits
        .bytes()
        .enumerate()
        .filter(|(_, digit)| *digit < b'9')
    {
        let greater = char::from(digit + 1);
        let rest = match digits.len() - at - 1 {
            0 => String::new(),
            rest => format!("[0-9]{{{rest}}}"),
        };
        choices.push(format!("{}[{greater}-9]{rest}", &digits[..at]));
    }
    choices.join("|")
}

/// Returns the rule that an identifier is not the name of a device.
pub(super) fn no_device() -> Vec<Value> {
    let either = |letter: char| match letter.to_ascii_uppercase() {
        upper if upper == letter => letter.to_string(),
        upper => format!("[{upper}{letter}]"),
    };
    let names: Vec<String> = DEVICES
        .iter()
        .map(|name| name.chars().map(either).collect())
        .collect();
    none_of(&[format!(r"^({})(\.|$)", names.join("|"))])
}

/// Returns the rule that a name is not one that CEL keeps for itself.
pub(super) fn no_cel_word() -> Vec<Value> {
    vec![json!({ "not": { "enum": CEL_WORDS } })]
}

/// Returns the rule that a text is not blank.
pub(super) fn not_blank() -> Vec<Value> {
    vec![json!({ "pattern": r"\S" })]
}

/// Returns the rules for the name of a variable: no digit first, and none that prereg itself sets.
pub(super) fn variable_name() -> Vec<Value> {
    vec![
        json!({ "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        json!({ "not": { "type": "string", "pattern": "^PREREG_" } }),
    ]
}

/// Returns the rule for a table whose keys are names of variables.
pub(super) fn variable_names() -> Vec<Value> {
    vec![json!({ "propertyNames": { "allOf": variable_name() } })]
}

/// The reason why a weakness is accepted.
#[derive(JsonSchema)]
#[schemars(transparent, inline, extend("allOf" = not_blank()))]
pub(super) struct ReasonText(#[allow(dead_code, reason = "only its schema is used")] String);

/// The name of an environment variable.
#[derive(JsonSchema)]
#[schemars(
    transparent,
    inline,
    title = "the name of a variable",
    extend("allOf" = variable_name(), "examples" = ["ANTHROPIC_API_KEY"])
)]
pub(super) struct VariableText(#[allow(dead_code, reason = "only its schema is used")] String);

/// A key in which arms can differ.
#[derive(JsonSchema)]
#[schemars(
    transparent,
    inline,
    title = "a key in which arms can differ",
    extend("allOf" = [{ "enum": DIFFERENCES }], "examples" = ["command"])
)]
pub(super) struct DifferenceText(#[allow(dead_code, reason = "only its schema is used")] String);

/// A share: a fraction such as `"1/2"`, or a number from 0 to 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct ShareText(pub Value);

impl JsonSchema for ShareText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ShareText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a share from 0 to 1",
            "type": ["string", "number"],
            "pattern": "^[0-9]{1,9}/[1-9][0-9]{0,8}$",
            "minimum": 0,
            "maximum": 1,
            "examples": ["1/2", 0.5],
        })
    }
}

/// A count, or the word `unlimited`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct CountText(pub Value);

impl JsonSchema for CountText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CountText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a count from 1 to 1000, or \"unlimited\"",
            "type": ["integer", "string"],
            "pattern": "^unlimited$",
            "minimum": 1,
            "maximum": 1000,
            "examples": [2, "unlimited"],
        })
    }
}

/// What a missing value counts as: 0, 1, or only available values count.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct MissingText(pub Value);

impl JsonSchema for MissingText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MissingText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "0, 1 or \"available\"",
            "enum": [0, 1, "available"],
            "examples": [0, "available"],
        })
    }
}

/// A command: the program and its arguments, each a template.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct CommandText(pub Vec<String>);

impl JsonSchema for CommandText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CommandText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a program and its arguments, one text each",
            "type": "array",
            "items": { "type": "string" },
            "minItems": 1,
            "maxItems": 256,
            "examples": [["sh", "-c", "make"]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validator<L: JsonSchema>() -> jsonschema::Validator {
        let schema = L::json_schema(&mut SchemaGenerator::default());
        jsonschema::validator_for(schema.as_value()).unwrap()
    }

    fn accepts(validator: &jsonschema::Validator, text: &str) -> bool {
        validator.is_valid(&Value::from(text))
    }

    #[test]
    fn ranges_are_those_of_the_quantities() {
        let duration = validator::<DurationText>();
        let size = validator::<SizeText>();
        let time = validator::<TimeText>();
        let digits = [
            0, 1, 7, 9, 10, 19, 719, 720, 721, 799, 1_000, 43_200, 43_201, 99_999,
        ];
        let limits = [2_592_000, 2_592_000_000, EXACT_MAX >> 30, EXACT_MAX >> 20];
        let near = limits
            .iter()
            .flat_map(|limit| [limit - 1, *limit, limit + 1]);
        for count in digits.into_iter().chain(near).chain([999_999_999_999]) {
            for unit in ["ms", "s", "m", "h"] {
                for text in [format!("{count}{unit}"), format!("0{count}{unit}")] {
                    let read = text.parse::<Micros>().ok();
                    let fits = read.is_some_and(|us| us.0 > 0 && us <= Micros::MAX);
                    assert_eq!(accepts(&duration, &text), fits, "{text}");
                }
            }
            for unit in ["B", "KiB", "MiB", "GiB"] {
                let text = format!("{count}{unit}");
                let read = text.parse::<crate::units::Bytes>().ok();
                let fits = read.is_some_and(|bytes| bytes.0 > 0);
                assert_eq!(accepts(&size, &text), fits, "{text}");
            }
        }
        for year in [1899, 1969, 1970, 1999, 2000, 2023, 2024, 2100, 2400, 9999] {
            for month in 0..=13 {
                for day in [0, 1, 28, 29, 30, 31, 32] {
                    for clock in ["00:00:00", "22:00:00", "22:00:01", "23:59:59", "24:00:00"] {
                        let text = format!("{year}-{month:02}-{day:02}T{clock}Z");
                        let known = year >= 1970 && text.parse::<jiff::Timestamp>().is_ok();
                        assert_eq!(accepts(&time, &text), known, "{text}");
                    }
                }
            }
        }
        for clock in ["12:60:00", "12:00:60", "12:59:59.123456", "00:00:61"] {
            let text = format!("2026-01-01T{clock}Z");
            assert_eq!(accepts(&time, &text), clock.starts_with("12:59"), "{text}");
        }
    }
}
