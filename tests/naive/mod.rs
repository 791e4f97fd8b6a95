//! A naive engine, written from the rule families of the protocol's language and nothing else.
//!
//! It keeps the full list of what happened and folds all of it for each command. Where the text
//! leaves a choice, the engine's documented one is taken and marked `CHOICE`.

pub(crate) mod agrees;
mod counts;
mod endings;
mod facts;
mod gates;
mod hands;
mod lasting;
mod looks;
mod money;
mod plan;
mod slots;
mod start;
mod tasks;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use prereg::units::Time;

use crate::engine_common::design::Design;
use crate::engine_common::effects::sorted;
use crate::engine_common::{How, Move, Report};
pub(crate) use facts::Fact;
use plan::Slot;

/// What follows from a command, or the refusal.
type Answer = Result<Vec<String>, String>;

/// How a study stands.
#[derive(Debug, PartialEq)]
pub(crate) struct Stands {
    pub(crate) slots_ended: u64,
    /// How many runs of each arm were started, ended, scored, unjudged, void.
    pub(crate) arms: BTreeMap<String, [u64; 5]>,
    pub(crate) complete: bool,
}

#[derive(Clone)]
pub(crate) struct Naive {
    pub(crate) drafts: Vec<Design>,
    pub(crate) facts: Vec<Fact>,
    /// Reports that were taken, whatever they led to.
    reported: Vec<(u64, Report)>,
    /// Plans that were written out, by draft and tasks: they never change.
    plans: Plans,
}

type Plans = Rc<RefCell<BTreeMap<(usize, Vec<String>), Rc<[Slot]>>>>;

impl Naive {
    pub(crate) fn new(drafts: Vec<Design>) -> Self {
        Self {
            drafts,
            facts: Vec::new(),
            reported: Vec::new(),
            plans: Plans::default(),
        }
    }

    /// Answers a move in words.
    pub(crate) fn ask(&mut self, at: Time, wanted: &Move) -> String {
        let (wanted, strange) = match wanted {
            Move::Strange(wanted) => (&**wanted, true),
            wanted => (wanted, false),
        };
        let Some(_) = self.opened() else {
            return match wanted {
                Move::Open(draft) => said(self.open(*draft)),
                _ => "not-opened".to_owned(),
            };
        };
        // Family 11. CHOICE: a deadline is noticed by the engine itself, whoever asks.
        let own = matches!(wanted, Move::Expire(_) | Move::Look(..));
        if strange && self.design().actors && !own {
            return "actor-not-admitted".to_owned();
        }
        let mut answers = self.notice(at, wanted);
        answers.push(said(self.lasting(at, |naive| naive.answer(at, wanted))));
        answers.join("; ")
    }

    fn answer(&mut self, at: Time, wanted: &Move) -> Answer {
        match wanted {
            Move::Open(draft) => self.open(*draft),
            Move::Register(draft) => self.register(*draft),
            Move::Start(task, arm) => self.start(at, task, arm, true),
            Move::ByHand(task, arm) => self.start(at, task, arm, false),
            Move::Finish(run, timed_out) => {
                let timed_out = *timed_out;
                let how = How {
                    timed_out,
                    ..How::default()
                };
                self.finish(at, *run, how)
            }
            Move::End(run, how) => self.finish(at, *run, *how),
            Move::Score(run, report) => self.score(*run, *report),
            Move::Close(run, cause) => self.close(*run, *cause),
            Move::Expire(run) => self.expire(at, *run),
            Move::Breaker(open) => self.breaker(*open),
            Move::Conclude => self.conclude(at),
            Move::Look(look, tasks, stops) => self.look(*look, *tasks, *stops),
            Move::Unblind => Ok(vec!["unblinded".to_owned()]),
            Move::Session => self.session(at),
            Move::Switch(text) => self.switch(*text),
            Move::Read(level, until) => self.read(*level, *until),
            Move::Preflight(arm, status) => self.preflight(arm, status),
            Move::Probe(value) => self.probe(*value),
            Move::AddTask(id, size) => self.add_task(id, *size),
            Move::Draw(from, tasks) => self.draw(*from, tasks),
            Move::Void(block) => self.void(*block),
            Move::Deviate => Ok(vec!["deviated".to_owned()]),
            Move::Check(run, passed) => self.check(*run, *passed),
            Move::Retry(run) => self.retry(*run),
            Move::Strange(_) => Err("a stranger in a stranger".to_owned()),
        }
    }

    // Family 1: the registration lock.

    fn opened(&self) -> Option<usize> {
        self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Opened(draft) => Some(*draft),
            _ => None,
        })
    }

    fn plan_over(&self, tasks: &[String]) -> Rc<[Slot]> {
        let key = (self.opened().unwrap_or(0), tasks.to_vec());
        let mut plans = self.plans.borrow_mut();
        let written = || plan::plan(self.design(), tasks).into();
        plans.entry(key).or_insert_with(written).clone()
    }

    fn design(&self) -> &Design {
        &self.drafts[self.opened().unwrap_or(0)]
    }

    /// The number of the draft that is open, from 1.
    fn draft(&self) -> usize {
        let opened = |fact: &&Fact| matches!(fact, Fact::Opened(_));
        self.facts.iter().filter(opened).count()
    }

    fn registered(&self) -> bool {
        self.facts.contains(&Fact::Registered)
    }

    fn open(&mut self, draft: usize) -> Answer {
        if self.opened() == Some(draft) {
            return Ok(Vec::new());
        }
        if self.registered() {
            let differs = self
                .design()
                .registration()
                .differences(&self.drafts[draft].registration());
            return Err(format!("registration-differs, {}", differs.join(" ")));
        }
        self.facts.push(Fact::Opened(draft));
        Ok(vec![format!("draft {}", self.draft())])
    }

    fn register(&mut self, draft: usize) -> Answer {
        if self.opened() != Some(draft) {
            return Err("not-opened-last".to_owned());
        }
        if self.registered() {
            return Ok(Vec::new());
        }
        self.facts.push(Fact::Registered);
        let slots = self.plan_over(&self.drawn()).len();
        Ok(vec![format!("registered, {slots} slots")])
    }

    /// Tells what happened, a line each.
    pub(crate) fn told(&self) -> String {
        let told = self.facts.iter().map(|fact| format!("\n {fact:?}"));
        told.collect()
    }

    /// Says how the study stands. Pilots are not of it.
    pub(crate) fn stands(&self) -> Stands {
        let mut arms: BTreeMap<String, [u64; 5]> = BTreeMap::new();
        for run in facts::runs(&self.facts) {
            if run.what.pilot > 0 {
                continue;
            }
            let counts = arms.entry(run.what.arm.clone()).or_default();
            counts[0] += 1;
            counts[1] += u64::from(run.ended.is_some());
            counts[2] += u64::from(run.scored.is_some() && !run.void);
            counts[3] += u64::from(run.cause.is_some() && !run.void);
            counts[4] += u64::from(run.void);
        }
        Stands {
            slots_ended: self.slots_ended(),
            arms,
            complete: self.facts.contains(&Fact::Complete),
        }
    }
}

fn said(answer: Answer) -> String {
    answer.map_or_else(|refused| refused, sorted)
}
