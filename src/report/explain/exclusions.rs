//! What is left out and what is repeated: attempts, deadlines, outages, voids.

use super::page::{Page, code};
use super::scoring;
use super::words::{counted, listed, times};
use crate::protocol::model::{
    Attempts, CauseWord, ErrorsIn, LateReport, Outage, OutageWindow, Protocol, Voids,
};
use crate::units::Micros;

/// Says which runs do not count, and which are repeated.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "What is excluded or repeated?");
    page.item(
        "No run is excluded for its outcome. A scored run is final and is never repeated, and \
         every run stays on the record with its number and its cause.",
    );
    attempts(page, protocol);
    page.item(
        "An operator may void a block, with a reason, until one of its runs is scored; this is \
         recorded.",
    );
    page.heading(3, "Outages");
    match &protocol.outage {
        None => {
            page.item("No outage rule is registered: an error stop counts as any other ending.")
        }
        Some(rule) => outage(page, rule),
    }
}

fn attempts(page: &mut Page, protocol: &Protocol) {
    let Attempts {
        per_slot,
        rerun,
        rerun_on_request,
        stale_after,
        late_report,
        voids_max,
    } = &protocol.attempts;
    page.item(match per_slot {
        Some(count) => format!(
            "A slot has at most {}. After the last one it has ended, judged or not.",
            counted(u64::from(*count), "attempt", "attempts")
        ),
        None => "A slot may be attempted without limit, until a run of it is scored.".to_owned(),
    });
    page.item(match rerun.as_slice() {
        [] => "No cause lets another attempt start.".to_owned(),
        causes => format!(
            "Another attempt starts after a run that is unjudged for one of these causes alone: \
             {}. Its slot waits for it, and the next start of the same task and arm fills it \
             before any other.",
            meant(causes, protocol)
        ),
    });
    page.item(match rerun_on_request.as_slice() {
        [] => "Nobody can ask for an attempt after any other cause.".to_owned(),
        causes => format!(
            "If a person asks for it, which is recorded, another attempt starts after these causes \
             too: {}.",
            meant(causes, protocol)
        ),
    });
    deadline(page, *stale_after, *late_report);
    page.item(match voids_max {
        Some(count) => format!(
            "A block may be voided {} before it counts as missing.",
            times(u64::from(*count))
        ),
        None => "A block may be voided without limit.".to_owned(),
    });
}

fn deadline(page: &mut Page, stale_after: Micros, late_report: LateReport) {
    page.item(format!(
        "A run that is still live {stale_after} after its start counts as unjudged \
         (`stale`): it frees its place, and an entry of its own closes it. When it was closed is \
         not when it died."
    ));
    page.item(match late_report {
        LateReport::Refuse => "A report after that deadline is refused.",
        LateReport::UntilClosed => {
            "A report after that deadline still counts, until a start closes the run \
             (`until_closed`)."
        }
    });
}

/// Names the causes that words of the protocol mean; `unjudged` means all without a word of their
/// own.
fn meant(words: &[CauseWord], protocol: &Protocol) -> String {
    let known = scoring::causes(protocol);
    let own = |cause: CauseWord| match cause {
        CauseWord::Unjudged => None,
        CauseWord::Failed => Some("failed"),
        CauseWord::TimedOut => Some("timed-out"),
        CauseWord::Cancelled => Some("cancelled"),
        CauseWord::Lost => Some("lost"),
        CauseWord::Stale => Some("stale"),
    };
    let mut causes: Vec<String> = Vec::new();
    for word in words {
        match own(*word) {
            Some(cause) => causes.push(code(cause)),
            None => causes.extend(
                known
                    .iter()
                    .filter(|cause| !cause.has_word)
                    .map(|cause| code(cause.name)),
            ),
        }
    }
    listed(&causes)
}

fn outage(page: &mut Page, outage: &Outage) {
    let Outage {
        window,
        error,
        ended_min,
        error_share,
        errors_in,
        voids,
        pauses_starts,
    } = outage;
    page.expression("A run ended by an error stop when", error);
    let window = match window {
        OutageWindow::UtcHour => "an hour of the clock in UTC (`utc_hour`)",
    };
    let errors = match errors_in {
        ErrorsIn::EveryArm => "with one at least in each arm (`every_arm`)",
        ErrorsIn::AnyArm => "in whichever arms they are (`any_arm`)",
    };
    page.item(format!(
        "A window is {window}. It is an outage window once at least {} in it and a share of at \
         least {error_share} of them by error stops, {errors}. Runs of controls are not counted.",
        counted(u64::from(*ended_min), "run has ended", "runs have ended")
    ));
    page.item(match voids {
        Voids::Run => {
            "An error stop in an outage window is no attempt at all; that run alone is void (`run`)."
        }
        Voids::Block => {
            "An error stop in an outage window voids its whole block (`block`): live runs of the \
             block end and are recorded as void, and the block is requeued whole, before any new \
             one, with its attempts counted from 1."
        }
    });
    page.item(
        "This holds for every run of the window, also for one that ended before the rule was \
         met, and follows from recorded times alone, never from a score. Scoring goes on.",
    );
    page.item(if *pauses_starts {
        "Nothing starts while the current window is an outage window."
    } else {
        "Starts go on during an outage window."
    });
}
