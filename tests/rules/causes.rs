//! What becomes of an attempt, by why it ended.

use std::sync::OnceLock;

use prereg::engine::command::Cause;
use prereg::protocol::check::Checked;
use serde_json::Value;

use super::shipped::with;

/// Why a run is unjudged, for the reasons of the matrix; none where it succeeded.
pub(super) fn cause(reason: &str) -> Option<Cause> {
    match reason {
        "success" => None,
        "timed_out" => Some(Cause::TimedOut),
        "cancelled" => Some(Cause::Cancelled),
        "controller_lost" | "recovered_stop" => Some(Cause::Lost),
        _ => Some(Cause::Failed),
    }
}

pub(super) fn state_for_reason(case: &Value) -> Value {
    Value::from(state(cause(case["reason"].as_str().unwrap())))
}

/// The durable state: what starts again by itself is interrupted, what does on request keeps its word.
pub(super) fn state(cause: Option<Cause>) -> String {
    static CHECKED: OnceLock<Checked> = OnceLock::new();
    let checked = CHECKED.get_or_init(|| with("matrix-attempts.toml", &["fixture"], |_| {}));
    let attempts = &checked.registration.protocol.attempts;
    let Some(cause) = cause else {
        return "success".to_owned();
    };
    let word = cause.word();
    if attempts.rerun.contains(&word) {
        return "interrupted".to_owned();
    }
    assert!(attempts.rerun_on_request.contains(&word), "{word:?}");
    let name = serde_json::to_value(word).unwrap();
    name.as_str().unwrap().replace('-', "_")
}
