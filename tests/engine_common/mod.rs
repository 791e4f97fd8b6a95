//! What the tests of the engine share: studies built in code, moves, and answers in words.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, reason = "shared by several test files")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

pub mod design;
pub mod random;
pub mod words;

use prereg::engine::command::{
    Action, Cause, Command, Ending, Evidence, Executed, Execution, Judged,
};
use prereg::engine::decide::{self, Ruling};
use prereg::engine::event::Event;
use prereg::engine::evolve;
use prereg::engine::rules::Rules;
use prereg::engine::slice::Slice;
use prereg::units::{Micros, RunId, Time};

use design::Design;

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
    /// Looks at sealed outcomes.
    Unblind,
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

    pub fn action(&self, drafts: &[Draft]) -> Action {
        match self {
            Self::Open(draft) => drafts[*draft].open.clone(),
            Self::Register(draft) => Action::Register {
                registration: drafts[*draft].rules.digest(),
            },
            Self::Start(task, arm) => Action::Start {
                task: task.clone(),
                arm: arm.clone(),
                executed: Executed::Here,
            },
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
            Self::Unblind => Action::Unblind {},
        }
    }
}

/// A draft of a study: a design and what follows from it.
pub struct Draft {
    pub design: Design,
    pub rules: Rules,
    pub open: Action,
}

impl Draft {
    pub fn of(design: Design) -> Self {
        let registration = design.registration();
        let tasks = design.frame();
        Self {
            rules: Rules::from_open(&registration, &tasks).unwrap(),
            open: Action::Open {
                text: String::new(),
                registration: Box::new(registration),
                tasks,
            },
            design,
        }
    }
}

/// A record held whole in memory, which answers as the store does: what is due comes first.
#[derive(Clone)]
pub struct World<'d> {
    pub drafts: &'d [Draft],
    pub opened: Option<usize>,
    pub slice: Slice,
    pub at: Time,
    pub log: Option<Vec<(Command, Ruling)>>,
}

/// The answer to a move, and the runs that were closed before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub expired: Vec<(RunId, Vec<Event>)>,
    pub ruling: Ruling,
}

impl<'d> World<'d> {
    /// A record without entries.
    pub fn empty(drafts: &'d [Draft]) -> Self {
        Self {
            drafts,
            opened: None,
            slice: Slice::whole(),
            at: Time(1_000_000),
            log: None,
        }
    }

    /// A record on which the first draft is registered.
    pub fn registered(drafts: &'d [Draft]) -> Self {
        let mut world = Self::empty(drafts);
        world.give(&Move::Open(0));
        world.give(&Move::Register(0));
        world
    }

    pub fn rules(&self) -> Option<&'d Rules> {
        self.opened.map(|draft| &self.drafts[draft].rules)
    }

    pub fn design(&self) -> &'d Design {
        &self.drafts[self.opened.unwrap_or(0)].design
    }

    pub fn later(&mut self, duration: Micros) {
        self.at = self.at.plus(duration);
    }

    pub fn command(&self, action: Action) -> Command {
        Command {
            at: self.at,
            actor: "tester".to_owned(),
            key: String::new(),
            action,
        }
    }

    /// Answers a move and keeps what follows.
    pub fn give(&mut self, wanted: &Move) -> Given {
        let command = self.command(wanted.action(self.drafts));
        let mut expired = Vec::new();
        for run in decide::due(self.rules(), &self.slice, &command) {
            let events = self.answer(&self.command(Action::Expire { run }));
            expired.push((run, events.unwrap()));
        }
        let ruling = self.answer(&command);
        if let (Move::Open(draft), Ok(events)) = (wanted, &ruling)
            && !events.is_empty()
        {
            self.opened = Some(*draft);
        }
        Given { expired, ruling }
    }

    fn answer(&mut self, command: &Command) -> Ruling {
        let ruling = decide::decide(self.rules(), &self.slice, command);
        match &ruling {
            Ok(events) if events.is_empty() => return ruling,
            Err(refusal) if !refusal.is_recorded() => return ruling,
            Ok(events) => evolve::apply(&mut self.slice, command, events),
            Err(_) => self.slice.standing.at = command.at,
        }
        if let Some(log) = &mut self.log {
            log.push((command.clone(), ruling.clone()));
        }
        ruling
    }
}
