//! Anything else about the conduct: checks around runs, what is kept, who writes, the seal.

use serde_json::Value;

use super::page::{Page, code, command, json};
use super::words::names;
use crate::protocol::model::{Artefacts, Probe, ProbeFormat, Protocol, Retain};

/// Says what is checked and kept around runs, and who may write and look.
pub(super) fn section(page: &mut Page, protocol: &Protocol) {
    page.heading(2, "Anything else?");
    if let Some(words) = &protocol.preflight {
        page.item(format!(
            "Before anything starts, {} is executed for each arm that is executed here; nothing \
             starts until each has printed the status `ready`. The other statuses are \
             `registration_required` and `implementation_gap`.",
            command(words)
        ));
    }
    if !protocol.checkpoint.is_empty() {
        page.item(format!(
            "Each run of {} has a checkpoint in the middle, recorded once while the run is live, \
             as passed or not, with the reason.",
            names(&protocol.checkpoint)
        ));
    }
    kept(page, protocol.artefacts.as_ref());
    page.item(match protocol.actors.as_slice() {
        [] => {
            "Every entry of the record names who wrote it; any kind of actor may write.".to_owned()
        }
        kinds => format!(
            "Every entry of the record names who wrote it. These kinds of actor may write: {}.",
            names(kinds)
        ),
    });
    page.item(if protocol.sealed() {
        "Outcomes by arm stay sealed until the study has ended; looking earlier is recorded."
    } else {
        "Outcomes by arm are not sealed: they can be seen while the study goes on."
    });
    page.item("A deviation is recorded with a note, and the report prints it in full.");
    for probe in &protocol.probes {
        self::probe(page, probe);
    }
}

fn kept(page: &mut Page, artefacts: Option<&Artefacts>) {
    let Some(Artefacts {
        keep,
        keep_diff_for,
        retain,
    }) = artefacts
    else {
        return;
    };
    let when = match retain {
        Retain::Always => "after every run (`always`)",
        Retain::OnFailure => "after a run that failed (`on_failure`)",
        Retain::Never => "after no run (`never`)",
    };
    page.item(match keep.as_slice() {
        [] => format!("No file of a workspace is named to be kept {when}."),
        keep => format!("Files of the workspace are kept {when}: {}.", names(keep)),
    });
    if !keep_diff_for.is_empty() {
        page.item(format!(
            "What a run changed may be kept for tasks of: {}.",
            names(keep_diff_for)
        ));
    }
}

fn probe(page: &mut Page, probe: &Probe) {
    let Probe {
        id,
        command: words,
        format,
        expect,
        expect_absent,
        record_only,
    } = probe;
    page.heading(3, &format!("Probe {}", code(id)));
    page.item(format!(
        "{} is executed before and after each run; a change refuses the next start.",
        command(words)
    ));
    page.item(match format {
        ProbeFormat::Text => "Its output is read as text (`text`).",
        ProbeFormat::Json => "Its output is read as JSON (`json`).",
    });
    page.item(match expect {
        Some(Value::String(text)) => format!("It must be the text {}.", code(text)),
        Some(expected) => format!("It must be {}.", json(expected)),
        None => "It must be what it was at registration.".to_owned(),
    });
    if !expect_absent.is_empty() {
        page.item(format!("It must not have: {}.", names(expect_absent)));
    }
    if !record_only.is_empty() {
        page.item(format!(
            "Recorded and not compared: {}.",
            names(record_only)
        ));
    }
}
