//! How long blocks took, and whether another one fits before the cut-off.

use std::collections::BTreeSet;

use prereg::units::Time;

use super::facts::{Block, Fact, runs};
use super::plan::{Slot, block, block_number, blocks};
use super::slots::Standing;
use super::{Answer, Naive};

impl Naive {
    /// Whether a stage asks if a block fits before the cut-off.
    fn asks_whether_it_fits(&self) -> bool {
        let design = self.design();
        design.fits.is_some() && design.cutoff.is_some() && design.stages.len() > 1
    }

    /// The blocks whose slots have all ended, those left out that were voided too often.
    fn complete_blocks(&self) -> Vec<Block> {
        let plan = self.plan_over(&self.drawn());
        let standings = self.standings(&plan);
        let design = self.design();
        let whole = |of: &Block| {
            let mut slots = plan.iter().zip(&standings);
            let ended = |(slot, standing): (&Slot, &Standing)| {
                block(design, slot) != *of || *standing == Standing::Ended
            };
            slots.all(ended) && !self.is_missing(of)
        };
        blocks(design, &plan).into_iter().filter(whole).collect()
    }

    /// Does something, and notes how long the block took that is complete by it: from its first start
    /// to this moment.
    pub(super) fn lasting(&mut self, at: Time, act: impl FnOnce(&mut Self) -> Answer) -> Answer {
        if !self.registered() || !self.asks_whether_it_fits() {
            return act(self);
        }
        let before = self.complete_blocks();
        let mut said = act(self)?;
        let after = self.complete_blocks();
        let new = after.into_iter().filter(|block| !before.contains(block));
        for block in new.collect::<Vec<_>>() {
            said.extend(self.lasted(at, &block));
        }
        Ok(said)
    }

    fn lasted(&mut self, at: Time, complete: &Block) -> Option<String> {
        let plan = self.plan_over(&self.drawn());
        let slots = plan
            .iter()
            .filter(|slot| block(self.design(), slot) == *complete);
        let slots: Vec<&Slot> = slots.collect();
        let runs = runs(&self.facts);
        let attempts = slots.iter().flat_map(|slot| self.attempts(&runs, 0, slot));
        let first = attempts.map(|run| run.at.0).min()?;
        let number = block_number(self.design(), &plan, slots[0]);
        let span = (at.0 - first, number);
        if self.spans().contains(&span) {
            return None;
        }
        self.facts.push(Fact::Lasted(span.0, span.1));
        let spans: Vec<(i64, usize)> = self.spans().into_iter().collect();
        let middle = spans[(spans.len() - 1) / 2];
        Some(format!(
            "block {number} took {} middle {}",
            span.0, middle.1
        ))
    }

    /// How long complete blocks took, and which they were, in order.
    fn spans(&self) -> BTreeSet<(i64, usize)> {
        let lasted = self.facts.iter().filter_map(|fact| match fact {
            Fact::Lasted(lasted, block) => Some((*lasted, *block)),
            _ => None,
        });
        lasted.collect()
    }

    /// A block starts only if it is expected to end before the cut-off; no estimate, no start. One that
    /// has begun goes on. CHOICE: half a microsecond of the median is rounded up; at the cut-off is
    /// before it; an estimate of nothing is none.
    pub(super) fn fits(&self, at: Time, slot: &Slot) -> Result<(), String> {
        let design = self.design();
        let (Some((num, den)), Some(cutoff)) = (design.fits, design.cutoff) else {
            return Ok(());
        };
        if slot.stage == 0 {
            return Ok(());
        }
        let plan = self.plan_over(&self.drawn());
        let runs = runs(&self.facts);
        let of = block(design, slot);
        let mut of_block = plan.iter().filter(|other| block(design, other) == of);
        if of_block.any(|other| !self.attempts(&runs, 0, other).is_empty()) {
            return Ok(());
        }
        let spans: Vec<i64> = self.spans().into_iter().map(|(lasted, _)| lasted).collect();
        let median = match spans.len() {
            0 => 0,
            odd if odd % 2 == 1 => spans[odd / 2],
            even => (spans[even / 2 - 1] + spans[even / 2] + 1) / 2,
        };
        let left = i128::from(cutoff.0) - i128::from(at.0);
        let needed = i128::from(median) * i128::from(num);
        match median > 0 && needed <= left * i128::from(den) {
            true => Ok(()),
            false => Err("does-not-fit".to_owned()),
        }
    }
}
