//! The verb `rehearse`: what is answered to a history, and what is wrong with one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use prereg::engine::rehearsal::op;
use serde_json::Value;

/// What the program said.
struct Said {
    out: String,
    err: String,
    code: i32,
}

impl Said {
    fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn transcript(&self) -> String {
        format!(
            "{}--- stderr\n{}--- exit {}\n",
            self.out, self.err, self.code
        )
    }
}

/// Rehearses a history of a shipped protocol, given on standard input.
fn rehearse(protocol: &str, history: &[u8], more: &[&str]) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_prereg"))
        .args(["rehearse", protocol, "-"])
        .args(more)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = history.to_vec();
    // A program that has seen enough closes its end.
    let feeder = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    let _ = feeder.join().unwrap();
    Said {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

/// Writes a history: every operation a minute after the one before.
fn history(ops: &[&str]) -> String {
    let minutes = 0_u32..;
    let lines = ops.iter().zip(minutes).map(|(op, minute)| {
        let (hour, minute) = (9 + minute / 60, minute % 60);
        format!("{{\"at\": \"2026-12-01T{hour:02}:{minute:02}:00Z\", {op}}}\n")
    });
    lines.collect()
}

macro_rules! transcript {
    ($name:literal, $text:expr) => {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!($name, $text));
    };
}

const SHIPPED: &str = include_str!("../protocols/paired-slots/history.jsonl");

#[test]
fn the_shipped_history_gets_stuck_as_its_protocol_says() {
    let said = rehearse("paired-slots.toml", SHIPPED.as_bytes(), &["--final"]);
    transcript!("rehearse__stuck", said.transcript());
}

#[test]
fn lines_are_the_same_with_json_and_from_a_file() {
    let plain = rehearse("paired-slots.toml", SHIPPED.as_bytes(), &[]);
    let json = rehearse("paired-slots.toml", SHIPPED.as_bytes(), &["--json"]);
    assert_eq!((&plain.out, plain.code), (&json.out, 0));
    let file = Command::new(env!("CARGO_BIN_EXE_prereg"))
        .args(["rehearse", "protocols/paired-slots.toml"])
        .arg("protocols/paired-slots/history.jsonl")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(file.stdout).unwrap(), plain.out);
    assert_eq!(plain.lines().len(), SHIPPED.lines().count());
}
