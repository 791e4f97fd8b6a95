//! A study whose history is made by the engine itself.

#![allow(dead_code, reason = "each bench uses a part")]
#![allow(
    clippy::unwrap_used,
    reason = "a bench stops at the first broken assumption"
)]

use std::fs;
use std::path::PathBuf;

use prereg::engine::command::{Action, Ending, Evidence, Executed, Execution};
use prereg::engine::refusal::Next;
use prereg::engine::start::Peek;
use prereg::folder::DiskFolder;
use prereg::protocol::check;
use prereg::runner::clock;
use prereg::store::{Fault, Request, Store, Writer};
use prereg::units::RunId;
use tempfile::TempDir;

/// How many runs are recorded in one transaction while a history is made.
const BATCH: u64 = 2_000;

const PROTOCOL: &str = r#"
language = 1
arms = [{ id = "a", command = ["/bin/true"] }, { id = "b", command = ["/bin/true"] }]
allocation = { repeats = 5, runs_max = 10000, serial = "none" }
tasks = { frame = "tasks.jsonl" }
outcomes = [{ id = "ok", kind = "binary", value = "run.exit == 0", better = "higher", missing = 0 }]
execution = { timeout = "5s" }
[study]
id = "starts"
title = "A start costs the same whatever came before"
question = "How long does a start take?"
hypotheses = []
kind = "confirmatory"
[attempts]
stale_after = "700h"
[analysis]
reference = "a"
treatments = ["b"]
primary = { outcome = "ok", estimand = "as_drawn", test = "sign_flip", objective = "superiority" }
[limitations]
"no-control" = "nothing is measured but time"
"unpinned-command" = "the same program in both arms"
"#;

/// A study under way.
pub(crate) struct Study {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) runs: u64,
}

pub(crate) fn request(action: Action) -> Request {
    Request {
        actor: "bench".to_owned(),
        key: None,
        expects: None,
        action,
    }
}

impl Study {
    /// Makes a study with so many finished runs, and place for some more.
    pub(crate) fn after(runs: u64) -> Self {
        let mut study = Self::before(runs);
        study.run(runs);
        study
    }

    /// Makes the same study before its first run.
    pub(crate) fn before(runs: u64) -> Self {
        let folder = super::folder();
        let tasks = runs / 10 + 2_000;
        let frame = (0..tasks).map(|task| format!("{{\"id\":\"t{task}\"}}\n"));
        fs::write(folder.path().join("tasks.jsonl"), frame.collect::<String>()).unwrap();
        fs::write(folder.path().join("starts.toml"), PROTOCOL).unwrap();
        let checked = check::check(PROTOCOL.as_bytes(), &DiskFolder::at(folder.path())).unwrap();
        let registration = checked.registration.digest();
        let tasks = checked.tasks.iter().map(|task| task.fields.clone());
        let open = Action::Open {
            text: PROTOCOL.to_owned(),
            tasks: tasks.collect(),
            registration: Box::new(checked.registration.clone()),
        };
        let path = folder.path().join("starts.prereg.db");
        let mut store = Store::create(&path, clock::now).unwrap();
        let register = Action::Register { registration };
        store
            .write(|writer| {
                writer.apply(request(open))?;
                writer.apply(request(register))
            })
            .unwrap();
        Self {
            folder,
            store,
            runs: 0,
        }
    }

    /// Records so many more runs, from start to score.
    pub(crate) fn run(&mut self, runs: u64) {
        let end = self.runs + runs;
        while self.runs < end {
            let more = BATCH.min(end - self.runs);
            let first = self.runs + 1;
            let record = |writer: &mut Writer<'_>| {
                for run in first..first + more {
                    start(writer)?;
                    finish(writer, RunId(run))?;
                }
                Ok(())
            };
            self.store.write(record).unwrap();
            self.runs += more;
        }
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.store.path().to_owned()
    }
}

pub(crate) fn next(writer: &mut Writer<'_>) -> Result<Next, Fault> {
    match writer.peek()? {
        Peek::Start(next) => Ok(next),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn start(writer: &mut Writer<'_>) -> Result<(), Fault> {
    let next = next(writer)?;
    ask(writer, next)
}

pub(crate) fn ask(writer: &mut Writer<'_>, Next { task, arm }: Next) -> Result<(), Fault> {
    let executed = Executed::Here;
    let given = writer.apply(request(Action::Start {
        task,
        arm,
        executed,
    }))?;
    assert!(given.ruling.is_ok(), "{given:?}");
    Ok(())
}

pub(crate) fn finish(writer: &mut Writer<'_>, run: RunId) -> Result<(), Fault> {
    let ending = Ending::default();
    let execution = Some(Execution {
        exit: Some(0),
        ..Execution::default()
    });
    writer.apply(request(Action::Finish {
        run,
        ending,
        execution,
    }))?;
    let evidence = Some(Evidence::default());
    let diff = None;
    let given = writer.apply(request(Action::Score {
        run,
        diff,
        evidence,
    }))?;
    assert!(given.ruling.is_ok(), "{given:?}");
    Ok(())
}
