//! A verifier in another language, written from the documents alone, agrees with `verify` on studies
//! that were run, on random ones, and on forged ones. What it does not know it never verifies.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says how much was compared"
)]

mod common;
#[macro_use]
mod desk;
mod engine_common;
mod forger;
mod histories;
mod kinds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Recipe, Said};
use desk::Desk;
use engine_common::random::{Random, any_drafts, any_move, any_pause};
use engine_common::{Draft, Move, World, sealed};
use forger::Forgery;
use kinds::{KINDS, three};
use prereg::record::entry::Answer;
use prereg::store::{Verification, verify};
use tempfile::TempDir;

/// What a verifier says.
#[derive(Debug, PartialEq)]
enum Verdict {
    Verified,
    /// The entry, and the code.
    Diverged(u64, String),
    /// Something is beyond it.
    Unsure(String),
}

fn stranger(path: &Path) -> Verdict {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stranger/verify.py");
    let mut command = Command::new("python3");
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let said = Said::of(command.arg(script).arg(path).output().unwrap());
    let words: Vec<&str> = said.out.split([' ', ':']).collect();
    match (said.code, words[0]) {
        (Some(0), "verified") => Verdict::Verified,
        (Some(5), "diverged") => Verdict::Diverged(words[1].parse().unwrap(), words[2].to_owned()),
        (Some(1), "cannot") => Verdict::Unsure(said.out),
        _ => panic!("{said:?}"),
    }
}

/// Returns what the library says, which the binary asks.
fn ours(path: &Path) -> Verdict {
    match verify(path) {
        Ok(Verification::Verified(_)) => Verdict::Verified,
        Ok(Verification::Diverged(divergence)) => {
            Verdict::Diverged(divergence.entry, divergence.code.text().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

fn put(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("export.jsonl");
    fs::write(&path, bytes).unwrap();
    path
}

/// Both verify a record and its export.
fn both_verify(record: &Path, export: &Path) {
    for path in [record, export] {
        assert_eq!(ours(path), Verdict::Verified, "{}", path.display());
        assert_eq!(stranger(path), Verdict::Verified, "{}", path.display());
    }
}

#[test]
fn the_stranger_verifies_the_quickstart() {
    let desk = Desk::new();
    assert!(desk.say("run quickstart.toml").contains("--- exit 0"));
    desk.say("export quickstart.prereg.db --to export.jsonl");
    both_verify(
        &desk.path("quickstart.prereg.db"),
        &desk.path("export.jsonl"),
    );
}

/// An agent that does nothing, and says what one says.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo 2.1.0; exit 0; }
echo '{"subtype": "success", "total_cost_usd": 0.5, "quota": {"seven_day": 0.1, "five_hour": 0.2, "status": "allowed"}}'
"#;

/// Cells with preflights and attempts; stages under readings, stops, holds, a budget and a cut-off.
#[test]
fn the_stranger_verifies_the_studies_that_ship() {
    let desk = Desk::new();
    desk.program("claude", AGENT);
    desk.say("run matrix-attempts.toml");
    let text = fs::read_to_string(desk.path("block-stages.toml")).unwrap();
    let later = text.replace("2026-12-24", "2126-12-24");
    desk.write("block-stages.toml", &later);
    desk.say("run block-stages.toml");
    desk.say(
        "reading add launch {\"seven_day\":0.2,\"status\":\"allowed\"} --db block-stages.prereg.db",
    );
    let run = desk.json("run block-stages.toml");
    assert_eq!(run["tally"]["scored"], 80);
    for name in ["matrix-attempts", "block-stages"] {
        let record = format!("{name}.prereg.db");
        desk.say(&format!("export {record} --to {name}.jsonl"));
        both_verify(&desk.path(&record), &desk.path(&format!("{name}.jsonl")));
    }
}

/// Rules that it does not know it does not verify; that the chain holds it still says.
#[test]
fn the_stranger_says_what_it_cannot_check() {
    let folder = TempDir::new().unwrap();
    for (mut history, rule) in [
        (histories::turns(), "an order by counts"),
        (histories::growing(), "a draw that grows"),
    ] {
        let whole = history.bytes();
        match stranger(&put(&folder, &whole)) {
            Verdict::Unsure(why) => assert!(why.contains(rule), "{why}"),
            other => panic!("{other:?}"),
        }
        // What is changed in the chain is found all the same.
        let text = String::from_utf8(whole).unwrap();
        let last = text.rfind("user:tester").unwrap();
        let mut changed = text.clone();
        changed.replace_range(last..last + 4, "user".to_uppercase().as_str());
        let path = put(&folder, changed.as_bytes());
        assert_eq!(stranger(&path), ours(&path));
    }
}

#[test]
fn the_stranger_verifies_small_studies() {
    let plain = || Recipe {
        controls: true,
        ..Recipe::default()
    };
    let never = "if [ \"$(cat out)\" = b ]; then exit 1; fi\n";
    let recipes = [
        plain(),
        // Arms that say nothing, and a judge that fails for one of them.
        Recipe {
            arms: ["true".to_owned(), "printf b > out".to_owned()],
            judge: common::JUDGE.replace("bytes=0\n", &format!("{never}bytes=0\n")),
            runs_max: 1,
            ..plain()
        },
        Recipe {
            arms: ["exit 3".to_owned(), "kill -9 $$".to_owned()],
            tasks: 5,
            repeats: 1,
            ..plain()
        },
    ];
    for recipe in recipes {
        let study = recipe.lay();
        study.complete();
        study.data(&["deviate", "--note", "it rained"]);
        study.data(&["export", "--to", "export.jsonl"]);
        both_verify(&study.record(), &study.base.join("export.jsonl"));
    }
}

/// Settings that change and are put right, a measurement that is missing, checks of exposure.
#[test]
fn the_stranger_verifies_what_is_known_of_runs() {
    for seal in [false, true] {
        let arm = |letter: &str, model: &str| {
            format!(r#"printf {letter} > out; printf '{{"model": "%s"}}' "{model}""#)
        };
        let study = Recipe {
            seal,
            runs_max: 1,
            arms: [arm("a", "$(cat \"$LOG\")"), arm("b", "m")],
            ..Recipe::default()
        }
        .lay();
        let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
        let text = text.replace(
            "[execution]\n",
            "[execution]\nrequests = { model = \"m\" }\n",
        );
        let more = "[observation]\nfrom = \"stdout\"\neffective = { model = \"observed.model\" }\n\
            [evidence]\nrequired = [\"measurement\"]\n[manipulation_check]\nb = \"report.correct\"\n";
        study.write("study.toml", &(text + more));
        fs::write(&study.log, "other").unwrap();
        let said = study.prereg(&["run", "study.toml", "--json"]);
        assert_eq!(said.json()["code"], "binding-changed", "{said:?}");
        fs::write(&study.log, "m").unwrap();
        study.data(&["deviate", "--note", "n", "--arm", "a"]);
        let next = study.data(&["status"])["next"]["start"].clone();
        let word = |name: &str| next[name].as_str().unwrap().to_owned();
        study.data(&["start", &word("task"), &word("arm"), "--ref", "x"]);
        study.data(&["finish", "4", "--exit", "0"]);
        assert_eq!(study.states()[3].2, "evidence");
        if !seal {
            study.complete();
        }
        study.data(&["export", "--to", "export.jsonl"]);
        both_verify(&study.record(), &study.base.join("export.jsonl"));
    }
}

#[test]
fn the_stranger_verifies_what_is_sealed() {
    let study = Recipe {
        seal: true,
        ..Recipe::default()
    }
    .lay();
    study.register();
    let said = study.prereg(&["start", "t0", "a", "--json"]);
    if said.code != Some(0) {
        let next = said.json()["error"]["facts"]["next"].clone();
        let word = |name: &str| next[name].as_str().unwrap().to_owned();
        study.data(&["start", &word("task"), &word("arm")]);
    }
    study.data(&["finish", "1", "--exit", "7"]);
    study.write("report", r#"{"correct": true, "bytes": 31337}"#);
    study.data(&["score", "1", "--report", "report"]);
    let sealed = study.data(&["export", "--to", "sealed.jsonl"]);
    assert_eq!(sealed["sealed"], true);
    both_verify(&study.record(), &study.base.join("sealed.jsonl"));
}

#[test]
fn the_stranger_names_every_forgery_that_it_can_check() {
    let folder = TempDir::new().unwrap();
    let (mut named, mut unsure) = (0, 0);
    for kind in KINDS {
        let mut good = (kind.history)();
        let knows = stranger(&put(&folder, &good.bytes()));
        for (place, mut forgery) in three(kind, &good) {
            let path = put(&folder, &forgery.bytes());
            let (ours, theirs) = (ours(&path), stranger(&path));
            if knows == Verdict::Verified {
                assert_eq!(theirs, ours, "{} at {place}", kind.name);
                named += 1;
            } else {
                // It says from the beginning that it cannot check such a study.
                assert!(matches!(theirs, Verdict::Unsure(_)), "{theirs:?}");
                unsure += 1;
            }
        }
    }
    println!("{named} forgeries named by both, {unsure} of studies that the stranger cannot check");
    assert!(named > 90 && unsure < 15, "{named} {unsure}");
}

#[test]
fn a_forged_record_is_named_as_its_export_is() {
    let folder = TempDir::new().unwrap();
    for kind in &KINDS[3..6] {
        let good = (kind.history)();
        let (_, mut forgery) = three(kind, &good).swap_remove(1);
        let path = folder.path().join(kind.name.replace(' ', "-"));
        forgery.record(&path);
        let (ours, theirs) = (ours(&path), stranger(&path));
        assert!(
            theirs == ours || matches!(theirs, Verdict::Unsure(_)),
            "{theirs:?}"
        );
    }
}

/// Returns the entries after the first in which something was granted: a refusal that is missing is missed by
/// nobody.
fn grants(history: &Forgery) -> Vec<u64> {
    let granted = |seq: &u64| matches!(history.said(*seq).1, Answer::Granted(_));
    (2..=history.last()).filter(granted).collect()
}

/// Plays a random history of a random study.
fn random_history(random: &mut Random) -> Forgery {
    let drafts = any_drafts(random).map(Draft::of);
    let mut world = World::empty(&drafts);
    world.log = Some(Vec::new());
    for wanted in [Move::Open(0), Move::Register(0)] {
        world.give(&wanted);
    }
    for _ in 0..60 {
        world.later(any_pause(random));
        let wanted = any_move(random, &world);
        world.give(&wanted);
    }
    Forgery::on("study", sealed(world.log.unwrap()))
}

/// Compares the two on random histories, whole and sealed, and on each with an entry left out.
fn compare_on_random(histories: u64) {
    let folder = TempDir::new().unwrap();
    let (mut verified, mut found, mut unsure) = (0, 0, 0);
    for seed in 0..histories {
        let mut random = Random(seed << 8 | 5);
        let history = random_history(&mut random);
        let mut gap = history.clone();
        gap.remove(*random.pick(&grants(&history)));
        for (mut forgery, sealed) in [(history.clone(), false), (history, true), (gap, false)] {
            let path = put(&folder, &forgery.exported(sealed));
            match (ours(&path), stranger(&path)) {
                (_, Verdict::Unsure(_)) => unsure += 1,
                (Verdict::Verified, Verdict::Verified) => verified += 1,
                (Verdict::Diverged(ours, _), Verdict::Diverged(theirs, _)) if ours == theirs => {
                    found += 1;
                }
                (ours, theirs) => {
                    let kept = std::env::temp_dir().join("prereg-stranger.jsonl");
                    fs::copy(&path, &kept).unwrap();
                    panic!("seed {seed}: {ours:?}, {theirs:?}; see {}", kept.display());
                }
            }
        }
    }
    println!("random: {verified} verified, {found} diverged, {unsure} cannot be checked");
    assert!(verified > histories as usize / 2 && found > histories as usize / 8);
}

#[test]
fn the_stranger_agrees_on_random_histories() {
    compare_on_random(40);
}

#[test]
#[ignore = "takes minutes; run before a release"]
fn the_stranger_agrees_on_many_random_histories() {
    compare_on_random(1_000);
}
