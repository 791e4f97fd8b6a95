//! Small studies in temporary folders, and the real binary run on them.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses the part that it needs"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up: far more than it needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A judge that finds the run correct if `out` holds the arm's answer.
pub const JUDGE: &str = r#"#!/bin/sh
bytes=0
correct=false
if [ -f out ]; then
    bytes=$(wc -c <out)
    [ "$(cat out)" = b ] && correct=true
fi
printf '{"correct": %s, "bytes": %d}\n' "$correct" "$((bytes))" >report.json
"#;

const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "required": ["correct", "bytes"],
  "properties": {
    "correct": { "type": "boolean" },
    "bytes": { "type": "integer", "minimum": 0 },
    "note": { "type": "string" }
  }
}
"#;

/// What a study is made of; each part is a piece of its protocol.
pub struct Recipe {
    pub tasks: usize,
    pub repeats: usize,
    /// The shell commands of the arms `a` and `b`.
    pub arms: [String; 2],
    pub controls: bool,
    pub runs_max: usize,
    pub attempts: &'static str,
    pub timeout: &'static str,
    pub grace: &'static str,
    pub output_max: &'static str,
    pub workspace: &'static str,
    pub env_pass: &'static str,
    pub judge: String,
    pub judge_timeout: &'static str,
    /// Lines of the table `judge`.
    pub judge_more: &'static str,
    pub seal: bool,
    /// Files beside the protocol, made executable where they begin with `#!`.
    pub files: Vec<(&'static str, String)>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            tasks: 2,
            repeats: 2,
            arms: ["printf a > out".to_owned(), "printf b > out".to_owned()],
            controls: false,
            runs_max: 2,
            attempts: "per_slot = 3\nrerun = [\"unjudged\", \"lost\", \"stale\"]\nstale_after = \"1h\"",
            timeout: "20s",
            grace: "1s",
            output_max: "1MiB",
            workspace: "\"empty\"",
            env_pass: "\"PATH\", \"LOG\"",
            judge: JUDGE.to_owned(),
            judge_timeout: "20s",
            judge_more: "",
            seal: false,
            files: Vec::new(),
        }
    }
}

impl Recipe {
    /// Returns the text of the protocol.
    pub fn protocol(&self) -> String {
        let [a, b] = self.arms.each_ref().map(|arm| arm_command(arm));
        let controls = if self.controls {
            "[[controls]]\nid = \"right\"\ncommand = [\"sh\", \"-c\", \"printf b > out\"]\nexpect = \"all_resolved\"\n\
             [[controls]]\nid = \"nothing\"\ncommand = [\"true\"]\nexpect = \"none_resolved\"\n"
        } else {
            ""
        };
        let Self {
            tasks,
            repeats,
            runs_max,
            attempts,
            timeout,
            grace,
            output_max,
            workspace,
            env_pass,
            judge_timeout,
            judge_more,
            seal,
            ..
        } = self;
        let mut accepted = String::new();
        if self.tasks == 1 && self.repeats == 1 {
            // The only arm that is ever first.
            accepted.push_str("\"order-unbalanced\" = \"a test of the program, not of arms\"\n");
        }
        for (name, applies) in [("no-control", !self.controls), ("outcomes-unsealed", !seal)] {
            if applies {
                accepted.push_str(&format!(
                    "\"{name}\" = \"a test of the program, not of arms\"\n"
                ));
            }
        }
        format!(
            r#"language = 1
[study]
id = "study"
title = "A study of a test"
question = "Does b pass more tasks than a?"
hypotheses = ["b passes more tasks than a"]
kind = "confirmatory"
[tasks]
frame = "tasks.jsonl"
[draw]
method = "shuffled"
seed = "a text"
size = {tasks}
[[arms]]
id = "a"
command = {a}
[[arms]]
id = "b"
command = {b}
differs = ["command"]
{controls}[allocation]
nest = ["task", "repeat", "arm"]
repeats = {repeats}
arms = "counterbalanced"
by = "plan"
block = "task"
serial = "block"
runs_max = {runs_max}
[attempts]
{attempts}
[execution]
workspace = {workspace}
timeout = "{timeout}"
grace = "{grace}"
output_max = "{output_max}"
env = {{ LC_ALL = "C" }}
env_pass = [{env_pass}]
[claim]
file = "claim.json"
done = "claim.done"
[judge]
command = ["./judge.sh"]
report = "report.json"
schema = "report.schema.json"
timeout = "{judge_timeout}"
{judge_more}
[[outcomes]]
id = "passed"
kind = "binary"
value = "report.correct"
better = "higher"
missing = 0
[[outcomes]]
id = "false_claim"
kind = "binary"
value = "claim.done && !outcomes.passed"
better = "lower"
missing = 0
[analysis]
reference = "a"
treatments = ["b"]
alpha = 0.05
seal = {seal}
[analysis.primary]
outcome = "passed"
estimand = "as_drawn"
test = "sign_flip"
objective = "superiority"
[[analysis.secondary]]
id = "claims"
outcome = "false_claim"
[analysis.multiplicity]
method = "holm"
[limitations]
"unpinned-command" = "sh is found on PATH and not probed"
"few-tasks" = "a test of the program, not of arms"
{accepted}"#
        )
    }

    /// Writes the study into a folder of its own.
    pub fn lay(&self) -> Study {
        let folder = tempfile::tempdir().unwrap();
        let study = Study {
            log: folder.path().join("log"),
            base: folder.path().join("study"),
            env: BTreeMap::new(),
            folder,
        };
        fs::create_dir(&study.base).unwrap();
        study.write("study.toml", &self.protocol());
        study.write("judge.sh", &self.judge);
        study.write("report.schema.json", SCHEMA);
        let tasks = (0..self.tasks).map(|task| format!("{{\"id\": \"t{task}\"}}\n"));
        study.write("tasks.jsonl", &tasks.collect::<String>());
        for (path, text) in &self.files {
            study.write(path, text);
        }
        study
    }
}

/// Returns an arm's command: words where the text is a list, else a line for the shell.
fn arm_command(arm: &str) -> String {
    if arm.starts_with('[') {
        arm.to_owned()
    } else {
        format!("[\"sh\", \"-c\", '''{arm}''']")
    }
}

/// A study in a temporary folder.
pub struct Study {
    /// Holds everything, and goes with the study.
    pub folder: TempDir,
    /// The folder of the protocol.
    pub base: PathBuf,
    /// A file outside of it that arms may write to; its path is in `LOG`.
    pub log: PathBuf,
    /// What the binary's environment has besides.
    pub env: BTreeMap<String, String>,
}

impl Study {
    /// Writes a file beside the protocol.
    pub fn write(&self, path: &str, text: &str) {
        let place = self.base.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Returns the record.
    pub fn record(&self) -> PathBuf {
        self.base.join("study.prereg.db")
    }

    /// Returns the binary with some arguments, to be run in the study's folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = prereg(arguments);
        command
            .current_dir(&self.base)
            .env("LOG", &self.log)
            .envs(&self.env);
        command
    }

    /// Runs the binary to its end.
    pub fn prereg(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// Runs the binary, which must say yes, and returns its data.
    pub fn data(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        let said = self.prereg(&all);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
        said.json()
    }

    /// Registers the study.
    pub fn register(&self) {
        self.data(&["register", "study.toml"]);
    }

    /// Runs the study, which must complete.
    pub fn complete(&self) {
        let said = self.prereg(&["run", "study.toml"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.starts_with("complete"), "{said:?}");
    }

    /// Verifies the record, which must hold.
    pub fn verify(&self) {
        let said = self.prereg(&["verify", "study.prereg.db"]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }

    /// Starts the binary and leaves it to itself.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Returns every run as `show` says it.
    pub fn runs(&self) -> Vec<Value> {
        let status = self.data(&["status", "study.prereg.db"]);
        let runs = status["standing"]["runs"].as_u64().unwrap();
        (1..=runs)
            .map(|run| self.data(&["show", &run.to_string()]))
            .collect()
    }

    /// Returns every run as its arm, its state and its cause.
    pub fn states(&self) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let runs = self.runs();
        let told = |run: &Value| (text(&run["arm"]), text(&run["state"]), text(&run["cause"]));
        runs.iter().map(told).collect()
    }

    /// Returns the bodies of the record's entries, in order.
    pub fn entries(&self) -> Vec<Value> {
        let said = self.prereg(&["export", "study.prereg.db"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let lines = said.out.lines().skip(1);
        lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone())
            .collect()
    }

    /// Returns what stands in the log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Asserts that soon no process is left that an arm or a judge of this study began.
    pub fn assert_nobody_is_left(&self) {
        let tag = format!("LOG={}", self.log.display());
        wait_until("a process is left", || processes(&tag).is_empty());
    }
}

/// Returns the best tier of containment of this machine.
pub fn best_tier() -> &'static str {
    static FOUND: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_prereg"));
        let said = Said::of(doctor.args(["doctor", "--json"]).output().unwrap());
        said.json()["containment"].as_str().unwrap().to_owned()
    })
}

/// Returns whether an arm has a view of the files of its own here.
pub fn has_own_view() -> bool {
    best_tier().starts_with("pidns")
}

/// What the binary said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Takes what came of a process. No process of ours ever panics.
    pub fn of(output: Output) -> Self {
        let said = Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        assert!(!said.err.contains("panicked"), "{said:?}");
        said
    }

    /// Returns the data that was said.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the code of the refusal, defect, fault or divergence that was said as data.
    pub fn error_code(&self) -> String {
        let json = self.json();
        json["error"]["code"].as_str().unwrap_or("").to_owned()
    }
}

/// Returns the binary with some arguments.
pub fn prereg(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prereg"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Returns whether a process is there and has not ended; one that nobody has taken in yet has.
pub fn is_alive(pid: impl std::fmt::Display) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    !matches!(state, None | Some("Z" | "X"))
}

/// Waits until something is so, for far longer than it should take.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}, after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a process and returns what it said; ends it when it takes too long.
pub fn end_of(child: Child) -> Said {
    let pid = rustix::process::Pid::from_child(&child);
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if waiting.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    guard.join().unwrap();
    Said::of(output)
}

/// Returns the living processes whose environment has a line.
pub fn processes(tag: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        let Some(pid) = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok())
        else {
            continue;
        };
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        let has_it = environment
            .split(|byte| *byte == 0)
            .any(|line| line == tag.as_bytes());
        if has_it {
            found.push(pid);
        }
    }
    found
}

/// Returns every file below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// Numbers that look random and come again for the same seed.
pub struct Dice(u64);

impl Dice {
    /// Takes the seed from the environment or the clock, and prints it.
    pub fn new(name: &str) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let clock = since.unwrap().as_nanos() as u64;
        let seed = match std::env::var("PREREG_TEST_SEED") {
            Ok(text) => text.parse().unwrap(),
            Err(_) => clock,
        };
        println!("{name}: PREREG_TEST_SEED={seed}");
        Self(seed)
    }

    /// Returns the next number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
