//! Forged receipts, hashed again: a run that something else was executed for, or that nothing held
//! together as registered, is named by `verify`; what is left out of its receipt by `--artefacts`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; the shared dice print their seed"
)]

mod common;
mod forger;

use std::fs;
use std::path::Path;

use common::{Recipe, Said, Study, prereg};
use forger::Forgery;
use prereg::engine::command::{Action, Execution};
use prereg::protocol::model::Containment;
use prereg::units::Digest;

/// What somebody changes of what was observed of a run.
type Change = fn(&mut Option<Execution>);

/// What is forged, whether it is found without being looked for, by which code and rule.
const KINDS: &[(&str, Change, bool, &str, &str)] = &[
    (
        "a run held together by less than is registered",
        |said| said.as_mut().unwrap().containment = Some(Containment::Pgroup),
        true,
        "receipt-differs",
        "/execution/containment",
    ),
    (
        "a run of another program",
        |said| said.as_mut().unwrap().program = Some(Box::new(Digest([1; 32]))),
        true,
        "receipt-differs",
        "/arms/",
    ),
    (
        "a run of a program that nobody looked at",
        |said| said.as_mut().unwrap().program = None,
        false,
        "receipt-missing",
        "/arms/",
    ),
    (
        "an end without a supervisor",
        |said| said.as_mut().unwrap().containment = None,
        false,
        "receipt-missing",
        "/execution/containment",
    ),
    (
        "an end of which nothing was observed",
        |said| *said = None,
        false,
        "receipt-missing",
        "/execution/containment",
    ),
];

/// Returns a complete study whose arms execute a file beside the protocol.
fn study() -> Study {
    let recipe = Recipe {
        arms: [
            "[\"./arm.sh\", \"a\"]".to_owned(),
            "[\"./arm.sh\", \"b\"]".to_owned(),
        ],
        files: vec![("arm.sh", "#!/bin/sh\nprintf \"$1\" > out\n".to_owned())],
        ..Recipe::default()
    };
    let study = recipe.lay();
    let text = recipe.protocol();
    let text = text.replacen(
        "[execution]\n",
        "[execution]\ncontainment = \"subreaper\"\n",
        1,
    );
    // What each arm executes is registered.
    let is_kept = |line: &&str| !line.starts_with("\"unpinned-command\"");
    let text: Vec<&str> = text.lines().filter(is_kept).collect();
    study.write("study.toml", &text.join("\n"));
    study.complete();
    study
}

fn verify(path: &Path, looks: bool) -> Said {
    let mut command = prereg(&["verify", "--json"]);
    command.arg(path);
    if looks {
        command.arg("--artefacts");
    }
    Said::of(command.output().unwrap())
}

/// Returns the entries that say how a run ended: the first, the middle and the last.
fn endings(good: &Forgery) -> [u64; 3] {
    let is_ending = |seq: &u64| matches!(good.command(*seq).action, Action::Finish { .. });
    let all: Vec<u64> = (1..=good.last()).filter(is_ending).collect();
    [all[0], all[all.len() / 2], all[all.len() - 1]]
}

#[test]
fn forged_receipts_are_named() {
    if common::best_tier() == "pgroup" {
        println!("not covered: this machine has no tier but the weakest");
        return;
    }
    let study = study();
    study.data(&["export", "--to", "good.jsonl"]);
    let good = Forgery::of(&fs::read(study.base.join("good.jsonl")).unwrap());
    for looks in [false, true] {
        let said = verify(&study.record(), looks);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    for (what, change, is_plain, code, rule) in KINDS {
        for place in endings(&good) {
            let mut forged = good.clone();
            let (mut command, answer) = forged.said(place);
            let Action::Finish { run, execution, .. } = &mut command.action else {
                panic!("{command:?}");
            };
            let run = *run;
            change(execution);
            forged.say(place, &command, answer);
            let export = folder.path().join("forged.jsonl");
            fs::write(&export, forged.bytes()).unwrap();
            let record = folder.path().join("forged.prereg.db");
            let _ = fs::remove_file(&record);
            forged.record(&record);
            for path in [&export, &record] {
                let plain = verify(path, false);
                let found = if *is_plain { 5 } else { 0 };
                assert_eq!(plain.code, Some(found), "{what} at {place}: {plain:?}");
                let said = verify(path, true);
                assert_eq!(said.code, Some(5), "{what} at {place}: {said:?}");
                let error = &said.json()["error"];
                assert_eq!(error["code"], *code, "{what} at {place}: {error}");
                let found = error["rule"].as_str().unwrap();
                assert!(found.starts_with(rule), "{what} at {place}: {error}");
                let named = format!("run {run} ");
                assert!(
                    error["message"].as_str().unwrap().contains(&named),
                    "{error}"
                );
                if *is_plain {
                    assert_eq!(error["entry"], place, "{what}: {error}");
                }
            }
        }
    }
}

/// Where what was observed is withheld, nothing is said to be missing.
#[test]
fn what_is_withheld_is_not_missing() {
    let recipe = Recipe {
        seal: true,
        runs_max: 1,
        arms: ['a', 'b'].map(|letter| {
            format!(
                "echo >> \"$LOG\"; [ {{run.id}} -lt 3 ] || exec sleep 300; printf {letter} > out"
            )
        }),
        timeout: "10m",
        ..Recipe::default()
    };
    let study = recipe.lay();
    let mut runner = study.spawn(&["run", "study.toml"]);
    common::wait_until("the third run never started", || {
        study.log().lines().count() == 3
    });
    runner.kill().unwrap();
    runner.wait().unwrap();
    study.data(&["export", "--to", "sealed.jsonl"]);
    let said = verify(&study.base.join("sealed.jsonl"), true);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.json()["withheld"].as_u64() >= Some(2), "{said:?}");
    study.data(&["cancel", "3"]);
    study.assert_nobody_is_left();
}
