//! What the benches share: command lines, and figures of ours beside theirs.

#![allow(dead_code, reason = "each bench uses a part")]
#![allow(
    clippy::unwrap_used,
    reason = "a bench stops at the first broken assumption"
)]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]
#![allow(clippy::float_arithmetic, reason = "ratios are figures, not decisions")]

pub(crate) mod study;

use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

/// How many rounds a comparison has.
pub(crate) const ROUNDS: usize = 7;

/// Makes a folder for a study, on the disk that holds what is built, and out of the way.
pub(crate) fn folder() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Makes a command line, with the priority that was asked for.
pub(crate) fn command(line: &str) -> Command {
    let priority = std::env::var("BENCH_PRIO").unwrap_or_default();
    let mut words = priority.split_whitespace().chain(line.split_whitespace());
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Returns the names of the benches that were asked for, none for all; nothing where nothing is to be measured:
/// `cargo test --benches` and `cargo bench -- --list` start a bench, too.
pub(crate) fn asked() -> Option<Vec<String>> {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let names = std::env::args().skip(1);
    measures.then(|| names.filter(|name| !name.starts_with('-')).collect())
}

/// Measures what was asked for.
pub(crate) fn measure(all: &[(&str, fn())], asked: &[String]) {
    for (name, bench) in all {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            bench();
        }
    }
}

pub(crate) fn time(mut command: Command) -> f64 {
    let started = Instant::now();
    assert!(command.status().unwrap().success(), "{command:?}");
    started.elapsed().as_secs_f64()
}

pub(crate) fn installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status();
    let there = found.is_ok_and(|status| status.success());
    if !there {
        println!("  {program} is not installed: left out");
    }
    there
}

pub(crate) fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (
        values[values.len() / 2],
        values[0],
        values[values.len() - 1],
    )
}

/// Prints ours over theirs, round by round; the order within a round changes.
pub(crate) fn compare(
    name: &str,
    goal: f64,
    mut ours: impl FnMut() -> f64,
    mut theirs: impl FnMut() -> f64,
) {
    let mut times = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (a, b) = if round % 2 == 0 {
            let a = ours();
            (a, theirs())
        } else {
            let b = theirs();
            (ours(), b)
        };
        // The first round warms caches.
        if round > 0 {
            times.0.push(a);
            times.1.push(b);
        }
    }
    let (ratio, low, high) = median(times.0.iter().zip(&times.1).map(|(a, b)| a / b).collect());
    let (ours, ..) = median(times.0);
    let (theirs, ..) = median(times.1);
    println!(
        "  {name}: {ratio:.2} x ({low:.2} to {high:.2}; goal {goal}), {:.2} ms beside {:.2} ms",
        ours * 1e3,
        theirs * 1e3
    );
}
