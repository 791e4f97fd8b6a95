//! What published heads call for of a record, compared with its entries as they come.

use std::collections::{BTreeMap, BTreeSet};

use super::file::Shown;
use super::line::{Line, Published};
use super::timestamp::{Token, imprint};
use super::{Proof, prove, published};
use crate::engine::command::Action;
use crate::record::divergence::{Code, Divergence};
use crate::record::entry::Head;
use crate::units::Digest;

/// Where what shows a publication comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Whoever verifies gave the digest.
    Digest,
    /// Whoever verifies gave a file, of this name.
    File(String),
    /// The file beside the record, which its owner keeps.
    Beside(String),
    /// An entry of the record itself.
    Entry(u64),
}

impl Origin {
    /// Returns whether it is in the hands of somebody else than the record's owner.
    pub fn is_given(&self) -> bool {
        matches!(self, Self::Digest | Self::File(_))
    }

    /// Says where it comes from.
    pub fn text(&self) -> String {
        match self {
            Self::Digest => "--head".to_owned(),
            Self::File(name) | Self::Beside(name) => format!("`{name}`"),
            Self::Entry(seq) => format!("entry {seq}"),
        }
    }
}

/// A publication that the record agrees with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Where it comes from.
    pub origin: Origin,
    /// The number of the entry that it names.
    pub entry: u64,
    /// What it names: a head, or the registration.
    pub line: Option<Line>,
    /// What bears it out.
    pub proof: Proof,
}

/// Something that a record must agree with.
#[derive(Clone, Debug)]
struct Claim {
    origin: Origin,
    what: What,
    is_met: bool,
}

/// What a claim is about.
#[derive(Clone, Debug)]
enum What {
    Head(Published, Proof),
    Registration(String, Digest),
    /// A stamp of some line, which none of them is yet known to be.
    Stamp(Token),
    /// A digest of some entry.
    Digest(Digest),
}

/// An entry of which a later entry says that it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backward {
    /// What is said.
    pub head: Head,
    /// Which entry says so.
    pub by: u64,
}

/// How a record stands as of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Stand<'a> {
    /// The entry's number and digest.
    pub head: Head,
    /// The id of the study that was opened last.
    pub study: &'a str,
    /// The digest of the registration.
    pub registered: Option<Digest>,
}

/// A file that is about another record, or says too little to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The file's name.
    pub file: String,
    /// Why nothing follows from it.
    pub message: String,
}

/// Everything that a record is held to.
#[derive(Debug, Default)]
pub struct Expected {
    claims: Vec<Claim>,
    /// The claims about each entry.
    by_entry: BTreeMap<u64, Vec<usize>>,
    /// The claims about an entry whose number they do not say.
    anywhere: Vec<usize>,
    /// The studies that the record has opened.
    studies: BTreeSet<String>,
    registered: Option<Digest>,
    backward: Vec<Backward>,
    found: Vec<Anchor>,
    /// Whether each run that has ended must show how it was executed.
    receipts: bool,
}

impl Expected {
    /// Holds every run that has ended to what its supervisor has told.
    pub fn hold_to_receipts(&mut self) {
        self.receipts = true;
    }

    /// Returns whether runs that have ended must show how they were executed.
    pub fn holds_to_receipts(&self) -> bool {
        self.receipts
    }

    /// Holds the record to one of its entries' digests.
    pub fn hold_to_digest(&mut self, digest: Digest) {
        self.claim(Origin::Digest, What::Digest(digest));
    }

    /// Holds the record to everything that a file shows.
    pub fn hold_to(&mut self, origin: &Origin, shown: Vec<Shown>) {
        for shown in shown {
            let what = match shown {
                Shown::Line(Line::Head(published)) => What::Head(published, Proof::Line),
                Shown::Line(Line::Registration { study, digest }) => {
                    What::Registration(study, digest)
                }
                Shown::Head(published, _, proof) => What::Head(published, proof),
                Shown::Stamp(token) => What::Stamp(token),
            };
            self.claim(origin.clone(), what);
        }
    }

    fn claim(&mut self, origin: Origin, what: What) {
        let number = self.claims.len();
        match &what {
            What::Head(published, _) => {
                let claims = self.by_entry.entry(published.head.seq).or_default();
                claims.push(number);
            }
            What::Stamp(_) | What::Digest(_) => self.anywhere.push(number),
            What::Registration(..) => {}
        }
        self.claims.push(Claim {
            origin,
            what,
            is_met: false,
        });
    }

    /// Compares an entry with what is claimed of it.
    pub fn see(&mut self, stand: Stand<'_>) -> Result<(), Divergence> {
        if !self.studies.contains(stand.study) {
            self.studies.insert(stand.study.to_owned());
        }
        if self.registered.is_none() && stand.registered.is_some() {
            self.registered = stand.registered;
            self.see_registration(stand)?;
        }
        for number in self.by_entry.remove(&stand.head.seq).unwrap_or_default() {
            self.see_head(number, stand)?;
        }
        self.see_anywhere(stand);
        Ok(())
    }

    fn see_head(&mut self, number: usize, stand: Stand<'_>) -> Result<(), Divergence> {
        let claim = &self.claims[number];
        let What::Head(published, proof) = &claim.what else {
            return Ok(());
        };
        // The file beside the record is about it, whatever study it is of.
        let is_about = published.study == stand.study || matches!(claim.origin, Origin::Beside(_));
        if !is_about {
            return Ok(());
        }
        if published.head.digest != stand.head.digest {
            return Err(differs(stand.head.seq, &claim.origin));
        }
        let (published, proof) = (published.clone(), proof.clone());
        self.meet(number, stand.head.seq, Some(Line::Head(published)), proof);
        Ok(())
    }

    fn see_anywhere(&mut self, stand: Stand<'_>) {
        if self.anywhere.is_empty() {
            return;
        }
        let line = Published::new(stand.study, stand.head.seq, stand.head.digest);
        let stamped = imprint(&line);
        for number in std::mem::take(&mut self.anywhere) {
            let proof = match &self.claims[number].what {
                What::Stamp(token) if token.imprint == stamped => Proof::Rfc3161(token.clone()),
                What::Digest(digest) if *digest == stand.head.digest => Proof::Line,
                _ => {
                    self.anywhere.push(number);
                    continue;
                }
            };
            self.meet(
                number,
                stand.head.seq,
                Some(Line::Head(line.clone())),
                proof,
            );
        }
    }

    fn see_registration(&mut self, stand: Stand<'_>) -> Result<(), Divergence> {
        for number in 0..self.claims.len() {
            let Claim { origin, what, .. } = &self.claims[number];
            let What::Registration(study, digest) = what else {
                continue;
            };
            if study != stand.study {
                continue;
            }
            if Some(*digest) != stand.registered {
                let message = format!(
                    "it registers something else than {} publishes",
                    origin.text()
                );
                return Err(Divergence::new(
                    Code::AnchorDiffers,
                    stand.head.seq,
                    message,
                ));
            }
            let line = Line::Registration {
                study: study.clone(),
                digest: *digest,
            };
            self.meet(number, stand.head.seq, Some(line), Proof::Line);
        }
        Ok(())
    }

    fn meet(&mut self, number: usize, entry: u64, line: Option<Line>, proof: Proof) {
        let claim = &mut self.claims[number];
        claim.is_met = true;
        self.found.push(Anchor {
            origin: claim.origin.clone(),
            entry,
            line,
            proof,
        });
    }

    /// Takes note of what an entry says was published; refuses what its witness does not bear out.
    pub fn recorded(&mut self, by: u64, action: &Action) -> Result<(), Divergence> {
        let Some((published, witness)) = published(action) else {
            return Ok(());
        };
        let invalid = |message| Err(Divergence::new(Code::AnchorInvalid, by, message));
        if !(1..by).contains(&published.head.seq) {
            return invalid(format!(
                "it says that entry {} was published, which did not stand before it",
                published.head.seq
            ));
        }
        let proof = match prove(&published, witness) {
            Ok(proof) => proof,
            Err(message) => return invalid(message),
        };
        let head = published.head;
        self.backward.push(Backward { head, by });
        self.found.push(Anchor {
            origin: Origin::Entry(by),
            entry: head.seq,
            line: Some(Line::Head(published)),
            proof,
        });
        Ok(())
    }

    /// Returns the entries that later ones say were published: their digests are still to be compared.
    pub fn backward(&self) -> &[Backward] {
        &self.backward
    }

    /// Says what a record as a whole does not agree with.
    pub fn end(&self, head: Head) -> Result<(), Divergence> {
        for claim in self.claims.iter().filter(|claim| !claim.is_met) {
            let from = claim.origin.text();
            let missing = |message| Err(Divergence::new(Code::BehindAnchor, 0, message));
            match &claim.what {
                What::Head(published, _)
                    if published.head.seq > head.seq && self.is_about(claim) =>
                {
                    return Err(behind(published.head.seq, head.seq, &claim.origin));
                }
                What::Registration(..) if self.is_about(claim) && self.registered.is_none() => {
                    return missing(format!(
                        "the record registers nothing, and {from} publishes a registration"
                    ));
                }
                What::Digest(digest) => {
                    let message = format!(
                        "no entry has the digest {digest}: entries are missing, or were changed"
                    );
                    return Err(Divergence::new(Code::HeadUnknown, 0, message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns whether a claim names a study of this record; of a record without entries, every one.
    fn is_about(&self, claim: &Claim) -> bool {
        let (What::Head(Published { study, .. }, _) | What::Registration(study, _)) = &claim.what
        else {
            return true;
        };
        let is_beside = matches!(claim.origin, Origin::Beside(_));
        is_beside || self.studies.is_empty() || self.studies.contains(study)
    }

    /// Returns a file that nothing follows from, if one was given: whoever gave it counts on it.
    pub fn unmet(&self) -> Option<Unmet> {
        let files = self.claims.iter().filter_map(|claim| match &claim.origin {
            Origin::File(file) => Some(file),
            _ => None,
        });
        for file in files {
            let of_file = |claim: &&Claim| claim.origin == Origin::File(file.clone());
            let mut claims = self.claims.iter().filter(of_file);
            let stamp = |claim: &Claim| !claim.is_met && matches!(claim.what, What::Stamp(_));
            let message = if claims.clone().any(stamp) {
                "it is a time-stamp of no head of this record: of another record, or this one was changed; with the published line before the time-stamp, `verify` can tell which".to_owned()
            } else if !claims.any(|claim| claim.is_met) {
                let studies: Vec<&str> = self.studies.iter().map(String::as_str).collect();
                let studies = studies.join("`, `");
                format!("it publishes nothing of this record, which is of the study `{studies}`")
            } else {
                continue;
            };
            let file = file.clone();
            return Some(Unmet { file, message });
        }
        None
    }

    /// Returns every publication that the record agrees with, by the entry that it names.
    pub fn anchors(mut self) -> Vec<Anchor> {
        self.found.sort_by_key(|anchor| anchor.entry);
        self.found
    }
}

/// Says that an entry is not the one that was published.
pub fn differs(entry: u64, origin: &Origin) -> Divergence {
    let message = format!(
        "its digest is not the one that {} publishes: this entry or one before it was changed",
        origin.text()
    );
    Divergence::new(Code::AnchorDiffers, entry, message)
}

/// Says that a record ends before an entry that was published.
pub fn behind(entry: u64, head: u64, origin: &Origin) -> Divergence {
    let message = format!(
        "it was published ({}), and the record ends with entry {head}: what came after is missing",
        origin.text()
    );
    Divergence::new(Code::BehindAnchor, entry, message)
}

/// Says that an entry is not the one that a later entry says was published.
pub fn contradicts(backward: Backward) -> Divergence {
    let message = format!(
        "it says that entry {} was published with another digest than that entry has",
        backward.head.seq
    );
    Divergence::new(Code::AnchorInvalid, backward.by, message)
}
