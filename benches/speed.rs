//! Speed beside known programs, in shuffled rounds of one run: `cargo bench`.
//!
//! Each figure is the median of the ratios of the rounds, with the least and the greatest; absolute
//! times are shown beside. On a loaded machine `BENCH_PRIO="chrt -f 1" cargo bench` gives the figures
//! of a quiet one. A program that is not installed is left out, and said to be.

#![expect(
    clippy::unwrap_used,
    reason = "a bench stops at the first broken assumption"
)]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::float_arithmetic, reason = "ratios are figures, not decisions")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use common::{ROUNDS, command, compare, installed, median, time};
use prereg::engine::command::{Action, Ending, Evidence, Executed, Execution};
use prereg::engine::modelcheck::{self, Weakness};
use prereg::protocol::check;
use prereg::runner::clock;
use prereg::store::{Request, Store, Writer};

/// How many runs the launched study has.
const RUNS: usize = 2000;

const PROTOCOL: &str = r#"
language = 1
arms = [{ id = "a", command = ["/bin/true"] }, { id = "b", command = ["/bin/true"] }]
allocation = { repeats = 1, runs_max = 2 }
tasks = { frame = "tasks.jsonl" }
outcomes = [{ id = "ok", kind = "binary", value = "run.exit == 0", better = "higher", missing = 0 }]
execution = { timeout = "5s" }
[study]
id = "speed"
title = "Launching costs little"
question = "How long does a study of runs that do nothing take?"
hypotheses = []
kind = "confirmatory"
[analysis]
reference = "a"
treatments = ["b"]
primary = { outcome = "ok", estimand = "as_drawn", test = "sign_flip", objective = "superiority" }
[limitations]
"no-control" = "nothing is measured but time"
"unpinned-command" = "the same program in both arms"
"#;

fn main() {
    if let Some(asked) = common::asked() {
        let all: &[(&str, fn())] = &[
            ("launch", launch),
            ("transaction", transaction),
            ("cold-start", cold_start),
            ("resume", resume),
            ("large", large),
            ("model", model),
            ("exports", exports),
        ];
        common::measure(all, &asked);
    }
}

/// Writes a study of runs that do nothing.
fn study(folder: &Path, tasks: usize) {
    let frame: String = (0..tasks)
        .map(|task| format!("{{\"id\":\"t{task}\"}}\n"))
        .collect();
    fs::write(folder.join("tasks.jsonl"), frame).unwrap();
    fs::write(folder.join("speed.toml"), PROTOCOL).unwrap();
}

/// 2,000 runs of /bin/true as a study on two workers, each supervised as well as this machine can, start
/// and end durable.
fn launch() {
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let doctor = Command::new(prereg).args(["doctor", "--json"]).output();
    let doctor = doctor.unwrap();
    let doctor: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let mut tiers = doctor["tiers"].as_array().unwrap().iter();
    let best = tiers.find(|tier| tier["works"] == true).unwrap();
    println!(
        "launch: {RUNS} x /bin/true, 2 at a time, in the tier {}",
        best["tier"]
    );
    let ours = || {
        let folder = common::folder();
        study(folder.path(), RUNS / 2);
        let mut run = command(&format!("{prereg} run -q speed.toml"));
        run.current_dir(folder.path());
        time(run)
    };
    let jobs: String = (0..RUNS).map(|job| format!("{job}\n")).collect();
    let beside = common::folder();
    let list = beside.path().join("jobs");
    fs::write(&list, jobs).unwrap();
    let piped = |program: &str| {
        let mut run = command(program);
        run.stdin(fs::File::open(&list).unwrap());
        time(run)
    };
    if installed("xargs") {
        compare("beside xargs -P2", 3.0, ours, || {
            piped("xargs -P2 -n1 /bin/true")
        });
    }
    if installed("parallel") {
        let theirs = || {
            piped(&format!(
                "parallel -j2 --joblog {}/log /bin/true",
                beside.path().display()
            ))
        };
        compare("beside parallel --joblog", 0.6, ours, theirs);
    }
}

fn request(action: Action) -> Request {
    Request {
        actor: "bench".to_owned(),
        key: None,
        expects: None,
        action,
    }
}

/// Playing the protocols that ship for every weakness, whether they can have it or not.
fn model() {
    println!("the model check (goal: under 1 s for each protocol that ships)");
    for entry in fs::read_dir("protocols").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let folder = prereg::folder::DiskFolder::at(Path::new("protocols"));
        let checked = check::check(&fs::read(&path).unwrap(), &folder).unwrap();
        let registration = &checked.registration;
        let started = Instant::now();
        let needed = modelcheck::check(registration).unwrap();
        let time = started.elapsed().as_secs_f64() * 1e3;
        println!(
            "  {}: {} states in {time:.1} ms",
            path.display(),
            needed.states
        );
        let started = Instant::now();
        let all = modelcheck::play(registration, &Weakness::ALL, 20_000).unwrap();
        let time = started.elapsed().as_secs_f64() * 1e6 / all.states as f64;
        let cut = if all.complete { "" } else { ", cut" };
        println!(
            "    played in any case: {} states, {time:.0} us each{cut}",
            all.states
        );
    }
}

/// One run's end, score and the next start in one transaction, beside a bare durable commit.
fn transaction() {
    println!(
        "transaction: end, score and next start, beside a bare SQLite WAL+FULL commit of one row"
    );
    const COUNT: u64 = 500;
    let folder = common::folder();
    let mut store = registered(folder.path(), 20_000);
    let mut next = 1;
    let ours = || {
        let started = Instant::now();
        for _ in 0..COUNT {
            store.write(|writer| turn(writer, &mut next)).unwrap();
        }
        started.elapsed().as_secs_f64() / COUNT as f64
    };
    let bare = rusqlite::Connection::open(folder.path().join("bare.db")).unwrap();
    bare.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (i INTEGER PRIMARY KEY, x TEXT)").unwrap();
    let theirs = || {
        let started = Instant::now();
        let mut insert = bare
            .prepare("INSERT INTO t (x) VALUES ('one small row')")
            .unwrap();
        for _ in 0..COUNT {
            insert.execute([]).unwrap();
        }
        started.elapsed().as_secs_f64() / COUNT as f64
    };
    compare("beside a bare commit", 2.0, ours, theirs);
}

/// Registers a study of runs that do nothing.
fn registered(folder: &Path, tasks: usize) -> Store {
    study(folder, tasks);
    let text = fs::read_to_string(folder.join("speed.toml")).unwrap();
    let checked = check::check(text.as_bytes(), &prereg::folder::DiskFolder::at(folder)).unwrap();
    let registration = checked.registration.digest();
    let tasks: Vec<_> = checked
        .tasks
        .iter()
        .map(|task| task.fields.clone())
        .collect();
    let mut store = Store::create(&folder.join("speed.prereg.db"), clock::now).unwrap();
    store
        .write(|writer| {
            writer.apply(request(Action::Open {
                text,
                registration: Box::new(checked.registration),
                tasks,
            }))?;
            writer.apply(request(Action::Register { registration }))
        })
        .unwrap();
    store
}

/// The whole record and its tables, beside the same rows as the shell of SQLite writes them.
fn exports() {
    const TASKS: usize = 50_000;
    println!("exports of {TASKS} tasks x 2 arms, beside the CSV of the sqlite3 shell");
    if !installed("sqlite3") {
        return;
    }
    let folder = common::folder();
    let mut store = registered(folder.path(), TASKS);
    let mut next = 1;
    let all = |writer: &mut Writer<'_>| {
        for _ in 0..=2 * TASKS {
            turn(writer, &mut next)?;
        }
        Ok(())
    };
    store.write(all).unwrap();
    drop(store);
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let record = folder.path().join("speed.prereg.db");
    let into_file = |mut run: Command| {
        run.stdout(fs::File::create(folder.path().join("out")).unwrap());
        time(run)
    };
    for (form, rows) in [
        ("", "entries"),
        ("--csv runs", "runs"),
        ("--csv slots", "runs"),
    ] {
        let ours = || {
            into_file(command(&format!(
                "{prereg} export {form} {}",
                record.display()
            )))
        };
        let theirs = || {
            let mut shell = Command::new("sqlite3");
            shell.args(["-csv", "-header"]).arg(&record);
            shell.arg(format!("SELECT * FROM {rows}"));
            into_file(shell)
        };
        compare(&format!("export {form} beside {rows}"), 0.8, ours, theirs);
    }
}

fn turn(writer: &mut Writer<'_>, next: &mut u64) -> Result<(), prereg::store::Fault> {
    use prereg::engine::start::Peek;
    use prereg::units::RunId;
    if *next > 1 {
        let run = RunId(*next - 1);
        let execution = Some(Execution {
            exit: Some(0),
            ..Execution::default()
        });
        writer.apply(request(Action::Finish {
            run,
            ending: Ending::default(),
            execution,
        }))?;
        writer.apply(request(Action::Score {
            diff: None,
            run,
            evidence: Some(Evidence::default()),
        }))?;
    }
    if let Peek::Start(start) = writer.peek()? {
        let receipt = writer.apply(request(Action::Start {
            task: start.task,
            arm: start.arm,
            executed: Executed::Here,
        }))?;
        assert!(receipt.ruling.is_ok());
        *next += 1;
    }
    Ok(())
}

fn cold_start() {
    println!("cold start");
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let many = |line: &str| (0..50).map(|_| time(command(line))).sum::<f64>() / 50.0;
    if installed("rg") {
        compare(
            "prereg --version beside rg --version",
            1.0,
            || many(&format!("{prereg} --version")),
            || many("rg --version"),
        );
    }
}

/// The finished quickstart, run again.
fn resume() {
    println!("the finished quickstart, run again (goal: under 50 ms)");
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let folder = common::folder();
    let copied = Command::new("cp")
        .arg("-r")
        .arg("protocols/.")
        .arg(folder.path())
        .status();
    assert!(copied.unwrap().success());
    for left in fs::read_dir(folder.path()).unwrap() {
        let left = left.unwrap();
        if left.file_name().to_string_lossy().contains(".prereg.db") {
            fs::remove_file(left.path()).unwrap();
        }
    }
    let run = || {
        let mut run = command(&format!("{prereg} run -q quickstart.toml"));
        run.current_dir(folder.path());
        time(run)
    };
    let first = run();
    let (again, low, high) = median((0..20).map(|_| run()).collect());
    println!(
        "  first {:.0} ms, again {:.1} ms ({:.1} to {:.1})",
        first * 1e3,
        again * 1e3,
        low * 1e3,
        high * 1e3
    );
}

/// A plan of a million slots, checked and printed.
fn large() {
    println!("100,000 tasks x 2 arms x 5 repeats (goal: under 1,000 ms each, and 300 MiB)");
    let prereg = env!("CARGO_BIN_EXE_prereg");
    let folder = common::folder();
    study(folder.path(), 100_000);
    let protocol = PROTOCOL
        .replace(
            "repeats = 1",
            "repeats = 5, run_seed = \"sha256_task_repeat\"",
        )
        .replace(
            "[study]",
            "draw = { method = \"shuffled\", seed = \"s\" }\n[study]",
        );
    fs::write(folder.path().join("speed.toml"), protocol).unwrap();
    for line in [
        "check speed.toml",
        "plan speed.toml",
        "plan speed.toml --json",
    ] {
        let once = || {
            let mut verb = command(&format!("{prereg} {line}"));
            verb.current_dir(folder.path());
            time(verb)
        };
        let (middle, low, high) = median((0..ROUNDS).map(|_| once()).collect());
        println!(
            "  {line}: {:.0} ms ({:.0} to {:.0})",
            middle * 1e3,
            low * 1e3,
            high * 1e3
        );
    }
    println!("the protocols that ship (goal: under 200 ms each)");
    for entry in fs::read_dir("protocols").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let once = || time(command(&format!("{prereg} check {}", path.display())));
            let (middle, ..) = median((0..ROUNDS).map(|_| once()).collect());
            println!("  check {}: {:.1} ms", path.display(), middle * 1e3);
        }
    }
}
