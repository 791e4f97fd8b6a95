//! What the world reports: stops, holds and the opening of stages.

use prereg::protocol::model::{StopScope, UnknownStop};
use prereg::units::Time;

use super::facts::Of;
use super::slots::Standing;
use super::{Answer, Fact, Naive};
use crate::engine_common::gates::{Gate, Opens};

/// Whom a condition is asked for.
#[derive(Clone, Copy)]
pub(super) enum For<'a> {
    Study,
    Arm(&'a str),
    Stage(usize),
}

impl Naive {
    /// The newest reading counts whole; one that may be out of date says nothing. CHOICE: of an arm or a
    /// stage the newest is that which its own runs observed, or which says something of all.
    fn quota(&self, at: Time, whom: For<'_>) -> (Option<i64>, Option<Time>) {
        let about = |of: &Of| match whom {
            For::Study => true,
            For::Arm(arm) => of.arm.as_deref().is_none_or(|of| of == arm),
            For::Stage(stage) => of.stage.is_none_or(|of| of == stage),
        };
        let newest = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Read(level, until, of) if about(of) => Some((*level, *until)),
            _ => None,
        });
        let (level, until) = newest.unwrap_or_default();
        if self.design().expires && until.is_some_and(|until| until < at) {
            return (None, None);
        }
        (level, until)
    }

    fn fired(&self, at: Time, gate: &Gate, whom: For<'_>, waits: bool) -> Option<String> {
        let (level, until) = self.quota(at, whom);
        let (holds, unknown) = match (level, gate.unknown) {
            (Some(level), _) if level >= gate.level => (waits, false),
            (Some(_), _) | (None, UnknownStop::Go) => return None,
            (None, UnknownStop::Hold) => (true, true),
            (None, UnknownStop::Stop) => (false, true),
        };
        let one = match whom {
            For::Study => String::new(),
            For::Arm(arm) => format!(" for {arm}"),
            For::Stage(stage) => format!(" for s{}", stage + 1),
        };
        if !holds {
            return Some(format!("stopped {} {unknown}{one}", gate.id));
        }
        let until = until.filter(|_| waits).map_or(0, |until| until.0);
        Some(format!("held {} {until} {unknown}{one}", gate.id))
    }

    /// A stop of an arm or a stage is asked for each of those that are meant.
    fn stop(&self, at: Time, gate: &Gate, arms: &[String], stages: &[usize]) -> Option<String> {
        let ask = |whom: For<'_>| self.fired(at, gate, whom, false);
        match gate.scope {
            StopScope::Study => ask(For::Study),
            StopScope::Arm => arms.iter().find_map(|arm| ask(For::Arm(arm))),
            StopScope::Stage => stages.iter().find_map(|stage| ask(For::Stage(*stage))),
        }
    }

    /// Stops, then holds, in the listed order.
    fn conditions(
        &self,
        at: Time,
        arms: &[String],
        stages: &[usize],
        looks: impl Fn(&Gate) -> bool,
    ) -> Result<(), String> {
        let design = self.design();
        let mut stops = design.stops.iter().filter(|gate| looks(gate));
        let stop = stops.find_map(|gate| self.stop(at, gate, arms, stages));
        let mut holds = design.holds.iter();
        let hold = || holds.find_map(|gate| self.fired(at, gate, For::Study, true));
        stop.or_else(hold).map_or(Ok(()), Err)
    }

    /// What a start meets. Inside a session the stops that are looked at when it begins have been passed.
    pub(super) fn start_conditions(
        &self,
        at: Time,
        task: &str,
        arm: &str,
        here: bool,
    ) -> Result<(), String> {
        let slot = self.asked(at, task, arm, here);
        let stages: Vec<usize> = slot.into_iter().map(|slot| slot.stage).collect();
        self.conditions(at, &[arm.to_owned()], &stages, |gate| {
            !(here && gate.at_session)
        })
    }

    /// Whether a stop is about a stage alone and fires for it. CHOICE: such a stage is passed over, as
    /// one that is not open.
    pub(super) fn is_stopped(&self, at: Time, stage: usize, here: bool) -> bool {
        let staged = !self.design().stages.is_empty();
        let stops = self.design().stops.iter().filter(|_| staged);
        let of_stages = stops.filter(|gate| gate.scope == StopScope::Stage);
        let mut looked_at = of_stages.filter(|gate| !(here && gate.at_session));
        looked_at.any(|gate| self.fired(at, gate, For::Stage(stage), false).is_some())
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
        // CHOICE: of what is about one arm or stage alone a session asks what is looked at then, for the
        // arms that are executed here and the stages that are under way; each start asks the rest.
        let design = self.design();
        let here = design.arms - usize::from(design.elsewhere);
        let arms: Vec<String> = design.arm_ids().into_iter().take(here).collect();
        let stages = (0..design.stages.len())
            .filter(|stage| self.is_open(at, *stage) && !self.is_complete(*stage));
        let stages: Vec<usize> = stages.collect();
        self.conditions(at, &arms, &stages, |gate| {
            gate.scope == StopScope::Study || gate.at_session
        })?;
        Ok(Vec::new())
    }

    fn is_complete(&self, stage: usize) -> bool {
        let plan = self.plan_over(&self.drawn());
        let standings = self.standings(&plan);
        let mut slots = plan.iter().zip(&standings);
        slots.all(|(slot, standing)| slot.stage != stage || *standing == Standing::Ended)
    }

    pub(super) fn is_open(&self, at: Time, stage: usize) -> bool {
        let design = self.design();
        let before = || {
            stage
                .checked_sub(1)
                .is_none_or(|before| self.is_complete(before))
        };
        // No stop or hold fires, for any arm and for the stage itself.
        let go = || {
            self.conditions(at, &design.arm_ids(), &[stage], |_| true)
                .is_ok()
        };
        match design.stages.get(stage).map(|(_, opens)| *opens) {
            None | Some(Opens::Now) => true,
            Some(Opens::Then) => before(),
            Some(Opens::ThenIfGo) => before() && go(),
            Some(Opens::Below(level)) => self
                .quota(at, For::Study)
                .0
                .is_some_and(|known| known < level),
        }
    }
}
