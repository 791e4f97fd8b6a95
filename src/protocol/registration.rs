//! What a registration binds, its digest, and what differs between two.
//!
//! The digest is SHA-256 over the canonical JSON (RFC 8785) of the resolved protocol with every
//! default written out (draw seed and report schema in it), the frame's digest, and the digest of
//! each file and folder that the protocol names. White space, comments and the order of keys do
//! not change it; a change of meaning does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::canonical;
use super::model::Protocol;
use crate::units::Digest;

/// Everything that is bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The version of the language.
    pub language: u32,
    /// The resolved protocol.
    pub protocol: Protocol,
    /// The digest of the frame's tasks.
    pub frame: Digest,
    /// The digest of each named file and folder, by its path beside the protocol.
    pub files: BTreeMap<String, Digest>,
}

impl Registration {
    /// Returns the registration as a JSON value.
    pub fn value(&self) -> Value {
        // Plain data with text keys: this cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the digest that names the registration.
    pub fn digest(&self) -> Digest {
        canonical::digest(self)
    }

    /// Names what differs: keys of the protocol, the seed, the frame, files.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let (mine, theirs) = (self.value(), other.value());
        compare(&mine["protocol"], &theirs["protocol"], "", &mut found);
        for name in &mut found {
            if name == "draw.seed" {
                "seed".clone_into(name);
            }
        }
        if self.frame != other.frame {
            found.push("frame".to_owned());
        }
        let paths = self.files.keys().chain(
            other
                .files
                .keys()
                .filter(|path| !self.files.contains_key(*path)),
        );
        found.extend(
            paths
                .filter(|path| self.files.get(*path) != other.files.get(*path))
                .map(|path| format!("file {path}")),
        );
        found
    }
}

fn compare(mine: &Value, theirs: &Value, path: &str, found: &mut Vec<String>) {
    let inner = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    match (mine, theirs) {
        (Value::Object(a), Value::Object(b)) if !is_fraction(a) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                compare(
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                    &inner(key),
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                compare(x, y, &inner(&i.to_string()), found);
            }
        }
        _ if mine == theirs => {}
        _ => found.push(path.to_owned()),
    }
}

/// Returns whether an object is an exact fraction, which is one value to whoever wrote it.
fn is_fraction(object: &Map<String, Value>) -> bool {
    object.len() == 2 && object.contains_key("num") && object.contains_key("den")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fraction_differs_as_a_whole() {
        let of =
            |num: u64, den: u64| json!({ "analysis": { "alpha": { "num": num, "den": den } } });
        let mut found = Vec::new();
        compare(&of(1, 20), &of(1, 100), "", &mut found);
        compare(&of(1, 20), &of(1, 20), "", &mut found);
        assert_eq!(found, ["analysis.alpha"]);
    }
}
