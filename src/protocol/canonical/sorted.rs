//! The canonical spelling of what a serializer wrote, by putting its keys in order.
//!
//! Most of what is spelled canonically was just written from typed values: it has no spaces, escapes as
//! RFC 8785 does, and differs in the order of keys alone. Sorting the text is several times faster than
//! building a tree of values; whatever is not so plain is left to the tree.

use std::ops::Range;

use crate::units::EXACT_MAX;

/// Puts the keys of a compact text in order; nothing where it holds a number or a key that is not plain.
pub(super) fn sorted(text: Vec<u8>) -> Option<String> {
    let mut sorter = Sorter {
        // A scalar has none.
        members: Vec::with_capacity(text.len() / 16),
        text,
        at: 0,
        spare: Vec::new(),
    };
    sorter.value()?;
    (sorter.at == sorter.text.len()).then_some(())?;
    String::from_utf8(sorter.text).ok()
}

/// Where a member of an object stands.
struct Member {
    key: Range<usize>,
    end: usize,
}

/// Sorts in place: an object is as long afterwards as before.
struct Sorter {
    text: Vec<u8>,
    /// How far it was read; what was read is sorted.
    at: usize,
    /// The members of the objects that are open, one object after the other.
    members: Vec<Member>,
    spare: Vec<u8>,
}

impl Sorter {
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn value(&mut self) -> Option<()> {
        match self.next()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.integer(),
            _ => self.word(),
        }
    }

    fn array(&mut self) -> Option<()> {
        self.at += 1;
        while self.next()? != b']' {
            self.value()?;
            self.pass_comma();
        }
        self.at += 1;
        Some(())
    }

    fn object(&mut self) -> Option<()> {
        let first = self.members.len();
        self.at += 1;
        let begin = self.at;
        while self.next()? != b'}' {
            let key = self.string()?;
            if !self.text[key.clone()].iter().all(is_plain_in_key) {
                return None;
            }
            self.at += 1;
            self.value()?;
            let end = self.at;
            self.members.push(Member { key, end });
            self.pass_comma();
        }
        self.sort(begin, first);
        self.at += 1;
        Some(())
    }

    fn pass_comma(&mut self) {
        self.at += usize::from(self.next() == Some(b','));
    }

    /// Puts the members of the object that was just read in order, if they are not.
    fn sort(&mut self, begin: usize, first: usize) {
        let text = &self.text;
        let key = |member: &Member| &text[member.key.clone()];
        let members = &mut self.members[first..];
        if !members.is_sorted_by(|a, b| key(a) < key(b)) {
            members.sort_unstable_by(|a, b| key(a).cmp(key(b)));
            self.spare.clear();
            for member in members {
                if !self.spare.is_empty() {
                    self.spare.push(b',');
                }
                // The quotation mark before the key is the member's too.
                let whole = member.key.start - 1..member.end;
                self.spare.extend_from_slice(&text[whole]);
            }
            self.text[begin..self.at].copy_from_slice(&self.spare);
        }
        self.members.truncate(first);
    }

    /// Passes a string; returns where what is between its quotation marks stands.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            let rest = self.text.get(end..)?;
            end += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            if self.text[end] == b'"' {
                break;
            }
            end += 2;
        }
        self.at = end + 1;
        Some(start..end)
    }

    /// Passes an integer that every reader holds exactly.
    fn integer(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let is_of_number =
            |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let length = rest.iter().take_while(is_of_number).count();
        let digits = std::str::from_utf8(&rest[..length]).ok()?;
        let integer: i64 = digits.parse().ok()?;
        (integer.unsigned_abs() <= EXACT_MAX).then_some(())?;
        self.at += length;
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let rest = self.text[self.at..].iter();
        let length = rest.take_while(|byte| byte.is_ascii_lowercase()).count();
        (length > 0).then_some(())?;
        self.at += length;
        Some(())
    }
}

/// Returns whether the order of keys with such a byte is that of their bytes.
fn is_plain_in_key(byte: &u8) -> bool {
    byte.is_ascii() && *byte != b'\\'
}
