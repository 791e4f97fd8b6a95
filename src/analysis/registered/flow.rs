//! From the draw to what is analysed, in numbers that add up.

use std::collections::BTreeMap;

use super::Registered;
use super::answer::{ArmFlow, Exposed, Exposure, Flow};
use super::observed::{Fate, Observed, Slot};
use super::pairs::Cells;
use crate::protocol::model::Arm;
use crate::units::{Micros, Money, Share};

/// Why a slot has no verdict, where nothing says it.
const UNSPECIFIED: &str = "unspecified";

/// Counts the slots of a study. `compared` are the arms that are compared, `outcome` is the primary one, both by
/// their places; what is missing is counted over the first `analysed` tasks.
pub(super) fn flow(
    registered: &Registered<'_>,
    observed: &Observed,
    cells: &Cells<'_>,
    compared: &[usize],
    outcome: usize,
    analysed: usize,
) -> Flow {
    let Registered {
        protocol, analysis, ..
    } = registered;
    let arms = &protocol.arms;
    let of_arm = |(place, arm): (usize, &Arm)| {
        let slots = observed.slots.iter().filter(|slot| slot.arm == place);
        let is_checked = protocol.manipulation_check.contains_key(&arm.id);
        let exposure = observed.exposure.get(place).cloned();
        arm_flow(&arm.id, is_checked, slots, exposure.unwrap_or_default())
    };
    let is_complete = |task: &usize| {
        (0..arms.len()).all(|arm| {
            let slots = cells.slots(*task, arm);
            slots.len() as u64 == u64::from(cells.repeats())
                && slots.iter().all(|slot| slot.fate == Fate::Scored)
        })
    };
    let (missing, slots) = missing(observed, compared, outcome, analysed);
    Flow {
        tasks_drawn: observed.tasks.len() as u64,
        tasks_analysed: analysed as u64,
        slots: observed.slots.len() as u64,
        arms: arms.iter().enumerate().map(of_arm).collect(),
        complete_blocks: (0..cells.tasks()).filter(is_complete).count() as u64,
        compared: slots,
        missing,
        missing_share_max: analysis.missing_share_max,
    }
}

/// Returns how many slots of the compared arms have no value of an outcome, of how many, over the first so many
/// tasks.
pub(super) fn missing(
    observed: &Observed,
    compared: &[usize],
    outcome: usize,
    tasks: usize,
) -> (u64, u64) {
    let slots = observed.slots.iter();
    let slots = slots.filter(|slot| slot.task < tasks && compared.contains(&slot.arm));
    slots.fold((0, 0), |(missing, all), slot| {
        let more = u64::from(slot.value(outcome).is_none());
        (missing + more, all + 1)
    })
}

/// Returns whether more is missing than a share allows; where there is nothing, everything is.
pub(super) fn is_too_much(missing: u64, slots: u64, most: Share) -> bool {
    let wide = |count: u64, part: u64| u128::from(count) * u128::from(part);
    slots == 0 || wide(missing, most.den) > wide(most.num, slots)
}

fn arm_flow<'a>(
    arm: &str,
    is_checked: bool,
    slots: impl Iterator<Item = &'a Slot>,
    exposure: Exposure,
) -> ArmFlow {
    let mut flow = ArmFlow {
        arm: arm.to_owned(),
        slots: 0,
        scored: 0,
        unjudged: 0,
        unjudged_by_reason: BTreeMap::new(),
        open: 0,
        exposed: is_checked.then(Exposed::default),
        exposure,
    };
    for slot in slots {
        flow.slots += 1;
        match slot.fate {
            Fate::Scored => {
                flow.scored += 1;
                let exposed = flow.exposed.iter_mut();
                exposed.for_each(|exposed| exposed.add(slot.exposed));
            }
            Fate::Open => flow.open += 1,
            Fate::Unjudged => {
                let reason = slot.reason.unwrap_or(UNSPECIFIED);
                *flow.unjudged_by_reason.entry(reason).or_default() += 1;
                flow.unjudged += 1;
            }
        }
    }
    flow
}

impl Exposed {
    /// Adds a scored run.
    fn add(&mut self, exposed: Option<bool>) {
        *match exposed {
            Some(true) => &mut self.yes,
            Some(false) => &mut self.no,
            None => &mut self.unknown,
        } += 1;
    }
}

impl Exposure {
    /// Adds a run.
    pub fn add(&mut self, wall: Option<Micros>, cost: Option<Money>) {
        self.runs += 1;
        if let Some(time) = wall {
            self.timed += 1;
            let sum = self.milliseconds.get_or_insert(0);
            *sum = sum.saturating_add(time.millis());
        }
        if let Some(cost) = cost {
            self.priced += 1;
            let sum = self.micro_dollars.get_or_insert(0);
            *sum = sum.saturating_add(cost.0);
        }
    }
}
