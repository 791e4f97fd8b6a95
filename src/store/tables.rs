//! A study as tables, row by row.

use std::io::Write;

use super::{Fault, Result, Store, derived, pipe, rows};
use crate::engine::slice::Row;
use crate::report::slots::Slots;
use crate::report::tables::{self, RunTable, SlotTable, Table};
use crate::report::told::Told;

impl Store {
    /// Writes a table and returns how many rows it has; sealed values are left out while outcomes are sealed.
    pub fn export_table(
        &mut self,
        table: Table,
        out: &mut (impl Write + Send),
        sealed: bool,
    ) -> Result<u64> {
        match table {
            Table::Slots => self.export_slots(out, sealed),
            Table::Runs => self.export_runs(out, sealed),
        }
    }

    fn export_runs(&mut self, out: &mut (impl Write + Send), sealed: bool) -> Result<u64> {
        let path = self.path.clone();
        let fault = |source| Fault::file(&path, source);
        let rules = self.rules()?;
        let protocol = rules.as_ref().map(|rules| rules.protocol());
        let mut table = RunTable::new(out, protocol, sealed).map_err(fault)?;
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let mut written = 0;
        pipe::through(
            |sender| derived::each_run(&snapshot, derived, |kept| Ok(sender.row((), Some(kept)))),
            |(), facts| match facts {
                Some(facts) => {
                    written += 1;
                    table.row(&rows::read("a run", facts)?).map_err(fault)
                }
                None => Ok(()),
            },
        )?;
        table.finish().map_err(fault)?;
        Ok(written)
    }

    /// Of every slot no more is kept than which run says what became of it.
    fn export_slots(&mut self, out: &mut (impl Write + Send), sealed: bool) -> Result<u64> {
        let path = self.path.clone();
        let fault = |source| Fault::file(&path, source);
        let is_registered = self.standing()?.registered.is_some();
        let rules = self.rules()?;
        let Some(rules) = rules.as_ref().filter(|_| is_registered) else {
            let protocol = rules.as_ref().map(|rules| rules.protocol());
            let table = SlotTable::new(out, protocol, &[], sealed).map_err(fault)?;
            table.finish().map_err(fault)?;
            return Ok(0);
        };
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let (plan, tasks) = derived.ask(&snapshot, |slice| {
            let plan = rules.plan_of(slice, true).into_owned();
            let tasks = tables::tasks(rules, slice, &plan);
            (plan, tasks)
        })?;
        let mut slots = Slots::new(rules, &plan);
        derived::each_row(&snapshot, derived, |row: Row| slots.add(&row))?;
        pipe::through(
            |sender| derived::each_run(&snapshot, derived, |kept| Ok(sender.row((), Some(kept)))),
            |(), facts| {
                if let Some(facts) = facts {
                    slots.seat(&rows::read("a run", facts)?);
                }
                Ok(())
            },
        )?;
        let mut table =
            SlotTable::new(out, Some(rules.protocol()), &tasks, sealed).map_err(fault)?;
        pipe::through(
            |sender| {
                for (slot, became) in slots.iter() {
                    let is_wanted = match became.last() {
                        None => sender.row((slot, became), None),
                        Some(run) => derived.with_run(&snapshot, run, |kept| {
                            Ok(sender.row((slot, became), kept))
                        })?,
                    };
                    if !is_wanted {
                        break;
                    }
                }
                Ok(())
            },
            |(slot, became), facts| {
                let run: Option<Told<'_>> =
                    facts.map(|facts| rows::read("a run", facts)).transpose()?;
                table.row(&slot, became, run.as_ref()).map_err(fault)
            },
        )?;
        table.finish().map_err(fault)?;
        Ok(slots.iter().count() as u64)
    }
}
