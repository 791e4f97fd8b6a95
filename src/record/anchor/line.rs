//! The lines that are published: one names a registration, one a head.
//!
//! ```text
//! prereg/1 STUDY DIGEST
//! prereg-head/1 STUDY NUMBER DIGEST
//! ```
//!
//! What is signed or stamped is the line with one line feed after it.

use std::fmt;

use crate::record::entry::Head;
use crate::units::Digest;

/// What the line of a registration begins with.
const REGISTRATION: &str = "prereg/1";
/// What the line of a head begins with.
const HEAD: &str = "prereg-head/1";

/// A head as it is published: the study, and the newest entry's number and digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The study's id.
    pub study: String,
    /// The head.
    pub head: Head,
}

impl Published {
    /// Names a head of a study.
    pub fn new(study: &str, seq: u64, digest: Digest) -> Self {
        Self {
            study: study.to_owned(),
            head: Head { seq, digest },
        }
    }

    /// Returns the exact text that is signed or stamped: the line and a line feed.
    pub fn message(&self) -> String {
        format!("{self}\n")
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head { seq, digest } = self.head;
        write!(f, "{HEAD} {} {seq} {digest}", self.study)
    }
}

/// A published line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A registration's.
    Registration {
        /// The study's id.
        study: String,
        /// The registration's digest.
        digest: Digest,
    },
    /// A head's.
    Head(Published),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registration { study, digest } => write!(f, "{REGISTRATION} {study} {digest}"),
            Self::Head(published) => published.fmt(f),
        }
    }
}

/// Returns the published lines in a text, wherever they stand in it: in a commit, on a page, in a list.
///
/// A line that is cut off or misspelt is no line, and is refused: whoever gave it counts on it.
pub fn lines_in(text: &str) -> Result<Vec<Line>, String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line
            .split(|c: char| !(c.is_ascii_alphanumeric() || "._-/".contains(c)))
            .filter(|word| !word.is_empty())
            .collect();
        for at in 0..words.len() {
            found.extend(line_at(&words[at..])?);
        }
    }
    Ok(found)
}

/// Reads a line that begins with the first of some words. Words that only name the form are no line.
fn line_at(words: &[&str]) -> Result<Option<Line>, String> {
    match words {
        [HEAD, study, number, rest @ ..] => {
            let Ok(seq) = number.parse::<u64>() else {
                return Ok(None);
            };
            let digest = digest(rest, number)?;
            if seq == 0 || seq.to_string() != *number {
                return Err(format!("`{number}` is not the number of an entry"));
            }
            Ok(Some(Line::Head(Published::new(study, seq, digest))))
        }
        [REGISTRATION, study, rest @ ..] => {
            let is_cut = rest.first().is_none_or(|word| !is_hex(word));
            if is_cut {
                return Ok(None);
            }
            Ok(Some(Line::Registration {
                study: (*study).to_owned(),
                digest: digest(rest, study)?,
            }))
        }
        _ => Ok(None),
    }
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads the digest that a line ends with; a full stop after it belongs to a sentence.
fn digest(rest: &[&str], after: &str) -> Result<Digest, String> {
    let word = rest.first().map_or("", |word| word.trim_end_matches('.'));
    word.parse().map_err(|_| {
        format!("a published line has no digest of 64 lower-case hex digits after `{after}`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published() -> Published {
        Published::new("my-study_2.b", 12, Digest([0xab; 32]))
    }

    #[test]
    fn a_line_is_found_wherever_it_stands() {
        let published = published();
        let registration = Line::Registration {
            study: "other".to_owned(),
            digest: Digest([1; 32]),
        };
        for text in [
            format!("{published}"),
            format!("tree 0123\n\n    {published}\n    {registration}"),
            format!("<code>{published}</code>, and \"{registration}\"."),
            format!("See {published}. Before: {registration}\r\n"),
        ] {
            let found = lines_in(&text).unwrap();
            assert_eq!(found[0], Line::Head(published.clone()), "{text}");
            if found.len() > 1 {
                assert_eq!(found[1], registration, "{text}");
            }
        }
        let prose = "a line is `prereg-head/1 STUDY NUMBER DIGEST`, or prereg/1 STUDY DIGEST";
        assert_eq!(lines_in(prose), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_is_cut_or_misspelt_is_refused() {
        let line = published().to_string();
        for text in [
            line[..line.len() - 1].to_owned(),
            format!("{line}0"),
            line.to_uppercase().replace("PREREG-HEAD", "prereg-head"),
            line.replace(" 12 ", " 012 "),
            line.replace(" 12 ", " 0 "),
            "prereg-head/1 study 12".to_owned(),
        ] {
            assert!(lines_in(&text).is_err(), "{text}");
        }
    }
}
