//! What is told of a run, as its row has it: texts are borrowed, and what is not asked for is not kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::engine::budget::Cost;
use crate::engine::command::{Cause, Ending};
use crate::engine::event::{LaneId, Place};
use crate::engine::slice::State;
use crate::units::{RunId, Time};

/// What is told of every run: to the table of runs, and to what was executed of each arm.
#[derive(Debug, Deserialize)]
pub struct Told<'r> {
    /// Its number.
    pub(super) run: RunId,
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    #[serde(borrow)]
    pub(super) arm: Cow<'r, str>,
    #[serde(borrow)]
    pub(super) executed: By<'r>,
    pub(super) place: Option<Place>,
    pub(super) seed: Option<u32>,
    pub(super) state: State,
    pub(super) started_at: Time,
    pub(super) ended_at: Option<Time>,
    pub(super) error_stop: Option<bool>,
    #[serde(default)]
    pub(super) cost: Cost,
    pub(super) checkpoint: Option<bool>,
    pub(super) closed_at: Option<Time>,
    pub(super) cause: Option<Cause>,
    pub(super) ending: Option<Ending>,
    pub(super) execution: Option<Observed>,
    #[serde(borrow)]
    pub(super) note: Option<Text<'r>>,
    #[serde(borrow)]
    pub(super) outcomes: Option<Values<'r>>,
}

/// A text that somebody chose.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'r>(#[serde(borrow)] pub(super) Cow<'r, str>);

/// Who executes a run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By<'r> {
    Here,
    #[serde(borrow)]
    Elsewhere(Option<Text<'r>>),
}

/// What was observed of how a run ended.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Observed {
    pub(super) exit: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) cpu_ms: Option<u64>,
}

/// Outcomes, in the order in which they stand.
#[derive(Debug)]
pub(super) struct Values<'r>(Vec<(Text<'r>, Value)>);

/// What is told of the run that stands last at a slot.
#[derive(Debug, Deserialize)]
pub struct Occupant<'r> {
    pub(super) place: Option<SlotOf>,
    pub(super) state: State,
    pub(super) started_at: Time,
    pub(super) ended_at: Option<Time>,
    error_stop: Option<bool>,
    #[serde(default)]
    pub(super) cost: Cost,
    pub(super) cause: Option<Cause>,
    pub(super) ending: Option<Ending>,
    pub(super) exposed: Option<bool>,
    #[serde(borrow)]
    pub(super) outcomes: Option<Values<'r>>,
}

/// Which slot a run stands at.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct SlotOf {
    pub(super) lane: LaneId,
    pub(super) position: u64,
}

impl Occupant<'_> {
    /// Returns why the run stopped, or its state while it is not closed, as everybody may see; none where it ended by
    /// itself.
    pub(super) fn reason(&self) -> Option<&'static str> {
        if matches!(self.state, State::Live | State::Ended) {
            return Some(self.state.text());
        }
        let timed_out = self.ending.as_ref().is_some_and(|ending| ending.timed_out);
        match self.cause {
            Some(cause) => Some(cause.text()),
            None if self.error_stop == Some(true) => Some("error-stop"),
            None if timed_out => Some("timed-out"),
            None => None,
        }
    }

    /// Returns an outcome; null where it is missing.
    pub(super) fn value(&self, outcome: &str) -> &Value {
        Values::one(self.outcomes.as_ref(), outcome)
    }
}

impl Values<'_> {
    /// Returns an outcome; null where it is missing.
    pub(super) fn one<'v>(values: Option<&'v Self>, outcome: &str) -> &'v Value {
        let all = values.iter().flat_map(|values| &values.0);
        // Of several the last counts, as it does wherever they are a map.
        all.rev()
            .find(|(id, _)| id.0 == outcome)
            .map_or(&Value::Null, |(_, value)| value)
    }
}

impl<'de: 'r, 'r> Deserialize<'de> for Values<'r> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(Text<'de>, Value)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("outcomes by id")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(4));
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }

        deserializer.deserialize_map(Pairs).map(Self)
    }
}
