//! How far blocks have come under an order by counts, where a slot that has ended may open again.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

#[path = "rules/shipped.rs"]
#[expect(dead_code, reason = "one of the shipped protocols is enough here")]
mod shipped;

use prereg::engine::blocks::{self, Block};
use prereg::engine::command::{
    Action, Cause, Clock, Command, Ending, Evidence, Executed, Execution,
};
use prereg::engine::decide;
use prereg::engine::event::Event;
use prereg::engine::evolve;
use prereg::engine::rules::Rules;
use prereg::engine::slice::Slice;
use prereg::engine::totals;
use prereg::units::{RunId, Time};
use serde_json::json;
use std::convert::Infallible;

/// A study of the shipped paired rules over two tasks, all in one hour.
struct Study {
    rules: Rules,
    slice: Slice,
}

impl Study {
    fn new() -> Self {
        let checked = shipped::with("paired-slots.toml", &[], |_| {});
        let rules = Rules::new(checked.registration, checked.tasks).unwrap();
        let mut slice = Slice::whole();
        let registration = rules.digest();
        let opened = Event::Opened {
            registration,
            draft: 1,
        };
        evolve::evolve(&mut slice, Time(0), &opened);
        let mut study = Self { rules, slice };
        for id in ["t1", "t2"] {
            let task = json!({
                "id": id, "split": "full", "fail_to_pass_count": 1, "pass_to_pass_count": 1,
            });
            study.give(Action::AddTask { task });
        }
        study.give(Action::Register { registration });
        study.give(Action::Draw {
            from: 1,
            tasks: vec!["t1".to_owned(), "t2".to_owned()],
        });
        let text = Some("on".to_owned());
        study.give(Action::Switch { text });
        study
    }

    fn give(&mut self, action: Action) {
        let command = Command {
            at: Time(0),
            clock: Clock::default(),
            actor: "user".to_owned(),
            key: String::new(),
            action,
        };
        let events = decide::decide(Some(&self.rules), &self.slice, &command).unwrap();
        let nothing = |_: &mut Slice, _| Ok::<_, Infallible>(false);
        let Ok(was_there) = totals::apply(
            Some(&self.rules),
            &mut self.slice,
            &command,
            &events,
            nothing,
        );
        assert!(was_there);
    }

    fn start(&mut self, arm: &str) -> RunId {
        self.give(Action::Start {
            task: "t1".to_owned(),
            arm: arm.to_owned(),
            executed: Executed::Elsewhere(None),
        });
        RunId(self.slice.standing.runs)
    }

    fn fail(&mut self, arm: &str) {
        let run = self.start(arm);
        self.give(Action::Close {
            run,
            cause: Cause::Failed,
            note: None,
        });
    }

    fn finish(&mut self, arm: &str, subtype: &str) -> RunId {
        let run = self.start(arm);
        let execution = Some(Execution {
            exit: Some(0),
            observed: Some(json!({ "subtype": subtype })),
            ..Execution::default()
        });
        let ending = Ending::default();
        self.give(Action::Finish {
            run,
            ending,
            execution,
        });
        run
    }

    fn score(&mut self, arm: &str, subtype: &str) {
        let run = self.finish(arm, subtype);
        self.give(Action::Score {
            run,
            diff: None,
            evidence: Some(Evidence::default()),
        });
    }

    /// Asserts how many slots of the first task have ended, and how many of them unjudged.
    fn stands(&self, ended: u64, unjudged: u64) {
        let first = Block {
            complete: ended == 6,
            ended,
            expected: 6,
            unjudged,
        };
        let second = Block {
            expected: 6,
            ..Block::default()
        };
        let found = blocks::all(&self.rules, &self.slice);
        assert_eq!(found, [first, second]);
        assert_eq!(self.slice.standing.slots_ended, ended);
        let told = blocks::complete(&self.rules, &self.slice);
        assert_eq!(told, (u64::from(first.complete), 2));
        for run in self.slice.runs.values().flatten() {
            let flag = blocks::of_run(&self.rules, &self.slice, run).unwrap();
            assert_eq!((flag.block, flag.incomplete), (Some(0), !first.complete));
        }
    }
}

#[test]
fn a_block_is_complete_once_the_slots_of_both_arms_have_ended() {
    let mut study = Study::new();
    study.stands(0, 0);
    study.fail("baseline");
    study.stands(0, 0);
    study.fail("baseline");
    study.stands(1, 1);
    for (arm, ended) in [
        ("treatment", 2),
        ("baseline", 3),
        ("treatment", 4),
        ("baseline", 5),
        ("treatment", 6),
    ] {
        study.score(arm, "success");
        study.stands(ended, 1);
    }
}

#[test]
fn an_outage_opens_slots_again_that_had_ended() {
    const ERROR: &str = "error_during_execution";
    let mut study = Study::new();
    study.fail("baseline");
    study.fail("baseline");
    study.score("treatment", "success");
    study.score("baseline", ERROR);
    study.score("treatment", ERROR);
    study.stands(4, 1);
    study.finish("baseline", ERROR);
    study.stands(2, 1);
}
