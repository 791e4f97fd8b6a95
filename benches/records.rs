//! What reading a long record costs: `cargo bench --bench records [NAME]`.
//!
//! Histories are made by the engine itself. `triple` (3,000,000 entries) is measured only when it is
//! asked for by name.

#![expect(
    clippy::unwrap_used,
    reason = "a bench stops at the first broken assumption"
)]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::float_arithmetic, reason = "ratios are figures, not decisions")]

mod common;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::study::Study;
use common::{compare, installed, time};
use prereg::store::Store;

/// How many entries a finished run has.
const ENTRIES_OF_A_RUN: u64 = 3;

fn main() {
    let Some(names) = common::asked() else {
        return;
    };
    let is_asked = |name: &str| names.iter().any(|asked| asked == name);
    let all = names.is_empty();
    let million = Made::of(1_000_000);
    if all || is_asked("verify") {
        verify(&million);
    }
    if all || is_asked("export") {
        export(&million);
    }
    if all || is_asked("status") {
        status(&million);
    }
    if all || is_asked("linear") {
        linear("1,000,000", 11.0, &million);
    }
    if is_asked("triple") {
        linear("3,000,000", 33.0, &Made::of(3_000_000));
    }
}

/// A record of about so many entries, and its export.
struct Made {
    _study: Study,
    record: PathBuf,
    export: PathBuf,
}

impl Made {
    fn of(entries: u64) -> Self {
        let study = Study::after(entries / ENTRIES_OF_A_RUN);
        let record = study.record();
        let export = record.with_extension("jsonl");
        let mut out = BufWriter::new(File::create(&export).unwrap());
        Store::read(&record)
            .unwrap()
            .export(&mut out, false)
            .unwrap();
        Self {
            _study: study,
            record,
            export,
        }
    }
}

fn prereg(verb: &str, file: &Path) -> Command {
    let prereg = env!("CARGO_BIN_EXE_prereg");
    common::command(&format!("{prereg} {verb} {}", file.display()))
}

/// Returns the greatest resident memory of a command, in MiB.
fn memory(mut command: Command) -> Option<f64> {
    let mut timed = common::command("/usr/bin/time -f %M -o memory.kib");
    timed.arg(command.get_program()).args(command.get_args());
    let _ = command.stdout(std::process::Stdio::null());
    if !timed.status().ok()?.success() {
        return None;
    }
    let kib: f64 = std::fs::read_to_string("memory.kib")
        .ok()?
        .trim()
        .parse()
        .ok()?;
    std::fs::remove_file("memory.kib").ok()?;
    Some(kib / 1024.0)
}

fn verify(million: &Made) {
    println!("verify: 1,000,000 entries, beside sha256sum of the same bytes");
    for (name, file) in [
        ("the export", &million.export),
        ("the record", &million.record),
    ] {
        compare(
            name,
            2.0,
            || time(prereg("verify", file)),
            || time(common::command(&format!("sha256sum {}", file.display()))),
        );
        match memory(prereg("verify", file)) {
            Some(mib) => println!("  {name}: {mib:.0} MiB (goal 64)"),
            None => println!("  /usr/bin/time is not installed: memory left out"),
        }
    }
}

fn linear(entries: &str, goal: f64, large: &Made) {
    println!("linear: verify of {entries} entries, beside 100,000");
    let small = Made::of(100_000);
    compare(
        "the export",
        goal,
        || time(prereg("verify", &large.export)),
        || time(prereg("verify", &small.export)),
    );
}

fn export(million: &Made) {
    println!("export: 1,000,000 entries, beside a CSV export of them by the sqlite3 shell");
    if !installed("sqlite3") {
        return;
    }
    let theirs = || {
        let mut shell = common::command("sqlite3");
        shell.arg("-csv").arg(&million.record);
        shell.arg("SELECT seq, hex(digest), body, opening FROM entries");
        time(shell)
    };
    compare(
        "as lines",
        0.8,
        || time(prereg("export", &million.record)),
        theirs,
    );
    // As many rows, of about as many bytes.
    let theirs = || {
        let mut shell = common::command("sqlite3");
        shell.arg("-csv").arg(&million.record);
        shell.arg("SELECT * FROM runs");
        time(shell)
    };
    for table in ["runs", "slots"] {
        let verb = format!("export --csv {table}");
        let ours = || time(prereg(&verb, &million.record));
        compare(&format!("as a table of {table}"), 0.8, ours, theirs);
    }
}

fn status(million: &Made) {
    println!("status: at 1,000,000 entries, beside none");
    let runs = 1_000_000 / ENTRIES_OF_A_RUN;
    for (name, none) in [
        ("the same study before its first run", Study::before(runs)),
        ("a study of 2,000 tasks", Study::before(0)),
    ] {
        let record = none.record();
        compare(
            name,
            2.0,
            || time(prereg("status", &million.record)),
            || time(prereg("status", &record)),
        );
    }
}
