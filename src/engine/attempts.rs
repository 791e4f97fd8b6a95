//! Attempts: after which causes a slot may be attempted again.

use super::command::Cause;
use crate::protocol::model::{Attempts, CauseWord};

/// Returns whether another attempt may start by itself after one that was unjudged.
pub fn may_rerun(attempts: &Attempts, cause: Cause, attempt: u32) -> bool {
    attempts.rerun.contains(&word(cause)) && is_allowed(attempts, attempt)
}

/// Returns whether another attempt may start when a person asks for it.
pub fn may_retry(attempts: &Attempts, cause: Cause, attempt: u32) -> bool {
    attempts.rerun_on_request.contains(&word(cause)) && is_allowed(attempts, attempt)
}

fn is_allowed(attempts: &Attempts, attempt: u32) -> bool {
    attempts.per_slot.is_none_or(|per_slot| attempt < per_slot)
}

/// Returns the word of the language for a cause; `unjudged` means all that have none of their own.
fn word(cause: Cause) -> CauseWord {
    match cause {
        Cause::Failed => CauseWord::Failed,
        Cause::TimedOut => CauseWord::TimedOut,
        Cause::Cancelled => CauseWord::Cancelled,
        Cause::Lost => CauseWord::Lost,
        Cause::Stale => CauseWord::Stale,
        _ => CauseWord::Unjudged,
    }
}
