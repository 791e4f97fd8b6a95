//! Families 4, 6 and 9: how runs end, are scored, are closed and become void.

use prereg::engine::command::Cause;
use prereg::protocol::model::{ScoreWord, StopScope, Voids};
use prereg::units::Time;

use super::facts::{Block, Fact, Of, Run, hour, runs};
use super::plan::{block, blocks};
use super::slots::{Standing, is_of};
use super::{Answer, Naive};
use crate::engine_common::{How, Report, Said};

impl Naive {
    /// Refuses a run that does not exist or is closed; says whether it has ended.
    pub(super) fn not_closed(&self, run: u64) -> Result<bool, String> {
        let runs = runs(&self.facts);
        let found = (run as usize).checked_sub(1).and_then(|run| runs.get(run));
        let found = found.ok_or("unknown-run")?;
        if found.cause == Some(Cause::Stale) {
            return Err("stale".to_owned());
        }
        let state = match found {
            run if run.void => "void",
            run if run.scored.is_some() => "scored",
            _ => "unjudged",
        };
        if found.closed() {
            let cause = found.cause.map_or("", Cause::text);
            return Err(format!("already-closed, {state} {cause}"));
        }
        Ok(found.ended.is_some())
    }

    fn run_of(&self, run: u64) -> Run<'_> {
        runs(&self.facts).swap_remove(run as usize - 1)
    }

    /// Whether the block of a run was voided since it started.
    fn is_of_voided_block(&self, run: u64) -> bool {
        let run = self.run_of(run);
        let block = self.block_of(&run);
        block.is_some_and(|block| self.voids_of(&block) > run.what.voids)
    }

    fn block_of(&self, run: &Run<'_>) -> Option<Block> {
        if run.what.by_counts {
            return None;
        }
        let plan = self.plan_over(&self.drawn());
        let slot = plan.iter().find(|slot| is_of(run, 0, slot))?;
        Some(block(self.design(), slot))
    }

    /// CHOICE: what a run of an arm observed says something of its arm and of its stage; of a control or
    /// a pilot's stage there is none, so that says something of all.
    fn says_of(&self, run: u64) -> Of {
        let run = self.run_of(run);
        let asked = |scope| self.design().stops.iter().any(|gate| gate.scope == scope);
        let plan = self.plan_over(&self.drawn());
        let slot = plan.iter().find(|slot| is_of(&run, 0, slot));
        let staged = !self.design().stages.is_empty() && asked(StopScope::Stage);
        Of {
            arm: (!run.what.control && asked(StopScope::Arm)).then(|| run.what.arm.clone()),
            stage: slot.filter(|_| staged).map(|slot| slot.stage),
        }
    }

    pub(super) fn slots_ended(&self) -> u64 {
        let plan = self.plan_over(&self.drawn());
        if self.design().by_counts {
            let tasks = self.drawn();
            let ended = tasks.iter().map(|task| self.slots_ended_by_counts(task));
            return ended.sum();
        }
        let standings = self.standings(&plan);
        let ended = |standing: &&Standing| **standing == Standing::Ended;
        standings.iter().filter(ended).count() as u64
    }

    /// Adds that the study is complete, where its last slot has ended by what has happened.
    fn with_completion(&mut self, before: u64, mut said: Vec<String>) -> Vec<String> {
        let plan = self.plan_over(&self.drawn());
        let ended = self.slots_ended();
        let all = match self.design().by_counts {
            true => self.all_ended_by_counts(),
            false => ended == plan.len() as u64,
        };
        let design = self.design();
        let grows = design.grows && (design.endless || self.drawn().len() != design.tasks);
        let complete = self.registered() && all && ended > before && !grows;
        if complete && !self.facts.contains(&Fact::Complete) {
            self.facts.push(Fact::Complete);
            said.push("complete".to_owned());
        }
        said
    }

    pub(super) fn finish(&mut self, at: Time, run: u64, how: How) -> Answer {
        if self.not_closed(run)? {
            return Err("already-ended".to_owned());
        }
        let before = self.slots_ended();
        let breaker = self.breaker_stands();
        self.facts.push(Fact::Ended(at, run, how));
        let error = if how.error { " by an error" } else { "" };
        let cost = match how.cost {
            Said::Nothing => "unknown".to_owned(),
            Said::Dollars(dollars) => (dollars * 1_000_000).to_string(),
            Said::Nonsense => "unreadable".to_owned(),
        };
        let mut said = vec![format!("ended{error} at {cost}")];
        said.extend(self.breaker_since(breaker));
        let what = self.run_of(run).what.clone();
        if !what.control {
            said.extend(self.ledgers(&what.task, &what.arm));
        }
        if how.level.is_some() {
            let of = self.says_of(run);
            said.extend(self.take(how.level, None, of)?);
        }
        let unscored = |word| word == ScoreWord::Unjudged;
        let cause = if how.timed_out && unscored(self.design().on_timeout) {
            Some(Cause::TimedOut)
        } else {
            let stopped = how.error && unscored(self.design().on_error_stop);
            stopped.then_some(Cause::Failed)
        };
        said.extend(self.tallied(&self.run_of(run)));
        said.extend(self.after_ending(at, run, cause));
        Ok(self.with_completion(before, said))
    }

    /// An ending may void error stops of its hour, or their blocks, and itself; otherwise the run
    /// is closed if there is a cause to.
    fn after_ending(&mut self, at: Time, run: u64, cause: Option<Cause>) -> Vec<String> {
        let mut said = Vec::new();
        if !self.design().by_counts {
            said.extend(self.void_stopped(at, run));
            if !self.run_of(run).void && self.is_of_voided_block(run) {
                said.push(self.void_run(run));
            }
        }
        if let Some(cause) = cause.filter(|_| !self.run_of(run).void) {
            self.facts.push(Fact::Unjudged(run, cause));
            said.push(cause.text().to_owned());
        }
        said
    }

    fn void_run(&mut self, run: u64) -> String {
        self.facts.push(Fact::Void(run));
        format!("run {run} void")
    }

    fn void_stopped(&mut self, at: Time, ending: u64) -> Vec<String> {
        let window = hour(at);
        let is_ending = self.run_of(ending).ending.is_some() && !self.run_of(ending).what.control;
        let Some(voids) = self.voids().filter(|_| is_ending && self.is_outage(window)) else {
            return Vec::new();
        };
        let stopped: Vec<u64> = runs(&self.facts)
            .iter()
            .filter(|run| run.stopped_in() == Some(window) && !run.void && !run.what.control)
            .map(|run| run.number)
            .filter(|run| !self.is_of_voided_block(*run))
            .collect();
        match voids {
            Voids::Run => {
                let said = stopped.into_iter().map(|run| self.void_run(run));
                said.collect()
            }
            Voids::Block => {
                let plan = self.plan_over(&self.drawn());
                let met = blocks(self.design(), &plan);
                let of = |block: &&Block| {
                    let mut stopped = stopped.iter();
                    // CHOICE: a pilot has no block to void.
                    stopped.any(|run| self.block_of(&self.run_of(*run)).as_ref() == Some(*block))
                };
                let voided: Vec<Block> = met.iter().filter(of).cloned().collect();
                let said = voided.iter().map(|block| self.void_block(block));
                said.collect::<Vec<_>>().concat()
            }
        }
    }

    /// What of a block is over counts no more; what is live will be void when it ends.
    fn void_block(&mut self, voided: &Block) -> Vec<String> {
        let over: Vec<u64> = runs(&self.facts)
            .iter()
            .filter(|run| self.block_of(run).as_ref() == Some(voided))
            .filter(|run| !run.live() && !run.void && run.what.voids == self.voids_of(voided))
            .map(|run| run.number)
            .collect();
        let mut said: Vec<String> = over.into_iter().map(|run| self.void_run(run)).collect();
        self.facts.push(Fact::BlockVoid(voided.clone()));
        let plan = self.plan_over(&self.drawn());
        let number = blocks(self.design(), &plan)
            .iter()
            .position(|block| block == voided);
        said.push(format!(
            "block {} void {} {}",
            number.unwrap_or(0),
            self.voids_of(voided),
            !self.is_missing(voided)
        ));
        said
    }

    // Family 14. CHOICE: there are blocks once the study is registered, and none by counts.

    pub(super) fn void(&mut self, number: u64) -> Answer {
        let plan = self.plan_over(&self.drawn());
        let blocks = blocks(self.design(), &plan);
        let known = (number as usize).checked_sub(1).and_then(|i| blocks.get(i));
        let plain = self.registered() && !self.design().by_counts;
        let voided = known.filter(|_| plain).ok_or("unknown-block")?;
        let scored = |run: &Run<'_>| {
            run.scored.is_some() && !run.void && self.block_of(run).as_ref() == Some(voided)
        };
        if runs(&self.facts).iter().any(scored) {
            return Err("block-scored".to_owned());
        }
        let before = self.slots_ended();
        let mut said = vec!["deviated".to_owned()];
        said.extend(self.void_block(voided));
        Ok(self.with_completion(before, said))
    }

    pub(super) fn score(&mut self, run: u64, report: Report) -> Answer {
        // The same bytes again are a no-op, whatever they led to.
        if self.reported.contains(&(run, report)) {
            return Ok(Vec::new());
        }
        if !self.not_closed(run)? {
            return Err("not-ended".to_owned());
        }
        let before = self.slots_ended();
        self.reported.push((run, report));
        let said = match report.cause() {
            Some(cause) => {
                self.facts.push(Fact::Unjudged(run, cause));
                cause.text()
            }
            None => {
                self.facts.push(Fact::Scored(run, report));
                "scored"
            }
        };
        Ok(self.with_completion(before, vec![said.to_owned()]))
    }

    pub(super) fn close(&mut self, run: u64, cause: Cause) -> Answer {
        let was_live = !self.not_closed(run)?;
        // CHOICE: these three are reported; all others the engine finds itself.
        if !matches!(cause, Cause::Failed | Cause::Cancelled | Cause::Lost) {
            return Err("not-a-cause".to_owned());
        }
        let before = self.slots_ended();
        let breaker = self.breaker_stands();
        self.note_failure(run, cause, was_live);
        let mut said = match self.is_of_voided_block(run) {
            true => vec![self.void_run(run)],
            false => {
                self.facts.push(Fact::Unjudged(run, cause));
                vec![cause.text().to_owned()]
            }
        };
        let what = self.run_of(run).what.clone();
        if was_live && !what.control {
            said.extend(self.ledgers(&what.task, &what.arm));
        }
        said.extend(self.breaker_since(breaker));
        Ok(self.with_completion(before, said))
    }

    pub(super) fn expire(&mut self, at: Time, run: u64) -> Answer {
        self.not_closed(run)?;
        if !self.is_stale(at, run) {
            return Err("not-stale".to_owned());
        }
        let before = self.slots_ended();
        // A deadline is an ending without error, and may be what makes its hour an outage.
        self.facts.push(Fact::Deadline(at, run));
        let what = self.run_of(run).what.clone();
        let mut said = Vec::new();
        if !what.control {
            said.extend(self.ledgers(&what.task, &what.arm));
        }
        said.extend(self.tallied(&self.run_of(run)));
        said.extend(self.after_ending(at, run, Some(Cause::Stale)));
        Ok(self.with_completion(before, said))
    }

    /// Another attempt because a person asks: for the last attempt at a slot that has ended.
    pub(super) fn retry(&mut self, run: u64) -> Answer {
        let runs = runs(&self.facts);
        let found = (run as usize).checked_sub(1).and_then(|run| runs.get(run));
        let found = found.ok_or("unknown-run")?;
        let refused = || Err("not-retried".to_owned());
        let design = self.design();
        let what = found.what;
        let (Some(cause), false, false) = (found.cause, found.void, what.control) else {
            return refused();
        };
        // CHOICE: a rank is nobody's to reopen; a pilot of an earlier draft is over.
        if what.by_counts || !design.rerun_on_request.contains(&cause.word()) {
            return refused();
        }
        let (pilot, tasks) = match what.pilot {
            0 => (0, self.drawn()),
            pilot => (pilot, self.pilots()),
        };
        let plan = self.plan_over(&tasks);
        let slot = plan.iter().find(|slot| is_of(found, pilot, slot));
        let Some(slot) = slot.filter(|_| pilot == 0 || pilot == self.draft()) else {
            return refused();
        };
        let attempts = self.attempts(&runs, pilot, slot);
        let most = design.per_slot;
        let is_last = attempts.last().is_some_and(|last| last.number == run)
            && self.standing(&runs, pilot, slot) == Standing::Ended
            && most.is_none_or(|most| (attempts.len() as u32) < most);
        if !is_last {
            return refused();
        }
        self.facts.push(Fact::Asked(run));
        Ok(Vec::new())
    }
}
