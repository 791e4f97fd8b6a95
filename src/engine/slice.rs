//! What the engine remembers, and the part of it that one command touches.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::apart::Apart;
use super::away::Away;
use super::budget::Cost;
use super::command::{Cause, Clock, Ending, Evidence, Executed, Execution};
use super::durations::{Middle, Side, Span};
use super::event::{LaneId, Outcomes, Place};
use super::facts::{Fact, FactKey};
use super::frame::{Framed, FramedKey};
use super::outage::{Tally, Window};
use super::settings::{Seen, Settings};
use crate::units::{Digest, Micros, RunId, Time};

/// What was wrong with the clocks that the entries of a record were given by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// How many entries have the time of the one before, because the clock lay behind it.
    pub behind: u64,
    /// How far it lay behind at the most.
    pub behind_max: Micros,
    /// How often the clock was set during a session.
    pub jumps: u64,
    /// By how much at the most, forward or back.
    pub jump_max: Micros,
}

impl Clocks {
    /// Returns whether nothing was wrong.
    pub fn are_right(&self) -> bool {
        *self == Self::default()
    }

    /// Counts what was wrong with the clock of an entry.
    pub fn count(&mut self, clock: Clock) {
        self.behind += u64::from(clock.behind.0 > 0);
        self.behind_max = self.behind_max.max(clock.behind);
        self.jumps += u64::from(clock.jumped != 0);
        self.jump_max = self.jump_max.max(Micros(clock.jumped.unsigned_abs()));
    }
}

/// What the engine must remember whatever the history: bounded by the protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The time of the newest entry.
    pub at: Time,
    /// What was wrong with the clocks that entries were given by.
    #[serde(default, skip_serializing_if = "Clocks::are_right")]
    pub clock: Clocks,
    /// How many drafts were opened.
    pub draft: u64,
    /// The digest of the protocol that was opened last.
    pub opened: Option<Digest>,
    /// The digest of the registration.
    pub registered: Option<Digest>,
    /// How many runs were started, controls and pilots included.
    pub runs: u64,
    /// How many of them are pilots.
    pub pilots: u64,
    /// How far each stage of the registered plan has come.
    pub stages: Vec<Progress>,
    /// How many slots the registered plan has.
    pub slots: u64,
    /// How many of them have ended.
    pub slots_ended: u64,
    /// How many blocks of it are complete.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks_complete: u64,
    /// How many of its slots have ended because their block was voided too often.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slots_void: u64,
    /// When each live run was started.
    pub live: BTreeMap<RunId, Time>,
    /// The runs that have ended and are not closed.
    pub ended: BTreeSet<RunId>,
    /// What happened to the runs of each arm, pilots left out.
    pub arms: BTreeMap<String, Counts>,
    /// How many runs of the registered plan are not closed.
    pub slots_open: u64,
    /// How the breaker stands.
    pub breaker: Breaker,
    /// What the switch said last.
    #[serde(default, skip_serializing_if = "SwitchSaid::is_nothing")]
    pub switch: SwitchSaid,
    /// The newest reading of each kind, whole.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Map<String, Value>>,
    /// What was read of arms and stages apart, where a stop asks for that.
    #[serde(default, skip_serializing_if = "Apart::is_empty")]
    pub apart: Apart,
    /// What was found of each arm before anything starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub preflight: BTreeMap<String, String>,
    /// What was observed of each probe when the study was registered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound: BTreeMap<String, Option<Value>>,
    /// What was observed last of each probe; null where it could not be observed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probes: BTreeMap<String, Option<Value>>,
    /// What each arm was last seen to use of each setting.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, BTreeMap<String, Seen>>,
    /// How many pilot tasks an open frame has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pilot_tasks: u64,
    /// How many tasks were appended to a draw that grows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drawn: u64,
    /// How many deviations were recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deviations: u64,
    /// How many publications of a head were recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub anchors: u64,
    /// The number of the newest entry that was published so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub anchored: u64,
    /// The median of how long complete blocks took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle: Option<Middle>,
    /// How far the scheduled looks have come.
    #[serde(default, skip_serializing_if = "Looked::is_nothing")]
    pub looked: Looked,
    /// When the last slot ended.
    pub completed: Option<Time>,
    /// Which registered rule ended the study before its last slot had.
    pub stopped: Option<Stopped>,
    /// How often sealed outcomes were looked at.
    pub unblinded: u64,
    /// How many commands were refused, of those whose refusal is recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u64,
}

impl Standing {
    /// Returns whether the study has ended: all its slots have, or a registered rule ended it.
    pub fn has_ended(&self) -> bool {
        self.completed.is_some() || self.stopped.is_some()
    }
}

/// How far the scheduled looks have come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// How many slots of the tasks of each look have ended.
    pub slots_ended: Vec<u64>,
    /// How many looks were taken.
    pub taken: u64,
    /// Whether the newest of them lets nothing more start.
    pub stops: bool,
}

impl Looked {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// How far a stage of the registered plan has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// How many of its lanes were opened; they are opened in order.
    pub lanes_opened: u64,
    /// How many of its slots have ended.
    pub slots_ended: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How a study ended before its last slot had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// When.
    pub at: Time,
    /// The code of the rule.
    pub code: String,
}

/// What the switch said last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchSaid {
    /// Nobody has looked.
    #[default]
    Nothing,
    /// It could not be read.
    Unreadable,
    /// This text.
    Text(String),
}

impl SwitchSaid {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl From<Option<&str>> for SwitchSaid {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Unreadable, |text| Self::Text(text.to_owned()))
    }
}

/// How the breaker stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// How many starts in a row have failed.
    pub failures: u32,
    /// Whether it is open.
    pub open: bool,
}

/// What happened to the runs of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Runs started.
    pub started: u64,
    /// Runs whose arm ended.
    pub ended: u64,
    /// Runs scored.
    pub scored: u64,
    /// Runs unjudged.
    pub unjudged: u64,
    /// Runs that count no more; what they were before is not counted above.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub void: u64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its number.
    pub run: RunId,
    /// The task.
    pub task: String,
    /// The arm or control.
    pub arm: String,
    /// Who executes it.
    pub executed: Executed,
    /// Its place in the plan; none for a control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// `{run.seed}`.
    pub seed: Option<u32>,
    /// Where it stands.
    pub state: State,
    /// When it was started.
    pub started_at: Time,
    /// When its ending was recorded.
    pub ended_at: Option<Time>,
    /// Whether an error of the world stopped it, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_stop: Option<bool>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Cost::is_unknown")]
    pub cost: Cost,
    /// The settings that it reports it used; null where it does not say.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub used: Settings,
    /// Whether it counts as an error in its window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
    /// The window in which it ended, where windows are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// What the check in its middle said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<bool>,
    /// When it was scored or found unjudged.
    pub closed_at: Option<Time>,
    /// Why it is unjudged.
    pub cause: Option<Cause>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// What was observed of it; sealed.
    pub execution: Option<Execution>,
    /// The digest of what it was scored from; sealed.
    pub evidence: Option<Digest>,
    /// What a report that left it unjudged was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Evidence>,
    /// What happened to a run that was closed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether it was exposed to what its arm stands for, where that is known; sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed: Option<bool>,
    /// Its outcomes; sealed.
    pub outcomes: Option<Outcomes>,
}

/// What of a run says at which slot it stands, and how.
#[derive(Clone, Debug, Deserialize)]
pub struct Seated<'r> {
    /// Its number.
    pub run: RunId,
    /// The arm or control.
    #[serde(borrow)]
    pub arm: Cow<'r, str>,
    /// Its place in the plan; none for a control.
    pub place: Option<Place>,
    /// Where it stands.
    pub state: State,
    /// Why it is unjudged.
    pub cause: Option<Cause>,
    /// Whether it counts as an error in its window.
    #[serde(default)]
    pub error: bool,
    /// The window in which it ended, where windows are counted.
    pub window: Option<Window>,
}

impl<'r> From<&'r Run> for Seated<'r> {
    fn from(run: &'r Run) -> Self {
        Self {
            run: run.run,
            arm: Cow::Borrowed(&run.arm),
            place: run.place,
            state: run.state,
            cause: run.cause,
            error: run.error,
            window: run.window,
        }
    }
}

impl Seated<'_> {
    /// Returns the window that it ended in as an error stop, where that is counted.
    pub fn stopped_in(&self) -> Option<Window> {
        self.window.filter(|_| self.error)
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The arm is being executed.
    Live,
    /// The arm has ended and nothing has been scored.
    Ended,
    /// The outcomes stand.
    Scored,
    /// There are no outcomes and never will be.
    Unjudged,
    /// It counts no more.
    Void,
}

impl State {
    /// Returns the state as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ended => "ended",
            Self::Scored => "scored",
            Self::Unjudged => "unjudged",
            Self::Void => "void",
        }
    }
}

impl Run {
    /// Returns its task and arm.
    pub fn cell(&self) -> Cell {
        (self.task.clone(), self.arm.clone())
    }

    /// Returns whether its slot is its rank among the runs of its task and arm.
    pub fn is_counted(&self) -> bool {
        self.place.is_some_and(|place| place.by_counts)
    }

    /// Returns the window that it ended in as an error stop, where that is counted.
    pub fn stopped_in(&self) -> Option<Window> {
        self.window.filter(|_| self.error)
    }

    /// Returns whether the run is scored, unjudged or void.
    pub fn is_closed(&self) -> bool {
        !matches!(self.state, State::Live | State::Ended)
    }
}

/// How far a lane has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// The position of the slot that is executed or comes next; none when all have ended.
    pub next: Option<u64>,
    /// How many attempts at that slot count.
    pub attempts: u32,
    /// Its run that is not closed.
    pub open: Option<RunId>,
    /// Slots before it that wait again, and how many attempts at each count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub again: BTreeMap<u64, u32>,
    /// Its runs, since its block was voided last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// How often its block was voided.
    #[serde(default, skip_serializing_if = "is_none")]
    pub voids: u32,
    /// The place of its stage among the stages.
    #[serde(default, skip_serializing_if = "is_first")]
    pub stage: usize,
    /// How many slots of its task have ended, under an order by counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended: u64,
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn is_first(place: &usize) -> bool {
    *place == 0
}

/// Where a lane stands among those of its stage that may start: requeued blocks first, then the
/// others, each by position. Between stages `lanes` decides, by the same two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The stage.
    pub stage: usize,
    /// Whether its block was not voided.
    pub first_time: bool,
    /// The position that may start.
    pub position: u64,
}

impl Lane {
    /// Returns whether all its slots have ended and none waits again.
    pub fn is_done(&self) -> bool {
        self.open.is_none() && self.ready().is_none()
    }

    /// Returns the position that may start now.
    pub fn ready(&self) -> Option<u64> {
        if self.open.is_some() {
            return None;
        }
        self.again.keys().next().copied().or(self.next)
    }

    /// Returns where the lane stands among those that may start.
    pub fn turn(&self) -> Option<Turn> {
        self.ready().map(|position| Turn {
            stage: self.stage,
            first_time: self.voids == 0,
            position,
        })
    }

    /// Returns whether the slot at one of its positions has ended.
    pub fn has_ended(&self, position: u64) -> bool {
        self.next.is_none_or(|next| position < next) && !self.again.contains_key(&position)
    }

    /// Returns how many attempts at the slot at one of its positions count.
    pub fn attempts_at(&self, position: u64) -> u32 {
        match self.again.get(&position) {
            Some(attempts) => *attempts,
            None if self.next == Some(position) => self.attempts,
            None => 0,
        }
    }
}

/// The standing, and the rows that were loaded; possibly partial, never wrong.
///
/// Whoever looks for a row that was not loaded finds nothing, and the slice notes what is missing:
/// what was concluded from it is thrown away, the rows are loaded, and the question is asked again.
/// So what a decision needs is said once, by the decision.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The standing.
    pub standing: Standing,
    /// The runs that were loaded; none where there is no such run.
    pub runs: BTreeMap<RunId, Option<Box<Run>>>,
    /// The lanes that were loaded; none where a lane was never opened.
    pub lanes: BTreeMap<LaneId, Option<Lane>>,
    /// Lanes of the registered plan that may start now.
    pub ready: BTreeMap<Turn, LaneId>,
    /// The facts that were loaded; none where there is no such fact.
    pub facts: BTreeMap<FactKey, Option<Fact>>,
    /// The tasks of the frame that were loaded; none where there is no such task.
    pub tasks: BTreeMap<FramedKey, Option<Framed>>,
    /// The runs of a task and arm, under an order by counts.
    pub cells: BTreeMap<Cell, BTreeSet<RunId>>,
    /// The error stops of a window.
    pub stops: BTreeMap<Window, BTreeSet<RunId>>,
    /// How long complete blocks took, as far as that was loaded.
    pub spans: BTreeSet<Span>,
    /// Where the lanes that may start were looked up, so that the next one is there; nowhere once one of
    /// them is none any more.
    pub looked_up: BTreeSet<Lookup>,
    /// Beside which spans the next one was looked up.
    pub spans_looked_up: BTreeSet<(Span, Side)>,
    /// Whether everything is there, but for rows that were put away.
    pub whole: bool,
    /// Where the rows lie that were put away.
    pub away: Away,
    /// What was changed since it was loaded, unless everything is there.
    pub changed: Changed,
    missing: RefCell<Missing>,
}

/// What says where runs stand, beside themselves.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// What ended in a window.
    Window(Window, Tally),
    /// A lane.
    Lane(LaneId, Lane),
}

/// Which rows were changed since they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Runs.
    pub runs: BTreeSet<RunId>,
    /// Lanes.
    pub lanes: BTreeSet<LaneId>,
    /// Facts.
    pub facts: BTreeSet<FactKey>,
}

/// A task and an arm.
pub type Cell = (String, String);

/// A stage, and the turn after which its lanes that may start are looked for.
pub type Lookup = (usize, Option<Turn>);

/// What was looked for and was not loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Runs.
    pub runs: BTreeSet<RunId>,
    /// Lanes.
    pub lanes: BTreeSet<LaneId>,
    /// Lanes that may start.
    pub ready: BTreeSet<Lookup>,
    /// Facts.
    pub facts: BTreeSet<FactKey>,
    /// Tasks of the frame.
    pub tasks: BTreeSet<FramedKey>,
    /// Runs of a task and arm.
    pub cells: BTreeSet<Cell>,
    /// Error stops of a window.
    pub stops: BTreeSet<Window>,
    /// Neighbours of spans.
    pub spans: BTreeSet<(Span, Side)>,
}

impl Missing {
    /// Returns whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        let Self {
            runs,
            lanes,
            ready,
            facts,
            tasks,
            cells,
            stops,
            spans,
        } = self;
        let rows = runs.is_empty() && lanes.is_empty() && facts.is_empty() && tasks.is_empty();
        let lists = cells.is_empty() && stops.is_empty() && spans.is_empty() && ready.is_empty();
        rows && lists
    }
}

impl Slice {
    /// Makes the slice of a record that has no entries and will be held whole.
    pub fn whole() -> Self {
        Self {
            whole: true,
            ..Self::default()
        }
    }

    /// Makes a slice that holds nothing but the standing yet.
    pub fn of(standing: Standing) -> Self {
        Self {
            standing,
            ..Self::default()
        }
    }

    /// Returns what was missing since this was asked last, if anything was.
    pub fn missed(&mut self) -> Option<Missing> {
        let missing = self.missing.get_mut();
        (!missing.is_empty()).then(|| std::mem::take(missing))
    }

    /// Returns how many rows are held.
    pub fn held(&self) -> usize {
        self.runs.len() + self.lanes.len() + self.facts.len()
    }

    /// Asks a question until nothing is missing to answer it; `load` brings what is, and says whether
    /// there was any of it.
    ///
    /// What is missing looks as if it did not exist: where it does not, the answer stands.
    pub fn ask<T, E>(
        &mut self,
        question: impl Fn(&Self) -> T,
        load: &mut impl FnMut(&mut Self, Missing) -> Result<bool, E>,
    ) -> Result<T, E> {
        loop {
            let answer = question(self);
            let stands = match self.missed() {
                None => true,
                Some(missing) => !load(self, missing)?,
            };
            if stands {
                return Ok(answer);
            }
        }
    }

    /// Notes what is missing, unless everything is there.
    fn miss(&self, note: impl FnOnce(&mut Missing) -> bool) {
        if !self.whole {
            let _ = note(&mut self.missing.borrow_mut());
        }
    }

    /// Notes a row that is missing; of a slice that is whole, only one that was put away can be.
    fn miss_row(&self, place: Option<u64>, note: impl FnOnce(&mut Missing) -> bool) {
        if !self.whole || place.is_some() {
            let _ = note(&mut self.missing.borrow_mut());
        }
    }

    /// Returns a run, if there is such a run.
    pub fn run(&self, run: RunId) -> Option<&Run> {
        let found = self.runs.get(&run);
        if found.is_none() {
            self.miss_row(self.away.run(run), |missing| missing.runs.insert(run));
        }
        found?.as_deref()
    }

    /// Returns a lane, if it was ever opened.
    pub fn lane(&self, lane: LaneId) -> Option<&Lane> {
        let found = self.lanes.get(&lane);
        if found.is_none() {
            self.miss_row(self.away.lane(lane), |missing| missing.lanes.insert(lane));
        }
        found?.as_ref()
    }

    /// Returns a fact, if there is one.
    pub fn fact(&self, key: &FactKey) -> Option<&Fact> {
        let found = self.facts.get(key);
        if found.is_none() {
            self.miss_row(self.away.fact(key), |missing| {
                missing.facts.insert(key.clone())
            });
        }
        found?.as_ref()
    }

    /// Returns a task of the frame, if there is one.
    pub fn framed(&self, key: &FramedKey) -> Option<&Framed> {
        let found = self.tasks.get(key);
        if found.is_none() {
            self.miss(|missing| missing.tasks.insert(key.clone()));
        }
        found?.as_ref()
    }

    /// Returns how long the next shorter or longer block took.
    pub fn span_beside(&self, span: Span, side: Side) -> Option<Span> {
        let lookup = (span, side);
        if !self.spans_looked_up.contains(&lookup) {
            self.miss(|missing| missing.spans.insert(lookup));
        }
        let found = match side {
            Side::Longer => {
                let longer = (Bound::Excluded(span), Bound::Unbounded);
                self.spans.range(longer).next()
            }
            Side::Shorter => self.spans.range(..span).next_back(),
        };
        found.copied()
    }

    /// Returns what ended in a window, if anything did.
    pub fn window(&self, window: Window) -> Option<&Tally> {
        match self.fact(&FactKey::Window(window))? {
            Fact::Window(tally) => Some(tally),
            _ => None,
        }
    }

    /// Returns the error stops of a window.
    pub fn error_stops(&self, window: Window) -> impl Iterator<Item = RunId> {
        let found = self.stops.get(&window);
        if found.is_none() {
            self.miss(|missing| missing.stops.insert(window));
        }
        found.into_iter().flatten().copied()
    }

    /// Returns the runs of a task and arm in the order of their starts, under an order by counts.
    pub fn cell(&self, task: &str, arm: &str) -> impl Iterator<Item = &Run> {
        let key = (task.to_owned(), arm.to_owned());
        let found = self.cells.get(&key);
        if found.is_none() {
            self.miss(|missing| missing.cells.insert(key));
        }
        let runs = found.into_iter().flatten();
        runs.filter_map(|run| self.run(*run))
    }

    /// Returns the first lane of a stage that may start, after some turn.
    pub fn ready_after(&self, stage: usize, after: Option<Turn>) -> Option<(Turn, LaneId)> {
        if !self.looked_up.contains(&(stage, after)) {
            self.miss(|missing| missing.ready.insert((stage, after)));
        }
        let first = Turn {
            stage,
            first_time: false,
            position: 0,
        };
        let from = match after {
            Some(turn) => Bound::Excluded(turn),
            None => Bound::Included(first),
        };
        let range = (from, Bound::Unbounded);
        let found = self.ready.range(range).next();
        found
            .filter(|(turn, _)| turn.stage == stage)
            .map(|(turn, lane)| (*turn, *lane))
    }

    /// Changes a run, if there is such a run.
    pub(super) fn change_run(&mut self, id: RunId, change: impl FnOnce(&mut Run)) {
        match self.runs.get_mut(&id) {
            Some(Some(run)) => change(run),
            Some(None) => return,
            // It may be missing: that is noted.
            None => {
                let _ = self.run(id);
                return;
            }
        }
        self.note(|changed| changed.runs.insert(id));
    }

    /// Changes a lane, if it was ever opened, and keeps the list of those that may start.
    pub(super) fn change_lane(&mut self, id: LaneId, change: impl FnOnce(&mut Lane)) {
        let lane = match self.lanes.get_mut(&id) {
            Some(Some(lane)) => lane,
            Some(None) => return,
            None => {
                let _ = self.lane(id);
                return;
            }
        };
        let before = lane.turn();
        change(lane);
        let after = lane.turn();
        if before != after {
            self.move_turn(id, before, after);
        }
        self.note(|changed| changed.lanes.insert(id));
    }

    /// Changes a fact that a run is a part of, if there is such a run.
    pub(super) fn change_fact(
        &mut self,
        run: RunId,
        key: impl FnOnce(&Run) -> FactKey,
        change: impl FnOnce(&mut Option<Fact>, &Run),
    ) {
        let Some(Some(run)) = self.runs.get(&run) else {
            return;
        };
        let key = key(run);
        if !self.whole {
            self.changed.facts.insert(key.clone());
        }
        change(self.facts.entry(key).or_default(), run);
    }

    /// Puts a run in its place.
    pub(super) fn set_run(&mut self, run: Run) {
        self.note(|changed| changed.runs.insert(run.run));
        self.runs.insert(run.run, Some(Box::new(run)));
    }

    /// Puts a fact in its place.
    pub(super) fn set_fact(&mut self, key: FactKey, fact: Fact) {
        self.note(|changed| changed.facts.insert(key.clone()));
        if let FactKey::Lasted(span) = &key {
            self.spans.insert(*span);
        }
        self.facts.insert(key, Some(fact));
    }

    /// Puts a lane in its place.
    pub(super) fn set_lane(&mut self, id: LaneId, lane: Lane) {
        self.note(|changed| changed.lanes.insert(id));
        self.hold_lane(id, lane);
    }

    fn note(&mut self, note: impl FnOnce(&mut Changed) -> bool) {
        if !self.whole {
            let _ = note(&mut self.changed);
        }
    }

    /// Takes a lane as it was loaded, and keeps the list of those that may start.
    pub fn hold_lane(&mut self, id: LaneId, lane: Lane) {
        let turn = lane.turn();
        let old = self.lanes.insert(id, Some(lane)).flatten();
        self.move_turn(id, old.as_ref().and_then(Lane::turn), turn);
    }

    /// Keeps the list of the lanes that may start, of which one may start at another turn than before.
    fn move_turn(&mut self, id: LaneId, before: Option<Turn>, after: Option<Turn>) {
        if !id.is_registered() {
            return;
        }
        if let Some(turn) = before {
            self.ready.remove(&turn);
            self.looked_up.clear();
        }
        if let Some(turn) = after {
            self.ready.insert(turn, id);
        }
    }
}

/// Two slices are equal if they hold the same rows.
impl PartialEq for Slice {
    fn eq(&self, other: &Self) -> bool {
        self.standing == other.standing
            && self.runs == other.runs
            && self.lanes == other.lanes
            && self.facts == other.facts
    }
}
