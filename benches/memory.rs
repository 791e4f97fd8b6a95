//! How fast output is taken, and what stands in memory meanwhile: `cargo bench --bench memory [NAME]`.
//!
//! Memory is the most that the kernel saw of a process (`VmHWM`), which counts the pages of the program
//! that it shares with others, too.

#![expect(
    clippy::unwrap_used,
    reason = "a bench stops at the first broken assumption"
)]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::float_arithmetic, reason = "ratios are figures, not decisions")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::study::Study;
use common::{ROUNDS, command, median};
use rustix::process::{Pid, Signal, kill_process};

/// How many bytes the arm prints.
const PRINTED: u64 = 1_000_000_000;
/// How long is slept between two looks at processes.
const LOOK: Duration = Duration::from_millis(2);

fn main() {
    if let Some(asked) = common::asked() {
        let all: &[(&str, fn())] = &[("drain", drain), ("history", history)];
        common::measure(all, &asked);
    }
}

const PROTOCOL: &str = r#"
language = 1
arms = [{ id = "a", command = ["head", "-c", "PRINTED", "/dev/zero"] }, { id = "b", command = ["head", "-c", "PRINTED", "/dev/zero"] }]
allocation = { repeats = 1, runs_max = 1 }
tasks = { frame = "tasks.jsonl" }
outcomes = [{ id = "ok", kind = "binary", value = "run.exit == 0", better = "higher", missing = 0 }]
execution = { timeout = "5m", env_pass = ["PATH"], output_max = "1MiB" }
[study]
id = "memory"
title = "Output takes time and no memory"
question = "How long does it take to take a lot of output?"
hypotheses = []
kind = "confirmatory"
[analysis]
reference = "a"
treatments = ["b"]
primary = { outcome = "ok", estimand = "as_drawn", test = "sign_flip", objective = "superiority" }
[limitations]
"few-tasks" = "nothing is measured but memory"
"order-unbalanced" = "the same program in both arms"
"no-control" = "nothing is measured but memory"
"unpinned-command" = "the same program in both arms"
"#;

/// The most memory that the engine and one of its supervisors had, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Peaks {
    engine: u64,
    supervisor: u64,
}

/// Executes a study whose arms print so much; returns how long it took, and what stood in memory.
fn printed(bytes: u64) -> (f64, Peaks) {
    let folder = common::folder();
    fs::write(folder.path().join("tasks.jsonl"), "{\"id\":\"t\"}\n").unwrap();
    let protocol = PROTOCOL.replace("PRINTED", &bytes.to_string());
    fs::write(folder.path().join("memory.toml"), protocol).unwrap();
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let mut run = command(&format!("{prereg} run -q memory.toml"));
    run.current_dir(folder.path());
    let started = Instant::now();
    let mut session = run.spawn().unwrap();
    let mut peaks = Peaks::default();
    while session.try_wait().unwrap().is_none() {
        peaks.engine = peaks.engine.max(peak(session.id()).unwrap_or(0));
        for pid in supervisors(folder.path()) {
            peaks.supervisor = peaks.supervisor.max(peak(pid).unwrap_or(0));
        }
        std::thread::sleep(LOOK);
    }
    let took = started.elapsed().as_secs_f64();
    assert!(session.wait().unwrap().success());
    (took, peaks)
}

/// Returns the supervisors that are noted beside the runs of a study.
fn supervisors(folder: &Path) -> Vec<u32> {
    let studies = fs::read_dir(folder.join("memory.prereg.runs"));
    let runs = studies.into_iter().flatten().flatten();
    let notes = runs.filter_map(|runs| fs::read_dir(runs.path()).ok());
    let notes = notes.flatten().flatten().map(|note| note.path());
    let notes = notes.filter(|note| note.extension().is_some_and(|end| end == "supervisor"));
    let named = notes.filter_map(|note| {
        let identity: serde_json::Value = serde_json::from_slice(&fs::read(note).ok()?).ok()?;
        u32::try_from(identity["pid"].as_u64()?).ok()
    });
    named.collect()
}

/// Returns the most memory that a process had, in bytes.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let fields: BTreeMap<&str, &str> = status
        .lines()
        .filter_map(|line| line.split_once(':'))
        .collect();
    let text = fields.get("VmHWM")?.trim().strip_suffix(" kB")?;
    text.parse::<u64>().ok()?.checked_mul(1024)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// 1 GB of output, and next to none.
fn drain() {
    println!("drain: 2 runs that print 1 GB each, one after the other (goal: 200 MB/s or more)");
    let rounds: Vec<(f64, Peaks)> = (0..ROUNDS).map(|_| printed(PRINTED)).collect();
    let (little, ..) = median((0..ROUNDS).map(|_| printed(1).0).collect());
    let rates = rounds
        .iter()
        .map(|(took, _)| 2.0 * PRINTED as f64 / 1e6 / (took - little));
    let (rate, low, high) = median(rates.collect());
    println!(
        "  {rate:.0} MB/s ({low:.0} to {high:.0}), beside the same study with nothing to print"
    );
    let (_, none) = printed(1);
    let most = |of: fn(&Peaks) -> u64| rounds.iter().map(|(_, peaks)| of(peaks)).max().unwrap_or(0);
    println!(
        "  a supervisor: at most {:.1} MiB (goal: 8)",
        mib(most(|peaks| peaks.supervisor))
    );
    println!(
        "  the engine: at most {:.1} MiB; where nothing is printed {:.1}",
        mib(most(|peaks| peaks.engine)),
        mib(none.engine)
    );
}

/// The engine over a plan at its beginning, and after most of it.
fn history() {
    const RUNS: u64 = 100_000;
    println!("history: the engine's memory over one plan");
    for (what, study) in [
        ("at its beginning".to_owned(), Study::before(RUNS)),
        (format!("after {RUNS} runs"), Study::after(RUNS)),
    ] {
        let record = study.record();
        let Study { folder, store, .. } = study;
        drop(store);
        let session = session(folder.path(), &record);
        println!("  {what}: {:.1} MiB", mib(session));
    }
}

/// Lets a session execute for some seconds; returns the most memory that it had.
fn session(folder: &Path, record: &Path) -> u64 {
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let mut run: Command = command(&format!(
        "{prereg} run -q starts.toml --db {}",
        record.display()
    ));
    run.current_dir(folder);
    let mut session: Child = run.spawn().unwrap();
    let pid = Pid::from_child(&session);
    let began = Instant::now();
    let mut most = 0;
    while began.elapsed() < Duration::from_secs(5) {
        assert!(session.try_wait().unwrap().is_none(), "it ended by itself");
        most = most.max(peak(session.id()).unwrap_or(0));
        std::thread::sleep(LOOK);
    }
    kill_process(pid, Signal::INT).unwrap();
    session.wait().unwrap();
    most
}
