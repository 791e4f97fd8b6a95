//! What people and the world report beside runs: switch, readings, probes, breaker, the end.

use std::mem;

use prereg::engine::command::Cause;
use prereg::units::Time;

use super::facts::{Fact, Of, Run, runs};
use super::{Answer, Naive};
use crate::engine_common::design::Design;
use crate::engine_common::words::breaker;

/// A breaker that names no arms is about all of them, controls too.
pub(super) fn is_guarded(design: &Design, arm: &str) -> bool {
    let named = design.guarded_arms();
    design.breaker.is_some() && (named.is_empty() || named.iter().any(|one| one == arm))
}

impl Naive {
    pub(super) fn switch(&mut self, text: Option<&str>) -> Answer {
        if !self.design().switch {
            return Err("no-switch".to_owned());
        }
        let fact = Fact::Switch(text.map(str::to_owned));
        if !self.is_news(&fact) {
            return Ok(Vec::new());
        }
        self.facts.push(fact);
        Ok(vec![format!("switch {}", text.unwrap_or("unreadable"))])
    }

    /// What the newest fact of the same kind says is said already.
    fn is_news(&self, fact: &Fact) -> bool {
        let kind = mem::discriminant(fact);
        let mut facts = self.facts.iter();
        facts.rfind(|known| mem::discriminant(*known) == kind) != Some(fact)
    }

    pub(super) fn read(&mut self, level: Option<i64>, until: Option<Time>) -> Answer {
        match self.is_news(&Fact::Read(level, until, Of::default())) {
            true => self.take(level, until, Of::default()),
            false => Ok(Vec::new()),
        }
    }

    /// Takes a reading, by hand or from an output, whatever was read before.
    pub(super) fn take(&mut self, level: Option<i64>, until: Option<Time>, of: Of) -> Answer {
        self.facts.push(Fact::Read(level, until, of));
        let said = level.map_or("null".to_owned(), |level| level.to_string());
        Ok(vec![format!("read {said} {}", until.is_some())])
    }

    pub(super) fn preflight(&mut self, arm: &str, status: &str) -> Answer {
        self.facts
            .push(Fact::Preflight(arm.to_owned(), status.to_owned()));
        Ok(vec![format!("{arm} {status}")])
    }

    pub(super) fn probe(&mut self, value: Option<&str>) -> Answer {
        let fact = Fact::Probe(value.map(str::to_owned));
        if !self.is_news(&fact) {
            return Ok(Vec::new());
        }
        self.facts.push(fact);
        Ok(vec!["probed agent".to_owned()])
    }

    // Family 10: once, for a live run of a declared arm.

    pub(super) fn check(&mut self, run: u64, passed: bool) -> Answer {
        let runs = runs(&self.facts);
        let of = |run: &u64| runs.get((*run as usize).checked_sub(1)?);
        let found = of(&run).ok_or("unknown-run")?;
        if !self.design().checked_arms().contains(&found.what.arm) {
            return Err("no-checkpoint".to_owned());
        }
        if self.not_closed(run)? {
            return Err("already-ended".to_owned());
        }
        if found.checked {
            return Err("checkpoint-exists".to_owned());
        }
        self.facts.push(Fact::Checked(run));
        Ok(vec![format!("checked {passed}")])
    }

    // The cut-off: no start at or after it; once no run is open the study has ended.

    pub(super) fn is_past_cutoff(&self, at: Time) -> bool {
        self.design().cutoff.is_some_and(|cutoff| at >= cutoff)
    }

    pub(super) fn conclude(&mut self, at: Time) -> Answer {
        let over = [Fact::Complete, Fact::Stopped];
        if over.iter().any(|fact| self.facts.contains(fact)) {
            return Ok(Vec::new());
        }
        let closed = runs(&self.facts).iter().all(Run::closed);
        let rule = match (self.is_past_cutoff(at), self.is_spent()) {
            _ if self.look_has_ended() => "look-stopped",
            (true, _) => "past-cutoff",
            (false, true) => "over-budget",
            (false, false) => return Err("not-over".to_owned()),
        };
        if !(self.registered() && closed) {
            return Err("not-over".to_owned());
        }
        self.facts.push(Fact::Stopped);
        Ok(vec![format!("stopped {rule}")])
    }

    // The breaker: failures to prepare or to start, in a row.

    pub(super) fn breaker(&mut self, open: bool) -> Answer {
        let design = self.design();
        if design.breaker.is_none() {
            return Err("no-breaker".to_owned());
        }
        if open && !design.breaker_external {
            return Err("breaker-internal".to_owned());
        }
        if self.breaker_stands().1 == open {
            return Ok(Vec::new());
        }
        self.facts.push(Fact::Breaker(open));
        Ok(vec![breaker(0, open)])
    }

    /// How many starts in a row have failed, and whether the breaker is open.
    pub(super) fn breaker_stands(&self) -> (u32, bool) {
        let (mut failures, mut open) = (0, false);
        let mut design = &self.drafts[0];
        let runs = runs(&self.facts);
        let guarded = |design: &Design, run: &u64| {
            let arm = &runs[*run as usize - 1].what.arm;
            is_guarded(design, arm)
        };
        for fact in &self.facts {
            match fact {
                Fact::Opened(draft) => design = &self.drafts[*draft],
                Fact::Breaker(by_hand) => (failures, open) = (0, *by_hand),
                Fact::Ended(_, run, _) if guarded(design, run) => failures = 0,
                Fact::NotStarted(run) if guarded(design, run) => {
                    failures += 1;
                    open |= design.breaker.is_some_and(|limit| failures >= limit);
                }
                _ => {}
            }
        }
        (failures, open)
    }

    /// Says how the breaker stands, where that has changed.
    pub(super) fn breaker_since(&self, before: (u32, bool)) -> Option<String> {
        let (failures, open) = self.breaker_stands();
        ((failures, open) != before).then(|| breaker(failures, open))
    }

    /// CHOICE: a run that was live and is reported failed has not been prepared or started.
    pub(super) fn note_failure(&mut self, run: u64, cause: Cause, was_live: bool) {
        if cause == Cause::Failed && was_live {
            self.facts.push(Fact::NotStarted(run));
        }
    }
}
