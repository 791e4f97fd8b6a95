//! A block starts only if it is expected to end before the cut-off: by the median of those that are
//! complete, as a stranger would compute it, through a real record.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod cases;

use std::cell::Cell;
use std::path::Path;

use cases::cases;
use prereg::engine::command::{Action, Ending, Evidence, Executed, Execution};
use prereg::engine::decide::Ruling;
use prereg::engine::refusal::Refusal;
use prereg::engine::start::Peek;
use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use prereg::store::{Request, Store, Verification, verify};
use prereg::units::{RunId, Time};
use proptest::prelude::*;

const MINUTE: i64 = 60_000_000;
const TASKS: usize = 8;

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(Time(0)) };
}

struct Study {
    folder: tempfile::TempDir,
    store: Store,
    runs: u64,
}

impl Study {
    fn new() -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let tasks: Vec<String> = (0..TASKS)
            .map(|i| format!("{{\"id\": \"t{i}\"}}\n"))
            .collect();
        std::fs::write(folder.path().join("tasks.jsonl"), tasks.concat()).unwrap();
        let text = include_str!("fits/study.toml").to_owned();
        let checked = check(text.as_bytes(), &DiskFolder::at(folder.path())).unwrap();
        let registration = checked.registration.digest();
        let path = folder.path().join("study.prereg.db");
        NOW.set(Time(0));
        let store = Store::create(&path, || NOW.get()).unwrap();
        let mut study = Self {
            folder,
            store,
            runs: 0,
        };
        let tasks = checked.tasks.iter().map(|task| task.fields.clone());
        study
            .give(Action::Open {
                text,
                tasks: tasks.collect(),
                registration: Box::new(checked.registration.clone()),
            })
            .unwrap();
        study.give(Action::Register { registration }).unwrap();
        study
    }

    fn give(&mut self, action: Action) -> Ruling {
        let request = Request {
            actor: "user:tester".to_owned(),
            key: None,
            expects: None,
            action,
        };
        let given = self.store.write(|writer| writer.apply(request)).unwrap();
        given.ruling
    }

    fn peek(&mut self) -> Peek {
        self.store.write(|writer| writer.peek()).unwrap()
    }

    /// Executes the run that may start next; it ends after so many minutes.
    fn execute(&mut self, task: String, arm: String, minutes: i64) {
        self.runs += 1;
        let run = RunId(self.runs);
        let executed = Executed::Here;
        self.give(Action::Start {
            task,
            arm,
            executed,
        })
        .unwrap();
        NOW.set(Time(NOW.get().0 + minutes * MINUTE));
        let ending = Ending::default();
        let execution = Some(Execution {
            exit: Some(0),
            ..Execution::default()
        });
        self.give(Action::Finish {
            run,
            ending,
            execution,
        })
        .unwrap();
        let evidence = Some(Evidence::default());
        let diff = None;
        self.give(Action::Score {
            run,
            diff,
            evidence,
        })
        .unwrap();
    }

    fn is_verified(&self) -> bool {
        let record: &Path = self.store.path();
        assert!(record.starts_with(self.folder.path()));
        matches!(verify(record), Ok(Verification::Verified(_)))
    }
}

/// Returns twice the median.
fn twice_the_median(blocks: &[i64]) -> i64 {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable();
    let n = sorted.len();
    sorted[(n - 1) / 2] + sorted[n / 2]
}

/// Plays the study with blocks of given lengths, two runs each; the cut-off is after 1000 minutes.
fn plays_as_the_median_says(minutes: &[(i64, i64)]) -> (usize, bool) {
    let mut study = Study::new();
    let mut blocks: Vec<i64> = Vec::new();
    for (first, second) in minutes {
        let in_second_stage = blocks.len() >= TASKS;
        let now = NOW.get().0 / MINUTE;
        let fits = !in_second_stage || {
            // now + median * 3/2 <= 1000
            now * 4 + twice_the_median(&blocks) * 3 <= 4000
        };
        match study.peek() {
            Peek::Start(next) if fits => study.execute(next.task, next.arm, *first),
            Peek::Refused(Refusal::DoesNotFit { stage, .. }) if !fits => {
                assert_eq!(stage, "second");
                assert!(study.is_verified());
                return (blocks.len(), true);
            }
            Peek::Refused(Refusal::PastCutoff { .. }) if now >= 1000 => break,
            other => panic!("{other:?} at {now}, fits: {fits}, {blocks:?}"),
        }
        // What has begun goes on, whatever is expected.
        match study.peek() {
            Peek::Start(next) => study.execute(next.task, next.arm, *second),
            Peek::Refused(Refusal::PastCutoff { .. }) => break,
            other => panic!("{other:?}"),
        }
        blocks.push(first + second);
    }
    assert!(study.is_verified());
    (blocks.len(), false)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn a_block_starts_only_if_the_median_says_that_it_will_end(
        minutes in proptest::collection::vec((1_i64..60, 1_i64..60), 2 * TASKS)
    ) {
        plays_as_the_median_says(&minutes);
    }
}

#[test]
fn a_block_that_would_not_end_is_refused() {
    let slow = [(50, 50); 2 * TASKS];
    // After 8 blocks it is 800: 800 + 150 fits, 900 + 150 does not.
    assert_eq!(plays_as_the_median_says(&slow), (9, true));
    let quick = [(1, 1); 2 * TASKS];
    assert_eq!(plays_as_the_median_says(&quick), (2 * TASKS, false));
}
