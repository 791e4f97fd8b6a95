//! The verb `verify`: everything derived again, and held to what was published.

use std::path::Path;

use serde_json::{Value, json};

use super::anchor;
use super::args::Verify;
use super::input;
use super::reply::{Defects, Failure, Reply};
use super::results::{self, counted};
use super::run::runs_beside;
use crate::engine::slice::Run;
use crate::record::anchor::Proof;
use crate::record::anchor::expected::{Anchor, Expected, Origin};
use crate::record::anchor::file::Shown;
use crate::record::anchor::line::Line;
use crate::record::audit::Audit;
use crate::record::divergence::{Code, Divergence};
use crate::record::unshown;
use crate::runner::kept::{Kept, Unlike};
use crate::runner::signing::Stamped;
use crate::store::{self, EachRun, End, Store, Verification};
use crate::units::Digest;

/// A publication that the record agrees with, and whether it was checked who stamped it.
struct Checked {
    anchor: Anchor,
    is_signature_checked: Option<bool>,
}

impl Checked {
    /// Returns whether it binds also whoever keeps the record.
    fn is_from_outside(&self) -> bool {
        self.anchor.origin.is_given() || self.is_signature_checked == Some(true)
    }
}

/// Derives every decision again.
pub(super) fn verify(args: &Verify) -> Result<Reply, Failure> {
    derive(args).map_err(|failure| match failure {
        Failure::Defects(found) => Failure::Defects(Defects {
            undone: "verified",
            ..found
        }),
        other => other,
    })
}

fn derive(args: &Verify) -> Result<Reply, Failure> {
    let mut expected = expected(args)?;
    let mut kept = Kept::default();
    let mut hold = |first: Option<Digest>, study: &str, run: &Run| {
        hold_files(&mut kept, &args.file, first, study, run)
    };
    let each_run: Option<EachRun<'_>> = if args.artefacts {
        Some(&mut hold)
    } else {
        None
    };
    let verification = store::verify_against(&args.file, &mut expected, each_run)?;
    let is_sound = !matches!(verification, Verification::Diverged(_));
    if let Some(unmet) = expected.unmet().filter(|_| is_sound) {
        return Err(anchor::defect(Path::new(&unmet.file), unmet.message));
    }
    match verification {
        Verification::Verified(audit) => {
            let anchors = expected.anchors().into_iter();
            let anchors = anchors.map(|found| check_stamp(found, args.ca.as_deref()));
            let anchors = anchors.collect::<Result<Vec<_>, _>>()?;
            let kept = args.artefacts.then_some(kept);
            Ok(verified(&audit, &anchors, kept))
        }
        Verification::Empty => Ok(Reply::done(
            "empty       the record has no entries yet: nothing was decided, and nothing diverges\n",
            json!({ "verified": true, "state": "empty", "entries": 0 }),
        )),
        Verification::Diverged(divergence) => {
            let is_other = divergence.code == Code::NotARecord && is_protocol(&args.file);
            Err(match is_other {
                true => mistaken(&args.file),
                false => diverged(&args.file, divergence),
            })
        }
    }
}

/// Reads what the record is to be held to: what was given, and what is kept beside it.
fn expected(args: &Verify) -> Result<Expected, Failure> {
    let mut expected = Expected::default();
    if args.artefacts {
        expected.hold_to_receipts();
    }
    for digest in &args.head {
        expected.hold_to_digest(*digest);
    }
    for file in &args.anchor {
        let origin = Origin::File(file.display().to_string());
        expected.hold_to(&origin, anchor::shown(file)?);
    }
    let beside = store::anchors_of(&args.file).display().to_string();
    let kept = store::published_beside(&args.file)?;
    let kept = kept.into_iter().map(|kept| Shown::Line(Line::Head(kept)));
    expected.hold_to(&Origin::Beside(beside), kept.collect());
    Ok(expected)
}

/// Holds the files that a run has left beside the record, or beside its export, to what it says of them.
fn hold_files(
    kept: &mut Kept,
    file: &Path,
    first: Option<Digest>,
    study: &str,
    run: &Run,
) -> Result<(), End> {
    let Some(said) = &run.execution else {
        return Ok(());
    };
    let as_record = runs_beside(file, first);
    // An export may be called as anybody likes; the record is called as its study.
    let as_study = runs_beside(&file.with_file_name(format!("{study}.prereg.db")), first);
    let found = [&as_record, &as_study].into_iter().find(|at| at.is_dir());
    let runs = found.unwrap_or(&as_record);
    kept.check(runs, run.run, said)
        .and_then(|()| kept.check_artefacts(runs, run))
        .map_err(|unlike| match unlike {
            Unlike::Differs(message) => {
                End::Diverged(Divergence::new(Code::ArtefactDiffers, 0, message))
            }
            Unlike::Unread(source, path) => End::Fault(store::Fault::file(&path, source)),
        })
}

fn kept_text(kept: Kept) -> String {
    let agree = counted(kept.agree, "file agrees", "files agree");
    let mut text = format!("artefacts   {agree} with the record\n");
    if kept.cut > 0 {
        let hold = counted(kept.cut, "file holds", "files hold");
        text.push_str(&format!(
            "            {hold} only the beginning of what was printed: as long as recorded, the digest is not checked\n"
        ));
    }
    if kept.absent > 0 {
        let are = counted(kept.absent, "file is", "files are");
        text.push_str(&format!("            {are} not there\n"));
    }
    text
}

fn kept_json(kept: Kept) -> Value {
    json!({ "agree": kept.agree, "cut": kept.cut, "absent": kept.absent })
}

/// Returns whether a file is a protocol and not what follows from one: a table of TOML that names a study.
fn is_protocol(file: &Path) -> bool {
    let text = input::text(file).ok();
    let read = text.and_then(|text| toml::from_str::<Value>(&text).ok());
    read.is_some_and(|table| table.get("study").is_some())
}

fn mistaken(file: &Path) -> Failure {
    let name = file.display();
    Failure::Usage {
        code: "protocol-given",
        message: format!(
            "`{name}` is a protocol, not a record: `prereg check {name}` checks it; name the record that `register` or `run` made from it, or an export"
        ),
    }
}

fn diverged(file: &Path, divergence: Divergence) -> Failure {
    let text = Store::read(file)
        .ok()
        .and_then(|store| store.protocol_text().ok().flatten());
    Failure::Diverged { divergence, text }
}

/// Checks who stamped a published line, where certificates were given.
fn check_stamp(found: Anchor, authorities: Option<&Path>) -> Result<Checked, Failure> {
    let Proof::Rfc3161(token) = &found.proof else {
        return Ok(Checked {
            anchor: found,
            is_signature_checked: None,
        });
    };
    let (Some(Line::Head(published)), Some(authorities)) = (&found.line, authorities) else {
        return Ok(Checked {
            anchor: found,
            is_signature_checked: Some(false),
        });
    };
    match anchor::check_stamp(published, token, authorities)? {
        Stamped::Holds => Ok(Checked {
            anchor: found,
            is_signature_checked: Some(true),
        }),
        Stamped::Untrusted(said) => Err(anchor::untrusted(&found.origin.text(), &said)),
        Stamped::Broken(said) => {
            let message = format!("the signature of the time-stamp does not hold ({said})");
            Err(match &found.origin {
                Origin::Entry(seq) => Failure::Diverged {
                    divergence: Divergence::new(Code::AnchorInvalid, *seq, message),
                    text: None,
                },
                Origin::File(name) => anchor::defect(Path::new(name), message),
                _ => anchor::defect(authorities, message),
            })
        }
    }
}

fn verified(audit: &Audit, anchors: &[Checked], kept: Option<Kept>) -> Reply {
    let standing = &audit.slice.standing;
    let planned = audit.rules.as_ref();
    let slots = planned.map_or(standing.slots, |rules| rules.slots(standing));
    let registered = match audit.registered_at {
        None => "not registered".to_owned(),
        Some(at) => format!(
            "registered {at}, after {}",
            counted(audit.pilots_before_registration, "pilot run", "pilot runs")
        ),
    };
    let entries = counted(audit.head.seq, "entry", "entries");
    let rulings = counted(audit.rulings, "ruling", "rulings");
    let refusals = counted(audit.refusals, "refusal", "refusals");
    let ended = standing.slots_ended;
    let mut text = format!(
        "verified    {entries}; chain and {rulings} agree, {refusals} among them\n            {registered}; {ended} of {slots} slots have ended\n",
    );
    if audit.withheld > 0 {
        let scores = counted(audit.withheld, "score is sealed", "scores are sealed");
        text.push_str(&format!(
            "            {scores}: that the evidence leads to the outcomes is not shown\n"
        ));
    }
    if standing.unblinded > 0 {
        let times = counted(standing.unblinded, "time", "times");
        text.push_str(&format!(
            "            outcomes were looked at {times} before the study had ended\n"
        ));
    }
    for said in results::clocks(&standing.clock) {
        text.push_str(&format!("clock       {said}\n"));
    }
    text.push_str(&kept.map(kept_text).unwrap_or_default());
    text.push_str(&format!(
        "head        {} {}\n",
        audit.head.seq, audit.head.digest
    ));
    let head = audit.head.seq;
    let newest = newest(anchors.iter().filter(|checked| checked.is_from_outside()));
    text.push_str(&anchored_text(newest, head, anchors));
    text.push_str(&unshown::lines());
    let mut json = json!({
        "verified": true,
        "entries": audit.head.seq,
        "head": audit.head,
        "rulings": audit.rulings,
        "refusals": audit.refusals,
        "withheld": audit.withheld,
        "registered_at": audit.registered_at,
        "pilots_before_registration": audit.pilots_before_registration,
        "slots": slots,
        "slots_ended": standing.slots_ended,
        "clock": standing.clock,
        "anchored": newest,
        "after_anchor": newest.map(|newest| head - newest),
        "anchors": anchors.iter().map(anchor_json).collect::<Vec<_>>(),
        "not_shown": unshown::UNSHOWN,
    });
    if let Some(kept) = kept {
        json["artefacts"] = kept_json(kept);
    }
    Reply::done(text, json)
}

fn newest<'a>(anchors: impl Iterator<Item = &'a Checked>) -> Option<u64> {
    anchors.map(|checked| checked.anchor.entry).max()
}

/// Says how much of the record somebody else than its owner holds it to, and by what.
fn anchored_text(newest: Option<u64>, head: u64, anchors: &[Checked]) -> String {
    let mut text = match newest {
        Some(newest) => {
            let after = match head - newest {
                0 => "nothing lies after it".to_owned(),
                1 => "1 entry lies after it, and could have been made again".to_owned(),
                after => {
                    format!("{after} entries lie after it, and could have been made again")
                }
            };
            format!("anchored    up to entry {newest}; {after}\n")
        }
        None => "anchored    nothing: whoever keeps this record could have made all of it again\n\
            \x20           (give what was published: --anchor FILE or --head DIGEST)\n"
            .to_owned(),
    };
    for checked in anchors {
        text.push_str(&anchor_text(checked));
    }
    text
}

fn anchor_text(checked: &Checked) -> String {
    let Anchor {
        origin,
        entry,
        line,
        proof,
    } = &checked.anchor;
    let what = match (origin, line) {
        (_, Some(Line::Registration { .. })) => "the registration, by a line".to_owned(),
        (Origin::Digest, _) => "by its digest".to_owned(),
        _ => anchor::proof_text(proof, checked.is_signature_checked),
    };
    let from = match origin {
        Origin::Digest => "given with --head".to_owned(),
        Origin::File(name) => format!("in `{name}`"),
        Origin::Beside(name) => format!("kept beside the record, in `{name}`"),
        Origin::Entry(seq) => format!("recorded in entry {seq}"),
    };
    format!("            entry {entry}: {what}, {from}\n")
}

fn anchor_json(checked: &Checked) -> Value {
    let Anchor {
        origin,
        entry,
        line,
        proof,
    } = &checked.anchor;
    let (source, from) = match origin {
        Origin::Digest => ("head", Value::Null),
        Origin::File(name) => ("file", json!(name)),
        Origin::Beside(name) => ("beside", json!(name)),
        Origin::Entry(seq) => ("entry", json!(seq)),
    };
    let mut json = anchor::proof_json(proof, checked.is_signature_checked);
    json["source"] = json!(source);
    json["from"] = from;
    json["entry"] = json!(entry);
    json["line"] = json!(line.as_ref().map(Line::to_string));
    json["outside"] = json!(checked.is_from_outside());
    json
}
