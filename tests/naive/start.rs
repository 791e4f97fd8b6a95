//! Family 7: the guards of a start. Family 8: concurrency.

use prereg::engine::command::Cause;
use prereg::protocol::model::{LateReport, Voids};
use prereg::units::Time;

use super::facts::{Block, Fact, Run, Started, hour, runs};
use super::hands::is_guarded;
use super::plan::{Slot, block, block_number};
use super::{Answer, Naive};
use crate::engine_common::Move;

/// Where a start stands: a slot of the plan, or a rank among the runs that count.
pub(super) struct Place {
    pub(super) pilot: usize,
    pub(super) repeat: u32,
    pub(super) attempt: u32,
    pub(super) said: String,
    /// The block, where blocks may be void.
    pub(super) block: Option<Block>,
}

impl Naive {
    pub(super) fn switched_on(&self) -> Result<(), String> {
        let said = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Switch(text) => Some(text.as_deref()),
            _ => None,
        });
        match said {
            _ if !self.design().switch => Ok(()),
            Some(Some("on")) => Ok(()),
            Some(None) => Err("switch-unreadable".to_owned()),
            _ => Err("off".to_owned()),
        }
    }

    fn is_control(&self, arm: &str) -> bool {
        self.design().control_ids().iter().any(|id| id == arm)
    }

    /// The guards before stale runs are closed.
    fn guards(&self, at: Time, task: &str, arm: &str, here: bool) -> Result<(), String> {
        let design = self.design();
        let is = |ids: Vec<String>, id: &str| ids.iter().any(|known| known == id);
        self.switched_on()?;
        if !is(self.known(), task) {
            return Err("unknown-task".to_owned());
        }
        if !self.is_control(arm) && !is(design.arm_ids(), arm) {
            return Err("unknown-arm".to_owned());
        }
        if self.breaker_stands().1 && is_guarded(design, arm) {
            return Err("breaker-open".to_owned());
        }
        if self.is_control(arm) {
            return Ok(());
        }
        let pilot = is(self.pilots(), task);
        match (pilot, self.registered()) {
            (true, true) => return Err("split-closed".to_owned()),
            (false, false) => return Err("not-registered".to_owned()),
            (false, true) if !is(self.drawn(), task) => return Err("not-drawn".to_owned()),
            _ => {}
        }
        if !pilot {
            self.looked(task)?;
        }
        self.all_ready()?;
        self.probe_agrees()?;
        self.start_conditions(at, task, arm, here)?;
        if !pilot && !design.by_counts {
            self.stage_of(at, task, arm, here)?;
        }
        if self.is_past_cutoff(at) {
            return Err("past-cutoff".to_owned());
        }
        self.budgets(task, arm, false)
    }

    fn all_ready(&self) -> Result<(), String> {
        let design = self.design();
        let here = design.arms - usize::from(design.elsewhere);
        let arms = design.arm_ids().into_iter().take(here);
        for arm in arms.filter(|_| design.preflight) {
            let newest = self.facts.iter().rev().find_map(|fact| match fact {
                Fact::Preflight(of, status) if *of == arm => Some(status.as_str()),
                _ => None,
            });
            if newest != Some("ready") {
                return Err(format!("not-ready {arm} {}", newest.unwrap_or("none")));
            }
        }
        Ok(())
    }

    /// What is bound without `expect` is what was seen when the study was registered. CHOICE: what
    /// was never observed has not changed.
    fn probe_agrees(&self) -> Result<(), String> {
        let Some(says) = self.design().probe else {
            return Ok(());
        };
        let newest = |facts: &[Fact]| {
            facts.iter().rev().find_map(|fact| match fact {
                Fact::Probe(value) => Some(value.clone()),
                _ => None,
            })
        };
        let registered = self.facts.iter().position(|fact| *fact == Fact::Registered);
        let bound = match (says, registered) {
            (true, _) => Some("v1".to_owned()),
            (false, Some(registered)) => newest(&self.facts[..registered]).flatten(),
            (false, None) => None,
        };
        match (newest(&self.facts), bound) {
            (Some(observed), Some(bound)) if observed.as_ref() != Some(&bound) => {
                Err("probe-differs".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Closes the deadlines that a command notices, each by an entry of its own.
    pub(super) fn notice(&mut self, at: Time, wanted: &Move) -> Vec<String> {
        let refuses = self.design().late_report == LateReport::Refuse;
        let noticed: Vec<u64> = match wanted {
            Move::Start(task, arm) => self.noticed_by_start(at, task, arm, true),
            Move::ByHand(task, arm) => self.noticed_by_start(at, task, arm, false),
            Move::Finish(run, _)
            | Move::End(run, _)
            | Move::Score(run, _)
            | Move::Close(run, _)
                if refuses && self.is_stale(at, *run) =>
            {
                vec![*run]
            }
            _ => Vec::new(),
        };
        let said = noticed.into_iter().map(|run| {
            let closed = self.lasting(at, |naive| naive.expire(at, run));
            let closed = closed.unwrap_or_default();
            format!("expire {run}: {}", super::sorted(closed))
        });
        said.collect()
    }

    /// CHOICE: the order by plan looks at the whole plan, so every stale run is closed, not those of
    /// this task and arm alone.
    fn noticed_by_start(&self, at: Time, task: &str, arm: &str, here: bool) -> Vec<u64> {
        if self.is_control(arm) || self.guards(at, task, arm, here).is_err() {
            return Vec::new();
        }
        let runs = runs(&self.facts);
        let is_meant = |run: &&Run<'_>| {
            !self.design().by_counts
                || (!run.what.control && run.what.task == task && run.what.arm == arm)
        };
        let stale = runs.iter().filter(|run| self.is_past_deadline(at, run));
        stale.filter(is_meant).map(|run| run.number).collect()
    }

    /// CHOICE: after deadlines were closed, all guards are asked again: what is recorded decides.
    pub(super) fn start(&mut self, at: Time, task: &str, arm: &str, here: bool) -> Answer {
        self.guards(at, task, arm, here)?;
        let place = match self.is_control(arm) {
            true => None,
            false => Some(self.place(at, task, arm, here)?),
        };
        if let Some(place) = &place {
            // CHOICE: whether it is a rerun shows once the slot is known.
            self.budgets(task, arm, place.attempt > 1)?;
        }
        self.admit(at, task, arm, place)
    }

    fn place(&self, at: Time, task: &str, arm: &str, here: bool) -> Result<Place, String> {
        let outage = self.design().outage.as_ref();
        if outage.is_some_and(|rule| rule.pauses_starts) && self.is_outage(hour(at)) {
            return Err("outage-hour".to_owned());
        }
        let pilot = self.pilots().iter().any(|id| id == task);
        match (self.design().by_counts, pilot) {
            (true, _) => self.rank(at, task, arm, pilot),
            (false, true) => self.pilot_slot(task, arm),
            (false, false) => self.slot(at, task, arm, here),
        }
    }

    /// The last guard, and the start itself.
    fn admit(&mut self, at: Time, task: &str, arm: &str, place: Option<Place>) -> Answer {
        let runs = runs(&self.facts);
        let is_fresh = |run: &&Run<'_>| run.live() && !self.is_past_deadline(at, run);
        let most = self.design().runs_max;
        if runs.iter().filter(is_fresh).count() >= most as usize {
            return Err(format!("cap-reached, {most}"));
        }
        let run = runs.len() + 1;
        let control = place.is_none();
        let mut said = vec![match &place {
            None => format!("run {run}"),
            Some(Place { pilot: 0, said, .. }) => format!("run {run} {said}"),
            Some(Place { said, .. }) => format!("pilot run {run} {said}"),
        }];
        let by_counts = self.design().by_counts;
        let (pilot, repeat, attempt, block) = match place {
            Some(place) => (place.pilot, place.repeat, place.attempt, place.block),
            None => (0, 0, 0, None),
        };
        let started = Started {
            control,
            pilot,
            task: task.to_owned(),
            arm: arm.to_owned(),
            repeat,
            attempt,
            voids: block.map_or(0, |block| self.voids_of(&block)),
            by_counts,
        };
        self.facts.push(Fact::Started(at, started));
        if !control {
            said.extend(self.ledgers(task, arm));
        }
        Ok(said)
    }

    pub(super) fn place_of(&self, plan: &[Slot], pilot: usize, slot: &Slot) -> Place {
        let design = self.design();
        let attempt = 1 + self.attempts(&runs(&self.facts), pilot, slot).len() as u32;
        let position = plan.iter().position(|other| other == slot).unwrap_or(0);
        Place {
            pilot,
            repeat: slot.repeat,
            attempt,
            said: format!(
                "at {position} in block {}, repeat {} turn {} attempt {attempt}",
                block_number(design, plan, slot),
                slot.repeat + 1,
                slot.turn + 1,
            ),
            block: (pilot == 0).then(|| block(design, slot)),
        }
    }

    // Family 4. CHOICE: the deadline itself is past.

    pub(super) fn is_stale(&self, at: Time, run: u64) -> bool {
        let runs = runs(&self.facts);
        let found = (run as usize).checked_sub(1).and_then(|run| runs.get(run));
        found.is_some_and(|run| self.is_past_deadline(at, run))
    }

    pub(super) fn is_past_deadline(&self, at: Time, run: &Run<'_>) -> bool {
        run.live() && run.at.plus(self.design().stale_after) <= at
    }

    // Family 6.

    /// The runs of arms that ended in an hour, controls left out, and which of them are errors.
    pub(super) fn ended_in(&self, window: i64) -> Vec<(String, bool)> {
        let runs = runs(&self.facts);
        let ended = runs.iter().filter(|run| !run.what.control);
        let ended = ended.filter_map(|run| {
            let (at, error) = run.ending?;
            (hour(at) == window).then(|| (run.what.arm.clone(), error))
        });
        ended.collect()
    }

    pub(super) fn is_outage(&self, window: i64) -> bool {
        let Some(rule) = &self.design().outage else {
            return false;
        };
        let ended = self.ended_in(window);
        let errors: Vec<&String> = ended
            .iter()
            .filter(|(_, e)| *e)
            .map(|(arm, _)| arm)
            .collect();
        let everywhere = self
            .design()
            .arm_ids()
            .iter()
            .all(|arm| errors.contains(&arm));
        let any = rule.errors_in == prereg::protocol::model::ErrorsIn::AnyArm;
        ended.len() >= rule.ended_min as usize
            && errors.len() as u64 * rule.error_share.den
                >= ended.len() as u64 * rule.error_share.num
            && (any || everywhere)
    }

    pub(super) fn voids(&self) -> Option<Voids> {
        self.design().outage.as_ref().map(|rule| rule.voids)
    }

    /// Says how the hour of a run that has just ended stands.
    pub(super) fn tallied(&self, run: &Run<'_>) -> Option<String> {
        self.design().outage.as_ref()?;
        let (at, error) = run.ending.filter(|_| !run.what.control)?;
        let ended = self.ended_in(hour(at));
        let mut arms = self.design().arm_ids();
        arms.sort();
        let errors = arms.iter().filter_map(|arm| {
            let count = ended
                .iter()
                .filter(|end| **end == (arm.clone(), true))
                .count();
            (count > 0).then(|| format!(" {arm} {count}"))
        });
        let errors: String = errors.collect();
        Some(format!(
            "window {} {} ended{errors} {error}",
            hour(at),
            ended.len()
        ))
    }

    /// Takes a cause to be the word by which `rerun` names it.
    pub(super) fn may_rerun(&self, cause: Option<Cause>, attempts: u32) -> bool {
        let design = self.design();
        cause.is_some_and(|cause| design.rerun.contains(&cause.word()))
            && design.per_slot.is_none_or(|most| attempts < most)
    }
}
