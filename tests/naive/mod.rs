//! A naive engine, written from the rule families of the protocol's language and nothing else.
//!
//! It keeps the full list of what happened and folds all of it for each command. Where the text
//! leaves a choice, the engine's documented one is taken and marked `CHOICE`.

mod facts;
mod plan;

use prereg::engine::command::Cause;
use prereg::protocol::model::{CauseWord, LateReport, ScoreWord, Serial};
use prereg::units::Time;

use crate::engine_common::design::Design;
use crate::engine_common::words::breaker;
use crate::engine_common::{Move, Report};
use facts::{Fact, Run, Started, runs};
use plan::{Slot, block, block_number, plan};

#[derive(Clone, Copy, PartialEq)]
enum Standing {
    Untouched,
    Waits,
    UnderWay,
    Ended,
}

/// A breaker that names no arms is about all of them, controls too.
fn is_guarded(design: &Design, arm: &str) -> bool {
    let named = design.guarded_arms();
    design.breaker.is_some() && (named.is_empty() || named.iter().any(|one| one == arm))
}

#[derive(Clone)]
pub(crate) struct Naive {
    pub(crate) drafts: Vec<Design>,
    pub(crate) facts: Vec<Fact>,
    /// Reports that were taken, whatever they led to.
    reported: Vec<(u64, Report)>,
}

impl Naive {
    pub(crate) fn new(drafts: Vec<Design>) -> Self {
        Self {
            drafts,
            facts: Vec::new(),
            reported: Vec::new(),
        }
    }

    /// Answers a move in the words of the tables.
    pub(crate) fn ask(&mut self, at: Time, wanted: &Move) -> String {
        let answer = match (wanted, self.opened()) {
            (Move::Open(draft), _) => self.open(*draft),
            (_, None) => Err("not-opened".to_owned()),
            (Move::Register(draft), _) => self.register(*draft),
            (Move::Start(task, arm), _) => self.start(at, task, arm),
            (Move::Finish(run, timed_out), _) => {
                self.late(at, *run, |this| this.finish(*run, *timed_out))
            }
            (Move::Score(run, report), _) => self.late(at, *run, |this| this.score(*run, *report)),
            (Move::Close(run, cause), _) => self.late(at, *run, |this| this.close(*run, *cause)),
            (Move::Expire(run), _) => self.expire(at, *run),
            (Move::Breaker(open), _) => self.breaker(*open),
            (Move::Conclude, _) => self.conclude(at),
            (Move::Unblind, _) => Ok("unblinded".to_owned()),
        };
        answer.unwrap_or_else(|refused| refused)
    }

    // Family 1: the registration lock.

    fn opened(&self) -> Option<usize> {
        self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Opened(draft) => Some(*draft),
            _ => None,
        })
    }

    fn design(&self) -> &Design {
        &self.drafts[self.opened().unwrap_or(0)]
    }

    /// The number of the draft that is open, from 1.
    fn draft(&self) -> usize {
        let opened = |fact: &&Fact| matches!(fact, Fact::Opened(_));
        self.facts.iter().filter(opened).count()
    }

    fn registered(&self) -> bool {
        self.facts.contains(&Fact::Registered)
    }

    fn open(&mut self, draft: usize) -> Result<String, String> {
        if self.opened() == Some(draft) {
            return Ok("nothing".to_owned());
        }
        if self.registered() {
            let differs = self
                .design()
                .registration()
                .differences(&self.drafts[draft].registration());
            return Err(format!("registration-differs, {}", differs.join(" ")));
        }
        self.facts.push(Fact::Opened(draft));
        Ok(format!("draft {}", self.draft()))
    }

    fn register(&mut self, draft: usize) -> Result<String, String> {
        if self.opened() != Some(draft) {
            return Err("not-opened-last".to_owned());
        }
        if self.registered() {
            return Ok("nothing".to_owned());
        }
        self.facts.push(Fact::Registered);
        let slots = plan(self.design(), &self.design().drawn_ids()).len();
        Ok(format!("registered, {slots} slots"))
    }

    // Family 3: the plan. Family 4: slots and attempts.

    fn standing(&self, runs: &[Run<'_>], pilot: usize, slot: &Slot) -> Standing {
        let attempts: Vec<&Run<'_>> = runs
            .iter()
            .filter(|run| {
                !run.what.control
                    && run.what.pilot == pilot
                    && (run.what.repeat, &run.what.task, &run.what.arm)
                        == (slot.repeat, &slot.task, &slot.arm)
            })
            .collect();
        match attempts.last() {
            None => Standing::Untouched,
            Some(run) if !run.closed() => Standing::UnderWay,
            Some(run) if self.may_rerun(run.cause, attempts.len() as u32) => Standing::Waits,
            Some(_) => Standing::Ended,
        }
    }

    fn may_rerun(&self, cause: Option<Cause>, attempts: u32) -> bool {
        let design = self.design();
        let word = match cause {
            None => return false,
            Some(Cause::Failed) => CauseWord::Failed,
            Some(Cause::TimedOut) => CauseWord::TimedOut,
            Some(Cause::Cancelled) => CauseWord::Cancelled,
            Some(Cause::Lost) => CauseWord::Lost,
            Some(Cause::Stale) => CauseWord::Stale,
            Some(_) => CauseWord::Unjudged,
        };
        design.rerun.contains(&word) && design.per_slot.is_none_or(|most| attempts < most)
    }

    // Family 5: the order at start. Family 7: its guards. Family 8: concurrency.

    fn start(&mut self, at: Time, task: &str, arm: &str) -> Result<String, String> {
        let design = self.design();
        let is = |ids: Vec<String>, id: &str| ids.iter().any(|known| known == id);
        let pilot = is(design.pilot_ids(), task);
        let drawn = is(design.drawn_ids(), task);
        if !pilot && !drawn && !is(design.undrawn_ids(), task) {
            return Err("unknown-task".to_owned());
        }
        let control = is(design.control_ids(), arm);
        if !control && !is(design.arm_ids(), arm) {
            return Err("unknown-arm".to_owned());
        }
        if self.breaker_stands().1 && is_guarded(design, arm) {
            return Err("breaker-open".to_owned());
        }
        if control {
            return self.admit(at, task, arm, None);
        }
        match (pilot, self.registered()) {
            (true, true) => return Err("split-closed".to_owned()),
            (false, false) => return Err("not-registered".to_owned()),
            (false, true) if !drawn => return Err("not-drawn".to_owned()),
            _ => {}
        }
        if self.is_past_cutoff(at) {
            return Err("past-cutoff".to_owned());
        }
        // CHOICE: the order looks at the whole plan, so every stale run is closed, not those of
        // this task and arm alone.
        let mut closed = String::new();
        for run in 1..=runs(&self.facts).len() as u64 {
            if self.is_stale(at, run) {
                closed += &format!("{run} {}; ", self.unjudge(run, Cause::Stale));
            }
        }
        let ruling = if pilot {
            self.start_pilot(at, task, arm)
        } else {
            self.start_slot(at, task, arm)
        };
        ruling
            .map(|granted| format!("{closed}{granted}"))
            .map_err(|refused| format!("{closed}{refused}"))
    }

    /// CHOICE: pilots know no order; the slots of a task and arm fill in theirs.
    fn start_pilot(&mut self, at: Time, task: &str, arm: &str) -> Result<String, String> {
        let plan = plan(self.design(), &self.design().pilot_ids());
        let runs = runs(&self.facts);
        let mut wanted: Vec<&Slot> = plan
            .iter()
            .filter(|slot| slot.task == task && slot.arm == arm)
            .collect();
        wanted.sort_by_key(|slot| slot.repeat);
        let free = wanted.into_iter().find(|slot| {
            let standing = self.standing(&runs, self.draft(), slot);
            matches!(standing, Standing::Untouched | Standing::Waits)
        });
        let free = free.ok_or("slots-used")?.clone();
        self.admit(at, task, arm, Some((self.draft(), &plan, free)))
    }

    fn start_slot(&mut self, at: Time, task: &str, arm: &str) -> Result<String, String> {
        let design = self.design();
        let plan = plan(design, &design.drawn_ids());
        let runs = runs(&self.facts);
        let standings: Vec<Standing> = plan
            .iter()
            .map(|slot| self.standing(&runs, 0, slot))
            .collect();
        let follows = |before: &Slot, slot: &Slot| match design.serial {
            Serial::Study => true,
            Serial::Block => block(design, before) == block(design, slot),
            Serial::None => false,
        };
        let earliest = (0..plan.len()).find(|i| {
            matches!(standings[*i], Standing::Untouched | Standing::Waits)
                && (0..*i).all(|j| standings[j] == Standing::Ended || !follows(&plan[j], &plan[*i]))
        });
        if let Some(slot) = earliest.map(|i| plan[i].clone())
            && (slot.task.as_str(), slot.arm.as_str()) == (task, arm)
        {
            return self.admit(at, task, arm, Some((0, &plan, slot)));
        }
        let used = plan.iter().zip(&standings).all(|(slot, standing)| {
            (slot.task.as_str(), slot.arm.as_str()) != (task, arm)
                || matches!(standing, Standing::Ended | Standing::UnderWay)
        });
        if used {
            return Err("slots-used".to_owned());
        }
        Err(match earliest {
            Some(i) => format!("out-of-order, next {} {}", plan[i].task, plan[i].arm),
            None => "out-of-order, next none".to_owned(),
        })
    }

    /// The last guard, and the start itself.
    fn admit(
        &mut self,
        at: Time,
        task: &str,
        arm: &str,
        place: Option<(usize, &[Slot], Slot)>,
    ) -> Result<String, String> {
        let runs = runs(&self.facts);
        let live = (1..=runs.len() as u64)
            .filter(|run| runs[*run as usize - 1].live() && !self.is_stale(at, *run))
            .count();
        let most = self.design().runs_max;
        if live >= most as usize {
            return Err(format!("cap-reached, {most}"));
        }
        let run = runs.len() + 1;
        let (said, what) = match place {
            None => (format!("run {run}"), None),
            Some((pilot, plan, slot)) => {
                let of_slot = |earlier: &&Run<'_>| {
                    !earlier.what.control
                        && earlier.what.pilot == pilot
                        && (&earlier.what.task, &earlier.what.arm, earlier.what.repeat)
                            == (&slot.task, &slot.arm, slot.repeat)
                };
                let attempt = 1 + runs.iter().filter(of_slot).count() as u32;
                let position = plan.iter().position(|other| *other == slot).unwrap_or(0);
                let said = format!(
                    "{}run {run} at {position} in block {}, repeat {} turn {} attempt {attempt}",
                    if pilot == 0 { "" } else { "pilot " },
                    block_number(self.design(), plan, &slot),
                    slot.repeat + 1,
                    slot.turn + 1,
                );
                (said, Some((pilot, slot.repeat, attempt)))
            }
        };
        let (pilot, repeat, attempt) = what.unwrap_or_default();
        let started = Started {
            control: what.is_none(),
            pilot,
            task: task.to_owned(),
            arm: arm.to_owned(),
            repeat,
            attempt,
        };
        self.facts.push(Fact::Started(at, started));
        Ok(said)
    }

    // Family 4: how a run ends. Family 9: scoring.

    /// CHOICE: the deadline itself is past.
    fn is_stale(&self, at: Time, run: u64) -> bool {
        let runs = runs(&self.facts);
        let found = (run as usize).checked_sub(1).and_then(|run| runs.get(run));
        found.is_some_and(|run| run.live() && run.at.plus(self.design().stale_after) <= at)
    }

    /// Under `late_report = "refuse"` a deadline that a report notices is an entry before it.
    fn late(
        &mut self,
        at: Time,
        run: u64,
        report: impl FnOnce(&mut Self) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut closed = String::new();
        if self.design().late_report == LateReport::Refuse && self.is_stale(at, run) {
            closed = format!("{run} {}; ", self.unjudge(run, Cause::Stale));
        }
        report(self).map_err(|refused| closed + &refused)
    }

    /// Refuses a run that does not exist or is closed; says whether it has ended.
    fn not_closed(&self, run: u64) -> Result<bool, String> {
        let runs = runs(&self.facts);
        let found = (run as usize).checked_sub(1).and_then(|run| runs.get(run));
        match found.ok_or("unknown-run")? {
            Run {
                cause: Some(Cause::Stale),
                ..
            } => Err("stale".to_owned()),
            Run {
                cause: Some(cause), ..
            } => Err(format!("already-closed, {}", cause.text())),
            Run {
                scored: Some(_), ..
            } => Err("already-closed, scored".to_owned()),
            run => Ok(run.ended),
        }
    }

    fn finish(&mut self, run: u64, timed_out: bool) -> Result<String, String> {
        if self.not_closed(run)? {
            return Err("already-ended".to_owned());
        }
        let before = self.breaker_stands();
        self.facts.push(Fact::Ended(run));
        let ended = format!("ended{}", self.breaker_since(before));
        if timed_out && self.design().on_timeout == ScoreWord::Unjudged {
            return Ok(format!("{ended}, {}", self.unjudge(run, Cause::TimedOut)));
        }
        Ok(ended)
    }

    fn score(&mut self, run: u64, report: Report) -> Result<String, String> {
        // The same bytes again are a no-op, whatever they led to.
        if self.reported.contains(&(run, report)) {
            return Ok("nothing".to_owned());
        }
        if !self.not_closed(run)? {
            return Err("not-ended".to_owned());
        }
        self.reported.push((run, report));
        if let Some(cause) = report.cause() {
            return Ok(self.unjudge(run, cause));
        }
        self.facts.push(Fact::Scored(run, report));
        Ok(format!("scored{}", self.consequences(run)))
    }

    fn close(&mut self, run: u64, cause: Cause) -> Result<String, String> {
        self.not_closed(run)?;
        // CHOICE: these three are reported; all others the engine finds itself.
        if !matches!(cause, Cause::Failed | Cause::Cancelled | Cause::Lost) {
            return Err("not-a-cause".to_owned());
        }
        Ok(self.unjudge(run, cause))
    }

    fn expire(&mut self, at: Time, run: u64) -> Result<String, String> {
        self.not_closed(run)?;
        if !self.is_stale(at, run) {
            return Err("not-stale".to_owned());
        }
        Ok(self.unjudge(run, Cause::Stale))
    }

    fn unjudge(&mut self, run: u64, cause: Cause) -> String {
        let before = self.breaker_stands();
        self.facts.push(Fact::Unjudged(run, cause));
        let breaker = self.breaker_since(before);
        format!("{}{breaker}{}", cause.text(), self.consequences(run))
    }

    // The cut-off: no start at or after it; once no run is open the study has ended.

    fn is_past_cutoff(&self, at: Time) -> bool {
        self.design().cutoff.is_some_and(|cutoff| at >= cutoff)
    }

    fn conclude(&mut self, at: Time) -> Result<String, String> {
        let runs = runs(&self.facts);
        let plan = plan(self.design(), &self.design().drawn_ids());
        let ended = |slot: &Slot| self.standing(&runs, 0, slot) == Standing::Ended;
        let complete = self.registered() && plan.iter().all(ended);
        if complete || self.facts.contains(&Fact::Stopped) {
            return Ok("nothing".to_owned());
        }
        let closed = runs.iter().all(Run::closed);
        if !(self.registered() && closed && self.is_past_cutoff(at)) {
            return Err("not-over".to_owned());
        }
        self.facts.push(Fact::Stopped);
        Ok("stopped past-cutoff".to_owned())
    }

    // The breaker: failures to prepare or to start, in a row.

    fn breaker(&mut self, open: bool) -> Result<String, String> {
        let design = self.design();
        if design.breaker.is_none() {
            return Err("no-breaker".to_owned());
        }
        if open && !design.breaker_external {
            return Err("breaker-internal".to_owned());
        }
        if self.breaker_stands().1 == open {
            return Ok("nothing".to_owned());
        }
        self.facts.push(Fact::Breaker(open));
        Ok(breaker(0, open))
    }

    /// How many starts in a row have failed, and whether the breaker is open.
    fn breaker_stands(&self) -> (u32, bool) {
        let (mut failures, mut open) = (0, false);
        let mut design = &self.drafts[0];
        for (i, fact) in self.facts.iter().enumerate() {
            let before = runs(&self.facts[..i]);
            let of = |run: &u64| &before[*run as usize - 1];
            match fact {
                Fact::Opened(draft) => design = &self.drafts[*draft],
                Fact::Breaker(by_hand) => (failures, open) = (0, *by_hand),
                Fact::Ended(run) if is_guarded(design, &of(run).what.arm) => failures = 0,
                Fact::Unjudged(run, Cause::Failed)
                    if of(run).live() && is_guarded(design, &of(run).what.arm) =>
                {
                    failures += 1;
                    open |= design.breaker.is_some_and(|limit| failures >= limit);
                }
                _ => {}
            }
        }
        (failures, open)
    }

    /// Says how the breaker stands, where that has changed.
    fn breaker_since(&self, before: (u32, bool)) -> String {
        let (failures, open) = self.breaker_stands();
        if (failures, open) == before {
            String::new()
        } else {
            format!(", {}", breaker(failures, open))
        }
    }

    /// Says what the end of a run does to its slot, and the end of the slot to the study.
    fn consequences(&self, run: u64) -> String {
        let runs = runs(&self.facts);
        let Run { what, cause, .. } = &runs[run as usize - 1];
        if what.control {
            return String::new();
        }
        if self.may_rerun(*cause, what.attempt) {
            return ", slot waits".to_owned();
        }
        let plan = plan(self.design(), &self.design().drawn_ids());
        let complete = what.pilot == 0
            && plan
                .iter()
                .all(|slot| self.standing(&runs, 0, slot) == Standing::Ended);
        let complete = if complete { ", complete" } else { "" };
        format!(", slot ended{complete}")
    }
}
