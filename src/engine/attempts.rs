//! Attempts: after which causes a slot may be attempted again.

use super::command::Cause;
use crate::protocol::model::Attempts;

/// Returns whether another attempt may start by itself after one that was unjudged.
pub fn may_rerun(attempts: &Attempts, cause: Cause, attempt: u32) -> bool {
    attempts.rerun.contains(&cause.word()) && is_allowed(attempts, attempt)
}

/// Returns whether another attempt may start when a person asks for it.
pub fn may_retry(attempts: &Attempts, cause: Cause, attempt: u32) -> bool {
    attempts.rerun_on_request.contains(&cause.word()) && is_allowed(attempts, attempt)
}

fn is_allowed(attempts: &Attempts, attempt: u32) -> bool {
    attempts.per_slot.is_none_or(|per_slot| attempt < per_slot)
}
