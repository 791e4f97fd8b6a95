//! The record as one file.

use std::io::Write;

use super::{Fault, Result, Store, rows};
use crate::record::entry::Head;
use crate::record::export::{self, Header};

/// What was exported.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// The head of what was exported.
    pub head: Head,
    /// Whether openings of sealed values were left out.
    pub sealed: bool,
}

impl Store {
    /// Writes the whole record as lines; openings are left out while outcomes are sealed.
    pub fn export(&mut self, out: &mut impl Write, sealed: bool) -> Result<Exported> {
        let study = self
            .rules()?
            .map(|rules| rules.protocol().study.id.clone())
            .unwrap_or_default();
        let snapshot = self.connection.unchecked_transaction()?;
        let head = rows::head(&snapshot)?;
        writeln!(out, "{}", Header::new(&study, head, sealed).line()).map_err(Fault::Output)?;
        rows::each_entry(&snapshot, |entry| {
            export::write_entry(out, entry, sealed).map_err(Fault::Output)
        })?;
        out.flush().map_err(Fault::Output)?;
        Ok(Exported { head, sealed })
    }
}
