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
        let path = self.path.clone();
        let study = self
            .rules()?
            .map(|rules| rules.protocol().study.id.clone())
            .unwrap_or_default();
        let snapshot = self.connection.unchecked_transaction()?;
        let head = rows::head(&snapshot)?;
        let fault = |source| Fault::file(&path, source);
        writeln!(out, "{}", Header::new(&study, head, sealed).line()).map_err(fault)?;
        rows::each_entry(&snapshot, |entry| {
            export::write_entry(out, entry, sealed).map_err(fault)
        })?;
        out.flush().map_err(fault)?;
        Ok(Exported { head, sealed })
    }
}
