//! `analyze`: the registered answer of a study that has ended, or what a table says, which nobody registered.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

use serde_json::json;

use super::args::Analyze;
use super::by_hand::ByHand;
use super::explore::explore;
use super::reply::{Failure, Reply};
use super::seal::is_sealed;
use super::study::find_record;
use crate::analysis::registered::Registered;
use crate::analysis::registered::answer::Answer;
use crate::engine::rules::Rules;
use crate::engine::slice::Standing;
use crate::record::export::{Header, HeaderFault};
use crate::report::answer::{self, Conduct, Study};
use crate::store::{self, Fault, Store, Verification};

/// The most bytes of the first line of an export.
const HEADER_MAX: u64 = 4096;
/// The form of what `--json` prints.
const SCHEMA: &str = "prereg-analysis/1";

/// Computes the registered analysis, and says it.
pub(super) fn analyze(args: &Analyze) -> Result<Reply, Failure> {
    if let Some(what) = args.explored() {
        return explore(args, &what);
    }
    let record = find_record(args.named.said())?;
    let store = Store::read(&record);
    let mut store = store.map_err(|fault| match fault {
        Fault::NotARecord(_) if stands_export(&record) => import_first(&record),
        fault => fault.into(),
    })?;
    must_derive(&mut store)?;
    let (rules, answer) = registered_answer(&mut store)?;
    let standing = store.standing()?;
    let head = store.head()?;
    let by_hand = ByHand::of(&mut store)?;
    let reported_by_hand = store.reported_by_hand()?;
    let study = Study {
        protocol: rules.protocol(),
        digest: rules.digest(),
        head,
        record: record.display().to_string(),
    };
    let conduct = Conduct {
        told: by_hand.text(&standing),
        runs: standing.runs,
        pilots: standing.pilots,
        reported_by_hand,
        stopped: standing.stopped.as_ref().map(|stop| stop.code.to_string()),
    };
    let text = answer::page(&study, &answer, &conduct);
    let json = json!({
        "schema": SCHEMA,
        "study": rules.protocol().study.id,
        "registration": rules.digest(),
        "head": head,
        "sentence": answer::sentence(&answer),
        "answer": answer,
        "reported_by_hand": reported_by_hand,
        "deviations": by_hand.deviations(),
        "voids": by_hand.voids(),
        "unblindings": by_hand.unblindings(),
    });
    Ok(Reply::done(text, json))
}

/// Returns whether a file begins as an export does.
fn stands_export(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER_MAX).read_to_end(&mut first));
    read.is_ok() && is_export(&first)
}

/// Returns whether bytes begin with the header of an export.
pub(super) fn is_export(bytes: &[u8]) -> bool {
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let header = std::str::from_utf8(first).map(Header::read);
    matches!(header, Ok(Ok(_) | Err(HeaderFault::Newer(_))))
}

/// Says that an export is not a record.
pub(super) fn import_first(export: &Path) -> Failure {
    let name = export.display();
    Failure::Usage {
        code: "export",
        message: format!(
            "`{name}` is an export, and no record: `prereg import {name}` makes the record again; analyze that"
        ),
    }
}

/// Refuses a record that does not derive: an answer to what somebody has edited is none.
fn must_derive(store: &mut Store) -> Result<(), Failure> {
    match store::verify(store.path())? {
        Verification::Diverged(divergence) => Err(Failure::Diverged {
            divergence,
            text: store.protocol_text()?,
        }),
        Verification::Verified(_) | Verification::Empty => Ok(()),
    }
}

/// Computes the registered answer; refuses before the study has ended.
pub(super) fn registered_answer(
    store: &mut Store,
) -> Result<(std::sync::Arc<Rules>, Answer), Failure> {
    let standing = store.standing()?;
    let rules = store.rules()?.filter(|_| standing.registered.is_some());
    let rules = rules.ok_or_else(|| {
        declined(
            "no-registration",
            "no protocol is registered on this record; `prereg register` does that".to_owned(),
        )
    })?;
    if !standing.has_ended() {
        return Err(unfinished(&rules, &standing));
    }
    let Some(analysis) = &rules.protocol().analysis else {
        return Err(declined(
            "no-analysis",
            "the protocol registers no analysis; `prereg status` counts its outcomes".to_owned(),
        ));
    };
    let observed = store.observed()?.unwrap_or_default();
    let registered = Registered {
        protocol: rules.protocol(),
        analysis,
        digest: rules.digest(),
        threads: threads(),
    };
    let answer = registered.answer(&observed);
    Ok((rules, answer))
}

/// Returns how many threads this machine has for us.
pub(super) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn declined(code: &'static str, message: String) -> Failure {
    Failure::Declined { code, message }
}

/// Says what must end before the answer may be computed: a look at it that is not scheduled would change what
/// its p means, also where outcomes are not sealed.
fn unfinished(rules: &Rules, standing: &Standing) -> Failure {
    let slots = rules.slots(standing);
    let left = slots.saturating_sub(standing.slots_ended);
    let live = match standing.live.len() {
        0 => String::new(),
        live => format!(", {live} runs are live"),
    };
    let (code, why) = match is_sealed(rules, standing) {
        true => ("sealed", "outcomes are sealed until the study has ended"),
        false => (
            "not-ended",
            "the analysis is registered for the ended study",
        ),
    };
    declined(
        code,
        format!(
            "{why}: {left} of {slots} slots have not ended{live}; `prereg run` goes on with them"
        ),
    )
}
