//! Canaries in eight places: nothing of them gets out of where it belongs.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and what is shared prints"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{JUDGE, Recipe, Said, Study, files_below};

/// Texts that stand nowhere else, by where they are put.
fn canaries() -> BTreeMap<&'static str, String> {
    let places = [
        "passed",
        "kept",
        "stdout",
        "stderr",
        "judge",
        "workspace",
        "home",
        "hidden",
    ];
    let canary = |place: &'static str| {
        let digest = prereg::units::Digest::of(&[place.as_bytes(), b" is a canary"]);
        (place, format!("canary-{digest}"))
    };
    places.into_iter().map(canary).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    let text = text.as_bytes();
    bytes.windows(text.len()).any(|window| window == text)
}

/// Returns the canaries that some bytes hold.
fn found_in(bytes: &[u8], canaries: &BTreeMap<&'static str, String>) -> BTreeSet<&'static str> {
    let found = canaries.iter().filter(|(_, text)| holds(bytes, text));
    found.map(|(place, _)| *place).collect()
}

/// A study whose arms and judge tell what they know, by reading it from files that nobody registers.
fn telling(canaries: &BTreeMap<&'static str, String>) -> Study {
    let tell = "cat \"$LOG.stdout\"; cat \"$LOG.stderr\" >&2; cp \"$LOG.workspace\" kept; env > \"$LOG.env.{run.id}\"; \
                cat \"$HOME/.secret\"; ls -aR . > \"$LOG.seen.{run.id}\"; printf b > out";
    let mut study = Recipe {
        arms: [tell.to_owned(), tell.to_owned()],
        env_pass: "\"PATH\", \"LOG\", \"TOKEN\"",
        judge_more: "files = { \"hidden/\" = \"hidden\" }",
        files: vec![("hidden/answer", canaries["hidden"].clone())],
        ..Recipe::default()
    }
    .lay();
    let beside = |end: &str| study.log.with_file_name(format!("log.{end}"));
    for place in ["stdout", "stderr", "workspace", "judge"] {
        fs::write(beside(place), &canaries[place]).unwrap();
    }
    let judge = format!(
        "{JUDGE}cat '{}' >&2\n[ -f hidden/answer ] || exit 3\n",
        beside("judge").display()
    );
    study.write("judge.sh", &judge);
    let home = study.folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".secret"), &canaries["home"]).unwrap();
    let variables = [
        ("HOME", home.to_str().unwrap()),
        ("TOKEN", &canaries["passed"]),
        ("OTHER", &canaries["kept"]),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    study.env.extend(variables);
    study
}

/// Runs a study, and meanwhile reads the command line of every process.
fn run_and_watch(study: &Study, canaries: &BTreeMap<&'static str, String>) -> Said {
    let done = AtomicBool::new(false);
    let (said, looks) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut looks = 0;
            while !done.load(Ordering::SeqCst) {
                for entry in fs::read_dir("/proc").unwrap() {
                    let line = entry.unwrap().path().join("cmdline");
                    let found = found_in(&fs::read(&line).unwrap_or_default(), canaries);
                    assert!(found.is_empty(), "{line:?}: {found:?}");
                }
                looks += 1;
            }
            looks
        });
        let said = study.prereg(&["run", "study.toml"]);
        done.store(true, Ordering::SeqCst);
        (said, watching.join().unwrap())
    });
    assert!(looks > 3, "{looks}");
    said
}

#[test]
fn nothing_secret_gets_out() {
    let canaries = canaries();
    let study = telling(&canaries);
    let run = run_and_watch(&study, &canaries);
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut said = vec![run, study.prereg(&["export", "--to", "export.jsonl"])];
    for verb in [
        &["status"][..],
        &["show", "1"],
        &["show", "8"],
        &["verify", "study.prereg.db"],
        &["verify", "export.jsonl"],
        &["explain", "study.toml"],
        &["export"],
        &["start", "t0", "a"],
    ] {
        said.push(study.prereg(verb));
        said.push(study.prereg(&[verb, &["--json"][..]].concat()));
    }
    for said in &said {
        let text = format!("{}{}", said.out, said.err);
        assert_eq!(
            found_in(text.as_bytes(), &canaries),
            BTreeSet::new(),
            "{said:?}"
        );
    }
    let runs = study.base.join("study.prereg.runs");
    let mut told = BTreeSet::new();
    for path in files_below(&study.base) {
        let found = found_in(&fs::read(&path).unwrap(), &canaries);
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        if path.starts_with(&runs) && !is_lock {
            // What was printed is kept for whoever ran the study, and for nobody else.
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{path:?}");
            told.extend(found);
        } else if path.ends_with("hidden/answer") {
            assert_eq!(found, BTreeSet::from(["hidden"]));
        } else {
            assert_eq!(found, BTreeSet::new(), "{path:?}");
        }
    }
    assert_eq!(told, BTreeSet::from(["judge", "stderr", "stdout"]));
    see_what_arms_saw(study.folder.path(), &canaries);
}

/// An arm has what the protocol passes to it, and neither the rest of its caller's environment, nor
/// the way to its caller's home, nor what is laid for the judge.
fn see_what_arms_saw(folder: &Path, canaries: &BTreeMap<&'static str, String>) {
    let mut arms = 0;
    for path in files_below(folder) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read(&path).unwrap();
        if name.starts_with("log.env.") {
            arms += 1;
            assert_eq!(
                found_in(&text, canaries),
                BTreeSet::from(["passed"]),
                "{name}"
            );
        } else if name.starts_with("log.seen.") {
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("kept") && !text.contains("hidden"), "{text}");
        }
    }
    assert_eq!(arms, 8);
}
