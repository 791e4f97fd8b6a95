//! The literals of the language as the schema knows them: text with a spelling.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! literal {
    ($name:ident, $title:literal, $pattern:literal, $example:literal, $doc:literal) => {
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
                json_schema!({
                    "type": "string",
                    "title": $title,
                    "pattern": $pattern,
                    "examples": [$example],
                })
            }
        }
    };
}

literal!(
    DurationText,
    "a duration in ms, s, m or h",
    "^[0-9]{1,12}(ms|s|m|h)$",
    "45m",
    "A duration such as `45m`."
);
literal!(
    SizeText,
    "a size in B, KiB, MiB or GiB",
    "^[0-9]{1,12}(B|KiB|MiB|GiB)$",
    "32MiB",
    "A size such as `32MiB`."
);
literal!(
    MoneyText,
    "an amount of money in USD",
    r"^[0-9]{1,9}(\.[0-9]{1,6})? USD$",
    "2.50 USD",
    "An amount such as `2.50 USD`."
);
literal!(
    TimeText,
    "a time in UTC with `Z`",
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$",
    "2026-12-24T00:00:00Z",
    "A time such as `2026-12-24T00:00:00Z`."
);
literal!(
    IdText,
    "an identifier of at most 64 letters, digits, `-`, `_` and `.`, a letter or digit first",
    "^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$",
    "baseline",
    "An identifier: letters, digits, `-`, `_`, `.`; at most 64 characters."
);
literal!(
    NameText,
    "a name of at most 64 lower-case letters, digits and `_`, a letter first",
    "^[a-z][a-z0-9_]{0,63}$",
    "resolved",
    "A name that expressions can use: lower-case letters, digits, `_`."
);
literal!(
    ExpressionText,
    "a CEL expression",
    r"^[\s\S]+$",
    "report.passed == task.count",
    "An expression in CEL."
);
literal!(
    PathText,
    "a relative path with `/` between its names",
    r"^[^/\x00\\][^\x00\\]*$",
    "files/CLAUDE.md",
    "A relative path with `/`."
);

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
        json_schema!({ "title": "0, 1 or \"available\"", "enum": [0, 1, "available"] })
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
