//! A session at a real terminal: what is typed there, and a terminal that is closed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it could not cover"
)]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Recipe, Study, wait_until};

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

/// A program at a terminal of its own, which `script` holds.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    /// Opens a terminal with a command of a shell at it; nothing where there is no such program.
    fn open(study: &Study, line: &str) -> Option<Self> {
        let there = Command::new("script")
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if !there.is_ok_and(|status| status.success()) {
            println!("not covered: there is no `script` to hold a terminal");
            return None;
        }
        let mut script = Command::new("script")
            .args([
                "--quiet",
                "--return",
                "--flush",
                "--command",
                line,
                "/dev/null",
            ])
            .current_dir(&study.base)
            .env("LOG", &study.log)
            .env("PREREG", env!("CARGO_BIN_EXE_prereg"))
            .env_remove("ENV")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, mut out) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let shown = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                kept.lock().unwrap().push_str(&text);
            }
        });
        Some(Self {
            script,
            keys,
            shown,
        })
    }

    fn strike(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    fn wait_for(&self, text: &str) {
        let what = format!("the terminal never showed {text:?}");
        wait_until(&what, || self.shown().contains(text));
    }

    /// Waits until the program has ended; returns its exit status.
    fn end(mut self) -> (Option<i32>, String) {
        // Its keyboard stays until then.
        let status = self.script.wait().unwrap();
        (status.code(), self.shown())
    }
}

/// Two runs at once that wait for a file, and show meanwhile that they go on.
fn waiting() -> Study {
    let arm = |answer| {
        format!(
            "echo {{run.id}} >> \"$LOG\"; while [ ! -e \"$LOG.go\" ]; do echo >> \"$LOG.beats\"; sleep 0.02; done; printf {answer} > out"
        )
    };
    Recipe {
        tasks: 2,
        repeats: 1,
        arms: [arm('a'), arm('b')],
        attempts: "per_slot = 3\nrerun = [\"cancelled\", \"lost\"]\nstale_after = \"1h\"",
        timeout: "10m",
        ..Recipe::default()
    }
    .lay()
}

const RUN: &str = "exec \"$PREREG\" run study.toml";

fn go(study: &Study) {
    fs::write(study.log.with_file_name("log.go"), "").unwrap();
}

fn await_two(study: &Study) {
    wait_until("two arms wait", || study.log().lines().count() == 2);
}

fn beats(study: &Study) -> u64 {
    let log = study.log.with_file_name("log.beats");
    fs::metadata(log).map_or(0, |file| file.len())
}

fn assert_beats(study: &Study) {
    let before = beats(study);
    wait_until("the arms stand still", || beats(study) > before);
}

/// Whoever was left is taken up, and nothing was executed twice.
fn assert_goes_on(study: &Study) {
    assert_eq!(
        study.data(&["status"])["standing"]["live"]
            .as_object()
            .unwrap()
            .len(),
        2
    );
    assert_beats(study);
    go(study);
    study.complete();
    study.verify();
    study.assert_nobody_is_left();
    assert_eq!(study.log().lines().count(), 4, "{}", study.log());
    let states = study.states();
    assert!(states.iter().all(|run| run.1 == "scored"), "{states:?}");
}

/// Opens a terminal with a session that was asked to end while two arms wait; nothing where there is none.
fn interrupted(study: &Study) -> Option<Terminal> {
    let mut terminal = Terminal::open(study, RUN)?;
    await_two(study);
    terminal.strike(CTRL_C);
    terminal.wait_for("k and Enter leaves them");
    Some(terminal)
}

#[test]
fn ctrl_c_asks_and_k_keeps_what_is_live() {
    let study = waiting();
    let Some(mut terminal) = interrupted(&study) else {
        return;
    };
    terminal.wait_for("Ctrl-C again ends them as cancelled");
    // What is typed and is no answer changes nothing.
    terminal.strike("what?\n");
    std::thread::sleep(Duration::from_millis(200));
    assert_beats(&study);
    terminal.strike("k\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(
        shown.contains("live runs go on without this session"),
        "{shown}"
    );
    assert_goes_on(&study);
}

#[test]
fn ctrl_c_without_an_answer_lets_live_runs_end() {
    let study = waiting();
    let Some(terminal) = interrupted(&study) else {
        return;
    };
    go(&study);
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    let states = study.states();
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states.iter().all(|run| run.1 == "scored"), "{states:?}");
    study.complete();
    study.verify();
}

#[test]
fn a_second_ctrl_c_ends_what_is_live() {
    let study = waiting();
    let Some(mut terminal) = interrupted(&study) else {
        return;
    };
    terminal.strike(CTRL_C);
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    study.assert_nobody_is_left();
    let states = study.states();
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states.iter().all(|run| run.2 == "cancelled"), "{states:?}");
    study.verify();
}

#[test]
fn a_closed_terminal_leaves_what_is_live() {
    let study = waiting();
    let Some(mut terminal) = Terminal::open(&study, RUN) else {
        return;
    };
    await_two(&study);
    // The terminal goes with whoever holds it.
    terminal.script.kill().unwrap();
    terminal.script.wait().unwrap();
    let is_free = || study.prereg(&["reconcile", "--json"]).code == Some(0);
    wait_until("the session never ended", is_free);
    assert_goes_on(&study);
}

/// A session that is stopped stops no run, nor their limits; it goes on where it was.
#[test]
fn a_session_is_stopped_and_goes_on() {
    let study = waiting();
    let Some(mut terminal) = Terminal::open(&study, "sh -i") else {
        return;
    };
    terminal.strike("\"$PREREG\" run study.toml\n");
    await_two(&study);
    terminal.strike(CTRL_Z);
    terminal.wait_for("Stopped");
    assert_beats(&study);
    go(&study);
    wait_until("the arms never ended", || {
        let before = beats(&study);
        std::thread::sleep(Duration::from_millis(200));
        beats(&study) == before
    });
    // Their ends are told by their supervisors, and nothing starts meanwhile.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(study.log().lines().count(), 2, "{}", study.log());
    terminal.strike("fg\n");
    terminal.wait_for("complete");
    terminal.strike("exit\n");
    let (_, shown) = terminal.end();
    assert!(!shown.contains("lost"), "{shown}");
    study.verify();
    let states = study.states();
    assert_eq!(states.len(), 4, "{states:?}");
    assert!(states.iter().all(|run| run.1 == "scored"), "{states:?}");
}
