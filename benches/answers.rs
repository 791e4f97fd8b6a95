//! What the numbers of an answer cost: `cargo bench --bench answers`.
//!
//! Inputs come from a registered stream, so that every run has the same; a line a figure, in microseconds.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "durations are figures, not decisions"
)]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use prereg::analysis::Lattice;
use prereg::analysis::paired::sign_flip::SignFlip;
use prereg::analysis::resampling::bootstrap::{Plan, quotient, resample, task_ideal};
use prereg::analysis::resampling::stream::{Stream, Streams};

const REPEATS: u64 = 3;
const RESAMPLES: u64 = 10_000;
const ROUNDS: usize = 15;

fn main() {
    // `cargo test --benches` and `cargo bench -- --list` start this too; only `cargo bench` measures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    for tasks in [500, 20_000] {
        let differences = shares(tasks);
        let name = format!("binary BCa, {tasks} tasks x {REPEATS} x 2");
        report(&name, || {
            differences
                .as_ref()
                .map(|shares| task_ideal(shares, 0.05).bca)
        });
    }
    let streams = Streams::new("bench", "real");
    let rows = rows(500);
    for threads in [1, 2] {
        let plan = Plan {
            streams: &streams,
            resamples: RESAMPLES,
            threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
        };
        let name = format!("real-valued BCa, 500 tasks, {RESAMPLES} resamples, threads {threads}");
        report(&name, || resample(&rows, quotient, 0.05, plan).bca);
    }
    let differences = shares(500);
    report("exact sign flip, 500 tasks x 3 x 2", || {
        differences
            .as_ref()
            .map(|shares| SignFlip::of_tasks(shares).p_two_sided)
    });
}

fn stream() -> Stream {
    Streams::new("bench", "input").replicate(0)
}

/// Draws the differences of the shares of successes of two arms.
fn shares(tasks: usize) -> Option<Lattice> {
    let mut stream = stream();
    let mut successes = || i64::try_from(stream.next_word() >> 62).unwrap_or(0).min(3);
    let each = (0..tasks).map(|_| (successes() - successes(), REPEATS));
    Lattice::from_fractions(&each.collect::<Vec<_>>())
}

/// Draws differences of numbers, each beside a 1 to count it.
fn rows(tasks: usize) -> Vec<[f64; 2]> {
    let mut stream = stream();
    let mut number = || (stream.next_word() >> 11) as f64 / (1_u64 << 53) as f64;
    (0..tasks).map(|_| [number() - number(), 1.0]).collect()
}

/// Prints the median of several rounds.
fn report<T>(name: &str, compute: impl Fn() -> T) {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| seconds(&compute)).collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name}: {:.1} us", rounds[ROUNDS / 2] * 1e6);
}

fn seconds<T>(compute: impl Fn() -> T) -> f64 {
    let began = Instant::now();
    black_box(compute());
    began.elapsed().as_secs_f64()
}
