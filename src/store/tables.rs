//! A study as tables, row by row.

use std::io::Write;

use super::{Fault, Result, Store, derived, pipe, rows};
use crate::analysis::registered::observed::Observed;
use crate::engine::rules::Rules;
use crate::engine::slice::{Row, Slice};
use crate::protocol::plan::{Plan, Slot};
use crate::report::observed;
use crate::report::slots::{Became, Slots};
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
        let mut written = 0;
        self.each_told(|run| {
            written += 1;
            table.row(run).map_err(fault)
        })?;
        table.finish().map_err(fault)?;
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
        let path = self.path.clone();
        let fault = |source| Fault::file(&path, source);
        let is_registered = self.standing()?.registered.is_some();
        let rules = self.rules()?;
        let protocol = rules.as_ref().map(|rules| rules.protocol());
        let start = |tasks| SlotTable::new(out, protocol, tasks, sealed).map_err(fault);
        let mut written = 0;
        let table = match rules.as_ref().filter(|_| is_registered) {
            None => start(Vec::new())?,
            Some(rules) => self.each_slot(
                rules,
                |slice, plan| tables::tasks(rules, slice, plan),
                start,
                |table, slot, became, run| {
                    written += 1;
                    table.row(slot, became, run).map_err(fault)
                },
            )?,
        };
        table.finish().map_err(fault)?;
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
        let observed = self.each_slot(
            &rules,
            |slice, plan| Observed {
                tasks: observed::tasks(&rules, slice, plan, analysis),
                controls: observed::controls(protocol, slice),
                taken: observed::taken(&slice.standing),
                slots: Vec::new(),
                exposure: exposure.clone(),
            },
            Ok,
            |observed, slot, became, run| {
                let slot = observed::slot(protocol, slot, became, run);
                observed.slots.push(slot);
                Ok(())
            },
        )?;
        Ok(Some(observed))
    }

    /// Shows every slot of the registered plan with what became of it, in the order of the plan.
    ///
    /// `ask` is asked about the plan first, and what it says begins what `each` goes on with. Of a slot
    /// no more is kept than which run says what became of it.
    fn each_slot<Q, T: Send>(
        &mut self,
        rules: &Rules,
        ask: impl Fn(&Slice, &Plan) -> Q,
        begin: impl FnOnce(Q) -> Result<T>,
        mut each: impl FnMut(&mut T, &Slot, Became, Option<&Told<'_>>) -> Result<()> + Send,
    ) -> Result<T> {
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let (plan, said) = derived.ask(&snapshot, |slice| {
            let plan = rules.plan_of(slice, true).into_owned();
            let said = ask(slice, &plan);
            (plan, said)
        })?;
        let mut begun = begin(said)?;
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
        pipe::through(
            |sender| {
                let asked = slots.iter().map(|slot| (slot, slot.1.last()));
                derived::each_run_of(&snapshot, derived, asked, |slot, kept| {
                    Ok(sender.row(slot, kept))
                })
            },
            |(slot, became), facts| {
                let run: Option<Told<'_>> =
                    facts.map(|facts| rows::read("a run", facts)).transpose()?;
                each(&mut begun, &slot, became, run.as_ref())
            },
        )?;
        Ok(begun)
    }
}
