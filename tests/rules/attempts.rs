//! Attempts at one slot of the shipped matrix, numbered and let start by the engine.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use prereg::engine::attempts::{Fate, Resume, resumes};
use prereg::engine::command::{
    Action, Cause, Clock, Command, Ending, Evidence, Executed, Execution, Judged,
};
use prereg::engine::decide::{self, Ruling};
use prereg::engine::event::Event;
use prereg::engine::evolve;
use prereg::engine::refusal::Refusal;
use prereg::engine::rules::Rules;
use prereg::engine::slice::{Run, Slice, State};
use prereg::protocol::check::Checked;
use prereg::units::{RunId, Time};
use serde_json::{Value, json};

use super::shipped::{name_arms, table, with};

pub(super) const TASK: &str = "fixture";
pub(super) const CELL: &str = "cell";

/// The shipped protocol with one cell and one repetition.
static CHECKED: LazyLock<Checked> = LazyLock::new(|| {
    with("matrix-attempts.toml", &[TASK], |protocol| {
        name_arms(protocol, &[CELL]);
        table(protocol, "allocation").insert("repeats".to_owned(), 1.into());
    })
});

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let checked = &CHECKED;
    Rules::new(checked.registration.clone(), checked.tasks.clone()).unwrap()
});

/// A study of one slot.
pub(super) struct Slot {
    slice: Slice,
    /// What a first start is granted.
    first: Event,
    /// Attempts that fill the gaps of a history: the engine knows none without.
    fillers: BTreeSet<RunId>,
}

impl Slot {
    /// Registers the study, with its arm found ready.
    pub(super) fn new() -> Self {
        let mut slice = Slice::whole();
        let opened = Event::Opened {
            registration: RULES.digest(),
            draft: 1,
        };
        evolve::evolve(&mut slice, Time(0), &opened);
        let mut slot = Self {
            slice,
            first: opened,
            fillers: BTreeSet::new(),
        };
        let registration = RULES.digest();
        let ready = Action::Preflight {
            arm: CELL.to_owned(),
            status: "ready".to_owned(),
        };
        for action in [Action::Register { registration }, ready] {
            slot.give(action).unwrap();
        }
        let command = command(start());
        let granted = decide::decide(Some(&RULES), &slot.slice, &command).unwrap();
        slot.first = granted[0].clone();
        slot
    }

    /// Gives a command, and folds what it is granted.
    pub(super) fn give(&mut self, action: Action) -> Ruling {
        let command = command(action);
        let ruling = decide::decide(Some(&RULES), &self.slice, &command)?;
        evolve::apply(&mut self.slice, &command, &ruling);
        Ok(ruling)
    }

    /// Puts interrupted attempts where a history has none before a number.
    pub(super) fn fill_up_to(&mut self, number: u64) {
        let all = self.slice.runs.values().flatten();
        let last = all.map(|run| u64::from(run.place.unwrap().attempt)).max();
        for missing in last.unwrap_or(0) + 1..number {
            let filler = self.begin(missing);
            self.close(filler, Fate::Unjudged(Cause::Lost));
            self.fillers.insert(filler);
        }
    }

    /// Puts an attempt with any number on the record, as histories with gaps have them.
    pub(super) fn begin(&mut self, number: u64) -> RunId {
        let mut event = self.first.clone();
        let Event::Started { run, place, .. } = &mut event else {
            panic!("{event:?}");
        };
        *run = RunId(self.slice.standing.runs + 1);
        place.as_mut().unwrap().attempt = u32::try_from(number).unwrap();
        let run = *run;
        evolve::evolve(&mut self.slice, Time(0), &event);
        run
    }

    /// Starts the next attempt, if one may; `requested` where what has failed is asked for.
    pub(super) fn start(&mut self, requested: bool) -> Result<Option<RunId>, Open> {
        let last = self.runs().next_back();
        let last = last.map(|(_, attempt, fate)| (attempt, fate));
        let resume = resumes(&RULES.protocol().attempts, last, requested);
        // That an attempt is open behind a later one is foreign: the request would outlive the pass.
        if requested && self.runs().all(|(.., fate)| fate != Fate::Open) {
            self.retry();
        }
        match (self.give(start()), resume) {
            (Ok(_), Resume::Start) => Ok(Some(RunId(self.slice.standing.runs))),
            (Err(Refusal::SlotsUsed { .. }), Resume::Keep) => Ok(None),
            (Err(Refusal::SlotsUsed { .. } | Refusal::OutOfOrder { .. }), _) => Err(Open),
            other => panic!("{other:?}"),
        }
    }

    /// Asks for another attempt after one that starts again on request only.
    fn retry(&mut self) {
        let run = RunId(self.slice.standing.runs);
        match self.give(Action::Retry { run }) {
            Ok(_) | Err(Refusal::NotRetried { .. } | Refusal::UnknownRun { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Closes a run: what failed or met its limit was executed.
    pub(super) fn close(&mut self, run: RunId, fate: Fate) {
        let finish = |timed_out| Action::Finish {
            run,
            ending: Ending {
                timed_out,
                ..Ending::default()
            },
            execution: Some(Execution::default()),
        };
        let close = |cause| Action::Close {
            run,
            cause,
            note: None,
        };
        let actions = match fate {
            Fate::Open => vec![],
            Fate::Scored => vec![finish(false), score(run)],
            Fate::Unjudged(Cause::TimedOut) => vec![finish(true)],
            Fate::Unjudged(Cause::Failed) => vec![finish(false), close(Cause::Failed)],
            Fate::Unjudged(cause) => vec![close(cause)],
        };
        for action in actions {
            self.give(action).unwrap();
        }
    }

    /// Returns what stands of a run that is closed, which no later word about it changes.
    fn stands(&mut self, run: RunId, asked: Fate) -> Fate {
        let before: Vec<(RunId, u32, Fate)> = self.runs().collect();
        let action = match asked {
            Fate::Unjudged(cause) => Action::Close {
                run,
                cause,
                note: None,
            },
            _ => score(run),
        };
        let (state, cause) = match self.give(action) {
            // The same word again changes nothing.
            Ok(events) if events.is_empty() => (State::Scored, None),
            Err(Refusal::AlreadyClosed { state, cause, .. }) => (state, cause),
            other => panic!("run {run} is closed: {other:?}"),
        };
        let after: Vec<(RunId, u32, Fate)> = self.runs().collect();
        assert_eq!(before, after);
        match (state, cause) {
            (State::Scored, None) => Fate::Scored,
            (_, cause) => Fate::Unjudged(cause.unwrap()),
        }
    }

    /// Closes a run that could not be prepared; says whether that lets nothing more start.
    pub(super) fn fail_to_prepare(&mut self, run: RunId) -> bool {
        let cause = Cause::Failed;
        let note = None;
        self.give(Action::Close { run, cause, note }).unwrap();
        self.slice.standing.breaker.open
    }

    /// The operator has looked, and lets starts through again.
    pub(super) fn clear(&mut self) {
        self.give(Action::Breaker { open: false }).unwrap();
    }

    /// Returns its runs in the order of their starts, each with its attempt and fate.
    pub(super) fn runs(&self) -> impl DoubleEndedIterator<Item = (RunId, u32, Fate)> {
        let runs = self.slice.runs.values().flatten();
        let runs = runs.filter(|run| !self.fillers.contains(&run.run));
        runs.map(|run| (run.run, run.place.unwrap().attempt, fate(run)))
    }
}

/// Begins a session of the matrix, whose one cell is executed here or elsewhere.
pub(super) fn session(is_here: bool) -> Ruling {
    static ELSEWHERE: LazyLock<Rules> = LazyLock::new(|| {
        let checked = with("matrix-attempts.toml", &[TASK], |protocol| {
            name_arms(protocol, &[CELL]);
            let cell = protocol["arms"][0].as_table_mut().unwrap();
            cell.insert("executed".to_owned(), "elsewhere".into());
        });
        Rules::new(checked.registration, checked.tasks).unwrap()
    });
    let rules = if is_here { &RULES } else { &ELSEWHERE };
    decide::decide(Some(rules), &Slice::whole(), &command(Action::Session {}))
}

/// An attempt is open, so that no other may start.
#[derive(Debug)]
pub(super) struct Open;

fn fate(run: &Run) -> Fate {
    match (run.state, run.cause) {
        (State::Scored, _) => Fate::Scored,
        (State::Unjudged, Some(cause)) => Fate::Unjudged(cause),
        _ => Fate::Open,
    }
}

fn command(action: Action) -> Command {
    Command {
        at: Time(0),
        clock: Clock::default(),
        actor: "user".to_owned(),
        key: String::new(),
        action,
    }
}

pub(super) fn start() -> Action {
    Action::Start {
        task: TASK.to_owned(),
        arm: CELL.to_owned(),
        executed: Executed::Here,
    }
}

/// The judge's report on an attempt that succeeded.
pub(super) fn score(run: RunId) -> Action {
    let judge = Judged {
        exit: Some(0),
        ..Judged::default()
    };
    Action::Score {
        run,
        diff: None,
        evidence: Some(Evidence {
            judge: Some(judge),
            report: Some(json!({ "resolved": true }).to_string()),
            claim: None,
        }),
    }
}

/// A name that is no attempt's is foreign; what is numbered here knows no policy, so that every
/// attempt that is over counts as interrupted.
pub(super) fn allocate_attempt(case: &Value) -> Value {
    if !case["stray"].is_null() {
        return json!({ "error": "invalid_state" });
    }
    let mut slot = Slot::new();
    for attempt in case["existing"].as_array().unwrap() {
        let run = slot.begin(attempt[0].as_u64().unwrap());
        if !matches!(attempt[1].as_str(), None | Some("running")) {
            slot.close(run, Fate::Unjudged(Cause::Lost));
        }
    }
    let Ok(started) = slot.start(false) else {
        return json!({ "error": "nonterminal_exists" });
    };
    let attempt = slot
        .runs()
        .find(|(run, ..)| Some(*run) == started)
        .unwrap()
        .1;
    json!({ "attempt": attempt, "directory": format!("attempt-{attempt:06}") })
}

/// Returns the fate that a durable state stands for, if it is an end.
fn terminal(state: &str) -> Option<Fate> {
    Some(match state {
        "success" => Fate::Scored,
        "failed" => Fate::Unjudged(Cause::Failed),
        "timed_out" => Fate::Unjudged(Cause::TimedOut),
        "cancelled" => Fate::Unjudged(Cause::Cancelled),
        "interrupted" => Fate::Unjudged(Cause::Lost),
        _ => return None,
    })
}

pub(super) fn publish_terminal(case: &Value) -> Value {
    let state = case["state"].as_str().unwrap();
    let Some(asked) = terminal(state) else {
        return json!({ "error": "not_terminal" });
    };
    let mut slot = Slot::new();
    let run = slot.begin(1);
    if let Some(recorded) = case["recorded"].as_str().and_then(terminal) {
        slot.close(run, recorded);
        return match slot.stands(run, asked) == asked {
            true => json!({ "state": state, "reason": null }),
            false => json!({ "error": "immutable" }),
        };
    }
    slot.close(run, asked);
    let reason = case["reason"].as_str().filter(|reason| !reason.is_empty());
    json!({ "state": state, "reason": reason.unwrap_or(state) })
}
