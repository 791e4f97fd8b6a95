//! What of an entry can be checked by itself, before anything is known of those before it: that its
//! digest follows from theirs, that it is in canonical form, and that it opens its commitments.

use std::collections::BTreeMap;

use super::divergence::Code;
use super::entry::{self, Answer, Body, EntryText};
use crate::engine::command::Command;
use crate::units::Digest;

/// An entry that was read.
#[derive(Debug)]
pub struct Reading {
    /// Its number.
    pub seq: u64,
    /// Its digest.
    pub digest: Digest,
    /// What it says, or what is wrong with it.
    pub said: Result<Box<Said>, (Code, String)>,
}

/// What an entry says.
#[derive(Debug)]
pub struct Said {
    /// What was asked or reported, with what was sealed where that is opened.
    pub command: Command,
    /// What followed.
    pub ruling: Answer,
    /// The names of what it seals, in order.
    pub sealed: Vec<String>,
    /// Whether what it seals is withheld.
    pub withheld: bool,
}

/// Reads an entry, given the digest that stands before it; `whole` where nothing may be withheld.
pub fn read(entry: EntryText<'_>, previous: &Digest, whole: bool) -> Reading {
    Reading {
        seq: entry.seq,
        digest: entry.digest,
        said: check(entry, previous, whole),
    }
}

fn check(
    entry: EntryText<'_>,
    previous: &Digest,
    whole: bool,
) -> Result<Box<Said>, (Code, String)> {
    if entry::digest(previous, entry.seq, entry.body) != entry.digest {
        let message = "its digest does not follow from its body and the entry before";
        return Err((Code::Digest, message.to_owned()));
    }
    let body = entry::read_body(entry.body).map_err(form)?;
    let Body {
        mut command,
        mut ruling,
        sealed,
    } = body;
    match entry.opening {
        Some(opening) => unseal(opening, &sealed, &mut command, &mut ruling)?,
        None if whole && !sealed.is_empty() => {
            let message = "what it seals is not opened, and nothing is withheld here";
            return Err((Code::Commitment, message.to_owned()));
        }
        None => {}
    }
    Ok(Box::new(Said {
        command,
        ruling,
        withheld: entry.opening.is_none() && !sealed.is_empty(),
        sealed: sealed.into_keys().collect(),
    }))
}

fn form(message: String) -> (Code, String) {
    (Code::BodyForm, message)
}

/// Puts back what an entry seals, if it opens the entry's commitments.
fn unseal(
    opening: &str,
    sealed: &BTreeMap<String, Digest>,
    command: &mut Command,
    ruling: &mut Answer,
) -> Result<(), (Code, String)> {
    let opening = entry::read_opening(opening).map_err(form)?;
    if !opening.opens(sealed) {
        let message = "a sealed value does not open its commitment";
        return Err((Code::Commitment, message.to_owned()));
    }
    entry::open(command, ruling, opening).map_err(form)
}
