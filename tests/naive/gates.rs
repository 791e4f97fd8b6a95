//! What the world reports: stops, holds and the opening of stages.

use prereg::protocol::model::UnknownStop;
use prereg::units::Time;

use super::slots::Standing;
use super::{Answer, Fact, Naive};
use crate::engine_common::gates::{Gate, Opens};

impl Naive {
    /// The newest reading counts whole; one that may be out of date says nothing.
    fn quota(&self, at: Time) -> (Option<i64>, Option<Time>) {
        let newest = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Read(level, until) => Some((*level, *until)),
            _ => None,
        });
        let (level, until) = newest.unwrap_or_default();
        if self.design().expires && until.is_some_and(|until| until < at) {
            return (None, None);
        }
        (level, until)
    }

    fn fired(&self, at: Time, gate: &Gate, waits: bool) -> Option<String> {
        let (level, until) = self.quota(at);
        let (holds, unknown) = match (level, gate.unknown) {
            (Some(level), _) if level >= gate.level => (waits, false),
            (Some(_), _) | (None, UnknownStop::Go) => return None,
            (None, UnknownStop::Hold) => (true, true),
            (None, UnknownStop::Stop) => (false, true),
        };
        if !holds {
            return Some(format!("stopped {} {unknown}", gate.id));
        }
        let until = until.filter(|_| waits).map_or(0, |until| until.0);
        Some(format!("held {} {until} {unknown}", gate.id))
    }

    /// Stops, then holds, in the listed order. Inside a session those that are looked at when it
    /// begins have been passed.
    pub(super) fn conditions(&self, at: Time, in_session: bool) -> Result<(), String> {
        let design = self.design();
        let looks = |gate: &&Gate| !(in_session && gate.at_session);
        let mut stops = design.stops.iter().filter(looks);
        let stop = stops.find_map(|gate| self.fired(at, gate, false));
        let mut holds = design.holds.iter();
        let hold = || holds.find_map(|gate| self.fired(at, gate, true));
        stop.or_else(hold).map_or(Ok(()), Err)
    }

    /// CHOICE: a session begins if the switch, every stop and every hold let it.
    pub(super) fn session(&mut self, at: Time) -> Answer {
        self.switched_on()?;
        // Family 12: where every arm must be ready, one that is executed elsewhere never is.
        match (self.design().preflight, self.design().elsewhere) {
            (true, true) if self.design().arms == 1 => return Err("no-direct-cell".to_owned()),
            (true, true) => return Err("arm-elsewhere".to_owned()),
            _ => {}
        }
        self.conditions(at, false)?;
        Ok(Vec::new())
    }

    pub(super) fn is_open(&self, at: Time, stage: usize) -> bool {
        let design = self.design();
        let before = || {
            let plan = self.plan_over(&self.drawn());
            let standings = self.standings(&plan);
            let mut slots = plan.iter().zip(&standings);
            slots.all(|(slot, standing)| slot.stage + 1 != stage || *standing == Standing::Ended)
        };
        match design.stages.get(stage).map(|(_, opens)| *opens) {
            None | Some(Opens::Now) => true,
            Some(Opens::Then) => before(),
            Some(Opens::ThenIfGo) => before() && self.conditions(at, false).is_ok(),
            Some(Opens::Below(level)) => self.quota(at).0.is_some_and(|known| known < level),
        }
    }
}
