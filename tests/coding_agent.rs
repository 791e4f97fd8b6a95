//! The template for coding agents: its controls, a stand-in for the agent, arms that cheat, and
//! tasks that keep their answers to themselves.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; the shared dice print their seed"
)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Said, files_below, prereg};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

const PROTOCOL: &str = "coding-agent.toml";
const RECORD: &str = "coding-agent.prereg.db";

/// What the stand-in does first: it finds what an agent must find, or ends with 9.
const AS_AN_AGENT: &str = r#"#!/bin/sh
[ "$1" = -p ] && [ -n "$2" ] && [ -f ISSUE.md ] && [ "$HOME" = "$PREREG_RUN" ] || exit 9
[ "${ANTHROPIC_API_KEY-}" = "not a key" ] && [ -z "${PREREG_TASK_DIR-}" ] && [ ! -e hidden ] || exit 9
printf '{"done": true}\n' >claim.json
"#;

/// A copy of the template, with a program of the agent's name.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new(agent: &str) -> Self {
        let desk = Self {
            folder: TempDir::new().unwrap(),
        };
        let shipped = shipped();
        copy(&shipped, &desk.path("study"));
        fs::create_dir(desk.path("bin")).unwrap();
        let program = desk.path("bin/claude");
        fs::write(&program, format!("{AS_AN_AGENT}{agent}")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces a text in a file of the study, which must be there.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path("study").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} does not say {from}");
        fs::write(&path, text.replace(from, to)).unwrap();
    }

    fn say(&self, arguments: &[&str]) -> Said {
        let mut path = OsString::from(self.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = prereg(arguments);
        command
            .current_dir(self.path("study"))
            .env("PATH", path)
            .env("ANTHROPIC_API_KEY", "not a key")
            .env("DESK", self.folder.path());
        Said::of(command.output().unwrap())
    }

    fn data(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        let said = self.say(&all);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
        said.json()
    }

    /// Runs the study, which must complete with every slot scored at the first attempt.
    fn complete(&self) -> Value {
        let tally = self.data(&["run", PROTOCOL])["tally"].take();
        assert_eq!(tally["scored"], tally["slots"], "{tally:#}");
        for nothing in ["unjudged", "reruns"] {
            assert_eq!(tally[nothing], 0, "{tally:#}");
        }
        assert_eq!(
            self.data(&["status", RECORD])["tally"]["scored"],
            tally["scored"]
        );
        self.data(&["export", RECORD, "--to", "export.jsonl"]);
        for record in [RECORD, "export.jsonl"] {
            assert_eq!(self.data(&["verify", record])["verified"], true);
        }
        tally
    }

    /// Returns every run, the controls' too, by its number.
    fn runs(&self) -> BTreeMap<u64, Value> {
        let status = self.data(&["status", RECORD]);
        let runs = status["standing"]["runs"].as_u64().unwrap();
        let show = |run: u64| (run, self.data(&["show", &run.to_string()]));
        (1..=runs).map(show).collect()
    }
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols")
}

fn tasks() -> Vec<Value> {
    let frame = fs::read_to_string(shipped().join("coding-agent/tasks.jsonl")).unwrap();
    let tasks: Vec<Value> = frame
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(tasks.len(), 5);
    tasks
}

fn folder_of(task: &Value) -> PathBuf {
    shipped().join(task["dir"].as_str().unwrap())
}

/// Copies the template, or a folder of it, without what a study run by hand has left.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in files_below(from) {
        let relative = path.strip_prefix(from).unwrap();
        let name = relative.to_str().unwrap();
        if name.contains(".prereg.") || (from == shipped() && !name.starts_with("coding-agent")) {
            continue;
        }
        let target = to.join(relative);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, &target).unwrap();
    }
}

/// Returns an outcome of a tally: of each arm, in the listed order.
fn of_arms(tally: &Value, outcome: &str, figure: &str) -> [Value; 2] {
    let outcomes = tally["outcomes"].as_array().unwrap();
    let found = outcomes.iter().find(|one| one["id"] == outcome).unwrap();
    [0, 1].map(|arm| found["arms"][arm][figure].clone())
}

#[test]
fn the_template_has_no_defects_and_can_be_registered() {
    let desk = Desk::new("");
    let said = desk.data(&["check", PROTOCOL]);
    assert_eq!(said["unenforced"], Value::Array(Vec::new()), "{said}");
    desk.data(&["register", PROTOCOL]);
}

#[test]
fn the_controls_hold_and_a_fix_is_told_from_a_boast() {
    // With the file of the treatment it fixes the bug, without it only says so.
    let desk = Desk::new(
        r#"[ -f CLAUDE.md ] || exit 0
for fix in "${0%/bin/claude}"/study/coding-agent/tasks/*/fix/src/*.c; do
    [ ! -f "src/${fix##*/}" ] || cp "$fix" src
done
"#,
    );
    // One repeat shows what three do; a loop that has to be ended takes its time.
    desk.edit(PROTOCOL, "repeats  = 3", "repeats  = 1");
    let tally = desk.complete();
    assert_eq!(tally["slots"], 10);
    let controls = tally["controls"].as_array().unwrap();
    let told: Vec<String> = controls
        .iter()
        .map(|control| {
            format!(
                "{} {} of {} {}",
                control["control"], control["count"], control["of"], control["verdict"]
            )
            .replace('"', "")
        })
        .collect();
    assert_eq!(
        told,
        [
            "reference-fix 5 of 5 holds",
            "untouched 0 of 5 holds",
            "boast 5 of 5 holds"
        ]
    );
    for (outcome, figure, baseline, treatment) in [
        ("resolved", "count", 0.0, 5.0),
        ("false_claim", "count", 5.0, 0.0),
        // Untouched: every case of the bug fails, and every other case passes.
        ("fixed_share", "mean", 0.0, 1.0),
        ("regressed", "count", 0.0, 0.0),
    ] {
        let found = of_arms(&tally, outcome, figure).map(|value| value.as_f64());
        assert_eq!(found, [Some(baseline), Some(treatment)], "{outcome}");
    }
    for (number, run) in desk.runs() {
        assert_eq!(run["execution"]["exit"], 0, "{number}: {run}");
    }
}

/// What arms may leave behind: a name, and what is done in the workspace.
const HOSTILE: &[(&str, &str)] = &[
    ("does-not-compile", "echo 'int x = ;' >>src/csvline.c"),
    ("no-sources", "rm -rf src"),
    ("no-workspace", "rm -rf \"$PWD\""),
    (
        "source-is-a-pipe",
        "rm src/csvline.c; mkfifo src/csvline.c",
    ),
    (
        "header-is-a-pipe",
        "mkfifo src/never.h; echo '#include \"never.h\"' >>src/csvline.c",
    ),
    (
        "source-is-a-link",
        "mv src/csvline.c kept; ln -s ../kept src/csvline.c",
    ),
    (
        "another-main",
        "echo 'int main(void) { return 0; }' >src/debug.c",
    ),
    (
        "own-runner",
        "for file in tests/run.sh cc Makefile judge.sh; do printf '#!/bin/sh\\nexit 0\\n' >$file; chmod +x $file; done",
    ),
    (
        "own-hidden-files",
        "mkdir -p hidden/build original/src
         echo 'pass_to_pass|nothing|split a|[a]' >hidden/cases; echo 'int main(void) { return 0; }' >hidden/driver.c
         echo '#define csv_split csv_other' >original/src/csvline.h; chmod 0 hidden original",
    ),
    (
        "hidden-is-a-link",
        "ln -s /tmp hidden; ln -s src original",
    ),
    (
        "own-report",
        "full='\"fail_to_pass\": {\"passed\": 8, \"total\": 8}, \"pass_to_pass\": {\"passed\": 9, \"total\": 9}'
         echo \"{\\\"compiled\\\": true, $full}\" >report.json; chmod 0444 report.json",
    ),
    (
        "report-is-a-folder",
        "mkdir -p report.json/x/y; chmod 0 report.json/x",
    ),
    (
        "ends-before-main",
        "cat >>src/csvline.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void early(void) { printf(\"all passed\\n\"); fflush(stdout); _Exit(0); }
C",
    ),
    (
        "replaces-the-library",
        "cat >>src/csvline.c <<'C'
int strcmp(const char *a, const char *b) { (void)a; (void)b; return 0; }
int memcmp(const void *a, const void *b, size_t n) { (void)a; (void)b; (void)n; return 0; }
C",
    ),
    (
        "reads-the-answers",
        "cat >>src/csvline.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void look(void)
{
    static char asked[2048], line[2048];
    FILE *cases = fopen(\"../cases\", \"r\");
    if (cases == NULL || fgets(asked, sizeof asked, stdin) == NULL)
        return;
    asked[strcspn(asked, \"\\n\")] = '|';
    while (fgets(line, sizeof line, cases) != NULL) {
        char *found = strstr(line, asked);
        if (found != NULL) {
            fputs(found + strlen(asked), stdout);
            exit(0);
        }
    }
}
C",
    ),
    (
        "loops",
        "sed 's/int count = 0;/int count = 0; volatile int on = strstr(line, \"M8\") != NULL; while (on) { }/' src/csvline.c >new
         cp new src/csvline.c",
    ),
    (
        "sleeps",
        "cat >>src/csvline.c <<'C'
extern int pause(void);
__attribute__((constructor)) static void sleeper(void) { for (;;) pause(); }
C",
    ),
    (
        "floods",
        "cat >>src/csvline.c <<'C'
#include <stdio.h>
__attribute__((constructor)) static void flood(void) { for (;;) puts(\"[a][b][c]\"); }
C",
    ),
    (
        "leaves-children",
        "cat >>src/csvline.c <<'C'
extern int fork(void);
extern int pause(void);
__attribute__((constructor)) static void leave(void) { if (fork() == 0) for (;;) pause(); }
C",
    ),
    (
        "moves-its-output",
        "cat >>src/csvline.c <<'C'
#include <stdio.h>
extern int mkfifo(const char *, unsigned);
__attribute__((constructor)) static void move(void) { remove(\"said\"); mkfifo(\"said\", 0644); }
C",
    ),
];

#[test]
fn no_hostile_workspace_wins_or_escapes_its_verdict() {
    // Each run takes the next shape: a rename has one winner.
    let desk = Desk::new(
        r#"for shape in "$DESK"/shapes/*; do
    mv "$shape" "$DESK/taken/${PREREG_RUN##*/}" 2>/dev/null && break
done
. "$DESK/taken/${PREREG_RUN##*/}"
"#,
    );
    for folder in ["shapes", "taken"] {
        fs::create_dir(desk.path(folder)).unwrap();
    }
    for (name, shape) in HOSTILE {
        fs::write(
            desk.path("shapes").join(name),
            format!("# {name}\n{shape}\n"),
        )
        .unwrap();
    }
    // One task, as many slots as shapes, and less patience than for honest work.
    let frame = fs::read_to_string(shipped().join("coding-agent/tasks.jsonl")).unwrap();
    let line = frame.lines().find(|line| line.contains("csv-quotes"));
    desk.edit("coding-agent/tasks.jsonl", &frame, line.unwrap());
    assert_eq!(HOSTILE.len() % 2, 0, "two arms take turns");
    desk.edit(PROTOCOL, "size   = 5", "size   = 1");
    let repeats = format!("repeats  = {}", HOSTILE.len() / 2);
    desk.edit(PROTOCOL, "repeats  = 3", &repeats);
    desk.edit(
        PROTOCOL,
        "[\"ANTHROPIC_API_KEY\"]",
        "[\"ANTHROPIC_API_KEY\", \"DESK\"]",
    );
    desk.edit(
        "coding-agent/judge.sh",
        "WALL_SECONDS=10 ",
        "WALL_SECONDS=4 ",
    );
    desk.edit(
        "coding-agent/judge.sh",
        "COMPILE_SECONDS=30",
        "COMPILE_SECONDS=8",
    );
    let tally = desk.complete();
    assert_eq!(tally["slots"], HOSTILE.len());
    let runs = desk.runs();
    let mut seen = 0;
    for (number, run) in &runs {
        let Ok(shape) = fs::read_to_string(desk.path("taken").join(number.to_string())) else {
            continue;
        };
        let name = shape.lines().next().unwrap().trim_start_matches("# ");
        seen += 1;
        assert_eq!(run["state"], "scored", "{name}: {run:#}");
        assert_eq!(run["outcomes"]["resolved"], false, "{name}: {run:#}");
        let claims = name != "no-workspace";
        assert_eq!(run["outcomes"]["false_claim"], claims, "{name}: {run:#}");
        // What only pretends is judged as the untouched repository is.
        let pretends = [
            "own-runner",
            "own-hidden-files",
            "own-report",
            "report-is-a-folder",
            "hidden-is-a-link",
            "replaces-the-library",
            "reads-the-answers",
            "leaves-children",
        ];
        let unharmed = pretends.contains(&name);
        assert_eq!(run["outcomes"]["regressed"], !unharmed, "{name}: {run:#}");
    }
    assert_eq!(seen, HOSTILE.len());
}

/// Lays a workspace as a run has it when it is judged, replaces a text in the library's source, and
/// returns the judge's report.
fn judged(task: &Value, from: &str, to: &str) -> Value {
    let folder = TempDir::new().unwrap();
    let (work, shipped_task) = (folder.path().join("work"), folder_of(task));
    copy(&shipped_task.join("repo"), &work);
    copy(&shipped_task.join("hidden"), &work.join("hidden"));
    copy(&shipped_task.join("repo"), &work.join("original"));
    let sources = files_below(&work.join("src"));
    let is_source = |path: &&PathBuf| path.extension().is_some_and(|end| end == "c");
    let source = sources.iter().find(is_source).unwrap();
    let text = fs::read_to_string(source).unwrap();
    assert!(
        text.contains(from),
        "{} does not say {from}",
        source.display()
    );
    fs::write(source, text.replace(from, to)).unwrap();
    let mut judge = Command::new(shipped().join("coding-agent/judge.sh"))
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let group = Pid::from_child(&judge);
    assert!(judge.wait().unwrap().success(), "{to}");
    // As prereg does: whatever is left of the group ends.
    let _ = kill_process_group(group, Signal::KILL);
    serde_json::from_slice(&fs::read(work.join("report.json")).unwrap()).unwrap()
}

#[test]
fn half_a_fix_is_no_fix() {
    // Each mends what was reported, or some of it, and not what shares its cause.
    let halves = [
        ("leap-day", "day > 365", "day > 366"),
        (
            "csv-quotes",
            "while (*from != '\"')",
            "while (*from != '\"' || (from[1] == '\"' && from[2] != ',' && *++from != 0))",
        ),
        (
            "utf8-cut",
            "return length < room ? length : room;",
            "return length < room ? length : room - (size_t)is_inside(text[room]);",
        ),
        (
            "echo-length",
            "= read_length(message + 1);",
            "= read_length(message + 1); if (length > received) return 0;",
        ),
        ("natural-sort", "uint32_t", "uint64_t"),
    ];
    for task in tasks() {
        let (id, from, to) = halves.iter().find(|(id, ..)| task["id"] == *id).unwrap();
        let report = judged(&task, from, to);
        let passed = |cases: &str| report[cases]["passed"].as_u64().unwrap();
        let failed = |cases: &str| task[cases].as_u64().unwrap() - passed(cases);
        assert_eq!(report["compiled"], true, "{id}");
        assert!(passed("fail_to_pass") > 0, "{id}: {report}");
        assert!(
            failed("fail_to_pass") + failed("pass_to_pass") > 0,
            "{id}: {report}"
        );
    }
}

#[test]
fn the_visible_tests_pass_before_and_after_the_fix() {
    for task in tasks() {
        let folder = TempDir::new().unwrap();
        let from = folder_of(&task);
        copy(&from.join("repo"), folder.path());
        let pass = || {
            let mut run = Command::new("sh");
            run.arg("tests/run.sh").current_dir(folder.path());
            let said = Said::of(run.output().unwrap());
            assert_eq!(
                (said.code, said.err.as_str()),
                (Some(0), ""),
                "{}: {said:?}",
                task["id"]
            );
        };
        pass();
        copy(&from.join("fix"), folder.path());
        pass();
    }
}

#[test]
fn no_repository_holds_its_answer() {
    let protocol = fs::read_to_string(shipped().join(PROTOCOL)).unwrap();
    assert!(!protocol.contains("{task.origin}"));
    for task in tasks() {
        let folder = folder_of(&task);
        let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
        let repo = files_below(&folder.join("repo"));
        let visible: String = repo.iter().map(text).collect();
        let known = |line: &str| visible.lines().any(|other| other.trim() == line.trim());
        for path in &repo {
            let inside = path.strip_prefix(&folder).unwrap().to_str().unwrap();
            for word in ["hidden", "fix", "cases", "driver", "answer"] {
                assert!(!inside.contains(word), "{inside}");
            }
        }

        let cases = text(&folder.join("hidden/cases"));
        assert!(cases.ends_with('\n'));
        for sort in ["fail_to_pass", "pass_to_pass"] {
            let count = cases
                .lines()
                .filter(|line| line.starts_with(&format!("{sort}|")));
            let count = count.count() as u64;
            assert_eq!(task[sort], count, "{}: {sort}", task["id"]);
            assert!(count >= 3);
        }
        for line in cases.lines() {
            assert_eq!(line.matches('|').count(), 3, "{line}");
            assert!(!visible.contains(line), "{line}");
        }

        // The fix changes files that are there, and what it changes is nowhere in the repository.
        for path in files_below(&folder.join("fix")) {
            let before = folder
                .join("repo")
                .join(path.strip_prefix(folder.join("fix")).unwrap());
            let (before, after) = (text(&before), text(&path));
            let new: Vec<&str> = after
                .lines()
                .filter(|line| line.trim().len() > 12 && !before.contains(line.trim()))
                .collect();
            assert!(!new.is_empty(), "{}", path.display());
            assert!(!new.into_iter().any(known), "{}", path.display());
        }
        let origin = task["origin"].as_str().unwrap();
        assert!(origin.ends_with('.') && !task["prompt"].as_str().unwrap().contains(origin));
    }
}
