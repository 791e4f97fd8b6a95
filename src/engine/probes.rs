//! What a probe printed, beside what it must print.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::canonical::{self, JsonFault};
use crate::protocol::model::{Probe, ProbeFormat};

/// One fact: what it must be, and what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The key in the probe's output; the probe itself where its output is one fact.
    pub name: String,
    /// What it must be; null where it must be absent.
    pub expected: Value,
    /// What it is; null where it is absent.
    pub observed: Value,
    /// Whether they are the same.
    pub matches: bool,
}

/// Reads what a probe printed: as a text, without the line breaks at its end, or as JSON.
pub fn read(probe: &Probe, output: &str) -> Result<Value, JsonFault> {
    match probe.format {
        ProbeFormat::Text => Ok(Value::from(output.trim_end_matches(['\r', '\n']))),
        ProbeFormat::Json => canonical::read(output.as_bytes()),
    }
}

/// Compares what was observed with what the probe expects, key by key in the order of their names.
///
/// Without `expect` it must be what it was at the registration, to its last key; before there is
/// one, nothing is expected but what must be absent.
pub fn compare(probe: &Probe, registered: Option<&Value>, observed: &Value) -> Vec<Compared> {
    let nothing = Map::new();
    let found = observed.as_object();
    match (probe.expect.as_ref().or(registered), found) {
        (Some(Value::Object(expected)), Some(found)) => {
            let unnamed = found.keys().filter(|_| probe.expect.is_none());
            by_key(probe, expected, found, expected.keys().chain(unnamed))
        }
        (Some(expected), _) => vec![compared(&probe.id, expected, observed)],
        (None, found) => by_key(probe, &nothing, found.unwrap_or(&nothing), nothing.keys()),
    }
}

/// Compares two tables by the keys that are named, and by those that must be absent.
fn by_key<'a>(
    probe: &'a Probe,
    expected: &Map<String, Value>,
    observed: &Map<String, Value>,
    names: impl Iterator<Item = &'a String>,
) -> Vec<Compared> {
    let names: BTreeSet<&String> = names.chain(&probe.expect_absent).collect();
    let names = names
        .into_iter()
        .filter(|name| !probe.record_only.contains(name));
    names
        .map(|name| {
            let expected = match expected.get(name) {
                Some(expected) if !probe.expect_absent.contains(name) => expected,
                _ => &Value::Null,
            };
            let observed = observed.get(name).unwrap_or(&Value::Null);
            compared(name, expected, observed)
        })
        .collect()
}

/// Compares two JSON values; how a number is spelled (`1` or `1.0`) does not matter.
fn compared(name: &str, expected: &Value, observed: &Value) -> Compared {
    Compared {
        name: name.to_owned(),
        matches: canonical::bytes(expected) == canonical::bytes(observed),
        expected: expected.clone(),
        observed: observed.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn probe(format: ProbeFormat, expect: Option<Value>) -> Probe {
        Probe {
            id: "agent".to_owned(),
            command: Vec::new(),
            format,
            expect,
            expect_absent: vec!["proxy".to_owned()],
            record_only: vec!["uptime".to_owned()],
        }
    }

    /// Writes each comparison as `name expected observed`, with a `!` where they differ.
    fn shown(compared: &[Compared]) -> Vec<String> {
        let line = |one: &Compared| {
            let differs = if one.matches { "" } else { " !" };
            format!("{} {} {}{differs}", one.name, one.expected, one.observed)
        };
        compared.iter().map(line).collect()
    }

    #[test]
    fn a_text_is_compared_without_the_line_breaks_at_its_end() {
        let probe = probe(ProbeFormat::Text, Some(json!("2.1.0")));
        for (output, matches) in [
            ("2.1.0", true),
            ("2.1.0\r\n\n", true),
            ("2.1.0 \n", false),
            ("\n2.1.0", false),
            ("", false),
        ] {
            let observed = read(&probe, output).unwrap();
            let compared = compare(&probe, Some(&json!("2.0.0")), &observed);
            assert_eq!(
                (compared.len(), compared[0].matches),
                (1, matches),
                "{output:?}"
            );
        }
    }

    #[test]
    fn json_is_compared_by_the_keys_that_are_expected() {
        let expect = json!({ "a": 1, "list": ["x", "y"], "none": null });
        let probe = probe(ProbeFormat::Json, Some(expect));
        let rows = |output: &str| {
            let observed = read(&probe, output).unwrap();
            shown(&compare(&probe, Some(&json!({ "b": 0 })), &observed))
        };
        let same = r#"{"a": 1.0, "list": ["x", "y"], "uptime": 5, "b": 2}"#;
        let all_match = [
            r"a 1 1",
            r#"list ["x","y"] ["x","y"]"#,
            "none null null",
            "proxy null null",
        ];
        assert_eq!(rows(same), all_match);
        let other = r#"{"a": "1", "list": ["y", "x"], "none": 0, "proxy": ""}"#;
        let none_matches = [
            r#"a 1 "1" !"#,
            r#"list ["x","y"] ["y","x"] !"#,
            "none null 0 !",
            r#"proxy null "" !"#,
        ];
        assert_eq!(rows(other), none_matches);
    }

    #[test]
    fn without_an_expectation_the_registered_value_binds_to_its_last_key() {
        let probe = probe(ProbeFormat::Json, None);
        let registered = json!({ "a": 1, "gone": 2, "proxy": "p", "uptime": 1 });
        let observed = json!({ "a": 1, "new": 3, "uptime": 9 });
        assert_eq!(
            shown(&compare(&probe, Some(&registered), &observed)),
            ["a 1 1", "gone 2 null !", "new null 3 !", "proxy null null"]
        );
        assert_eq!(
            shown(&compare(&probe, None, &observed)),
            ["proxy null null"]
        );
    }

    #[test]
    fn what_is_no_table_is_compared_whole() {
        let table = probe(ProbeFormat::Json, Some(json!({ "none": null })));
        assert_eq!(
            shown(&compare(&table, None, &json!([]))),
            [r#"agent {"none":null} [] !"#]
        );
        let free = probe(ProbeFormat::Json, None);
        let seen = json!([1, 2]);
        assert_eq!(
            shown(&compare(&free, Some(&seen), &seen)),
            ["agent [1,2] [1,2]"]
        );
        assert_eq!(shown(&compare(&free, None, &json!(7))), ["proxy null null"]);
    }

    #[test]
    fn what_is_not_one_json_value_cannot_be_read() {
        let probe = probe(ProbeFormat::Json, None);
        for output in ["", "2.1.0", r#"{"a": 1} {"a": 1}"#, r#"{"a": 1, "a": 2}"#] {
            assert!(read(&probe, output).is_err(), "{output}");
        }
    }
}
