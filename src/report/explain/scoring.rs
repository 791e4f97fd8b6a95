//! Which runs are scored, and for which causes one is unjudged.

use super::page::{Page, code};
use super::words::{listed, names};
use crate::protocol::model::{Protocol, ScoreWord, Scoring};

/// Says when an ended run is not scored.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(3, "Which runs are scored");
    let Scoring {
        unjudged,
        on_timeout,
        on_error_stop,
    } = &protocol.scoring;
    page.item(match on_timeout {
        ScoreWord::Score => "A run that meets its time limit is scored as it was left.",
        ScoreWord::Unjudged => "A run that meets its time limit is unjudged (`timed-out`).",
    });
    page.item(match on_error_stop {
        ScoreWord::Score => "A run that an error stopped is scored as it was left.",
        ScoreWord::Unjudged => "A run that an error stopped is unjudged (`failed`).",
    });
    page.expression_if("A run is unjudged (`infra`) when", unjudged.as_ref());
    if !protocol.evidence.is_empty() {
        page.item(format!(
            "A run is scored only if it has left this evidence: {}.",
            names(protocol.evidence.iter().map(|word| word.text()))
        ));
    }
    let causes: Vec<String> = causes(protocol)
        .into_iter()
        .map(|cause| format!("{} ({})", code(cause.name), cause.meaning))
        .collect();
    page.item(format!(
        "A run is unjudged for one of these causes alone: {}.",
        listed(&causes)
    ));
    page.item(
        "A run is scored once. A second report is refused; the same report again changes nothing.",
    );
}

/// A cause for which a run is unjudged.
pub(super) struct Cause {
    /// Its code.
    pub name: &'static str,
    /// Whether `rerun` names it by a word of its own.
    pub has_word: bool,
    meaning: &'static str,
}

/// Returns the causes that runs of a protocol can have.
pub(super) fn causes(protocol: &Protocol) -> Vec<Cause> {
    let scoring = &protocol.scoring;
    let judged = protocol.judge.is_some();
    let timed_out = scoring.on_timeout == ScoreWord::Unjudged;
    let failed = match scoring.on_error_stop {
        ScoreWord::Score => "not prepared or not started",
        ScoreWord::Unjudged => "not prepared, not started, or stopped by an error",
    };
    let of = |name, has_word, meaning| Cause {
        name,
        has_word,
        meaning,
    };
    let all = [
        (judged, of("no-report", false, "the judge left no report")),
        (
            judged,
            of(
                "bad-report",
                false,
                "the report does not satisfy its schema",
            ),
        ),
        (
            judged,
            of("judge-timeout", false, "the judge met its limit"),
        ),
        (judged, of("judge-error", false, "the judge failed")),
        (
            scoring.unjudged.is_some(),
            of("infra", false, "the condition above"),
        ),
        (
            true,
            of("outcome-error", false, "an outcome could not be computed"),
        ),
        (
            !protocol.evidence.is_empty(),
            of(
                "evidence",
                false,
                "that evidence is absent or does not cohere",
            ),
        ),
        (true, of("failed", true, failed)),
        (timed_out, of("timed-out", true, "it met its time limit")),
        (true, of("cancelled", true, "a person ended it")),
        (true, of("lost", true, "nobody knows how it ended")),
        (true, of("stale", true, "its deadline passed")),
    ];
    let known = all.into_iter().filter(|(known, _)| *known);
    known.map(|(_, cause)| cause).collect()
}
