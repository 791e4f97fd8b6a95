//! Family 3: the plan. Family 4: slots and attempts. Family 5: the order by plan.

use prereg::protocol::model::Serial;
use prereg::units::Time;

use super::Naive;
use super::facts::{Block, Fact, Run, runs};
use super::plan::{Slot, block};
use super::start::Place;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    Untouched,
    Waits,
    UnderWay,
    Ended,
}

impl Naive {
    pub(super) fn voids_of(&self, block: &Block) -> usize {
        let voided = |fact: &&Fact| matches!(fact, Fact::BlockVoid(voided) if voided == block);
        self.facts.iter().filter(voided).count()
    }

    /// A block that was voided too often is not executed again: its slots are missing.
    pub(super) fn is_missing(&self, block: &Block) -> bool {
        let most = self.design().voids_max;
        most.is_some_and(|most| self.voids_of(block) > most as usize)
    }

    /// The attempts at a slot that count: not void, and of its block as it stands.
    pub(super) fn attempts<'f>(&self, runs: &[Run<'f>], pilot: usize, slot: &Slot) -> Vec<Run<'f>> {
        let voids = match pilot {
            0 => self.voids_of(&block(self.design(), slot)),
            _ => 0,
        };
        let of_slot = |run: &&Run<'_>| is_of(run, pilot, slot) && !run.void;
        let attempts = runs.iter().filter(of_slot);
        attempts
            .filter(|run| run.what.voids == voids)
            .cloned()
            .collect()
    }

    pub(crate) fn standing(&self, runs: &[Run<'_>], pilot: usize, slot: &Slot) -> Standing {
        if pilot == 0 && self.is_missing(&block(self.design(), slot)) {
            return Standing::Ended;
        }
        let attempts = self.attempts(runs, pilot, slot);
        // A live run of a voided block keeps its place until it ends.
        if runs
            .iter()
            .any(|run| is_of(run, pilot, slot) && !run.closed())
        {
            return Standing::UnderWay;
        }
        let asked = |run: &Run<'_>| self.facts.contains(&Fact::Asked(run.number));
        match attempts.last() {
            None => Standing::Untouched,
            Some(run) if asked(run) => Standing::Waits,
            Some(run) if self.may_rerun(run.cause, attempts.len() as u32) => Standing::Waits,
            Some(_) => Standing::Ended,
        }
    }

    pub(super) fn standings(&self, plan: &[Slot]) -> Vec<Standing> {
        let runs = runs(&self.facts);
        let standings = plan.iter().map(|slot| self.standing(&runs, 0, slot));
        standings.collect()
    }

    /// The slot that a start would fill, where there are stages: the first of the task and arm that is
    /// free. CHOICE: of a stage that is closed or stopped none is, if one of another stage may start.
    pub(super) fn asked(&self, at: Time, task: &str, arm: &str, here: bool) -> Option<Slot> {
        let design = self.design();
        let pilot = self.pilots().iter().any(|id| id == task);
        if design.stages.is_empty() || design.by_counts || pilot {
            return None;
        }
        let plan = self.plan_over(&self.drawn());
        let standings = self.standings(&plan);
        let free = plan
            .iter()
            .zip(&standings)
            .filter(|(slot, standing)| slot.task == task && slot.arm == arm && is_free(**standing));
        let free: Vec<&Slot> = free.map(|(slot, _)| slot).collect();
        let first = *free.first()?;
        let goes =
            |slot: &&&Slot| self.is_open(at, slot.stage) && !self.is_stopped(at, slot.stage, here);
        free.iter().find(goes).copied().or(Some(first)).cloned()
    }

    /// The stage of the slot that a start would fill must be open, and its block fit.
    pub(super) fn stage_of(
        &self,
        at: Time,
        task: &str,
        arm: &str,
        here: bool,
    ) -> Result<(), String> {
        let Some(slot) = self.asked(at, task, arm, here) else {
            return Ok(());
        };
        if !self.is_open(at, slot.stage) {
            return Err(format!("stage-closed s{}", slot.stage + 1));
        }
        self.fits(at, &slot)
    }

    /// CHOICE: pilots know no order; the slots of a task and arm fill in theirs.
    pub(super) fn pilot_slot(&self, task: &str, arm: &str) -> Result<Place, String> {
        let plan = self.plan_over(&self.pilots());
        let runs = runs(&self.facts);
        let mut wanted: Vec<&Slot> = plan
            .iter()
            .filter(|slot| slot.task == task && slot.arm == arm)
            .collect();
        wanted.sort_by_key(|slot| slot.repeat);
        let pilot = self.draft();
        let free = wanted
            .into_iter()
            .find(|slot| is_free(self.standing(&runs, pilot, slot)));
        let free = free.ok_or("slots-used")?;
        Ok(self.place_of(&plan, pilot, free))
    }

    pub(super) fn slot(
        &self,
        at: Time,
        task: &str,
        arm: &str,
        here: bool,
    ) -> Result<Place, String> {
        let plan = self.plan_over(&self.drawn());
        let standings = self.standings(&plan);
        let earliest = self.earliest(at, &plan, &standings, here);
        if let Some(slot) = earliest
            && (slot.task.as_str(), slot.arm.as_str()) == (task, arm)
        {
            return Ok(self.place_of(&plan, 0, slot));
        }
        let used = plan.iter().zip(&standings).all(|(slot, standing)| {
            (slot.task.as_str(), slot.arm.as_str()) != (task, arm) || !is_free(*standing)
        });
        if used {
            return Err("slots-used".to_owned());
        }
        Err(match earliest {
            Some(slot) => format!("out-of-order, next {} {}", slot.task, slot.arm),
            None => "out-of-order, next none".to_owned(),
        })
    }

    /// The earliest slot that may start: in the stages that are open requeued blocks first, then the
    /// plan's order.
    fn earliest<'p>(
        &self,
        at: Time,
        plan: &'p [Slot],
        standings: &[Standing],
        here: bool,
    ) -> Option<&'p Slot> {
        let design = self.design();
        let again = |slot: &Slot| self.voids_of(&block(design, slot)) > 0;
        let mut order: Vec<usize> = (0..plan.len()).collect();
        let may_start = |stage| self.is_open(at, stage) && !self.is_stopped(at, stage, here);
        order.retain(|i| may_start(plan[*i].stage));
        order.sort_by_key(|i| (!again(&plan[*i]), *i));
        let mut waits = Vec::new();
        for (turn, i) in order.iter().enumerate() {
            let mut before = order[..turn].iter();
            let ended = |j: &&usize| standings[**j] == Standing::Ended;
            if !is_free(standings[*i]) || self.is_lane_busy(&plan[*i]) {
                continue;
            }
            if before.all(|j| ended(&j) || !self.follows(&plan[*j], &plan[*i])) {
                waits.push(*i);
            }
        }
        waits.first().map(|i| &plan[*i])
    }

    fn follows(&self, before: &Slot, slot: &Slot) -> bool {
        let design = self.design();
        match design.serial {
            Serial::Study => true,
            Serial::Block => block(design, before) == block(design, slot),
            Serial::None => false,
        }
    }

    /// One run after another, where `serial` says so: also while a later slot is under way.
    fn is_lane_busy(&self, slot: &Slot) -> bool {
        let open = runs(&self.facts)
            .into_iter()
            .filter(|run| !run.closed() && !run.what.control && run.what.pilot == 0);
        let plan = self.plan_over(&self.drawn());
        let slot_of = |run: &Run<'_>| plan.iter().find(|slot| is_of(run, 0, slot)).cloned();
        let mut busy = open.filter_map(|run| slot_of(&run));
        busy.any(|other| self.follows(&other, slot))
    }
}

pub(super) fn is_of(run: &Run<'_>, pilot: usize, slot: &Slot) -> bool {
    !run.what.control
        && run.what.pilot == pilot
        && (&run.what.task, &run.what.arm, run.what.repeat) == (&slot.task, &slot.arm, slot.repeat)
}

fn is_free(standing: Standing) -> bool {
    matches!(standing, Standing::Untouched | Standing::Waits)
}
