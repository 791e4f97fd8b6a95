//! Family 5, by counts: two arms take turns, and a run's slot is its rank among those that count.

use prereg::engine::command::Cause;
use prereg::protocol::model::Voids;
use prereg::units::Time;

use super::Naive;
use super::facts::{Run, runs};
use super::start::Place;

/// How far the slots of a task and arm have come.
#[derive(Default)]
struct Filled {
    slot: u32,
    attempt: u32,
    waits: bool,
    ended: u32,
}

impl Naive {
    /// The runs of a task and arm that count: error stops of an outage are no attempts at all.
    fn counted<'f>(&self, runs: &[Run<'f>], task: &str, arm: &str, pilot: usize) -> Vec<Run<'f>> {
        let voids_runs = self.voids() == Some(Voids::Run);
        let is_void = |run: &Run<'_>| {
            let window = run.stopped_in().filter(|_| voids_runs);
            window.is_some_and(|window| self.is_outage(window))
        };
        let of_cell = |run: &&Run<'_>| {
            let what = run.what;
            what.by_counts && what.pilot == pilot && what.task == task && what.arm == arm
        };
        let cell = runs.iter().filter(of_cell);
        cell.filter(|run| !is_void(run)).cloned().collect()
    }

    /// Rows fill slots by position; one that may be attempted again leaves its slot to the next.
    fn fill(&self, counted: &[Run<'_>], now: Option<Time>) -> Filled {
        let mut filled = Filled::default();
        for run in counted {
            if filled.waits {
                filled.attempt += 1;
            } else {
                filled.slot += 1;
                filled.attempt = 1;
            }
            let stale = now.is_some_and(|now| self.is_past_deadline(now, run));
            let cause = if stale { Some(Cause::Stale) } else { run.cause };
            filled.waits = self.may_rerun(cause, filled.attempt);
            let closed = run.scored.is_some() || cause.is_some();
            filled.ended += u32::from(closed && !filled.waits);
        }
        filled
    }

    fn filled(&self, task: &str, arm: &str, pilot: usize, now: Option<Time>) -> Filled {
        self.fill(&self.counted(&runs(&self.facts), task, arm, pilot), now)
    }

    /// How many slots of a task have ended, by what is recorded.
    pub(crate) fn slots_ended_by_counts(&self, task: &str) -> u64 {
        let arms = self.design().arm_ids();
        let repeats = self.design().all_repeats();
        let ended = arms.iter().map(|arm| self.filled(task, arm, 0, None).ended);
        ended.map(|ended| u64::from(ended.min(repeats))).sum()
    }

    pub(super) fn all_ended_by_counts(&self) -> bool {
        let arms = self.design().arm_ids();
        let repeats = self.design().all_repeats();
        let ended = |task: &String, arm: &String| self.filled(task, arm, 0, None).ended >= repeats;
        let tasks = self.drawn();
        tasks
            .iter()
            .all(|task| arms.iter().all(|arm| ended(task, arm)))
    }

    pub(super) fn rank(
        &self,
        at: Time,
        task: &str,
        arm: &str,
        pilot: bool,
    ) -> Result<Place, String> {
        let draft = if pilot { self.draft() } else { 0 };
        let filled = self.filled(task, arm, draft, Some(at));
        let (slot, attempt) = match filled.waits {
            true => (filled.slot, filled.attempt + 1),
            false if filled.slot < self.design().all_repeats() => (filled.slot + 1, 1),
            false => return Err("slots-used".to_owned()),
        };
        if !pilot {
            self.turn(at, task, arm, slot)?;
        }
        Ok(Place {
            pilot: draft,
            repeat: slot - 1,
            attempt,
            said: format!("slot {slot} attempt {attempt}"),
            block: None,
        })
    }

    fn turn(&self, at: Time, task: &str, arm: &str, slot: u32) -> Result<(), String> {
        let arms = self.design().arm_ids();
        let is_first = arms[0] == arm;
        if is_first
            && slot == 1
            && let Some(earlier) = self.earlier(at, task)
        {
            return Err(format!("out-of-order, earlier {earlier}"));
        }
        let other = &arms[usize::from(is_first)];
        let has = self.filled(task, other, 0, Some(at)).ended;
        let need = if is_first { slot - 1 } else { slot };
        // CHOICE: a run that has ended and is not closed is waited for, as a live one is.
        let live = runs(&self.facts).into_iter().any(|run| {
            (&run.what.task, &run.what.arm) == (&task.to_owned(), other)
                && !run.closed()
                && !self.is_past_deadline(at, &run)
        });
        match has == need && !live {
            true => Ok(()),
            false => Err(format!("out-of-order, before {other} {need} {has}")),
        }
    }

    /// The first task before one on the draw with slots that have not ended.
    fn earlier(&self, at: Time, task: &str) -> Option<String> {
        let drawn = self.drawn().into_iter();
        let arms = self.design().arm_ids();
        let repeats = self.design().all_repeats();
        let mut before = drawn.take_while(|other| other != task);
        before.find(|other| {
            let mut arms = arms.iter();
            arms.any(|arm| self.filled(other, arm, 0, Some(at)).ended < repeats)
        })
    }
}
