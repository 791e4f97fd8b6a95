//! Readings kept apart: of each arm and of each stage what its own runs observed last.
//!
//! Kept only where a stop is about one of them alone. What no run of theirs observed (a command, the
//! operator, a control) says something of all of them, and takes the place of what was known of each.
//! So there is one reading of a kind for each arm and each stage at most.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

type Fields = Map<String, Value>;

/// Whom a reading is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About<'a> {
    /// The study: whatever was read last.
    Study,
    /// An arm, by its id.
    Arm(&'a str),
    /// A stage, by its id.
    Stage(&'a str),
}

impl<'a> About<'a> {
    /// Returns the arm or the stage, where it is about one.
    pub fn one(self) -> Option<&'a str> {
        match self {
            Self::Study => None,
            Self::Arm(id) | Self::Stage(id) => Some(id),
        }
    }
}

/// What was read apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Apart {
    /// Of arms, by the reading's id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    arms: BTreeMap<String, Parts>,
    /// Of stages, by the reading's id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    stages: BTreeMap<String, Parts>,
}

/// What was read of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    /// What was read last that says something of all.
    all: Option<Fields>,
    /// What was read since of one alone.
    each: BTreeMap<String, Fields>,
}

impl Apart {
    /// Returns whether nothing was read apart.
    pub fn is_empty(&self) -> bool {
        self.arms.is_empty() && self.stages.is_empty()
    }

    /// Returns whether a reading of this kind, said of all, would be news to somebody.
    pub fn has(&self, id: &str) -> bool {
        self.arms.contains_key(id) || self.stages.contains_key(id)
    }

    /// Takes a reading; `before` is the one that was newest until then.
    pub(super) fn take(
        &mut self,
        id: &str,
        before: Option<&Fields>,
        fields: &Fields,
        [arm, stage]: [Option<&str>; 2],
    ) {
        for (parts, one) in [(&mut self.arms, arm), (&mut self.stages, stage)] {
            let Some(one) = one else {
                parts.remove(id);
                continue;
            };
            let first = || Parts {
                all: before.cloned(),
                each: BTreeMap::new(),
            };
            let parts = parts.entry(id.to_owned()).or_insert_with(first);
            parts.each.insert(one.to_owned(), fields.clone());
        }
    }

    /// Returns the newest reading of a kind that says something of somebody; `newest` is the newest of
    /// all.
    pub fn newest<'a>(
        &'a self,
        id: &str,
        newest: Option<&'a Fields>,
        about: About<'_>,
    ) -> Option<&'a Fields> {
        let (parts, one) = match about {
            About::Study => return newest,
            About::Arm(arm) => (&self.arms, arm),
            About::Stage(stage) => (&self.stages, stage),
        };
        match parts.get(id) {
            None => newest,
            Some(parts) => parts.each.get(one).or(parts.all.as_ref()),
        }
    }
}
