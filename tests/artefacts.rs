//! What runs have left beside a record, held to what the record says of it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; the shared dice print their seed"
)]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use common::{Recipe, Study, files_below};
use serde_json::{Value, json};

/// Returns a complete study of two arms that print; one prints more than is kept.
fn study() -> Study {
    let arm = |letter: &str, count: usize| {
        format!("printf {letter} > out; printf '%{count}s' said; printf loud >&2")
    };
    let recipe = Recipe {
        arms: [arm("a", 10), arm("b", 5000)],
        tasks: 1,
        output_max: "4KiB",
        ..Recipe::default()
    };
    let study = recipe.lay();
    study.complete();
    study
}

/// Returns the file that keeps a stream of a run.
fn kept(study: &Study, name: &str) -> PathBuf {
    let all = files_below(&study.base);
    let mut found = all.into_iter().filter(|path| path.ends_with(name));
    found.next().unwrap()
}

fn verify(study: &Study, file: &str) -> common::Said {
    study.prereg(&["verify", file, "--artefacts", "--json"])
}

#[test]
fn the_end_of_what_was_printed_is_shown() {
    let arm = |letter: &str, said: &str| format!("printf {letter} > out; printf '{said}'");
    let recipe = Recipe {
        arms: [
            arm("a", "one\\ntwo \\033[31m\\nthree\\n"),
            arm("b", "%5000s\\nlast"),
        ],
        tasks: 1,
        repeats: 1,
        output_max: "4KiB",
        ..Recipe::default()
    };
    let study = recipe.lay();
    study.complete();
    let of = |arm: &str| {
        let runs = study.runs();
        let run = runs.iter().find(|run| run["arm"] == arm).unwrap();
        run["run"].to_string()
    };
    let (a, b) = (of("a"), of("b"));
    let said = study.prereg(&["show", &a, "--tail", "18B"]);
    assert!(
        said.out
            .contains("          | two \\u{1b}[31m\n          | three\n"),
        "{said:?}"
    );
    let tails = |run: &str, size: &str| {
        let json = study.data(&["show", run, "--tail", size]);
        let tails = json["tails"].as_object().unwrap().clone();
        let (_, text) = tails
            .iter()
            .find(|(path, _)| path.ends_with(".stdout"))
            .unwrap();
        text.as_str().unwrap().to_owned()
    };
    assert_eq!(tails(&a, "1MiB"), "one\ntwo \u{1b}[31m\nthree\n");
    // A line that begins with the cut is not known to be whole.
    assert_eq!(tails(&a, "7B"), "three\n");
    assert_eq!(tails(&a, "6B"), "");
    assert_eq!(tails(&a, "3B"), "");
    // Nothing is shown across what was left out.
    assert_eq!(tails(&b, "1MiB"), "last");
    assert_eq!(tails(&b, "2B"), "st");
    assert_eq!(study.data(&["show", &a])["tails"], Value::Null);
}

/// What an arm prints may tell what it achieved.
#[test]
fn what_is_sealed_is_not_shown() {
    let recipe = Recipe {
        seal: true,
        runs_max: 1,
        arms: [1, 2].map(|_| {
            "echo secret; echo >> \"$LOG\"; [ {run.id} = 1 ] || exec sleep 300".to_owned()
        }),
        timeout: "10m",
        ..Recipe::default()
    };
    let study = recipe.lay();
    let mut runner = study.spawn(&["run", "study.toml"]);
    common::wait_until("the second run never started", || {
        study.log().lines().count() == 2
    });
    runner.kill().unwrap();
    runner.wait().unwrap();
    let said = study.prereg(&["show", "1", "--tail", "1KiB"]);
    assert!(!said.out.contains("secret"), "{said:?}");
    assert_eq!(
        study.data(&["show", "1", "--tail", "1KiB"])["tails"],
        json!({})
    );
    let said = study.prereg(&["show", "1", "--tail", "1KiB", "--unblind"]);
    assert!(said.out.contains("          | secret\n"), "{said:?}");
    study.data(&["cancel", "2"]);
    study.assert_nobody_is_left();
}

#[test]
fn what_runs_printed_is_held_to_its_digest() {
    let study = study();
    study.data(&["export", "--to", "any name.jsonl"]);
    for file in ["study.prereg.db", "any name.jsonl"] {
        let said = verify(&study, file);
        assert_eq!(said.code, Some(0), "{said:?}");
        // Two of each arm: what the second prints is cut off, what both complain is not.
        let counts = json!({ "agree": 6, "cut": 2, "absent": 0 });
        assert_eq!(said.json()["artefacts"], counts);
    }
    let cut = (1..=4).find(|run| {
        fs::metadata(kept(&study, &format!("{run}.stdout")))
            .unwrap()
            .len()
            == 4096
    });
    let cut = kept(&study, &format!("{}.stdout", cut.unwrap()));
    let whole = kept(&study, "2.stderr");
    let text = fs::read(&whole).unwrap();
    let first = fs::read(&cut).unwrap();
    for (path, bytes, how) in [
        (&whole, b"lout".to_vec(), "has the digest"),
        (&whole, b"lou".to_vec(), "has 3 bytes"),
        (&whole, b"louder".to_vec(), "has more than 4 bytes"),
        (&cut, first[1..].to_vec(), "has 4095 bytes"),
    ] {
        let before = fs::read(path).unwrap();
        fs::write(path, bytes).unwrap();
        for file in ["study.prereg.db", "any name.jsonl"] {
            let said = verify(&study, file);
            assert_eq!(
                (said.code, said.error_code().as_str()),
                (Some(5), "artefact-differs")
            );
            let name = path.file_name().unwrap().to_str().unwrap();
            let run = name.split('.').next().unwrap();
            let message = said.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with(&format!("run {run}: ")), "{message}");
            assert!(message.contains(name) && message.contains(how), "{message}");
        }
        // Without being asked for, nobody looks.
        study.verify();
        fs::write(path, before).unwrap();
    }
    // A link is not what was kept, whatever it leads to.
    let aside = study.base.join("aside");
    fs::rename(&whole, &aside).unwrap();
    symlink(&aside, &whole).unwrap();
    assert_eq!(
        verify(&study, "study.prereg.db").error_code(),
        "artefact-differs"
    );
    // What is not there any more says nothing against the record.
    fs::remove_file(&whole).unwrap();
    let said = verify(&study, "study.prereg.db");
    assert_eq!(
        said.json()["artefacts"],
        json!({ "agree": 5, "cut": 2, "absent": 1 })
    );
    let said = study.prereg(&["verify", "study.prereg.db", "--artefacts"]);
    let lines = "artefacts   5 files agree with the record\n            \
        2 files hold only the beginning of what was printed: as long as recorded, the digest is not checked\n            \
        1 file is not there\n";
    assert!(said.out.contains(lines), "{said:?}");
    fs::write(&whole, text).unwrap();
}

#[test]
fn what_is_sealed_in_an_export_cannot_be_held_to_anything() {
    let study = Recipe {
        seal: true,
        ..Recipe::default()
    };
    let study = study.lay();
    study.register();
    study.data(&["start", "t0", "a"]);
    study.data(&["finish", "1", "--exit", "3"]);
    study.data(&["export", "--to", "sealed.jsonl"]);
    let said = verify(&study, "sealed.jsonl");
    assert_eq!(
        said.json()["artefacts"],
        json!({ "agree": 0, "cut": 0, "absent": 0 })
    );
}

/// A study whose arms leave files, of which some are to be kept.
fn keeping(rule: &str, arm: &str) -> Study {
    let study = Recipe {
        tasks: 1,
        repeats: 1,
        runs_max: 1,
        arms: [arm.to_owned(), "printf b > out; exit 3".to_owned()],
        ..Recipe::default()
    }
    .lay();
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    let text = text.replace("[claim]\n", &format!("[artefacts]\n{rule}\n[claim]\n"));
    study.write("study.toml", &text);
    study
}

/// Returns what is recorded of the artefacts of a run.
fn recorded(study: &Study, run: u32) -> Value {
    study.data(&["show", &run.to_string()])["execution"]["artefacts"].clone()
}

/// Returns the stored artefacts of a run: their names and what is in them, in order.
fn stored(study: &Study, run: u32) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{run}.artefacts");
    let all = files_below(&study.base).into_iter();
    let of_run = all.filter(|path| path.parent().unwrap().ends_with(&folder));
    let mut found: Vec<_> = of_run
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

fn digest(bytes: &[u8]) -> String {
    prereg::units::Digest::of(&[bytes]).to_string()
}

#[test]
fn files_of_a_workspace_are_kept_by_their_digests_before_anybody_judges_them() {
    // A judge that spoils whatever it finds, in its copy.
    let judge = format!(
        "{}rm -rf made.patch deep; echo spoilt > made.patch\n",
        common::JUDGE
    );
    let study = keeping(
        "keep = [\"**/*.patch\", \"claim.json\", \"report.json\"]",
        "printf one > made.patch; mkdir -p deep/er; printf one > deep/er/same.patch; : > deep/none.patch; printf x > other",
    );
    study.write("judge.sh", &judge);
    study.complete();
    study.verify();
    let file = |path: &str, text: &str| json!({ "path": path, "bytes": text.len(), "digest": digest(text.as_bytes()) });
    assert_eq!(
        recorded(&study, 1),
        json!({
            "retain": "always",
            "files": [file("deep/er/same.patch", "one"), file("deep/none.patch", ""), file("made.patch", "one")],
        })
    );
    let mut wanted = vec![(digest(b"one"), b"one".to_vec()), (digest(b""), Vec::new())];
    wanted.sort();
    assert_eq!(stored(&study, 1), wanted);
    assert_eq!(recorded(&study, 2), json!({ "retain": "always" }));
    assert_eq!(stored(&study, 2), []);
    let shown = study.prereg(&["show", "1"]).out;
    assert!(shown.contains(" 3 bytes, \"made.patch\"\n"), "{shown}");

    let said = verify(&study, "study.prereg.db");
    assert_eq!(said.code, Some(0), "{said:?}");
    let agree = said.json()["artefacts"]["agree"].as_u64().unwrap();
    let one = files_below(&study.base)
        .into_iter()
        .find(|path| path.ends_with(digest(b"one")))
        .unwrap();
    fs::write(&one, "two").unwrap();
    let said = verify(&study, "study.prereg.db");
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "artefact-differs")
    );
    fs::remove_file(&one).unwrap();
    let said = verify(&study, "study.prereg.db").json()["artefacts"].clone();
    assert_eq!(said, json!({ "agree": agree - 1, "cut": 0, "absent": 1 }));
}

#[test]
fn no_trick_of_an_arm_brings_anything_else_into_what_is_kept() {
    let arm = r#"
        printf secret > "$LOG.secret"
        ln -s "$LOG.secret" link.patch
        ln "$LOG.secret" hard.patch 2>/dev/null || { printf x > twin; ln twin hard.patch; }
        mkfifo pipe.patch
        truncate -s 1T sparse.patch
        mkdir folder.patch; printf in > folder.patch/in.patch
        ln -s / root
        printf fine > fine.patch
        chmod 000 fine.patch; chmod 400 fine.patch
    "#;
    let study = keeping("keep = [\"**/*.patch\"]", arm);
    study.complete();
    study.verify();
    let found = recorded(&study, 1);
    let paths: Vec<&str> = found["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["fine.patch", "folder.patch/in.patch"]);
    let left_out = json!({ "link": 1, "hard-link": 1, "special": 1, "too-large": 1 });
    assert_eq!(found["left_out"], left_out);
    let all = stored(&study, 1);
    assert!(all.iter().all(|(_, bytes)| bytes != b"secret"), "{all:?}");
    let shown = study.prereg(&["show", "1"]).out;
    assert!(shown.contains("  left out  1 (hard-link)\n"), "{shown}");
}

#[test]
fn files_are_kept_up_to_a_number_of_them() {
    let arm = "i=0; while [ $i -lt 1003 ]; do : > $i.patch; i=$((i+1)); done";
    let study = keeping("keep = [\"*.patch\"]", arm);
    study.complete();
    study.verify();
    let found = recorded(&study, 1);
    assert_eq!(found["files"].as_array().unwrap().len(), 1000);
    assert_eq!(found["left_out"], json!({ "too-many": 3 }));
}

#[test]
fn files_are_retained_as_registered_and_their_digests_always_recorded() {
    let broken = "#!/bin/sh\nexit 1\n";
    for (retain, judge, kept) in [
        ("always", common::JUDGE, [true, true]),
        ("never", common::JUDGE, [false, false]),
        // The second arm exits with 3; which outcome a run has is not asked.
        ("on_failure", common::JUDGE, [false, true]),
        ("on_failure", broken, [true, true]),
    ] {
        let rule = format!("keep = [\"out\"]\nretain = \"{retain}\"");
        let study = keeping(&rule, "printf a > out");
        let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
        let text = text.replace(
            "per_slot = 3\nrerun = [\"unjudged\", \"lost\", \"stale\"]",
            "per_slot = 1",
        );
        study.write("study.toml", &text);
        study.write("judge.sh", judge);
        study.complete();
        study.verify();
        for (run, kept) in [1, 2].into_iter().zip(kept) {
            let arm = study.data(&["show", &run.to_string()])["arm"].clone();
            let text = arm.as_str().unwrap().as_bytes().to_vec();
            let found = recorded(&study, run);
            assert_eq!(
                found["files"][0]["digest"],
                json!(digest(&text)),
                "{retain}"
            );
            let wanted = if kept {
                vec![(digest(&text), text)]
            } else {
                Vec::new()
            };
            assert_eq!(stored(&study, run), wanted, "{retain} {run}");
        }
        // What is not retained is not missed.
        let said = verify(&study, "study.prereg.db");
        assert_eq!(said.json()["artefacts"]["absent"], 0, "{retain}");
    }
}

#[test]
fn a_pattern_that_means_something_else_elsewhere_is_refused() {
    for pattern in ["../x", "/x", "[ab]", "a**", "{a,b}", "out/**"] {
        let study = keeping(&format!("keep = [\"{pattern}\"]"), "true");
        let said = study.prereg(&["check", "study.toml", "--json"]);
        assert_eq!(said.code, Some(3), "{pattern}: {said:?}");
    }
}
