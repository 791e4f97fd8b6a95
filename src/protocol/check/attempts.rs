//! Checks what counts as an attempt at a slot, and which causes let another start.

use super::Checker;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::draft::{self, CountText, Draft};
use crate::protocol::model::{Attempts, CauseWord, LateReport, Protocol};
use crate::units::Micros;

impl Checker<'_> {
    pub(super) fn attempts(&mut self, draft: &Draft) -> Attempts {
        let default = draft::Attempts::default();
        let attempts = draft.attempts.as_ref().unwrap_or(&default);
        let count = |count: &Option<CountText>, otherwise: u32| match count {
            None => Some(otherwise),
            Some(CountText(value)) => value.as_u64().and_then(|count| u32::try_from(count).ok()),
        };
        for (key, causes) in [
            ("rerun", Some(&attempts.rerun)),
            ("rerun_on_request", attempts.rerun_on_request.as_ref()),
        ] {
            let words = causes.into_iter().flatten().map(cause_text);
            self.once(&format!("/attempts/{key}"), &words.collect::<Vec<_>>());
        }
        let sorted = |causes: &[CauseWord]| {
            let mut causes = causes.to_vec();
            causes.sort_unstable();
            causes.dedup();
            causes
        };
        let on_request = attempts.rerun_on_request.iter().flatten().enumerate();
        for (i, cause) in on_request.filter(|(_, cause)| attempts.rerun.contains(cause)) {
            let place = Place::Value(format!("/attempts/rerun_on_request/{i}"));
            let message = format!(
                "`{}` starts again by itself, since `rerun` names it; keep it in one of the two",
                cause_text(cause)
            );
            self.refuse(Code::DuplicateId, place, message);
        }
        let rerun = sorted(&attempts.rerun);
        let rerun_on_request = sorted(attempts.rerun_on_request.as_deref().unwrap_or_default());
        let per_slot = count(&attempts.per_slot, 1);
        for (key, causes) in [("rerun", &rerun), ("rerun_on_request", &rerun_on_request)] {
            if per_slot == Some(1) && !causes.is_empty() && !self.was_refused("/attempts/per_slot")
            {
                self.refuse(
                    Code::Range,
                    Place::Value(format!("/attempts/{key}")),
                    format!("`{key}` names causes, but `per_slot = 1` allows no second attempt; raise it or remove the causes"),
                );
            }
        }
        Attempts {
            per_slot,
            rerun,
            rerun_on_request,
            stale_after: self
                .duration("/attempts/stale_after", attempts.stale_after.as_ref())
                .unwrap_or(Micros(6 * 3_600_000_000)),
            late_report: attempts.late_report.unwrap_or(LateReport::Refuse),
            voids_max: count(&attempts.voids_max, 3),
        }
    }

    /// Refuses a run that would count as stale while it may still be live.
    pub(super) fn deadlines(&mut self, protocol: &Protocol) {
        let longest = protocol
            .arms
            .iter()
            .map(|arm| &arm.execution)
            .chain([&protocol.execution]);
        let longest = longest
            .filter_map(|execution| Some(execution.timeout?.0 + execution.grace.0))
            .max();
        if let Some(longest) = longest.filter(|longest| protocol.attempts.stale_after.0 <= *longest)
        {
            let message = format!(
                "a run counts as stale after {}, but it may live for {} (its limit and its grace)",
                protocol.attempts.stale_after,
                Micros(longest)
            );
            self.push(
                Defect::new(
                    Code::Range,
                    Place::Value("/attempts/stale_after".to_owned()),
                    message,
                )
                .note("make stale_after longer"),
            );
        }
    }
}

/// Returns a cause as it is written.
fn cause_text(cause: &CauseWord) -> String {
    let value = serde_json::to_value(cause).ok();
    let text = value.as_ref().and_then(serde_json::Value::as_str);
    text.unwrap_or_default().to_owned()
}
