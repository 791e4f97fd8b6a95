//! Finds texts that look like secrets: a registration is public for ever.

use serde_json::Value;

use super::{Checker, SHOWN_MAX};
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::source;

impl Checker<'_> {
    /// Refuses literal secrets anywhere in the file.
    pub(super) fn no_secrets(&mut self, value: &Value) {
        let mut found = Vec::new();
        secrets(value, "", &mut found);
        for pointer in found.into_iter().take(SHOWN_MAX) {
            let message = "the text looks like a secret, and a registration is public for ever";
            self.push(
                Defect::new(Code::Secret, Place::Value(pointer), message).note(
                    "name the variable in `env_pass`: its value is passed on and never recorded",
                ),
            );
        }
    }
}

fn secrets(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if looks_secret(text) => found.push(pointer.to_owned()),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                secrets(item, &source::child(pointer, i), found);
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                secrets(item, &source::child(pointer, key), found);
            }
        }
        _ => {}
    }
}

fn looks_secret(text: &str) -> bool {
    let long_after = |prefix: &str, least: usize| {
        text.match_indices(prefix).any(|(at, _)| {
            let start_of_word = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let rest = &text[at + prefix.len()..];
            let length = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)))
                .unwrap_or(rest.len());
            start_of_word && length >= least
        })
    };
    text.contains("-----BEGIN ")
        || [
            ("sk-", 16),
            ("ghp_", 16),
            ("github_pat_", 16),
            ("AKIA", 12),
            ("xoxb-", 16),
            ("xoxp-", 16),
        ]
        .into_iter()
        .any(|(prefix, least)| long_after(prefix, least))
}
