//! The canonical spelling of what a serializer wrote, by putting its keys in order.
//!
//! Most of what is spelled canonically was just written from typed values: it has no spaces, escapes as
//! RFC 8785 does, and differs in the order of keys alone. Sorting the text is several times faster than
//! building a tree of values; whatever is not so plain is left to the tree.

use std::ops::Range;

use crate::units::EXACT_MAX;

/// Puts the keys of a compact text in order; nothing where it holds a number or a key that is not plain.
pub(super) fn sorted(text: &str) -> Option<String> {
    let mut sorter = Sorter {
        text: text.as_bytes(),
        out: Vec::with_capacity(text.len()),
        members: Vec::new(),
        spare: Vec::new(),
    };
    sorter.value()?;
    sorter.text.is_empty().then_some(())?;
    String::from_utf8(sorter.out).ok()
}

/// Where a member of an object stands in what was written.
struct Member {
    key: Range<usize>,
    end: usize,
}

struct Sorter<'t> {
    /// What is still to be read.
    text: &'t [u8],
    out: Vec<u8>,
    /// The members of the objects that are open, one object after the other.
    members: Vec<Member>,
    spare: Vec<u8>,
}

impl Sorter<'_> {
    fn value(&mut self) -> Option<()> {
        match self.text.first()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.integer(),
            _ => self.word(),
        }
    }

    fn array(&mut self) -> Option<()> {
        self.copy(1);
        while *self.text.first()? != b']' {
            self.value()?;
            if *self.text.first()? == b',' {
                self.copy(1);
            }
        }
        self.copy(1);
        Some(())
    }

    fn object(&mut self) -> Option<()> {
        let (begin, first) = (self.out.len(), self.members.len());
        self.copy(1);
        while *self.text.first()? != b'}' {
            let key = self.string()?;
            if !self.out[key.clone()]
                .iter()
                .all(|byte| is_plain_in_key(*byte))
            {
                return None;
            }
            self.copy(1);
            self.value()?;
            let end = self.out.len();
            self.members.push(Member { key, end });
            if *self.text.first()? == b',' {
                self.copy(1);
            }
        }
        self.sort(begin, first);
        self.copy(1);
        Some(())
    }

    /// Puts the members of the object that began at a place in order, if they are not.
    fn sort(&mut self, begin: usize, first: usize) {
        let out = &self.out;
        let key = |member: &Member| &out[member.key.clone()];
        let members = &mut self.members[first..];
        if !members.is_sorted_by(|a, b| key(a) < key(b)) {
            members.sort_unstable_by(|a, b| key(a).cmp(key(b)));
            self.spare.clear();
            for member in members {
                let separator = if self.spare.is_empty() { b'{' } else { b',' };
                self.spare.push(separator);
                // The quotation mark before the key is the member's too.
                let whole = member.key.start - 1..member.end;
                self.spare.extend_from_slice(&out[whole]);
            }
            self.out.truncate(begin);
            self.out.extend_from_slice(&self.spare);
        }
        self.members.truncate(first);
    }

    /// Copies a string; returns where what stands between its quotation marks was written.
    fn string(&mut self) -> Option<Range<usize>> {
        let mut length = 1;
        loop {
            match self.text.get(length)? {
                b'"' => break,
                b'\\' => length += 2,
                _ => length += 1,
            }
        }
        let start = self.out.len() + 1;
        self.copy(length + 1);
        Some(start..start + length - 1)
    }

    /// Copies an integer that every reader holds exactly.
    fn integer(&mut self) -> Option<()> {
        let is_of_number =
            |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let length = self.text.iter().take_while(is_of_number).count();
        let digits = std::str::from_utf8(&self.text[..length]).ok()?;
        let integer: i64 = digits.parse().ok()?;
        (integer.unsigned_abs() <= EXACT_MAX).then_some(())?;
        self.copy(length);
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let length = self
            .text
            .iter()
            .take_while(|byte| byte.is_ascii_lowercase())
            .count();
        (length > 0).then_some(())?;
        self.copy(length);
        Some(())
    }

    fn copy(&mut self, length: usize) {
        let (copied, rest) = self.text.split_at(length.min(self.text.len()));
        self.out.extend_from_slice(copied);
        self.text = rest;
    }
}

/// Returns whether the order of keys with such a byte is that of their bytes.
fn is_plain_in_key(byte: u8) -> bool {
    byte.is_ascii() && byte != b'\\'
}
