//! What SQLite does for a decision: it searches, and never goes through a table.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use serde_json::json;

use super::{Request, Store, Verification, rows, verify};
use crate::engine::command::{
    Action, Cause, Clock, Command, Ending, Evidence, Executed, Execution, Witness,
};
use crate::engine::event::{Event, LaneId, Place};
use crate::engine::start::Peek;
use crate::folder::DiskFolder;
use crate::protocol::check::check;
use crate::record::divergence::Code;
use crate::record::entry::{self, Answer};
use crate::units::{Digest, Money, RunId, Time};

thread_local! {
    /// What was asked of SQLite.
    static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    static NOW: RefCell<i64> = const { RefCell::new(0) };
}

fn note(event: TraceEvent<'_>) {
    if let TraceEvent::Stmt(statement, _) = event {
        ASKED.with_borrow_mut(|asked| asked.insert(statement.sql().into_owned()));
    }
}

/// A study whose every statement is noted.
struct Noted {
    store: Store,
    asked: u64,
    runs: u64,
    _folder: tempfile::TempDir,
}

impl Noted {
    fn new(base: &Path, file: &str) -> Self {
        let text = std::fs::read_to_string(base.join(file)).unwrap();
        let folder = tempfile::TempDir::new().unwrap();
        let clock = || {
            Time(NOW.with_borrow_mut(|now| {
                *now += 60_000_000;
                *now
            }))
        };
        let store = Store::create(&folder.path().join("study.prereg.db"), clock).unwrap();
        let mut noted = Self {
            store,
            asked: 0,
            runs: 0,
            _folder: folder,
        };
        let connection = &mut noted.store.connection;
        connection
            .trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(note))
            .unwrap();
        // One draft takes the place of another; once one is registered, none does.
        let another = text.replacen("\ntitle", "\ntitle = \"another\" #", 1);
        let [first, second] = [&text, &another].map(|text| noted.open(base, text));
        let mut register = |registration| noted.give(Action::Register { registration });
        assert!(!register(first) && register(second) && register(second));
        assert!(!noted.give(opening(base, &text).0));
        noted
    }

    fn open(&mut self, base: &Path, text: &str) -> Digest {
        let (open, registration) = opening(base, text);
        assert!(self.give(open));
        registration
    }

    fn give(&mut self, action: Action) -> bool {
        self.asked += 1;
        let request = Request {
            actor: "user:tester".to_owned(),
            key: Some(self.asked.to_string()),
            expects: None,
            action,
        };
        // Each in a transaction of its own, with nothing remembered.
        self.store.cache = super::Cache::default();
        let given = self.store.write(|writer| writer.apply(request)).unwrap();
        given.ruling.is_ok()
    }

    fn start(&mut self, task: &str, arm: &str) -> bool {
        let granted = self.give(Action::Start {
            task: task.to_owned(),
            arm: arm.to_owned(),
            executed: Executed::Here,
        });
        self.runs += u64::from(granted);
        granted
    }

    /// Ends the newest run: scored, with an error stop, or failed.
    fn end(&mut self, how: u64) {
        let run = RunId(self.runs);
        if how == 2 {
            let (cause, note) = (Cause::Failed, None);
            self.give(Action::Close { run, cause, note });
            return;
        }
        let ending = Ending {
            error_stop: Some(how == 1),
            ..Ending::default()
        };
        let execution = Some(Execution {
            exit: Some(0),
            ..Execution::default()
        });
        self.give(Action::Finish {
            run,
            ending,
            execution,
        });
        let evidence = Some(Evidence::default());
        let diff = None;
        self.give(Action::Score {
            run,
            diff,
            evidence,
        });
    }

    /// Asks for whatever else decides; returns how often it was granted.
    fn every_other_action(&mut self) -> usize {
        let run = RunId(self.runs);
        let text = || "it rained".to_owned();
        let actions = [
            Action::Expire { run },
            Action::Breaker { open: true },
            Action::Breaker { open: false },
            Action::Checkpoint {
                run,
                passed: true,
                note: None,
            },
            Action::Cost {
                run,
                cost: Money(1),
            },
            Action::Retry { run },
            Action::Session {},
            Action::Read {
                id: "quota".to_owned(),
                fields: serde_json::Map::new(),
            },
            Action::Preflight {
                arm: "baseline".to_owned(),
                status: "ready".to_owned(),
            },
            Action::Probe {
                id: "agent".to_owned(),
                value: None,
            },
            Action::Void {
                block: 1,
                reason: text(),
            },
            Action::Void {
                block: 2,
                reason: text(),
            },
            Action::Deviate {
                note: text(),
                arm: None,
            },
            Action::Conclude {},
            Action::Unblind {},
        ];
        let granted = actions.map(|action| self.give(action));
        granted.iter().filter(|granted| **granted).count()
    }

    /// Records that a head was published, twice: the second time it is known.
    fn anchor(&mut self) {
        let published = self.store.head_at(3).unwrap().unwrap();
        let anchor = Action::Anchor {
            study: "published".to_owned(),
            entry: published.seq,
            digest: published.digest,
            witness: Witness::Line {},
            note: None,
        };
        assert!(self.give(anchor.clone()));
        let recorded = self.store.head().unwrap();
        assert!(self.give(anchor));
        assert_eq!(self.store.head().unwrap(), recorded, "it is known");
    }

    fn next(&mut self) -> Option<(String, String)> {
        self.store.cache = super::Cache::default();
        match self.store.write(|writer| writer.peek()).unwrap() {
            Peek::Start(next) => Some((next.task, next.arm)),
            _ => None,
        }
    }
}

/// Returns what opens a protocol, and the digest of its registration.
fn opening(base: &Path, text: &str) -> (Action, Digest) {
    let checked = check(text.as_bytes(), &DiskFolder::at(base)).unwrap();
    let tasks = checked.tasks.iter().map(|task| task.fields.clone());
    let open = Action::Open {
        text: text.to_owned(),
        tasks: tasks.collect(),
        registration: Box::new(checked.registration.clone()),
    };
    (open, checked.registration.digest())
}

fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Fails for a statement that goes through a whole table or index.
fn searches(connection: &Connection, sql: &str) {
    let explained = format!("EXPLAIN QUERY PLAN {sql}");
    let Ok(mut statement) = connection.prepare(&explained) else {
        // BEGIN, COMMIT and pragmas have no plan.
        return;
    };
    let count = statement.parameter_count();
    let nothing = vec![None::<i64>; count];
    let steps = statement.query_map(rusqlite::params_from_iter(nothing), |row| {
        row.get::<_, String>(3)
    });
    for step in steps.unwrap() {
        let step = step.unwrap();
        assert!(!step.starts_with("SCAN"), "{step}: {sql}");
        assert!(!step.contains("TEMP B-TREE"), "{step}: {sql}");
    }
}

#[test]
fn a_decision_searches_and_never_goes_through_a_table() {
    let mut by_counts = Noted::new(&tests_folder().join("operator"), "paired.toml");
    by_counts.give(Action::Switch {
        text: Some("on".to_owned()),
    });
    for task in ["t1", "t2"] {
        let task = json!({ "id": task, "split": "full", "fail_to_pass_count": 1, "pass_to_pass_count": 0 });
        by_counts.give(Action::AddTask { task });
    }
    by_counts.give(Action::Draw {
        from: 1,
        tasks: vec!["t1".to_owned(), "t2".to_owned()],
    });
    for turn in 0..12 {
        let arm = ["baseline", "treatment"][turn % 2];
        if by_counts.start("t1", arm) {
            by_counts.end(turn as u64 % 3);
        }
    }
    assert!(by_counts.runs > 3, "{}", by_counts.runs);

    let mut by_plan = Noted::new(&tests_folder().join("fits"), "study.toml");
    for turn in 0..12 {
        if let Some((task, arm)) = by_plan.next()
            && by_plan.start(&task, &arm)
        {
            by_plan.end(turn % 3);
        }
    }
    assert!(by_plan.runs > 8, "{}", by_plan.runs);
    for study in [&mut by_counts, &mut by_plan] {
        study.anchor();
        let granted = study.every_other_action();
        assert!(granted > 4, "{granted}");
    }

    let asked = ASKED.take();
    let about = |table: &str| asked.iter().filter(|sql| sql.contains(table)).count();
    for table in [
        "entries", "runs", "lanes", "facts", "standing", "keys", "drafts", "tasks",
    ] {
        assert!(about(table) > 0, "nothing was asked of {table}: {asked:#?}");
    }
    asked
        .iter()
        .for_each(|sql| searches(&by_plan.store.connection, sql));
}

#[test]
fn a_stage_that_no_plan_has_is_refused_before_it_is_counted() {
    let noted = Noted::new(&tests_folder().join("fits"), "study.toml");
    let (connection, path) = (&noted.store.connection, noted.store.path());
    let place = Place {
        lane: LaneId::registered(0),
        position: 0,
        block: 0,
        repeat: 1,
        turn: 1,
        attempt: 1,
        stage: (1 << 53) - 1,
        voids: 0,
        by_counts: false,
    };
    let (task, arm, executed) = ("t1".to_owned(), "a".to_owned(), Executed::Here);
    let started = Event::Started {
        run: RunId(1),
        task: task.clone(),
        arm: arm.clone(),
        executed: executed.clone(),
        place: Some(place),
        skipped: 0,
        seed: None,
    };
    let command = Command {
        at: Time(1 << 50),
        clock: Clock::default(),
        actor: "user:tester".to_owned(),
        key: "forged".to_owned(),
        action: Action::Start {
            task,
            arm,
            executed,
        },
    };
    // An entry whose rows were not saved.
    let head = rows::head(connection).unwrap();
    let forged = entry::seal(
        head,
        &command,
        &Answer::Granted(vec![started]),
        Digest([0; 32]),
    );
    rows::append(connection, &forged).unwrap();

    let fault = Store::read(path).unwrap().standing().unwrap_err();
    assert_eq!(fault.code(), "row-unreadable");
    assert!(
        fault.to_string().contains("stage 9007199254740991"),
        "{fault}"
    );
    match verify(path).unwrap() {
        Verification::Diverged(found) => {
            assert_eq!((found.code, found.entry), (Code::RulingDiffers, forged.seq));
        }
        other => panic!("{other:?}"),
    }
}
