//! What is answered to an operation: the known form, and the refusal behind it.

use serde_json::{Map, Value, json};

use crate::engine::refusal::Refusal;
use crate::engine::slice::State;
use crate::units::RunId;

/// What is answered to an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The answer to one command.
    One(Said),
    /// The answers to two starts that were asked for at once.
    Pair(Box<[Said; 2]>),
}

/// The answer to one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The fields of the known form.
    pub fields: Map<String, Value>,
    /// The refusal, if it was refused.
    pub refusal: Option<Refusal>,
}

impl Answer {
    /// Returns the answer as one JSON object, with more fields beside each refusal.
    pub fn json(self, beside: impl Fn(&Refusal) -> Map<String, Value>) -> Value {
        let whole = |mut said: Said| {
            said.fields.extend(said.refusal.iter().flat_map(&beside));
            Value::Object(said.fields)
        };
        match self {
            Self::One(said) => whole(said),
            Self::Pair(pair) => {
                let [first, second] = pair.map(whole);
                json!({ "first": first, "second": second })
            }
        }
    }
}

/// What is refused, with the facts that its rule tells.
pub(super) struct Refused(Box<Refusal>);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl From<Result<Value, Refused>> for Said {
    fn from(result: Result<Value, Refused>) -> Self {
        match result {
            Ok(granted) => Self {
                fields: object(granted),
                refusal: None,
            },
            Err(Refused(refusal)) => {
                let mut fields = object(json!({ "ok": false, "reason": reason(&refusal) }));
                fields.extend(facts(&refusal));
                Self {
                    fields,
                    refusal: Some(*refusal),
                }
            }
        }
    }
}

impl From<Result<Value, Refused>> for Answer {
    fn from(result: Result<Value, Refused>) -> Self {
        Self::One(result.into())
    }
}

/// Returns the fields of an object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Returns the name of a run.
pub(super) fn named(run: RunId) -> String {
    format!("r{run}")
}

/// Returns the word for a refusal.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoCheckpoint { declared, .. } => format!("not_{}", declared.join("_or_")),
        Refusal::Stale { .. } => "already_closed".to_owned(),
        Refusal::CheckpointExists { .. } => "receipt_exists".to_owned(),
        Refusal::NotConfirmatory { .. } => "not_full_split".to_owned(),
        other => other.code().replace('-', "_"),
    }
}

/// Returns what a refusal tells beside its word.
fn facts(refusal: &Refusal) -> Map<String, Value> {
    object(match refusal {
        Refusal::RegistrationDiffers { differs, .. } => json!({ "fields": differs }),
        Refusal::TaskDiffers { fields, .. } => json!({ "fields": fields }),
        Refusal::DrawGap { size } | Refusal::DrawFull { size } => json!({ "size": size }),
        Refusal::DrawConflict { position } => json!({ "position": position }),
        Refusal::Stale { .. } => json!({ "status": State::Unjudged.text() }),
        Refusal::AlreadyClosed { state, .. } => json!({ "status": state.text() }),
        Refusal::EarlierTaskOpen { earlier } => {
            json!({ "rule": "earlier_task_open", "earlier": earlier })
        }
        Refusal::ArmTurn { before, need, has } => {
            json!({ "rule": "arm_turn", "before": before, "need": need, "has": has })
        }
        Refusal::OutOfOrder { next } => json!({ "next": next }),
        _ => json!({}),
    })
}
