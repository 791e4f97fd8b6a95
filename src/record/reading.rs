//! What of an entry can be checked by itself, before anything is known of those before it: that its
//! digest follows from theirs, that it is in canonical form, and that it opens its commitments.
//!
//! A ruling is nearly always the one that the rules give, and then it is spelled as that one is: it need not be read
//! to be compared. So it is left unread where all else is as it should be.

use std::collections::BTreeMap;
use std::ops::Range;

use super::asked::{self, Asked};
use super::divergence::Code;
use super::entry::{self, Answer, Body, EntryText, Opened};
use crate::engine::command::Command;
use crate::protocol::canonical;
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
    pub ruling: Recorded,
    /// The names of what it seals, in order.
    pub sealed: Vec<String>,
    /// Whether what it seals is withheld.
    pub withheld: bool,
}

/// A ruling as it is recorded.
#[derive(Debug)]
pub enum Recorded {
    /// It was read.
    Read(Answer),
    /// It was not.
    Unread(Unread),
}

/// A ruling that was not read. Whether its entry is in canonical form is not known either.
#[derive(Debug)]
pub struct Unread {
    /// Where it stands in the body of its entry.
    place: Range<usize>,
    /// What was sealed of it.
    opened: Option<Opened>,
}

impl Unread {
    /// Returns whether the ruling in the body of the entry is a given one, and in canonical form.
    pub(super) fn is(&self, body: &str, ruling: &Answer) -> bool {
        let text = body.get(self.place.clone());
        text.is_some_and(|text| canonical::is_text(ruling, text))
            && entry::has_opened(ruling, self.opened.as_ref())
    }

    /// Reads the ruling in the body of the entry; says what is wrong with that.
    pub(super) fn read(&self, body: &str) -> Result<Answer, (Code, String)> {
        let Body { mut ruling, .. } = entry::read_body(body).map_err(form)?;
        if let Some(opened) = &self.opened {
            entry::open_ruling(&mut ruling, opened.clone());
        }
        Ok(ruling)
    }
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
    match unread(entry) {
        Some(said) => Ok(Box::new(said)),
        None => read_whole(entry, whole).map(Box::new),
    }
}

/// Reads an entry but for its ruling, if it seals nothing that is not opened, and all is well.
fn unread(entry: EntryText<'_>) -> Option<Said> {
    let Asked {
        command,
        ruling: place,
        sealed,
        opened,
    } = asked::read(entry)?;
    Some(Said {
        command,
        ruling: Recorded::Unread(Unread { place, opened }),
        sealed,
        withheld: false,
    })
}

fn read_whole(entry: EntryText<'_>, whole: bool) -> Result<Said, (Code, String)> {
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
    Ok(Said {
        command,
        ruling: Recorded::Read(ruling),
        withheld: entry.opening.is_none() && !sealed.is_empty(),
        sealed: sealed.into_keys().collect(),
    })
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
