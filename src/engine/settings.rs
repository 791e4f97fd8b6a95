//! Settings: what an arm is asked to use, and what it reports that it used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::Slice;
use crate::protocol::canonical;
use crate::units::RunId;

/// Settings by name; null where nobody says what was used.
pub type Settings = BTreeMap<String, Value>;

/// What an arm was last seen to use of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The run that says so.
    pub run: RunId,
    /// What it used.
    pub value: Value,
}

/// Returns whether what was used is what was requested: a text is compared as it stands, and any
/// other value by its JSON.
pub fn is_as_requested(requested: &str, used: &Value) -> bool {
    match used {
        Value::String(used) => used == requested,
        used => canonical::bytes(used) == requested.as_bytes(),
    }
}

/// Refuses an arm of which something else was seen last than is requested. What is unknown is not
/// known to have changed.
pub(super) fn guard(rules: &Rules, slice: &Slice, arm: &str) -> Result<(), Refusal> {
    let Some(seen) = slice.standing.used.get(arm) else {
        return Ok(());
    };
    for (name, requested) in &rules.protocol().execution_of(arm).requests {
        if let Some(Seen { run, value }) = seen.get(name)
            && !is_as_requested(requested, value)
        {
            return Err(Refusal::BindingChanged {
                arm: arm.to_owned(),
                run: *run,
                name: name.clone(),
                requested: requested.clone(),
                effective: value.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_is_compared_as_it_is_written() {
        for (requested, used, same) in [
            ("high", json!("high"), true),
            ("high", json!("High"), false),
            ("high", json!("high "), false),
            ("0", json!(0), true),
            ("0", json!("0"), true),
            ("0.5", json!(0.5), true),
            ("0", json!(false), false),
            ("false", json!(false), true),
            ("[1,2]", json!([1, 2]), true),
        ] {
            assert_eq!(
                is_as_requested(requested, &used),
                same,
                "{requested} {used}"
            );
        }
    }
}
