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

#[test]
fn a_refusal_says_its_code_its_line_and_when_to_come_back() {
    let ops = [
        r#""op": "switch", "value": "on""#,
        r#""op": "register", "task": "t", "split": "full", "fail_to_pass_count": 1, "pass_to_pass_count": 1"#,
        r#""op": "start", "task": "t", "arm": "baseline""#,
        r#""op": "draw", "registration": {"seed": 7}, "from": 1, "tasks": ["t"]"#,
        r#""op": "draw", "registration": {"seed": 8}"#,
        r#""op": "draw_append", "from": 3, "tasks": ["t"]"#,
        r#""op": "start_pair", "first": {"task": "t", "arm": "baseline"}, "second": {"task": "t", "arm": "baseline"}"#,
        r#""op": "checkpoint", "run": 1"#,
        r#""op": "close", "run": 1, "cause": "lost""#,
        r#""op": "score", "run": "r1", "outcome": "scored""#,
        r#""op": "retry", "run": 2"#,
        r#""op": "deviate", "note": "the runner's disk was full""#,
        r#""op": "void", "block": 1, "reason": "the disk""#,
        r#""op": "clock""#,
        r#""op": "switch", "readable": false"#,
        r#""op": "start", "task": "t", "arm": "treatment""#,
    ];
    let said = rehearse("paired-slots.toml", history(&ops).as_bytes(), &[]);
    assert_eq!(said.lines().len(), ops.len());
    transcript!("rehearse__refusals", said.transcript());
}

#[test]
fn an_outage_says_when_it_ends() {
    let add =
        r#""op": "task_add", "split": "pilot", "fail_to_pass_count": 1, "pass_to_pass_count": 1"#;
    let mut ops = vec![r#""op": "switch", "value": "on""#.to_owned()];
    for task in ["a", "b"] {
        ops.push(format!("{add}, \"task\": \"{task}\""));
    }
    for (run, (task, arm)) in (1..).zip([("a", 0), ("a", 1), ("b", 0), ("b", 1)]) {
        let arm = ["baseline", "treatment"][arm];
        ops.push(format!(
            r#""op": "start", "task": "{task}", "arm": "{arm}""#
        ));
        let score = format!(r#""op": "score", "run": {run}, "outcome": "scored""#);
        ops.push(format!("{score}, \"stopped_on_error\": true"));
    }
    ops.push(r#""op": "start", "task": "a", "arm": "baseline""#.to_owned());
    let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
    let said = rehearse("paired-slots.toml", history(&ops).as_bytes(), &[]);
    let last = said.lines().pop().unwrap();
    assert_eq!(last["code"], "outage-hour", "{said:?}", said = said.out);
    assert_eq!(last["retry"]["class"], "later");
    assert_eq!(last["retry"]["at"], "2026-12-01T10:00:00Z");
    let text = include_str!("../protocols/paired-slots.toml");
    let line = 1 + text.lines().position(|line| line == "[outage]").unwrap();
    assert_eq!(last["registered_at"], line);
}

#[test]
fn what_this_version_cannot_enforce_is_rehearsed() {
    let ops = [r#""op": "start", "task": "no-such", "arm": "no-such""#];
    for protocol in [
        "annotated.toml",
        "block-stages.toml",
        "matrix-attempts.toml",
    ] {
        let said = rehearse(protocol, history(&ops).as_bytes(), &["--final"]);
        assert_eq!(said.code, 0, "{protocol}: {}", said.err);
        let lines = said.lines();
        assert_eq!(lines[0]["ok"], false, "{protocol}: {}", said.out);
        assert_ne!(lines[0]["code"], "actor-not-admitted", "{protocol}");
        assert!(lines[1]["registered"].is_boolean(), "{}", said.out);
    }
}

#[test]
fn a_protocol_with_defects_is_not_rehearsed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    std::fs::write(&file, "language = 2\n").unwrap();
    let said = rehearse(file.to_str().unwrap(), b"", &[]);
    assert_eq!((said.code, said.out.as_str()), (3, ""), "{}", said.err);
    assert!(said.err.contains("error["), "{}", said.err);
}

/// A line that is no operation, the code, what the caret points at, and a part of what is said.
type Malformed = (&'static str, &'static str, &'static str, &'static str);

const MALFORMED: &[Malformed] = &[
    ("", "operation", "", "the line is blank"),
    ("{", "operation", "", "the text ends too early"),
    (
        "[1]",
        "operation",
        "[1]",
        "an operation is an object with `op` and `at`, and not an array",
    ),
    (
        r#"{"op":"clock","op":"clock","at":"2026-12-01T09:00:00Z"}"#,
        "operation",
        "",
        "twice",
    ),
    (
        r#"{"at":"2026-12-01T09:00:00Z"}"#,
        "missing-key",
        r#"{"at":"2026-12-01T09:00:00Z"}"#,
        "no `op`, which says what it is",
    ),
    (
        r#"{"op":"strat","at":"2026-12-01T09:00:00Z"}"#,
        "word",
        r#""strat""#,
        "did you mean `start`?",
    ),
    (
        r#"{"op":"teleport","at":"2026-12-01T09:00:00Z"}"#,
        "word",
        r#""teleport""#,
        "the operations are start, start_pair, finish",
    ),
    (
        r#"{"op":7,"at":"2026-12-01T09:00:00Z"}"#,
        "word",
        "7",
        "`7` is not an operation",
    ),
    (
        r#"{"op":"clock"}"#,
        "missing-key",
        r#"{"op":"clock"}"#,
        "`clock` needs `at`, a time",
    ),
    (
        r#"{"op":"clock","at":"yesterday"}"#,
        "type",
        r#""yesterday""#,
        "`at` must be a time from 1970 on such as \"2026-12-01T10:00:00Z\", and not the text",
    ),
    (
        r#"{"op":"clock","at":"2026-12-01T09:00:00Z","an":1}"#,
        "unknown-key",
        r#""an""#,
        "did you mean `at`?",
    ),
    (
        r#"{"op":"start","at":"2026-12-01T09:00:00Z","task":"t"}"#,
        "missing-key",
        r#"{"op":"start","at":"2026-12-01T09:00:00Z","task":"t"}"#,
        "`start` needs `arm`, a text in double quotes",
    ),
    (
        r#"{"op":"start","at":"2026-12-01T09:00:00Z","task":"t","arm":null}"#,
        "missing-key",
        r#"{"op":"start","at":"2026-12-01T09:00:00Z","task":"t","arm":null}"#,
        "`start` needs `arm`",
    ),
    (
        r#"{"op":"start_pair","at":"2026-12-01T09:00:00Z","first":{"task":"t","arm":"a"},"second":{"task":"t","arm":2}}"#,
        "type",
        "2",
        "`arm` must be a text in double quotes, and not `2`",
    ),
    (
        r#"{"op":"start_pair","at":"2026-12-01T09:00:00Z","first":"t","second":{"task":"t","arm":"a"}}"#,
        "type",
        r#""t""#,
        "`first` must be an object in braces",
    ),
    (
        r#"{"op":"score","at":"2026-12-01T09:00:00Z","run":"1","outcome":"scored"}"#,
        "type",
        r#""1""#,
        "`run` must be a run such as \"r1\", or its number",
    ),
    (
        r#"{"op":"score","at":"2026-12-01T09:00:00Z","run":1,"outcome":"score"}"#,
        "word",
        r#""score""#,
        "did you mean `scored`?",
    ),
    (
        r#"{"op":"close","at":"2026-12-01T09:00:00Z","run":1,"cause":"stale"}"#,
        "word",
        r#""stale""#,
        "`cause` must be one of failed, cancelled, lost, and not the text",
    ),
    (
        r#"{"op":"finish","at":"2026-12-01T09:00:00Z","run":1,"exit":3000000000}"#,
        "type",
        "3000000000",
        "`exit` must be an exit status such as 0",
    ),
    (
        r#"{"op":"finish","at":"2026-12-01T09:00:00Z","run":1,"cost":2.5}"#,
        "type",
        "2.5",
        "`cost` must be an amount such as \"2.50 USD\"",
    ),
    (
        r#"{"op":"void","at":"2026-12-01T09:00:00Z","block":-1,"reason":"r"}"#,
        "type",
        "-1",
        "`block` must be a whole number from 0",
    ),
    (
        r#"{"op":"draw","at":"2026-12-01T09:00:00Z","from":1}"#,
        "missing-key",
        r#"{"op":"draw","at":"2026-12-01T09:00:00Z","from":1}"#,
        "`draw` needs `tasks`",
    ),
    (
        r#"{"op":"draw","at":"2026-12-01T09:00:00Z","registration":{"sead":1}}"#,
        "unknown-key",
        r#""sead""#,
        "did you mean `seed`?",
    ),
    (
        r#"{"op":"task_add","at":"2026-12-01T09:00:00Z","task":"t","id":"t"}"#,
        "unknown-key",
        r#""id""#,
        "`task_add` has no field `id`",
    ),
    (
        r#"{"op":"clock","at":"2026-11-30T09:00:00Z"}"#,
        "operation",
        r#""2026-11-30T09:00:00Z""#,
        "is earlier than 2026-12-01T08:00:00Z on line 1; time never goes back",
    ),
];

#[test]
fn every_malformed_line_is_told_with_its_place() {
    let first = r#"{"op":"clock","at":"2026-12-01T08:00:00Z"}"#;
    for (line, code, place, says) in MALFORMED {
        let history = format!("{first}\n{line}\n");
        let told = defects(&history);
        assert_eq!(told.len(), 1, "{line}: {told:?}");
        let found = &told[0];
        assert_eq!(
            (&found["code"], &found["line"]),
            (&(*code).into(), &2.into()),
            "{line}"
        );
        assert_eq!(found["file"], "standard input");
        let said = ["message", "label", "note"].map(|part| found[part].as_str().unwrap_or(""));
        let said = said.join("; ");
        assert!(said.contains(says), "{line}: {said}");
        if !place.is_empty() {
            let column = |name: &str| found[name].as_u64().unwrap() as usize - 1;
            assert_eq!(
                &&line[column("column")..column("end_column")],
                place,
                "{line}"
            );
        }
    }
}

/// Returns what is wrong with a history, as data; nothing of it may be played.
fn defects(history: &str) -> Vec<Value> {
    let said = rehearse("paired-slots.toml", history.as_bytes(), &["--json"]);
    assert_eq!(said.code, 3, "{history}: {}", said.out);
    let error: Value = serde_json::from_str(&said.out).unwrap();
    error["error"]["defects"].as_array().unwrap().clone()
}

#[test]
fn all_defects_are_drawn_and_nothing_is_played() {
    let lines = [
        r#"{"op":"clock","at":"2026-12-01T08:00:00Z"}"#,
        r#"{"op":"strat","at":"2026-12-01T09:00:00Z","task":"t","arm":"a"}"#,
        "",
        r#"{"op":"score","at":"2026-12-01T09:01:00Z","run":"one","outcom":"scored"}"#,
        r#"{"op":"clock","at":"2026-12-01T07:00:00Z"}"#,
        r#"{"op":"clock","at":"2026-12-01T09:02:00Z""#,
    ];
    let said = rehearse(
        "paired-slots.toml",
        lines.join("\n").as_bytes(),
        &["--final"],
    );
    transcript!("rehearse__defects", said.transcript());
}

#[test]
fn what_is_not_text_is_told_where_it_is() {
    let line = "{\"op\":\"clock\",\"at\":\"2026-12-01T08:00:00Z\"}\n";
    let bytes = [
        line.as_bytes(),
        b"{\"op\":\"\xff\xff\xff\"}\n",
        b"{\"op\":\"\xff\"}\n",
    ]
    .concat();
    let said = rehearse("paired-slots.toml", &bytes, &[]);
    assert_eq!(said.code, 3);
    for place in ["standard input:2:8", "standard input:3:8"] {
        assert!(said.err.contains(place), "{}", said.err);
    }
}

#[test]
fn a_history_that_is_not_there_is_a_defect() {
    let output = Command::new(env!("CARGO_BIN_EXE_prereg"))
        .args(["rehearse", "protocols/paired-slots.toml", "no-such.jsonl"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("there is no such file") && said.ends_with("nothing played\n"),
        "{said}"
    );
}

#[test]
fn the_page_names_every_operation() {
    let page = include_str!("../docs/rehearse.md");
    for name in op::names() {
        assert!(
            page.contains(&format!("`{name}")),
            "docs/rehearse.md has no `{name}`"
        );
    }
}
