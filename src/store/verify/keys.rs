//! The keys by which operations are known again, beside the entries that they lead to.

use std::ops::Range;

use rusqlite::Rows;

/// The keys that are kept, by the entry that each is said to lead to.
pub(super) struct Keys<'s> {
    rows: Rows<'s>,
    /// The entry that the next one leads to.
    next: Option<i64>,
    key: Vec<u8>,
    /// Whether one leads to no entry.
    differ: bool,
    /// What is wrong with the table; it is said once all entries were read.
    fault: Option<rusqlite::Error>,
}

impl<'s> Keys<'s> {
    pub(super) fn of(rows: Rows<'s>) -> Self {
        let mut keys = Self {
            rows,
            next: None,
            key: Vec::new(),
            differ: false,
            fault: None,
        };
        keys.go_on();
        keys
    }

    fn go_on(&mut self) {
        self.next = self.read().unwrap_or_else(|error| {
            self.fault = Some(error);
            None
        });
    }

    fn read(&mut self) -> rusqlite::Result<Option<i64>> {
        let Some(row) = self.rows.next()? else {
            return Ok(None);
        };
        self.key.clear();
        self.key.extend_from_slice(row.get_ref(1)?.as_bytes()?);
        Ok(Some(row.get(0)?))
    }

    /// Adds the key that leads to an entry to others, and returns its place there; entries are asked for in order, and
    /// each has one key at most.
    pub(super) fn of_entry(&mut self, seq: u64, keys: &mut Vec<u8>) -> Option<Range<usize>> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let mut found: Option<Range<usize>> = None;
        while let Some(leads_to) = self.next.filter(|leads_to| *leads_to <= seq) {
            match &found {
                _ if leads_to < seq => self.differ = true,
                Some(found) => self.differ |= keys[found.clone()] != self.key,
                None => {
                    let start = keys.len();
                    keys.extend_from_slice(&self.key);
                    found = Some(start..keys.len());
                }
            }
            self.go_on();
        }
        found
    }

    /// Returns whether some key leads to no entry.
    pub(super) fn rest(self) -> rusqlite::Result<bool> {
        match self.fault {
            Some(error) => Err(error),
            None => Ok(self.differ || self.next.is_some()),
        }
    }
}
