//! Which study it is, what came before it, and what is asked.

use super::page::{Page, code, prose};
use super::words::{counted, names};
use crate::protocol::frame::Drawn;
use crate::protocol::model::{Analysis, Protocol, SplitKind, Study, StudyKind, Supersedes};

/// Says the title, the kind and the name.
pub(super) fn identity(page: &mut Page, protocol: &Protocol) {
    // The question and what is expected have a section of their own.
    let Study {
        id,
        title,
        question: _,
        hypotheses: _,
        kind,
        supersedes: _,
    } = &protocol.study;
    page.heading(1, &prose(title));
    page.say(&format!(
        "This is the plan of the study {}, whole. It is generated from what the digest in its last \
         line binds, with every default said as plainly as what was written. What the author wrote \
         stands in “quotation marks” or as `code`; a character that cannot be seen stands there as \
         its number, such as `[U+000A]` for a line break.",
        code(id)
    ));
    page.item(match kind {
        StudyKind::Confirmatory => {
            "The study is confirmatory: it is registered before the runs that count."
        }
        StudyKind::Exploratory => {
            "The study is exploratory: it is never registered, and every output of it is stamped \
             exploratory."
        }
    });
    page.item(format!(
        "The words of the protocol mean what language {} says.",
        protocol.language
    ));
}

/// Says which data there may be already.
pub(super) fn collected(page: &mut Page, protocol: &Protocol, drawn: &Drawn) {
    page.heading(2, "Have any data been collected already?");
    if protocol.study.kind == StudyKind::Confirmatory {
        page.item("No run of a confirmatory task starts before the registration is recorded.");
        page.item(
            "Once it is recorded it does not change. The same registration again changes nothing; \
             any other is refused, and the refusal names what differs.",
        );
    }
    pilots(page, protocol, drawn);
    match &protocol.study.supersedes {
        None => page.item("The study replaces no other study."),
        Some(Supersedes {
            study,
            registration,
            reason,
            seen,
        }) => {
            page.item(format!(
                "It replaces the study {}, registered as `sha256:{registration}`.",
                code(study)
            ));
            page.author("Why it is replaced", reason);
            page.author("Which outcomes had been seen by then", seen);
        }
    }
}

fn pilots(page: &mut Page, protocol: &Protocol, drawn: &Drawn) {
    let splits = protocol.splits.iter().flatten();
    let pilots: Vec<&String> = splits
        .filter(|(_, kind)| **kind == SplitKind::Pilot)
        .map(|(name, _)| name)
        .collect();
    if pilots.is_empty() {
        page.item("No split is declared for pilot runs, so there are none on the record.");
        return;
    }
    let count = match &protocol.open_fields {
        Some(_) => "the tasks that are added to it".to_owned(),
        None => counted(drawn.pilot.len() as u64, "task", "tasks"),
    };
    let splits = if pilots.len() == 1 { "split" } else { "splits" };
    page.item(format!(
        "Pilot runs are possible on tasks of the {splits} {} ({count}). They start only while no \
         registration is recorded, stand on the same record, and are in no analysis.",
        names(pilots)
    ));
}

/// Says the question and what is expected.
pub(super) fn question(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "What is asked, and what is expected?");
    let study = &protocol.study;
    page.author("Question", &study.question);
    if study.hypotheses.is_empty() {
        page.item("No hypothesis is stated.");
    }
    for (i, hypothesis) in study.hypotheses.iter().enumerate() {
        page.author(&format!("Hypothesis {}", i + 1), hypothesis);
    }
    match &protocol.analysis {
        Some(analysis) => decided(page, analysis),
        None => page.item("No comparison decides: no analysis is registered."),
    }
}

fn decided(page: &mut Page, analysis: &Analysis) {
    let primary = &analysis.primary;
    page.item(format!(
        "What decides is the outcome {}: {} against {}.",
        code(&primary.outcome),
        names(&analysis.treatments),
        code(&analysis.reference)
    ));
    let text = super::comparison::objective(primary.objective, primary.margin);
    page.item(format!("What is to be shown: {text}."));
}
