//! The model check: plays a protocol through the engine itself, and looks for two weaknesses.
//!
//! What is played is a small instance ([`instance`]): two tasks, few repeats, and only the rules of
//! order, attempts and outages. Runs start, are scored, stopped by an error or left unjudged, pass
//! their deadline, and hours pass. States that cannot be told apart by what may follow are one
//! (`key`), and the search goes breadth first (`search`), so the first history that shows a weakness
//! is a shortest one.
//!
//! # What need not be played
//!
//! Under an order by plan nothing is ever stuck unless a stage stays closed. With no run open, a slot
//! that has not ended is the next of its lane or waits again, or its lane was never opened, so each
//! stage that is not complete offers a slot. The first such stage has every stage before it complete,
//! and `opens` speaks of those alone; where it is true or unknown then, the stage is open or may
//! still open, whatever happened.
//!
//! An outage is blind unless errors in any arm make one: `every_arm` asks for an error in each before
//! anything is void. Nothing is void without an outage rule, nor under an order by counts whose
//! outages void blocks, which that order does not have.

mod history;
mod instance;
mod key;
mod search;
mod world;

use std::collections::BTreeMap;

use super::conditions;
use super::rules::Rules;
use crate::protocol::defect::Code;
use crate::protocol::model::{ErrorsIn, OrderBy, Protocol, Voids};
use crate::protocol::registration::Registration;

pub use history::{History, Row};
pub use instance::instance;

/// How many states a search looks at before it is cut.
pub const STATES_MAX: usize = 200_000;

/// What a protocol may do to its study, shown by a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weakness {
    /// After some history no start is ever granted again, and slots are left.
    CanGetStuck,
    /// Some history voids a run or a block although only one arm had error stops.
    OutageNotBlind,
}

impl Weakness {
    /// Every weakness that is played for.
    pub const ALL: [Self; 2] = [Self::CanGetStuck, Self::OutageNotBlind];

    /// Returns its code.
    pub fn code(self) -> Code {
        match self {
            Self::CanGetStuck => Code::CanGetStuck,
            Self::OutageNotBlind => Code::OutageNotBlind,
        }
    }
}

/// What was played, and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// How many states were seen; none where the protocol need not be played.
    pub states: usize,
    /// How many events the longest histories have that were all played.
    pub depth: usize,
    /// Whether nothing that could show a weakness was left out because of the limit.
    pub complete: bool,
    /// The weaknesses found, each by a shortest history.
    pub findings: BTreeMap<Weakness, History>,
}

/// Plays a registration for the weaknesses that it can have at all.
pub fn check(registration: &Registration) -> Result<Model, String> {
    let wanted = possible(&registration.protocol);
    play(registration, &wanted, STATES_MAX)
}

/// Plays a registration for some weaknesses, until all are found, nothing is left to play, or so many
/// states were seen.
pub fn play(
    registration: &Registration,
    wanted: &[Weakness],
    states_max: usize,
) -> Result<Model, String> {
    if wanted.is_empty() {
        let complete = true;
        return Ok(Model {
            complete,
            ..Model::default()
        });
    }
    let patient = instance::patient(registration)?;
    let found = search::search(&patient, wanted, states_max);
    let rules = instance(registration)?;
    let told = |(weakness, steps): (Weakness, Vec<world::Step>)| {
        let history = history::tell(&rules, weakness, &steps);
        let history = history.or_else(|| history::tell(&patient, weakness, &steps));
        let lost = "a history could not be played again; please report this protocol";
        Ok((weakness, history.ok_or(lost)?))
    };
    Ok(Model {
        states: found.states,
        depth: found.depth,
        complete: found.complete,
        findings: found
            .steps
            .into_iter()
            .map(told)
            .collect::<Result<_, String>>()?,
    })
}

/// Returns the weaknesses that a protocol can have at all; see above for those it cannot have.
pub fn possible(protocol: &Protocol) -> Vec<Weakness> {
    let by_counts = protocol.allocation.by == OrderBy::Counts;
    let may_stay_closed = || !conditions::each_opens_after_those_before(&protocol.stages);
    let can = |weakness: &Weakness| match weakness {
        Weakness::CanGetStuck => by_counts || may_stay_closed(),
        Weakness::OutageNotBlind => protocol.outage.as_ref().is_some_and(|rule| {
            protocol.arms.len() > 1
                && rule.errors_in == ErrorsIn::AnyArm
                && voids_something(by_counts, rule.voids)
        }),
    };
    Weakness::ALL.into_iter().filter(can).collect()
}

/// Returns whether an outage voids anything; an order by counts has no blocks.
fn voids_something(by_counts: bool, voids: Voids) -> bool {
    !by_counts || voids == Voids::Run
}

/// Returns the names of the tasks and of the arms that are played.
fn names(rules: &Rules) -> ([&'static str; 2], Vec<&str>) {
    let arms = rules.protocol().arms.iter();
    (instance::TASKS, arms.map(|arm| arm.id.as_str()).collect())
}
