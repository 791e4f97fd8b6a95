//! Published heads: the line that is published, what shows that it was, and what a record owes to it.
//!
//! A chain of digests binds nothing that its owner cannot make again. Whoever holds a line that was
//! published holds the record to it: a record that has not that digest at that number is another one.
//!
//! - `line`: the published lines, read and written;
//! - `ssh`, `timestamp`: signatures and time-stamps over a line;
//! - `file`: files that hold any of these;
//! - `expected`: what they call for, compared with the entries of a record.

pub mod expected;
pub mod file;
pub mod line;
pub mod ssh;
pub mod timestamp;

use data_encoding::BASE64;

use crate::engine::command::{Action, Witness};
use line::{Line, Published};
use timestamp::Token;

/// What shows that a line was published, once it was checked as far as it can be without anybody's
/// certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing beside the line.
    Line,
    /// A signature; the fingerprint of its key.
    Ssh(String),
    /// A time-stamp.
    Rfc3161(Token),
    /// What a git remote gave.
    Git,
}

impl Proof {
    /// Returns the kind as it is printed.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Ssh(_) => "ssh",
            Self::Rfc3161(_) => "rfc3161",
            Self::Git => "git",
        }
    }
}

/// Returns what an action says was published; nothing of an action about something else.
pub fn published(action: &Action) -> Option<(Published, &Witness)> {
    match action {
        Action::Anchor {
            study,
            entry,
            digest,
            witness,
            ..
        } => Some((Published::new(study, *entry, *digest), witness)),
        _ => None,
    }
}

/// Checks that a witness bears a line out.
pub fn prove(published: &Published, witness: &Witness) -> Result<Proof, String> {
    match witness {
        Witness::Line {} => Ok(Proof::Line),
        Witness::Ssh { signature } => ssh::check(published, signature).map(Proof::Ssh),
        Witness::Rfc3161 { token } => {
            let der = BASE64.decode(token.as_bytes());
            let token = Token::read(&der.map_err(|_| "the time-stamp is not base64".to_owned())?)?;
            token.must_stamp(published)?;
            Ok(Proof::Rfc3161(token))
        }
        Witness::Git { receipt } => {
            let line = Line::Head(published.clone());
            match line::lines_in(receipt)?.contains(&line) {
                true => Ok(Proof::Git),
                false => Err("the receipt does not hold the published line".to_owned()),
            }
        }
    }
}
