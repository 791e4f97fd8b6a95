//! What a start costs, whatever came before it: `cargo bench --bench starts [NAME]`.
//!
//! Histories are made by the engine itself. `million` is measured only when it is asked for by name.

#![expect(
    clippy::unwrap_used,
    reason = "a bench stops at the first broken assumption"
)]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::float_arithmetic, reason = "ratios are figures, not decisions")]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use common::study::{Study, ask, finish, next, start};
use common::{compare, installed, median, time};
use prereg::engine::refusal::Next;
use prereg::store::{Fault, GroupCommit, Lead, Writer};
use prereg::units::RunId;
use rusqlite::Connection;

/// How many runs may lag in a session.
const LAG_MAX: usize = 64;
/// How many starts a figure is made of.
const STARTS: usize = 300;

fn main() {
    let Some(asked) = common::asked() else {
        return;
    };
    let all: &[(&str, fn())] = &[
        ("durable", durable),
        ("history", history),
        ("one-shot", one_shot),
        ("clients", clients),
        ("crowd", crowd),
    ];
    common::measure(all, &asked);
    if asked.iter().any(|asked| asked == "million") {
        million();
    }
}

/// Returns how long a durable start takes in a session, as `prereg run` asks for it: the median, in
/// seconds.
fn durable_start(study: &mut Study) -> f64 {
    let flush = study.store.begin_session(LAG_MAX).unwrap();
    let once = |_| {
        let next = study.store.write(next).unwrap();
        let started = Instant::now();
        study.store.write(|writer| ask(writer, next)).unwrap();
        flush.flush().unwrap();
        let took = started.elapsed().as_secs_f64();
        study.runs += 1;
        let run = RunId(study.runs);
        study.store.write(|writer| finish(writer, run)).unwrap();
        took
    };
    let middle = median((0..STARTS).map(once).collect()).0;
    study.store.settle().unwrap();
    middle
}

/// A table of one's own beside the record, with bare commits of one row.
fn bare(folder: &Path) -> Connection {
    let bare = Connection::open(folder.join("bare.db")).unwrap();
    bare.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE IF NOT EXISTS t (i INTEGER PRIMARY KEY, x TEXT)",
    )
    .unwrap();
    bare
}

fn durable_insert(bare: &Connection) -> f64 {
    let mut insert = bare
        .prepare("INSERT INTO t (x) VALUES ('one small row')")
        .unwrap();
    let once = |_| {
        let started = Instant::now();
        insert.execute([]).unwrap();
        started.elapsed().as_secs_f64()
    };
    median((0..STARTS).map(once).collect()).0
}

fn durable() {
    println!("durable: a start, beside a bare SQLite WAL+FULL commit of one row");
    let mut study = Study::after(1_000);
    let bare = bare(study.folder.path());
    compare(
        "at 1,000 runs",
        1.25,
        || durable_start(&mut study),
        || durable_insert(&bare),
    );
}

fn history() {
    println!("history: a durable start, beside the same at 1,000 runs");
    let mut small = Study::after(1_000);
    let made = Instant::now();
    let mut large = Study::after(100_000);
    println!("  the history took {:.2} s", made.elapsed().as_secs_f64());
    compare(
        "at 100,000 runs",
        1.15,
        || durable_start(&mut large),
        || durable_start(&mut small),
    );
}

fn million() {
    println!("million: a durable start, beside the same at 1,000 runs");
    let mut small = Study::after(1_000);
    let made = Instant::now();
    let mut large = Study::after(1_000_000);
    println!("  the history took {:.0} s", made.elapsed().as_secs_f64());
    compare(
        "at 1,000,000 runs",
        1.3,
        || durable_start(&mut large),
        || durable_start(&mut small),
    );
}

/// Makes the command line that starts the next run, with the task and arm that it is.
fn one_start(record: &Path, next: &Next) -> Command {
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let (record, task, arm) = (record.display(), &next.task, &next.arm);
    common::command(&format!("{prereg} start {task} {arm} --db {record}"))
}

/// Returns the slots that come next, in order.
fn slots(study: &mut Study, count: usize) -> Vec<Next> {
    let rules = study.store.rules().unwrap().unwrap();
    let standing = study.store.standing().unwrap();
    let plan = rules.registered_plan();
    let ended = standing.slots_ended;
    let slot = |position| {
        let slot = plan.slot(position);
        let protocol = rules.protocol();
        Next {
            task: format!("t{}", slot.task),
            arm: protocol.arms[slot.arm as usize].id.clone(),
        }
    };
    (ended..ended + count as u64).map(slot).collect()
}

fn one_shot() {
    println!(
        "one-shot: a process of `prereg start` at 100,000 runs, beside an insert by the sqlite3 shell"
    );
    if !installed("sqlite3") {
        return;
    }
    let mut study = Study::after(100_000);
    let bare_file = study.folder.path().join("bare.db");
    drop(bare(study.folder.path()));
    let mut next = slots(&mut study, 10_000).into_iter();
    let record = study.record();
    drop(study.store);
    let ours = || {
        let once = |_| time(one_start(&record, &next.next().unwrap()));
        median((0..40).map(once).collect()).0
    };
    let insert = || {
        let mut shell = common::command("sqlite3");
        shell.arg(&bare_file);
        shell.arg("PRAGMA synchronous = FULL; INSERT INTO t (x) VALUES ('one small row')");
        shell
    };
    let theirs = || median((0..40).map(|_| time(insert())).collect()).0;
    compare("beside the shell", 1.5, ours, theirs);
}

/// Starts runs from so many threads, each waiting until its start is on the disk, as the workers of a
/// session do; returns how many a second. The runs are ended afterwards.
fn rate(study: &mut Study, clients: u64, each: u64) -> f64 {
    let flush = study.store.begin_session(LAG_MAX).unwrap();
    let first = study.runs + 1;
    let store = Mutex::new(&mut study.store);
    let group = GroupCommit::default();
    let serve = |lead: &mut Lead<'_, (), ()>| {
        let mut answers = Vec::new();
        let work = |writer: &mut Writer<'_>| {
            while let Some(()) = lead.next(|| flush.wait_for_others()) {
                answers.push(start(writer)?);
            }
            Ok(())
        };
        store.lock().unwrap().write(work)?;
        lead.hand_over();
        flush.flush()?;
        Ok::<_, Fault>(answers)
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                for _ in 0..each {
                    let answer = group.submit((), serve).unwrap();
                    assert!(answer.is_some());
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    study.runs += clients * each;
    for run in first..=study.runs {
        study
            .store
            .write(|writer| finish(writer, RunId(run)))
            .unwrap();
    }
    study.store.settle().unwrap();
    (clients * each) as f64 / seconds
}

fn clients() {
    println!(
        "clients: starts a second of 32 clients in one process, beside one (goal: 8 x or more)"
    );
    let mut study = Study::after(1_000);
    let ratio = |_| {
        let one = rate(&mut study, 1, 200);
        let many = rate(&mut study, 32, 40);
        (many / one, one, many)
    };
    let rounds: Vec<(f64, f64, f64)> = (0..5).map(ratio).collect();
    let (middle, low, high) = median(rounds.iter().map(|round| round.0).collect());
    let (one, ..) = median(rounds.iter().map(|round| round.1).collect());
    let (many, ..) = median(rounds.iter().map(|round| round.2).collect());
    println!("  {middle:.1} x ({low:.1} to {high:.1}), {many:.0} beside {one:.0} a second");
}

fn crowd() {
    println!(
        "crowd: 400 one-shot starts from 8 processes at once (goal: the slowest under 100 ms)"
    );
    let mut study = Study::after(1_000);
    let next: Vec<Next> = slots(&mut study, 400);
    let record = study.record();
    drop(study.store);
    let left = Mutex::new(next.into_iter());
    let times = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some(next) = left.lock().unwrap().next() else {
                        return;
                    };
                    // One slot may start at a time: whoever comes before its turn asks again.
                    loop {
                        let started = Instant::now();
                        let granted = one_start(&record, &next).status().unwrap().success();
                        times.lock().unwrap().push(started.elapsed().as_secs_f64());
                        if granted {
                            break;
                        }
                    }
                }
            });
        }
    });
    let times = times.into_inner().unwrap();
    let asked = times.len();
    let (middle, _, slowest) = median(times);
    println!(
        "  slowest {:.0} ms, median {:.0} ms, of {asked} that asked until 400 were granted",
        slowest * 1e3,
        middle * 1e3
    );
}
