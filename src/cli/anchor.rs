//! Verbs about what is published of a record: `head`, `anchor`.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::args::{Anchor, HeadLine};
use super::elsewhere::request;
use super::export::write_whole;
use super::input;
use super::operator::{is_news, told};
use super::reply::{Failure, Reply};
use super::study::{apply, find_record};
use crate::engine::command::{Action, WITNESS_MAX, Witness};
use crate::engine::refusal::Refusal;
use crate::protocol::defect::{Code, Defect, Place};
use crate::record::anchor::expected::{self, Origin};
use crate::record::anchor::file::{self, Shown};
use crate::record::anchor::line::{Line, Published};
use crate::record::anchor::timestamp::{Token, imprint};
use crate::record::anchor::{Proof, prove, published};
use crate::runner::clock;
use crate::runner::signing::{self, SigningFault, Stamped};
use crate::store::{self, Store};

/// The most bytes that are read of a file that shows a publication.
const FILE_MAX: usize = 1024 * 1024;

/// Prints the line to publish.
pub(super) fn head(args: &HeadLine) -> Result<Reply, Failure> {
    let mut store = Store::read(&find_record(args.named.said())?)?;
    let published = current(&mut store)?;
    let registered = store.standing()?.registered;
    let registration = registered.map(|digest| Line::Registration {
        study: published.study.clone(),
        digest,
    });
    let registration = registration.map(|line| line.to_string());
    let text = match (args.registration, &registration) {
        (false, _) => published.message(),
        (true, Some(line)) => format!("{line}\n"),
        (true, None) => {
            return Err(Failure::Usage {
                code: "not-registered",
                message: "nothing is registered on this record; `prereg register` does it"
                    .to_owned(),
            });
        }
    };
    let json = json!({
        "line": published.to_string(),
        "study": published.study,
        "head": published.head,
        "registration": registration,
    });
    Ok(Reply::done(text, json))
}

/// Returns the newest head, once it is on the disk.
fn current(store: &mut Store) -> Result<Published, Failure> {
    let head = store.durable_head()?;
    Ok(Published::new(&study(store)?, head.seq, head.digest))
}

fn study(store: &mut Store) -> Result<String, Failure> {
    let rules = store.rules()?.ok_or(Failure::Refused {
        refusal: Refusal::NotOpened {},
        text: None,
    })?;
    Ok(rules.protocol().study.id.clone())
}

/// Records that a head was published.
pub(super) fn anchor(args: &Anchor) -> Result<Reply, Failure> {
    if let Some(to) = args.to.as_ref().filter(|to| to.exists()) {
        return Err(Failure::exists(to));
    }
    let mut store = Store::open(&find_record(args.named.said())?, clock::now)?;
    let (published, witness, file) = witness(args, &mut store)?;
    must_have(&store, &published, args.line.as_deref().unwrap_or(file))?;
    let bytes = witness.text().len();
    if bytes > WITNESS_MAX {
        let message = format!("it has {bytes} bytes to be recorded, and may have {WITNESS_MAX}");
        let slip = Defect::new(Code::TooLarge, Place::File, message);
        return Err(input::defect(file, "", slip));
    }
    let proof = prove(&published, &witness).map_err(|message| defect(file, message))?;
    let is_checked = match (&proof, &args.ca) {
        (Proof::Rfc3161(token), Some(authorities)) => {
            must_be_stamped(&published, token, authorities, file)?;
            Some(true)
        }
        (Proof::Rfc3161(_), None) => Some(false),
        _ => None,
    };
    let given = file::write(&published, &witness);
    let action = Action::Anchor {
        study: published.study.clone(),
        entry: published.head.seq,
        digest: published.head.digest,
        witness,
        note: args.note.clone(),
    };
    let response = apply(&mut store, request(&args.writes, action))?;
    store.keep_published(&published)?;
    if let Some(to) = &args.to {
        write_whole(to, |out| {
            out.write_all(given.as_bytes())
                .map_err(|error| Failure::file(to, &error))
        })?;
    }
    let beside = store::anchors_of(store.path()).display().to_string();
    let recorded = match (is_news(&response), response.seq) {
        (true, Some(seq)) => format!("recorded in entry {seq}"),
        _ => "recorded before".to_owned(),
    };
    let text = format!(
        "anchored    {published}\n            {}; {recorded}, and kept in {beside}\n",
        proof_text(&proof, is_checked)
    );
    let mut json = proof_json(&proof, is_checked);
    json["line"] = json!(published.to_string());
    json["anchored"] = json!(published.head);
    json["kept"] = json!(beside);
    Ok(told(text, &response, json))
}

/// Returns the line that was published, what shows it, and the file that says so.
fn witness<'a>(
    args: &'a Anchor,
    store: &mut Store,
) -> Result<(Published, Witness, &'a Path), Failure> {
    let study = study(store)?;
    let first = first(args, store)?;
    let said = match (&args.line, &first) {
        (Some(file), _) => Some(line_of(shown(file)?, &study, file)?),
        // The newest head is another one by now.
        (None, Some((published, Witness::Ssh { .. }))) => Some(published.clone()),
        (None, _) => None,
    };
    if let Some(key) = &args.ssh_key {
        if let Some((published, witness @ Witness::Ssh { .. })) = first
            && said.as_ref() == Some(&published)
        {
            return Ok((published, witness, key));
        }
        let published = said.map_or_else(|| current(store), Ok)?;
        let signature = signing::sign(&published, key)?;
        return Ok((published, Witness::Ssh { signature }, key));
    }
    if let Some(file) = &args.ssh_signature {
        let published = said.map_or_else(|| current(store), Ok)?;
        return signature(file, &published).map(|(line, witness)| (line, witness, file.as_path()));
    }
    if let Some(file) = &args.rfc3161 {
        let (published, token) = stamp(file, said, &study, store)?;
        let token = token.base64();
        return Ok((published, Witness::Rfc3161 { token }, file));
    }
    if let Some(file) = &args.git {
        let receipt = input::text_of(file, read(file)?)?;
        let published = match said {
            Some(published) => published,
            None => line_of(shown_in(file, receipt.as_bytes())?, &study, file)?,
        };
        return Ok((published, Witness::Git { receipt }, file));
    }
    match (said, &args.line) {
        (Some(published), Some(file)) => Ok((published, Witness::Line {}, file)),
        _ => Err(Failure::Usage {
            code: "arguments",
            message: "name what shows the publication".to_owned(),
        }),
    }
}

/// Returns what was recorded under the operation's key before: said again, it is the same.
fn first(args: &Anchor, store: &Store) -> Result<Option<(Published, Witness)>, Failure> {
    let Some(key) = &args.writes.key else {
        return Ok(None);
    };
    let action = store.answered(key)?;
    let found = action.as_ref().and_then(published);
    Ok(found.map(|(published, witness)| (published, witness.clone())))
}

/// Returns the newest head of a study that a file publishes.
fn line_of(shown: Vec<Shown>, study: &str, file: &Path) -> Result<Published, Failure> {
    let heads = shown.into_iter().filter_map(|shown| match shown {
        Shown::Line(Line::Head(published)) | Shown::Head(published, ..) => Some(published),
        _ => None,
    });
    let newest = heads
        .filter(|published| published.study == study)
        .max_by_key(|published| published.head.seq);
    newest.ok_or_else(|| {
        let message =
            format!("it publishes no head of the study `{study}`; `prereg head` prints the line");
        defect(file, message)
    })
}

/// Reads a signature: of the line that stands before it in its file, or else of the one that is meant.
fn signature(file: &Path, published: &Published) -> Result<(Published, Witness), Failure> {
    let armored = input::text_of(file, read(file)?)?;
    let whole = published.message() + &armored;
    let signed = shown_in(file, whole.as_bytes())?.into_iter().rev();
    let mut signed = signed.filter_map(|shown| match shown {
        Shown::Head(published, witness @ Witness::Ssh { .. }, _) => Some((published, witness)),
        _ => None,
    });
    signed.next().ok_or_else(|| {
        defect(
            file,
            "it holds no signature of `ssh-keygen -Y sign`".to_owned(),
        )
    })
}

/// Reads a time-stamp, and finds the head that it is of.
fn stamp(
    file: &Path,
    said: Option<Published>,
    study: &str,
    store: &Store,
) -> Result<(Published, Token), Failure> {
    let stamped = shown(file)?
        .into_iter()
        .rev()
        .find_map(|shown| match shown {
            Shown::Head(published, _, Proof::Rfc3161(token)) => Some((Some(published), token)),
            Shown::Stamp(token) => Some((None, token)),
            _ => None,
        });
    let Some((beside, token)) = stamped else {
        return Err(defect(file, "it holds no time-stamp".to_owned()));
    };
    if let Some(published) = said.or(beside) {
        return Ok((published, token));
    }
    let line = |head: crate::record::entry::Head| Published::new(study, head.seq, head.digest);
    let found = store.newest_head(|head| imprint(&line(head)) == token.imprint)?;
    let message = || {
        "it is a time-stamp of no head of this record; stamp the exact output of `prereg head`"
            .to_owned()
    };
    let head = found.ok_or_else(|| defect(file, message()))?;
    Ok((line(head), token))
}

/// Refuses a line that the record does not agree with.
fn must_have(store: &Store, published: &Published, file: &Path) -> Result<(), Failure> {
    let origin = Origin::File(file.display().to_string());
    let (named, newest) = (published.head, store.head()?);
    let divergence = match store.head_at(named.seq)? {
        Some(found) if found == named => return Ok(()),
        Some(_) => expected::differs(named.seq, &origin),
        None => expected::behind(named.seq, newest.seq, &origin),
    };
    Err(Failure::Diverged {
        divergence,
        text: None,
    })
}

/// Refuses a time-stamp that no authority stands behind whose certificate was given.
fn must_be_stamped(
    published: &Published,
    token: &Token,
    authorities: &Path,
    file: &Path,
) -> Result<(), Failure> {
    match check_stamp(published, token, authorities)? {
        Stamped::Holds => Ok(()),
        Stamped::Untrusted(said) => Err(untrusted(&format!("`{}`", file.display()), &said)),
        Stamped::Broken(said) => Err(defect(
            file,
            format!("the signature of the time-stamp does not hold ({said})"),
        )),
    }
}

/// Checks who stamped a line; the certificates must be there.
pub(super) fn check_stamp(
    published: &Published,
    token: &Token,
    authorities: &Path,
) -> Result<Stamped, Failure> {
    read(authorities)?;
    Ok(signing::check_stamp(published, token, authorities)?)
}

/// Makes the fault of a time-stamp of an authority that nobody vouches for.
pub(super) fn untrusted(from: &str, said: &str) -> Failure {
    Failure::Fault {
        code: "stamp-untrusted",
        message: format!(
            "the certificates of --ca do not lead to who made the time-stamp of {from} ({said}); give those of its authority"
        ),
    }
}

/// Reads everything that a file shows.
pub(super) fn shown(file: &Path) -> Result<Vec<Shown>, Failure> {
    shown_in(file, &read(file)?)
}

fn shown_in(file: &Path, bytes: &[u8]) -> Result<Vec<Shown>, Failure> {
    file::read(bytes).map_err(|message| defect(file, message))
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    input::bytes(file, FILE_MAX).map_err(|slip| input::defect(file, "", slip))
}

/// Makes the failure of a file that does not show what it should.
pub(super) fn defect(file: &Path, message: String) -> Failure {
    input::defect(file, "", Defect::new(Code::Anchor, Place::File, message))
}

/// Says what bears a line out.
pub(super) fn proof_text(proof: &Proof, is_signature_checked: Option<bool>) -> String {
    match (proof, is_signature_checked) {
        (Proof::Line, _) => "by a line".to_owned(),
        (Proof::Ssh(signer), _) => format!("signed by {signer}"),
        (Proof::Rfc3161(token), Some(true)) => format!("stamped {}", token.time),
        (Proof::Rfc3161(token), _) => format!(
            "stamped {}, by whom was not checked (--ca FILE)",
            token.time
        ),
        (Proof::Git, _) => "by what a git remote gave, whose time is the remote's word".to_owned(),
    }
}

/// Says the same as data.
pub(super) fn proof_json(proof: &Proof, is_signature_checked: Option<bool>) -> Value {
    let (signer, time) = match proof {
        Proof::Ssh(signer) => (Some(signer), None),
        Proof::Rfc3161(token) => (None, Some(token.time)),
        _ => (None, None),
    };
    json!({
        "kind": proof.kind(),
        "signer": signer,
        "time": time,
        "signature_checked": is_signature_checked,
    })
}

impl From<SigningFault> for Failure {
    fn from(fault: SigningFault) -> Self {
        Self::Fault {
            code: "seal",
            message: fault.to_string(),
        }
    }
}
