//! The canonical spelling of plain data, written in one go.
//!
//! What is spelled canonically differs from what a serializer meets in the order of keys alone, where it is plain:
//! members are put in order as their object closes. What is not plain (fractions, keys with escapes) is left to the
//! tree of values.

use std::ops::Range;

use serde::Serialize;

use super::serializer::Spell;
use super::{NotSpelled, Spelled, has_escapes, is_escaped};
use crate::units::EXACT_MAX;

/// Writes the canonical spelling of some data, for which so many bytes are set aside; nothing where it is not plain.
pub(super) fn written(part: &impl Serialize, length: usize) -> Option<String> {
    let mut writing = Writing {
        text: Vec::with_capacity(length),
        members: Vec::with_capacity(length / 16),
        spare: Vec::new(),
    };
    writing.spell(part).ok()?;
    String::from_utf8(writing.text).ok()
}

/// A text that is being written.
struct Writing {
    text: Vec<u8>,
    /// The members of the objects that are open, one object after the other.
    members: Vec<Member>,
    spare: Vec<u8>,
}

/// Where a member of an object stands.
struct Member {
    key: Range<usize>,
    end: usize,
}

impl Member {
    /// Returns where it stands; the quotation mark before the key is the member's too.
    fn whole(&self) -> Range<usize> {
        self.key.start - 1..self.end
    }
}

/// An object that is being written.
struct Object {
    /// How many members of others there are before its own.
    first: usize,
    /// Where its members begin.
    begin: usize,
}

impl Writing {
    /// Ends the member before, if there is one.
    fn begin_member(&mut self, object: &Object) {
        self.end_member(object);
        if self.members.len() > object.first {
            self.text.push(b',');
        }
    }

    fn end_member(&mut self, object: &Object) {
        if let Some(last) = self.members[object.first..].last_mut() {
            last.end = self.text.len();
        }
    }

    /// Counts a key that was just written, and writes its colon.
    fn name_member(&mut self, key: Range<usize>) -> Spelled {
        let is_plain = |byte: &u8| byte.is_ascii() && !is_escaped(*byte);
        if !self.text[key.clone()].iter().all(is_plain) {
            return Err(NotSpelled);
        }
        self.members.push(Member { key, end: 0 });
        self.text.push(b':');
        Ok(())
    }

    /// Puts the members from one on in order, if they are not.
    fn sort(&mut self, object: &Object) {
        let text = &self.text;
        let key = |member: &Member| &text[member.key.clone()];
        let members = &mut self.members[object.first..];
        if members.is_sorted_by(|a, b| key(a) < key(b)) {
            return;
        }
        members.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.spare.clear();
        for member in members {
            if !self.spare.is_empty() {
                self.spare.push(b',');
            }
            self.spare.extend_from_slice(&text[member.whole()]);
        }
        self.text[object.begin..].copy_from_slice(&self.spare);
    }
}

impl Spell for Writing {
    type Object = Object;

    fn word(&mut self, word: &[u8]) -> Spelled {
        self.text.extend_from_slice(word);
        Ok(())
    }

    fn integer(&mut self, magnitude: u64) -> Spelled {
        match magnitude <= EXACT_MAX {
            true => serde_json::to_writer(&mut self.text, &magnitude).map_err(|_| NotSpelled),
            false => Err(NotSpelled),
        }
    }

    fn text(&mut self, text: &str) -> Spelled {
        if has_escapes(text) {
            return serde_json::to_writer(&mut self.text, text).map_err(|_| NotSpelled);
        }
        self.text.push(b'"');
        self.text.extend_from_slice(text.as_bytes());
        self.text.push(b'"');
        Ok(())
    }

    fn open(&mut self) -> Result<Object, NotSpelled> {
        self.text.push(b'{');
        Ok(Object {
            first: self.members.len(),
            begin: self.text.len(),
        })
    }

    fn field(
        &mut self,
        object: &mut Object,
        name: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Spelled {
        self.begin_member(object);
        let start = self.text.len() + 1;
        self.text(name)?;
        self.name_member(start..start + name.len())?;
        self.spell(value)
    }

    fn key(&mut self, object: &mut Object, key: &(impl Serialize + ?Sized)) -> Spelled {
        self.begin_member(object);
        let start = self.text.len();
        self.spell(key)?;
        match self.text[start..] {
            [b'"', .., b'"'] => self.name_member(start + 1..self.text.len() - 1),
            _ => Err(NotSpelled),
        }
    }

    fn close(&mut self, object: Object) -> Spelled {
        self.end_member(&object);
        self.sort(&object);
        self.members.truncate(object.first);
        self.text.push(b'}');
        Ok(())
    }
}
