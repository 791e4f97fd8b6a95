//! Whether a text is the canonical spelling of some data, found out without writing it anew.
//!
//! The data is serialized into a walk along the text: whatever comes must stand where the walk is. The fields of a
//! struct may come in any order, and stand in the order of their names: a member whose turn has not come is passed
//! over, and walked along when it does. So the walk ends at the end of the text only if every member was met once.

use std::ops::Range;

use serde::Serialize;

use super::serializer::Spell;
use super::{NotSpelled, Spelled, has_escapes, is_escaped};
use crate::units::EXACT_MAX;

/// Returns whether a JSON text is plainly the canonical spelling of some data; of other texts the tree of values says
/// whether they are.
pub(super) fn is_plainly(part: &impl Serialize, text: &str) -> bool {
    let mut walk = Walk {
        text: text.as_bytes(),
        at: 0,
        passed: Vec::new(),
    };
    walk.spell(part).is_ok() && walk.at == text.len()
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

    fn meet(&mut self, byte: u8) -> Spelled {
        match self.next() == Some(byte) {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(NotSpelled),
        }
    }

    /// Meets a key that stands after another one, if there is one, with its colon; returns where it stands.
    fn met_key(&mut self, before: Option<&Range<usize>>) -> Result<Range<usize>, NotSpelled> {
        if before.is_some() {
            self.meet(b',')?;
        }
        self.meet(b'"')?;
        let rest = self.text.get(self.at..).ok_or(NotSpelled)?;
        let length = rest
            .iter()
            .position(|byte| *byte == b'"')
            .ok_or(NotSpelled)?;
        let key = self.at..self.at + length;
        let is_plain = |byte: &u8| byte.is_ascii() && !is_escaped(*byte);
        let follows =
            before.is_none_or(|before| self.text[before.clone()] < self.text[key.clone()]);
        if !follows || !self.text[key.clone()].iter().all(is_plain) {
            return Err(NotSpelled);
        }
        self.at = key.end + 1;
        self.meet(b':')?;
        Ok(key)
    }

    /// Passes over a value.
    fn pass(&mut self) -> Spelled {
        let mut depth = 0_usize;
        loop {
            match self.next().ok_or(NotSpelled)? {
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

    fn pass_text(&mut self) -> Spelled {
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..).ok_or(NotSpelled)?;
            let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
            self.at += rest.iter().position(is_end).ok_or(NotSpelled)?;
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.at += 2;
        }
    }
}

/// An object along which the walk goes.
struct Object {
    /// How many members were passed over before.
    first: usize,
    /// The key that was met last.
    key: Option<Range<usize>>,
}

impl Spell for Walk<'_> {
    type Object = Object;

    fn word(&mut self, word: &[u8]) -> Spelled {
        let end = self.at + word.len();
        match self.text.get(self.at..end) == Some(word) {
            true => {
                self.at = end;
                Ok(())
            }
            false => Err(NotSpelled),
        }
    }

    fn integer(&mut self, magnitude: u64) -> Spelled {
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
            false => Err(NotSpelled),
        }
    }

    fn text(&mut self, text: &str) -> Spelled {
        if has_escapes(text) {
            let spelled = serde_json::to_vec(text).map_err(|_| NotSpelled)?;
            return self.word(&spelled);
        }
        self.meet(b'"')?;
        self.word(text.as_bytes())?;
        self.meet(b'"')
    }

    fn open(&mut self) -> Result<Object, NotSpelled> {
        self.meet(b'{')?;
        Ok(Object {
            first: self.passed.len(),
            key: None,
        })
    }

    fn field(
        &mut self,
        object: &mut Object,
        name: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Spelled {
        let text = self.text;
        let is_named = |key: &Range<usize>| &text[key.clone()] == name.as_bytes();
        let mut passed = self.passed[object.first..].iter();
        if let Some(place) = passed.position(|member| is_named(&member.key)) {
            let member = self.passed.swap_remove(object.first + place).value;
            let here = std::mem::replace(&mut self.at, member.start);
            self.spell(value)?;
            let end = std::mem::replace(&mut self.at, here);
            return match end == member.end {
                true => Ok(()),
                false => Err(NotSpelled),
            };
        }
        loop {
            let key = self.met_key(object.key.as_ref())?;
            object.key = Some(key.clone());
            if is_named(&key) {
                return self.spell(value);
            }
            let start = self.at;
            self.pass()?;
            let value = start..self.at;
            self.passed.push(Member { key, value });
        }
    }

    /// The keys of a map come in their order.
    fn key(&mut self, object: &mut Object, key: &(impl Serialize + ?Sized)) -> Spelled {
        let start = self.at + usize::from(object.key.is_some());
        let found = self.met_key(object.key.as_ref())?;
        let after = std::mem::replace(&mut self.at, start);
        self.spell(key)?;
        let end = std::mem::replace(&mut self.at, after);
        object.key = Some(found);
        // But for the colon.
        match end + 1 == after {
            true => Ok(()),
            false => Err(NotSpelled),
        }
    }

    fn close(&mut self, object: Object) -> Spelled {
        match self.passed.len() > object.first {
            true => Err(NotSpelled),
            false => self.meet(b'}'),
        }
    }
}
