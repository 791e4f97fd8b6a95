//! What the tests of the engine share: studies built in code, moves, and answers in words.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, reason = "shared by several test files")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

#[path = "../cases/mod.rs"]
pub mod cases;
pub mod design;
pub mod effects;
pub mod gates;
pub mod histories;
pub mod looking;
pub mod moves;

pub mod random;
pub mod random_rules;
pub mod words;

use prereg::engine::command::{Action, Clock, Command};
use prereg::engine::decide::{self, Ruling};
use prereg::engine::event::Event;
use prereg::engine::evolve;
use prereg::engine::rules::Rules;
use prereg::engine::slice::Slice;
use prereg::engine::totals;
use prereg::record::entry::{self, Answer, Entry, Head};
use prereg::units::{Digest, Micros, RunId, Time};
use std::convert::Infallible;

use design::Design;
pub use moves::{How, Move, Report, Said};

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
            rules: Rules::opened(registration.clone(), tasks.clone()).unwrap(),
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
            clock: Clock::default(),
            actor: "user:tester".to_owned(),
            key: String::new(),
            action,
        }
    }

    /// Says a move as its actor does.
    pub fn asked(&self, wanted: &Move) -> Command {
        Command {
            actor: wanted.actor().to_owned(),
            ..self.command(wanted.action(self.drafts))
        }
    }

    /// Answers a move and keeps what follows.
    pub fn give(&mut self, wanted: &Move) -> Given {
        let command = self.asked(wanted);
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
            Ok(events) => {
                let nothing = |_: &mut Slice, _| Ok::<_, Infallible>(false);
                let Ok(was_there) =
                    totals::apply(self.rules(), &mut self.slice, command, events, nothing);
                assert!(was_there);
            }
            Err(_) => evolve::refused(&mut self.slice, command),
        }
        if let Some(log) = &mut self.log {
            log.push((command.clone(), ruling.clone()));
        }
        ruling
    }
}

/// Seals what was said and ruled, each entry with a salt of its own.
pub fn sealed(log: Vec<(Command, Ruling)>) -> Vec<Entry> {
    let mut head = Head::EMPTY;
    let entries = log.into_iter().map(|(command, ruling)| {
        let salt = Digest::of(&[b"salt", &head.seq.to_be_bytes()]);
        let sealed = entry::seal(head, &command, &Answer::from(ruling), salt);
        head = Head {
            seq: sealed.seq,
            digest: sealed.digest,
        };
        sealed
    });
    entries.collect()
}
