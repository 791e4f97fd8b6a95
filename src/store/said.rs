//! What was said by hand and is told in full: the registration, deviations, voids, looks behind the seal.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Result, Store, derived, frames, rows};
use crate::engine::command::{Command, Executed};
use crate::engine::event::Event;
use crate::engine::facts::{Fact, FactKey, FactKind, Said};
use crate::engine::slice::{Run, State};
use crate::record::entry::{self, Answer, Head};

/// What of a run says who executed it.
#[derive(Deserialize)]
struct Origin<'r> {
    #[serde(borrow)]
    arm: Cow<'r, str>,
    executed: Executed,
}

impl<'r> From<&'r Run> for Origin<'r> {
    fn from(run: &'r Run) -> Self {
        Self {
            arm: Cow::Borrowed(&run.arm),
            executed: run.executed.clone(),
        }
    }
}

impl Store {
    /// Returns the entry that registered the protocol.
    pub fn registered(&self) -> Result<Option<(Head, Command)>> {
        let Some(draft) = frames::newest_seq(&self.connection)? else {
            return Ok(None);
        };
        // Pilots may stand between the draft and its registration.
        rows::find_after(&self.connection, draft, |found| {
            let (command, ruling) = entry::unseal(found)?;
            let events = match &ruling {
                Answer::Granted(events) => events.as_slice(),
                Answer::Refused(_) => &[],
            };
            let is_it = |event: &Event| matches!(event, Event::Registered { .. });
            let head = Head {
                seq: found.seq,
                digest: found.digest,
            };
            Ok(events.iter().any(is_it).then_some((head, command)))
        })
    }

    /// Returns what was done by hand, of a kind, in order.
    pub fn said(&mut self, kind: FactKind) -> Result<Vec<(FactKey, Said)>> {
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let mut found = Vec::new();
        derived::each_fact_of(&snapshot, derived, kind, |key, fact| {
            if let Fact::Said(said) = fact {
                found.push((key, said));
            }
        })?;
        found.sort_by(|(a, x), (b, y)| (x.at, a).cmp(&(y.at, b)));
        Ok(found)
    }

    /// Returns how many runs somebody reported by hand although the registered protocol has them executed here.
    pub fn reported_by_hand(&mut self) -> Result<u64> {
        let Some(rules) = self.rules()? else {
            return Ok(0);
        };
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let mut told = 0;
        derived::each_run(&snapshot, derived, |kept| {
            let Origin { arm, executed } = kept.part()?;
            let is_elsewhere = executed != Executed::Here;
            told += u64::from(is_elsewhere && rules.protocol().is_executed_here(&arm));
            Ok(true)
        })?;
        Ok(told)
    }

    /// Returns how the block of a run was voided, if that is what became of the run.
    pub fn void_of(&mut self, run: &Run) -> Result<Option<Said>> {
        let Some(place) = run.place.filter(|_| run.state == State::Void) else {
            return Ok(None);
        };
        let key = FactKey::Void(place.block, place.voids + 1);
        let found = self.ask(|_, slice| slice.fact(&key).cloned())?;
        Ok(match found.flatten() {
            Some(Fact::Said(said)) => Some(said),
            _ => None,
        })
    }
}
