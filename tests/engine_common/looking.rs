//! Looks: an analysis that one task can decide, and the look that is due.

use std::convert::Infallible;
use std::num::NonZeroU32;

use prereg::engine::command::Action;
use prereg::engine::looks::{self, Seen};
use prereg::protocol::model::{
    Alternative, Analysis, Cluster, Comparison, Effect, Estimand, Inference, Interval, Looks,
    Objective, Spending, Test, UnderRun,
};
use prereg::units::{Ratio, Share};

use super::design::Design;
use super::{Move, World};

/// Returns the analysis of a study with looks: at so large a level, and by so wide a margin, that two tasks are
/// enough.
pub fn analysis(design: &Design) -> Option<Analysis> {
    let arms = design.arm_ids();
    let [reference, treatment, ..] = arms.as_slice() else {
        return None;
    };
    (!design.looks.is_empty()).then(|| Analysis {
        reference: reference.clone(),
        treatments: vec![treatment.clone()],
        alpha: Share { num: 49, den: 100 },
        cluster: Cluster::None,
        inference: Inference::TasksSampled,
        resamples: NonZeroU32::MIN,
        missing_share_max: Share { num: 1, den: 1 },
        seal: true,
        primary: Comparison {
            outcome: "resolved".to_owned(),
            estimand: Estimand::AsDrawn,
            effect: Effect::PairedDiff,
            test: Test::SignFlip,
            interval: Interval::Tango,
            alternative: Alternative::Greater,
            objective: Objective::NonInferiority,
            margin: Some(Ratio { num: 1, den: 1 }),
        },
        secondary: Vec::new(),
        multiplicity: None,
        looks: Some(Looks {
            fractions: design.looks.clone(),
            spending: Spending::Pocock,
            under_run: UnderRun::SpendToT,
            evalue: false,
        }),
        descriptive: None,
    })
}

/// Returns whether a look is due.
pub fn is_due(world: &World<'_>) -> bool {
    let due = |rules| looks::due(rules, &world.slice).is_ok();
    world.rules().is_some_and(due)
}

/// Returns the look that is due, taken as it comes out.
pub fn due(world: &World<'_>) -> Option<Move> {
    let rules = world.rules()?;
    let due = looks::due(rules, &world.slice).ok()?;
    let of_task = |task| Ok::<_, Infallible>(looks::of_task(rules, &world.slice, task));
    let seen = Seen::of(due, of_task).ok()?;
    match seen.take(rules)? {
        Action::Look { look, tasks, stops } => Some(Move::Look(look, tasks, stops)),
        _ => None,
    }
}
