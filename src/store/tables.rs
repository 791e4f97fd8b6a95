//! A study as tables, row by row.

use std::io::Write;

use rusqlite::Connection;
use serde::Deserialize;

use super::derived::Derived;
use super::pipe::Sender;
use super::{Fault, Result, Store, derived, frames, pipe, rows};
use crate::analysis::registered::observed::Observed;
use crate::engine::rules::Rules;
use crate::engine::slice::{Row, Slice};
use crate::protocol::plan::{Plan, Slot};
use crate::report::cells::Cells;
use crate::report::observed;
use crate::report::slots::{Became, Slots};
use crate::report::tables::{self, RunTable, SlotTable, Table};
use crate::report::told::{Occupant, Told};

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
        let rules = self.rules()?;
        let protocol = rules.as_ref().map(|rules| rules.protocol());
        let table = RunTable::new(protocol, sealed);
        out.write_all(table.header().as_bytes())
            .map_err(Fault::Output)?;
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let written = write_rows(
            out,
            || table.rows(),
            |sender| derived::each_run(&snapshot, derived, |kept| Ok(sender.row((), Some(kept)))),
            |cells, (), facts| {
                let run: Option<Told<'_>> = read_run(facts)?;
                if let Some(run) = run {
                    table.row(cells, &run);
                }
                Ok(())
            },
        )?;
        out.flush().map_err(Fault::Output)?;
        Ok(written)
    }

    /// Shows every run, in the order of their numbers.
    fn each_told(&mut self, mut each: impl FnMut(&Told<'_>) -> Result<()> + Send) -> Result<()> {
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        pipe::through(
            |sender| derived::each_run(&snapshot, derived, |kept| Ok(sender.row((), Some(kept)))),
            |(), facts| match facts {
                Some(facts) => each(&rows::read("a run", facts)?),
                None => Ok(()),
            },
        )
    }

    fn export_slots(&mut self, out: &mut (impl Write + Send), sealed: bool) -> Result<u64> {
        let standing = self.standing()?;
        let rules = self.rules()?;
        let protocol = rules.as_ref().map(|rules| rules.protocol());
        let is_registered = standing.registered.is_some();
        let Some(rules) = rules.as_ref().filter(|_| is_registered) else {
            let header = SlotTable::new(protocol, Vec::new(), sealed).header();
            out.write_all(header.as_bytes()).map_err(Fault::Output)?;
            return out.flush().map(|()| 0).map_err(Fault::Output);
        };
        let known = match rules.is_open() || rules.grows() {
            true => Vec::new(),
            false => frames::drawn(&self.connection, standing.draft)?,
        };
        let written = self.with_slots(
            rules,
            |slice, plan| tables::tasks(rules, slice, plan, &known),
            |tasks, slots| {
                let table = SlotTable::new(protocol, tasks, sealed);
                out.write_all(table.header().as_bytes())
                    .map_err(Fault::Output)?;
                write_rows(
                    out,
                    || table.rows(),
                    |sender| slots.each_kept(sender),
                    |cells, (slot, became), facts| {
                        let run: Option<Occupant<'_>> = read_run(facts)?;
                        let run = run.as_ref();
                        table.row(cells, &slot, became.told(&slot, run), run);
                        Ok(())
                    },
                )
            },
        )?;
        out.flush().map_err(Fault::Output)?;
        Ok(written)
    }

    /// Returns what became of every registered slot; none where no analysis is registered.
    pub fn observed(&mut self) -> Result<Option<Observed>> {
        let is_registered = self.standing()?.registered.is_some();
        let rules = self.rules()?.filter(|_| is_registered);
        let Some(rules) = rules else {
            return Ok(None);
        };
        let protocol = rules.protocol();
        let Some(analysis) = &protocol.analysis else {
            return Ok(None);
        };
        let mut exposure = Vec::new();
        self.each_told(|run| {
            observed::expose(&mut exposure, protocol, run);
            Ok(())
        })?;
        let observed = self.with_slots(
            &rules,
            |slice, plan| Observed {
                tasks: observed::tasks(&rules, slice, plan, analysis),
                controls: observed::controls(protocol, slice),
                taken: observed::taken(&slice.standing),
                slots: Vec::new(),
                exposure: exposure.clone(),
            },
            |mut observed, slots| {
                pipe::through(
                    |sender| slots.each_kept(sender),
                    |(slot, became), facts| {
                        let run: Option<Occupant<'_>> = read_run(facts)?;
                        let run = run.as_ref();
                        let became = became.told(&slot, run);
                        let slot = observed::slot(protocol, &slot, became, run);
                        observed.slots.push(slot);
                        Ok(())
                    },
                )?;
                Ok(observed)
            },
        )?;
        Ok(Some(observed))
    }

    /// Finds out what became of every slot of the registered plan, and goes on with that.
    ///
    /// `ask` is asked about the plan first. Of a slot no more is kept than which run says what became of it.
    fn with_slots<Q, T>(
        &mut self,
        rules: &Rules,
        ask: impl Fn(&Slice, &Plan) -> Q,
        then: impl FnOnce(Q, &KeptSlots<'_>) -> Result<T>,
    ) -> Result<T> {
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let (plan, said) = derived.ask(&snapshot, |slice| {
            let plan = rules.plan_of(slice, true).into_owned();
            let said = ask(slice, &plan);
            (plan, said)
        })?;
        let mut slots = Slots::new(rules, &plan);
        derived::each_row(&snapshot, derived, |row: &Row| slots.add(row))?;
        let sought = slots.sought();
        pipe::through(
            |sender| match sought {
                None => {
                    derived::each_run(&snapshot, derived, |kept| Ok(sender.row((), Some(kept))))
                }
                Some(sought) => {
                    let asked = sought.into_iter().map(|run| ((), Some(run)));
                    derived::each_run_of(&snapshot, derived, asked, |(), kept| {
                        Ok(sender.row((), kept))
                    })
                }
            },
            |(), facts| {
                if let Some(facts) = facts {
                    slots.seat(&rows::read("a run", facts)?);
                }
                Ok(())
            },
        )?;
        let kept = KeptSlots {
            connection: &snapshot,
            derived,
            slots,
        };
        then(said, &kept)
    }
}

/// The slots of the registered plan, and the rows of their runs.
struct KeptSlots<'s> {
    connection: &'s Connection,
    derived: &'s Derived,
    slots: Slots<'s>,
}

impl KeptSlots<'_> {
    /// Hands on every slot with what became of it and its run, in the order of the plan.
    fn each_kept(&self, sender: &mut Sender<'_, (Slot, Became)>) -> Result<()> {
        let asked = self.slots.iter().map(|slot| (slot, slot.1.last()));
        derived::each_run_of(self.connection, self.derived, asked, |slot, kept| {
            Ok(sender.row(slot, kept))
        })
    }
}

/// Writes rows of a table on several threads, in the order in which they are taken out; returns how many.
fn write_rows<T: Send>(
    out: &mut (impl Write + Send),
    begin: impl Fn() -> Cells + Sync,
    take: impl FnOnce(&mut Sender<'_, T>) -> Result<()>,
    row: impl Fn(&mut Cells, T, Option<&str>) -> Result<()> + Sync,
) -> Result<u64> {
    let mut written = 0;
    pipe::abreast(
        take,
        |batch| {
            let (mut cells, mut count) = (begin(), 0);
            batch.each(|what, facts| {
                count += 1;
                row(&mut cells, what, facts)
            })?;
            Ok((count, cells.finish()))
        },
        |(count, text)| {
            written += count;
            out.write_all(text.as_bytes()).map_err(Fault::Output)
        },
    )?;
    Ok(written)
}

fn read_run<'f, R: Deserialize<'f>>(facts: Option<&'f str>) -> Result<Option<R>> {
    facts.map(|facts| rows::read("a run", facts)).transpose()
}
