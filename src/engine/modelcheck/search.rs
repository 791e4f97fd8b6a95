//! The search: breadth first over states, until what is looked for is found or nothing is left.

use std::collections::{BTreeMap, HashSet};

use crate::engine::event::Event;
use crate::engine::outage::{self, Window};
use crate::engine::refusal::Refusal;
use crate::engine::rules::Rules;
use crate::protocol::model::OrderBy;
use crate::units::{RunId, Time};

use super::key::key;
use super::world::{Step, World};
use super::{Weakness, names};

/// What a search found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) states: usize,
    pub(super) depth: usize,
    pub(super) complete: bool,
    /// The steps of a shortest history for each weakness.
    pub(super) steps: BTreeMap<Weakness, Vec<Step>>,
}

/// How a state was reached first: from which, and by what.
type Node = Option<(usize, Step)>;

struct Search<'a> {
    rules: &'a Rules,
    wanted: &'a [Weakness],
    most: usize,
    nodes: Vec<Node>,
    seen: HashSet<Box<[u8]>>,
    found: BTreeMap<Weakness, Vec<Step>>,
}

/// Plays the small instance breadth first.
pub(super) fn search(rules: &Rules, wanted: &[Weakness], most: usize) -> Found {
    let first = World::new(rules, Time(0));
    let mut search = Search {
        rules,
        wanted,
        most,
        nodes: vec![None],
        seen: HashSet::from([key(rules, &first)]),
        found: BTreeMap::new(),
    };
    let mut depth = 0;
    let mut level = vec![(0, first)];
    while !level.is_empty() && !search.is_over() {
        level = search.next_level(level);
        depth += usize::from(!search.is_over());
    }
    Found {
        states: search.nodes.len(),
        depth,
        complete: !search.is_cut(),
        steps: search.found,
    }
}

impl Search<'_> {
    fn has_all(&self) -> bool {
        self.found.len() == self.wanted.len()
    }

    fn is_cut(&self) -> bool {
        self.nodes.len() >= self.most && !self.has_all()
    }

    fn is_over(&self) -> bool {
        self.has_all() || self.is_cut()
    }

    fn next_level(&mut self, level: Vec<(usize, World)>) -> Vec<(usize, World)> {
        let mut next = Vec::new();
        for (node, world) in level {
            if self.is_over() {
                break;
            }
            self.expand(node, &world, &mut next);
        }
        next
    }

    /// Plays every step that may follow in a state.
    fn expand(&mut self, node: usize, world: &World, next: &mut Vec<(usize, World)>) {
        if stuck(self.rules, world).is_some() {
            self.find(Weakness::CanGetStuck, node, None);
        }
        for step in steps(self.rules, world) {
            let Some((after, events)) = world.step(self.rules, step) else {
                continue;
            };
            if is_blind(self.rules, &after, &events) {
                self.find(Weakness::OutageNotBlind, node, Some(step));
            }
            if self.is_over() {
                return;
            }
            if self.seen.insert(key(self.rules, &after)) {
                self.nodes.push(Some((node, step)));
                next.push((self.nodes.len() - 1, after));
            }
        }
    }

    /// Keeps the first history that shows a weakness.
    fn find(&mut self, weakness: Weakness, node: usize, last: Option<Step>) {
        if self.found.contains_key(&weakness) || !self.wanted.contains(&weakness) {
            return;
        }
        let mut steps: Vec<Step> = last.into_iter().collect();
        let mut at = self.nodes[node];
        while let Some((before, step)) = at {
            steps.push(step);
            at = self.nodes[before];
        }
        steps.reverse();
        self.found.insert(weakness, steps);
    }
}

/// Returns the steps that may follow in a state.
fn steps(rules: &Rules, world: &World) -> Vec<Step> {
    let (tasks, arms) = names(rules);
    let arms = 0..arms.len();
    let mut steps: Vec<Step> = (0..tasks.len())
        .flat_map(|task| arms.clone().map(move |arm| Step::Start { task, arm }))
        .collect();
    let live: Vec<RunId> = world.slice.standing.live.keys().copied().collect();
    for run in &live {
        let ways = world.ways(rules, *run).iter();
        steps.extend(ways.map(|how| Step::End {
            run: *run,
            how: *how,
        }));
    }
    if world.slice.window(Window::of(world.at)).is_some() {
        steps.push(Step::NextHour);
    }
    if !live.is_empty() {
        steps.push(Step::Deadline);
    }
    steps
}

/// Returns the refusals of every start, if slots are left and none will ever be granted.
///
/// Nothing is live and the hour is over: nothing can change any more. A state with live runs is stuck
/// only if all that follow are, however the runs end, and those are played.
pub(super) fn stuck<'a>(
    rules: &'a Rules,
    world: &World,
) -> Option<Vec<(&'static str, &'a str, Refusal)>> {
    if !world.slice.standing.live.is_empty() || world.is_complete() {
        return None;
    }
    let (tasks, arms) = names(rules);
    let mut refusals = Vec::new();
    for task in tasks {
        for arm in &arms {
            refusals.push((task, *arm, world.refusal_later(rules, task, arm)?));
        }
    }
    Some(refusals)
}

/// Returns whether an outage voids something at a step, although one arm alone had error stops.
pub(super) fn is_blind(rules: &Rules, after: &World, events: &[Event]) -> bool {
    let tallied = |event: &Event| matches!(event, Event::Tallied { .. });
    if !events.iter().any(tallied) {
        return false;
    }
    let window = Window::of(after.at);
    let one_arm = after
        .slice
        .window(window)
        .is_some_and(|tally| tally.errors.len() == 1);
    one_arm && outage::holds(rules, &after.slice, window) && voids(rules, events)
}

/// Returns whether a step in an outage voids something.
fn voids(rules: &Rules, events: &[Event]) -> bool {
    match rules.protocol().allocation.by {
        OrderBy::Counts => outage::voids_runs(rules),
        OrderBy::Plan => events
            .iter()
            .any(|event| matches!(event, Event::Voided { .. } | Event::BlockVoided { .. })),
    }
}
