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
use serde_json::json;

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
