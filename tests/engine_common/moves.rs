//! What a test does, and what a judge may leave behind.

use prereg::engine::command::{Action, Cause, Ending, Evidence, Executed, Execution, Judged};
use prereg::units::{Micros, RunId, Time};
use serde_json::{Map, Value, json};

use super::Draft;

/// What a test does: an action without its sealed payload spelled out.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Opens one of the study's drafts.
    Open(usize),
    /// Registers one of the study's drafts.
    Register(usize),
    /// Starts an arm or control on a task.
    Start(String, String),
    /// Ends a run; whether its time limit did.
    Finish(u64, bool),
    /// Scores a run.
    Score(u64, Report),
    /// Closes a run.
    Close(u64, Cause),
    /// Closes a run whose deadline has passed.
    Expire(u64),
    /// Opens or clears the breaker by hand.
    Breaker(bool),
    /// Ends a study that a rule has stopped.
    Conclude,
    /// Takes a look, at so many tasks; whether it ends the study.
    Look(u64, u64, bool),
    /// Looks at sealed outcomes.
    Unblind,
    /// Starts an arm by hand.
    ByHand(String, String),
    /// Ends a run, and says more of it.
    End(u64, How),
    /// Begins a session.
    Session,
    /// Says what the switch says.
    Switch(Option<&'static str>),
    /// Reads the quota: its level, and until when that holds.
    Read(Option<i64>, Option<Time>),
    /// Says what was found of an arm.
    Preflight(String, &'static str),
    /// Says what the probe says.
    Probe(Option<&'static str>),
    /// Adds a task with a size to an open frame; none is no task.
    AddTask(String, Option<i64>),
    /// Appends to the draw.
    Draw(u64, Vec<String>),
    /// Voids a block.
    Void(u64),
    /// Records a deviation.
    Deviate,
    /// Records the check in a run's middle.
    Check(u64, bool),
    /// Asks for another attempt.
    Retry(u64),
    /// Whatever it is, somebody else does it.
    Strange(Box<Move>),
}

/// What is said of a run that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct How {
    pub timed_out: bool,
    /// Whether an error of the world stopped it.
    pub error: bool,
    pub cost: Said,
    /// The level of the quota in its output.
    pub level: Option<i64>,
}

/// What is said of a cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Said {
    #[default]
    Nothing,
    /// So many dollars.
    Dollars(u64),
    /// Something that is no amount.
    Nonsense,
}

impl How {
    /// An error of the world stopped it.
    pub fn error() -> Self {
        Self {
            error: true,
            ..Self::default()
        }
    }

    fn ending(self) -> Ending {
        Ending {
            wall: Some(Micros(1_000)),
            timed_out: self.timed_out,
            error_stop: self.error.then_some(true),
            cost: None,
        }
    }

    fn execution(self) -> Execution {
        let cost = match self.cost {
            Said::Nothing => Value::Null,
            Said::Dollars(dollars) => dollars.into(),
            Said::Nonsense => "dear".into(),
        };
        let level = self.level.map(|level| json!({ "level": level }));
        Execution {
            exit: Some(0),
            observed: Some(json!({ "cost": cost, "quota": level })),
            ..Execution::default()
        }
    }
}

/// What a judge may leave behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Pass,
    Fail,
    /// Breaks its schema.
    Bad,
    /// Left none.
    None,
    /// The judge met its limit.
    Slow,
    /// The judge failed.
    Broken,
    /// The report says that the infrastructure failed.
    Infra,
    /// The outcome has another type than its kind.
    Odd,
}

impl Report {
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Fail,
        Self::Bad,
        Self::None,
        Self::Slow,
        Self::Broken,
        Self::Infra,
        Self::Odd,
    ];

    /// Returns the cause for which a run with this report is unjudged; none where it is scored.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::Pass | Self::Fail => None,
            Self::Bad => Some(Cause::BadReport),
            Self::None => Some(Cause::NoReport),
            Self::Slow => Some(Cause::JudgeTimeout),
            Self::Broken => Some(Cause::JudgeError),
            Self::Infra => Some(Cause::Infra),
            Self::Odd => Some(Cause::OutcomeError),
        }
    }

    pub fn evidence(self) -> Evidence {
        let report = match self {
            Self::Fail => Some(r#"{"pass":false,"infra":false}"#),
            Self::Bad => Some(r#"{"pass":true}"#),
            Self::Infra => Some(r#"{"pass":true,"infra":true}"#),
            Self::Odd => Some(r#"{"pass":"yes","infra":false}"#),
            Self::None => None,
            Self::Pass | Self::Slow | Self::Broken => Some(r#"{"pass":true,"infra":false}"#),
        };
        Evidence {
            judge: Some(Judged {
                exit: Some(i32::from(self == Self::Broken)),
                timed_out: self == Self::Slow,
                ..Judged::default()
            }),
            report: report.map(str::to_owned),
            claim: None,
        }
    }
}

impl Move {
    pub fn start(task: &str, arm: &str) -> Self {
        Self::Start(task.to_owned(), arm.to_owned())
    }

    /// Who does it.
    pub fn actor(&self) -> &'static str {
        match self {
            Self::Strange(_) => "agent:stranger",
            _ => "user:tester",
        }
    }

    pub fn action(&self, drafts: &[Draft]) -> Action {
        match self {
            Self::Open(draft) => drafts[*draft].open.clone(),
            Self::Register(draft) => Action::Register {
                registration: drafts[*draft].rules.digest(),
            },
            Self::Start(task, arm) => start(task, arm, Executed::Here),
            Self::ByHand(task, arm) => start(task, arm, Executed::Elsewhere(None)),
            Self::Finish(run, timed_out) => Action::Finish {
                run: RunId(*run),
                ending: Ending {
                    wall: Some(Micros(1_000)),
                    timed_out: *timed_out,
                    ..Ending::default()
                },
                execution: Some(Execution {
                    exit: Some(0),
                    ..Execution::default()
                }),
            },
            Self::Score(run, report) => Action::Score {
                run: RunId(*run),
                diff: None,
                evidence: Some(report.evidence()),
            },
            Self::Close(run, cause) => Action::Close {
                run: RunId(*run),
                cause: *cause,
                note: None,
            },
            Self::Expire(run) => Action::Expire { run: RunId(*run) },
            Self::Breaker(open) => Action::Breaker { open: *open },
            Self::Conclude => Action::Conclude {},
            Self::Look(look, tasks, stops) => Action::Look {
                look: *look,
                tasks: *tasks,
                stops: *stops,
            },
            Self::Unblind => Action::Unblind {},
            Self::End(run, how) => Action::Finish {
                run: RunId(*run),
                ending: how.ending(),
                execution: Some(how.execution()),
            },
            Self::Session => Action::Session {},
            Self::Switch(text) => Action::Switch {
                text: text.map(str::to_owned),
            },
            Self::Read(level, until) => Action::Read {
                id: "quota".to_owned(),
                fields: reading(*level, *until),
            },
            Self::Preflight(arm, status) => Action::Preflight {
                arm: arm.clone(),
                status: (*status).to_owned(),
            },
            Self::Probe(value) => Action::Probe {
                id: "agent".to_owned(),
                value: value.map(Value::from),
            },
            Self::AddTask(id, size) => Action::AddTask {
                task: task(id, *size),
            },
            Self::Draw(from, tasks) => Action::Draw {
                from: *from,
                tasks: tasks.clone(),
            },
            Self::Void(block) => Action::Void {
                block: *block,
                reason: "it rained".to_owned(),
            },
            Self::Deviate => Action::Deviate {
                arm: None,
                note: "it rained".to_owned(),
            },
            Self::Check(run, passed) => Action::Checkpoint {
                run: RunId(*run),
                passed: *passed,
                note: None,
            },
            Self::Retry(run) => Action::Retry { run: RunId(*run) },
            Self::Strange(wanted) => wanted.action(drafts),
        }
    }
}

fn start(task: &str, arm: &str, executed: Executed) -> Action {
    Action::Start {
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed,
    }
}

/// Returns a task of an open frame as it is added.
fn task(id: &str, size: Option<i64>) -> Value {
    let split = if id.contains('p') { "pilot" } else { "main" };
    match size {
        Some(size) => json!({ "id": id, "split": split, "size": size }),
        None => json!({ "id": id, "split": split }),
    }
}

fn reading(level: Option<i64>, until: Option<Time>) -> Map<String, Value> {
    let level = level.map(|level| ("level".to_owned(), level.into()));
    let until = until.map(|until| ("until".to_owned(), until.precise().into()));
    level.into_iter().chain(until).collect()
}
