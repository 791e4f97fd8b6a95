//! Whether a text is the canonical spelling of some data, found out without writing it anew.
//!
//! The data is serialized into a walk along the text: whatever comes must stand where the walk is. The fields of a
//! struct may come in any order, and stand in the order of their names: a member whose turn has not come is passed
//! over, and walked along when it does. So the walk ends at the end of the text only if every member was met once.

mod serializer;

use std::fmt;
use std::ops::Range;

use serde::ser::{self, Serialize};

use crate::units::EXACT_MAX;

/// Returns whether a JSON text is plainly the canonical spelling of some data; of other texts the tree of values says
/// whether they are.
pub(super) fn is_plainly(part: &impl Serialize, text: &str) -> bool {
    let mut walk = Walk {
        text: text.as_bytes(),
        at: 0,
        passed: Vec::new(),
    };
    part.serialize(&mut walk).is_ok() && walk.at == text.len()
}

/// What is serialized is not what stands there, or is not plain.
#[derive(Debug)]
struct Differs;

type Met = Result<(), Differs>;

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something else stands there")
    }
}

impl std::error::Error for Differs {}

impl ser::Error for Differs {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A walk along a text.
struct Walk<'t> {
    text: &'t [u8],
    at: usize,
    /// The members of the objects that are open which were passed over.
    passed: Vec<Member>,
}

/// Where a member of an object stands.
struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

impl Walk<'_> {
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn meet(&mut self, byte: u8) -> Met {
        match self.next() == Some(byte) {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(Differs),
        }
    }

    fn meet_all(&mut self, bytes: &[u8]) -> Met {
        let end = self.at + bytes.len();
        match self.text.get(self.at..end) == Some(bytes) {
            true => {
                self.at = end;
                Ok(())
            }
            false => Err(Differs),
        }
    }

    fn text(&mut self, text: &str) -> Met {
        if text.bytes().fold(false, |is, byte| is | is_escaped(byte)) {
            let spelled = serde_json::to_vec(text).map_err(|_| Differs)?;
            return self.meet_all(&spelled);
        }
        self.meet(b'"')?;
        self.meet_all(text.as_bytes())?;
        self.meet(b'"')
    }

    /// Meets an integer that every reader holds exactly.
    fn integer(&mut self, magnitude: u64) -> Met {
        let start = self.at;
        let mut read: u64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.next() {
            read = read
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - start;
        let is_short = digits == 1 || digits > 1 && self.text[start] != b'0';
        match is_short && read == magnitude && magnitude <= EXACT_MAX {
            true => Ok(()),
            false => Err(Differs),
        }
    }

    /// Meets a key that stands after another one, if there is one, with its colon; returns where it stands.
    fn key(&mut self, before: Option<&Range<usize>>) -> Result<Range<usize>, Differs> {
        if before.is_some() {
            self.meet(b',')?;
        }
        self.meet(b'"')?;
        let rest = self.text.get(self.at..).ok_or(Differs)?;
        let length = rest.iter().position(|byte| *byte == b'"').ok_or(Differs)?;
        let key = self.at..self.at + length;
        let is_plain = |byte: &u8| byte.is_ascii() && !is_escaped(*byte);
        let follows =
            before.is_none_or(|before| self.text[before.clone()] < self.text[key.clone()]);
        if !follows || !self.text[key.clone()].iter().all(is_plain) {
            return Err(Differs);
        }
        self.at = key.end + 1;
        self.meet(b':')?;
        Ok(key)
    }

    /// Passes over a value.
    fn pass(&mut self) -> Met {
        let mut depth = 0_usize;
        loop {
            match self.next().ok_or(Differs)? {
                b'"' => self.pass_text()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                // The end of a number or word that stands by itself.
                b',' | b'}' | b']' if depth == 0 => return Ok(()),
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Meets the beginning of what is told apart by a name: an object whose one key it is.
    fn variant(&mut self, name: &str) -> Met {
        self.meet(b'{')?;
        self.text(name)?;
        self.meet(b':')
    }

    fn pass_text(&mut self) -> Met {
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..).ok_or(Differs)?;
            let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
            self.at += rest.iter().position(is_end).ok_or(Differs)?;
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.at += 2;
        }
    }
}

/// Returns whether a byte is written as an escape.
fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}
