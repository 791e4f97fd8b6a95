//! Heads that are published: made and checked with the real `ssh-keygen` and `openssl`, and records
//! that are put back, cut off or made again.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it did not cover"
)]

mod anchors_common;
mod common;
#[macro_use]
mod desk;

use std::fs;

use anchors_common::{authority, execute, has, key, sign, stamp};
use common::{Recipe, Said, Study};
use desk::Desk;
use prereg::units::Digest;
use serde_json::{Value, json};

/// Returns a registered study to which something happened after its registration: seven entries.
fn study() -> Study {
    let study = Recipe::default().lay();
    study.register();
    for note in ["one", "two", "three", "four", "five"] {
        deviate(&study, note);
    }
    study
}

fn deviate(study: &Study, note: &str) {
    study.data(&["deviate", "--note", note]);
}

/// Writes the line of the newest entry into a file, and returns it.
fn publish(study: &Study, file: &str) -> String {
    let said = study.prereg(&["head"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    fs::write(study.base.join(file), &said.out).unwrap();
    said.out.trim_end().to_owned()
}

fn export(study: &Study, file: &str) {
    study.data(&["export", "--to", file]);
}

/// Says what is wrong: the exit status, and the code of a defect or of anything else.
fn wrong(said: &Said) -> (Option<i32>, String) {
    let json = said.json();
    let error = &json["error"];
    let code = error["code"].as_str();
    let code = code.or_else(|| error["defects"][0]["code"].as_str());
    (said.code, code.unwrap_or("").to_owned())
}

fn is(code: i32, text: &str) -> (Option<i32>, String) {
    (Some(code), text.to_owned())
}

#[test]
fn a_head_is_published_signed_stamped_and_checked() {
    if !(has("ssh-keygen", &["-?"]) && has("openssl", &["version"])) {
        return;
    }
    let desk = Desk::new();
    let folder = desk.path("");
    key(&folder, "key", "ed25519");
    authority(&folder, "authority");
    let line = |file: &str| {
        let said = desk.say("head");
        desk.write(file, &format!("{}\n", said.lines().nth(1).unwrap()));
    };
    let mut told = vec![desk.say("head"), desk.say("anchor --ssh-key key")];
    told.push(desk.say("register minimal.toml"));
    told.extend(["head", "head --registration", "head --line --json"].map(|said| desk.say(said)));
    line("first.txt");
    told.push(desk.say("anchor --ssh-key key --to first.anchor"));
    line("second.txt");
    stamp(&folder, "authority", "second.txt", "sha256");
    for said in [
        "anchor --rfc3161 second.txt.tsr --ca authority.pem --note at-the-authority",
        "anchor --rfc3161 second.txt.tsr --ca authority.pem --note at-the-authority",
        "anchor --line first.txt --note in-the-paper",
        "anchor --line absent.txt",
        "anchor",
        "verify minimal.prereg.db",
        "verify minimal.prereg.db --anchor first.anchor --anchor second.txt.tsr",
        "verify minimal.prereg.db --ca authority.pem",
        "export minimal.prereg.db --to export.jsonl",
        "verify export.jsonl --anchor first.anchor --json",
    ] {
        told.push(desk.say(said));
    }
    let mut text = told.join("\n");
    for signer in text.clone().split("SHA256:").skip(1) {
        text = text.replace(&signer[..43], "[key]");
    }
    let time = text.split("\"time\":1").nth(1).unwrap();
    let digits = time.find(|c: char| !c.is_ascii_digit()).unwrap();
    text = text.replace(
        &format!("\"time\":1{}", &time[..digits]),
        "\"time\":[micros]",
    );
    transcript!("anchors__published", text);
}

#[test]
fn status_says_what_was_published_and_what_lies_after_it() {
    let study = study();
    let line = |study: &Study| {
        let said = study.prereg(&["status"]).out;
        let found = said.lines().find(|line| line.starts_with("  anchors"));
        found.map(str::to_owned)
    };
    assert_eq!(line(&study), None);
    publish(&study, "head.txt");
    study.data(&["anchor", "--line", "head.txt"]);
    let one = "  anchors   1 recorded, the newest of entry 7; 1 entry lies after it";
    assert_eq!(line(&study).as_deref(), Some(one));
    publish(&study, "head.txt");
    study.data(&["anchor", "--line", "head.txt"]);
    deviate(&study, "six");
    let two = "  anchors   2 recorded, the newest of entry 8; 2 entries lie after it";
    assert_eq!(line(&study).as_deref(), Some(two));
}

#[test]
fn a_signature_holds_for_its_line_its_namespace_and_its_record_alone() {
    if !has("ssh-keygen", &["-?"]) {
        return;
    }
    let study = study();
    key(&study.base, "key", "ed25519");
    key(&study.base, "other", "ecdsa");
    publish(&study, "head.txt");
    for kind in ["key", "other"] {
        sign(&study.base, kind, "prereg-head@1", "head.txt");
        // Entries that came meanwhile do not matter where the line is named.
        deviate(&study, kind);
        let asked = [
            "anchor",
            "--line",
            "head.txt",
            "--ssh-signature",
            "head.txt.sig",
        ];
        let anchored = study.data(&asked);
        let printed = execute(&study.base, "ssh-keygen", &["-lf", kind]);
        let signer = anchored["signer"].as_str().unwrap();
        assert!(printed.contains(signer), "{printed}: {signer}");
        assert_eq!(anchored["anchored"]["seq"], 7);
        assert_eq!(study.data(&asked)["changed"], false, "it is said twice");
    }
    // A key names one operation, though the newest head is another one when it is asked for again.
    for kind in ["key", "other"] {
        let asked = ["anchor", "--ssh-key", kind, "--key", kind];
        let (first, again) = (study.data(&asked), study.data(&asked));
        assert_eq!(first["line"], again["line"]);
        assert_eq!(
            (&first["entry"], &json!(true)),
            (&again["entry"], &again["repeated"])
        );
    }
    let count = study.entries().len();
    let refused = |arguments: &[&str]| {
        let mut all = vec!["anchor", "--json"];
        all.extend(arguments);
        wrong(&study.prereg(&all))
    };
    // Of the newest head, which is not the one that was signed.
    let signature = ["--ssh-signature", "head.txt.sig"];
    assert_eq!(refused(&signature), is(3, "anchor"));
    sign(&study.base, "key", "file", "head.txt");
    let named = ["--line", "head.txt", "--ssh-signature", "head.txt.sig"];
    assert_eq!(refused(&named), is(3, "anchor"), "another namespace");
    // Signed without the line feed.
    let line = fs::read_to_string(study.base.join("head.txt")).unwrap();
    fs::write(study.base.join("bare"), line.trim_end()).unwrap();
    sign(&study.base, "key", "prereg-head@1", "bare");
    let named = ["--line", "head.txt", "--ssh-signature", "bare.sig"];
    assert_eq!(refused(&named), is(3, "anchor"), "another text");
    assert_eq!(refused(&["--ssh-key", "absent"]), is(1, "seal"));
    assert_eq!(study.entries().len(), count, "nothing was recorded");
    // As a file that holds both, as `verify` reads it.
    let armored = fs::read_to_string(study.base.join("bare.sig")).unwrap();
    fs::write(study.base.join("both"), format!("{line}{armored}")).unwrap();
    fs::write(study.base.join("alone"), &armored).unwrap();
    for file in ["both", "alone"] {
        let said = study.prereg(&["verify", "study.prereg.db", "--anchor", file, "--json"]);
        assert_eq!(wrong(&said), is(3, "anchor"), "{file}");
    }
    study.verify();
}

#[test]
fn a_time_stamp_holds_for_its_line_and_its_authority_alone() {
    if !has("openssl", &["version"]) {
        return;
    }
    let study = study();
    authority(&study.base, "right");
    authority(&study.base, "wrong");
    publish(&study, "head.txt");
    for digest in ["sha512", "sha256"] {
        stamp(&study.base, "right", "head.txt", digest);
        deviate(&study, digest);
        if digest == "sha512" {
            let said = study.prereg(&["anchor", "--rfc3161", "head.txt.tsr", "--json"]);
            assert_eq!(wrong(&said), is(3, "anchor"));
        }
    }
    // Its head is found although the time-stamp does not say which it is.
    let asked = [
        "anchor",
        "--rfc3161",
        "head.txt.tsr",
        "--ca",
        "right.pem",
        "--to",
        "anchor",
    ];
    let anchored = study.data(&asked);
    assert_eq!(anchored["anchored"]["seq"], 7);
    assert_eq!(anchored["signature_checked"], true);
    export(&study, "export.jsonl");
    for whole in ["study.prereg.db", "export.jsonl"] {
        for file in ["head.txt.tsr", "anchor"] {
            let verify = |more: &[&str]| {
                let mut all = vec!["verify", whole, "--anchor", file, "--json"];
                all.extend(more);
                study.prereg(&all)
            };
            let said = verify(&[]).json();
            assert_eq!(said["anchored"], 7, "{said}");
            assert_eq!(said["after_anchor"], 3);
            let given = |said: &Value| {
                let anchors = said["anchors"].as_array().unwrap().clone();
                let given = anchors
                    .into_iter()
                    .find(|anchor| anchor["source"] == "file");
                given.unwrap()
            };
            assert_eq!(given(&said)["signature_checked"], false);
            let said = verify(&["--ca", "right.pem"]).json();
            assert_eq!(given(&said)["signature_checked"], true);
            assert_eq!(
                wrong(&verify(&["--ca", "wrong.pem"])),
                is(1, "stamp-untrusted")
            );
            assert_eq!(wrong(&verify(&["--ca", "head.txt"])), is(1, "seal"));
            assert_eq!(wrong(&verify(&["--ca", "absent"])), is(3, "not-found"));
        }
        // Recorded alone, it binds once its authority is known.
        let alone = study.data(&["verify", whole]);
        assert_eq!(alone["anchored"], Value::Null, "{alone}");
        let checked = study.data(&["verify", whole, "--ca", "right.pem"]);
        assert_eq!(checked["anchored"], 7, "{checked}");
    }
    // A time-stamp with another byte is not the one that was made, wherever it is changed.
    let good = fs::read(study.base.join("head.txt.tsr")).unwrap();
    for place in (0..good.len()).step_by(61).chain([good.len() - 1]) {
        let mut changed = good.clone();
        changed[place] ^= 0x10;
        fs::write(study.base.join("changed.tsr"), changed).unwrap();
        let said = study.prereg(&[
            "verify",
            "study.prereg.db",
            "--anchor",
            "changed.tsr",
            "--ca",
            "right.pem",
            "--json",
        ]);
        let (code, text) = wrong(&said);
        let is_wrong = [(3, "anchor"), (1, "stamp-untrusted")];
        let found = is_wrong
            .iter()
            .any(|wrong| (Some(wrong.0), wrong.1) == (code, &*text));
        // What is not signed and binds nothing: how the response is wrapped, which certificates
        // stand in it beside the signer's.
        let still_holds = code == Some(0) && said.json()["anchored"] == 7;
        assert!(found || still_holds, "byte {place}: {said:?}");
        assert!(!still_holds || place < 64, "byte {place} of {}", good.len());
    }
    let asked = [
        "anchor",
        "--rfc3161",
        "changed.tsr",
        "--ca",
        "right.pem",
        "--json",
    ];
    assert_eq!(wrong(&study.prereg(&asked)), is(3, "anchor"));
}

#[test]
fn what_a_git_remote_gave_is_kept_if_it_holds_the_line() {
    if !has("git", &["--version"]) {
        return;
    }
    let study = study();
    let line = publish(&study, "head.txt");
    let repository = study.folder.path().join("repository");
    fs::create_dir(&repository).unwrap();
    let git = |arguments: &[&str]| execute(&repository, "git", arguments);
    git(&["init", "-q"]);
    let who = ["-c", "user.name=n", "-c", "user.email=e@example.org"];
    let commit = ["commit", "-q", "--allow-empty", "-m", "A head", "-m", &line];
    git(&[&who[..], &commit].concat());
    let receipt = git(&["cat-file", "commit", "HEAD"]);
    study.write("receipt.txt", &receipt);
    let anchored = study.data(&["anchor", "--git", "receipt.txt", "--note", "pushed"]);
    assert_eq!(
        (&anchored["kind"], &anchored["line"]),
        (&json!("git"), &json!(line))
    );
    let body = study.entries().pop().unwrap();
    assert_eq!(body["command"]["action"]["witness"]["receipt"], receipt);
    assert_eq!(body["command"]["action"]["note"], "pushed");
    let said = study.data(&["verify", "study.prereg.db", "--anchor", "receipt.txt"]);
    assert_eq!(
        (&said["anchored"], &said["after_anchor"]),
        (&json!(7), &json!(1))
    );
    for (name, text, code) in [
        ("no-line", "commit 0123\n".to_owned(), "anchor"),
        ("cut", line[..line.len() - 3].to_owned(), "anchor"),
        ("other", line.replace("study", "elsewhere"), "anchor"),
        (
            "large",
            format!("{line}\n{}", "x".repeat(64 * 1024)),
            "too-large",
        ),
    ] {
        study.write(name, &text);
        let said = study.prereg(&["anchor", "--git", name, "--json"]);
        assert_eq!(wrong(&said), is(3, code), "{name}");
    }
}

/// Returns every file of a study's folder, with its bytes.
fn files(study: &Study) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found: Vec<_> = common::files_below(&study.base)
        .into_iter()
        // Made by whoever asks, and empty.
        .filter(|path| !path.to_string_lossy().ends_with("-lock"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_record_that_is_put_back_is_not_gone_on_with() {
    let study = study();
    let yesterday = fs::read(study.record()).unwrap();
    deviate(&study, "today");
    let line = publish(&study, "head.txt");
    let anchored = study.data(&["anchor", "--line", "head.txt"]);
    assert_eq!(anchored["kept"], "study.prereg.db.anchors");
    let kept = study.base.join("study.prereg.db.anchors");
    assert_eq!(fs::read_to_string(&kept).unwrap(), format!("{line}\n"));
    let today = fs::read(study.record()).unwrap();

    let refused = |what: &str, code: &str| {
        let before = files(&study);
        for arguments in [
            &["deviate", "--note", "again", "--json"][..],
            &["start", "t0", "a", "--json"],
            &["register", "study.toml", "--json"],
            &["run", "study.toml", "--quiet", "--json"],
            &["anchor", "--line", "head.txt", "--json"],
        ] {
            let makes_it = ["register", "run"].contains(&arguments[0]);
            if !makes_it && !study.record().exists() {
                continue;
            }
            let said = study.prereg(arguments);
            assert_eq!(wrong(&said), is(5, code), "{what}, {arguments:?}");
        }
        let after = files(&study);
        assert!(before == after, "{what}: something was written");
    };
    fs::write(study.record(), &yesterday).unwrap();
    refused("yesterday's copy", "behind-anchor");
    // Reading is allowed, and `verify` says so too.
    assert_eq!(study.data(&["status"])["head"]["seq"], 7);
    let said = study.prereg(&["verify", "study.prereg.db", "--json"]);
    assert_eq!(wrong(&said), is(5, "behind-anchor"));

    fs::remove_file(study.record()).unwrap();
    refused("no record", "behind-anchor");
    fs::write(study.record(), b"").unwrap();
    refused("an empty file", "behind-anchor");

    // Made again, and longer than the one that was published.
    fs::remove_file(study.record()).unwrap();
    fs::rename(&kept, study.folder.path().join("aside")).unwrap();
    study.register();
    for note in 0..9 {
        deviate(&study, &note.to_string());
    }
    fs::rename(study.folder.path().join("aside"), &kept).unwrap();
    refused("another record", "anchor-differs");
    let said = study.prereg(&["verify", "study.prereg.db", "--json"]);
    assert_eq!(wrong(&said), is(5, "anchor-differs"));

    // The record itself goes on; a line that a crash cut off was never acknowledged.
    fs::write(study.record(), &today).unwrap();
    fs::write(&kept, format!("{line}\n{}", &line[..30])).unwrap();
    deviate(&study, "on");
    publish(&study, "later.txt");
    study.data(&["anchor", "--line", "later.txt"]);
    let lines = fs::read_to_string(&kept).unwrap();
    assert_eq!(lines.lines().count(), 3, "{lines}");
    study.verify();
    // Said again after the file was lost: it is kept again.
    fs::remove_file(&kept).unwrap();
    let again = study.data(&["anchor", "--line", "later.txt"]);
    assert_eq!(again["changed"], false);
    assert!(kept.exists());
}

/// An export that somebody changes and makes consistent again, as docs/record-format.md says how.
struct Forgery {
    header: Value,
    entries: Vec<Value>,
}

impl Forgery {
    fn of(study: &Study) -> Self {
        let said = study.prereg(&["export", "study.prereg.db"]);
        let mut lines = said
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        Self {
            header: lines.next().unwrap(),
            entries: lines.collect(),
        }
    }

    fn action(&mut self, seq: usize) -> &mut Value {
        &mut self.entries[seq - 1]["body"]["command"]["action"]
    }

    /// Returns the export with every digest made again.
    fn text(&self) -> String {
        let mut previous = [0; 32];
        let mut lines = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let mut entry = entry.clone();
            // Keys are sorted, and there are no numbers but integers: this is the canonical form.
            let body = entry["body"].to_string();
            let (seq, length) = (at as u64 + 1, body.len() as u64);
            let Digest(digest) = Digest::of(&[
                b"prereg-entry/1\n",
                &previous,
                &seq.to_be_bytes(),
                &length.to_be_bytes(),
                body.as_bytes(),
            ]);
            previous = digest;
            entry["digest"] = json!(Digest(digest).to_string());
            entry["seq"] = json!(seq);
            lines.push(entry.to_string());
        }
        let mut header = self.header.clone();
        header["entries"] = json!(lines.len());
        header["head"] = json!(Digest(previous).to_string());
        header.as_object_mut().unwrap().remove("digest");
        let digest = Digest::of(&[header.to_string().as_bytes()]);
        header["digest"] = json!(digest.to_string());
        let mut text = format!("{header}\n");
        lines
            .iter()
            .for_each(|line| text.push_str(&format!("{line}\n")));
        text
    }

    /// Returns what `verify` says of it.
    fn said(&self, study: &Study, more: &[&str]) -> Said {
        study.write("forged.jsonl", &self.text());
        let mut all = vec!["verify", "forged.jsonl", "--json"];
        all.extend(more);
        study.prereg(&all)
    }
}

#[test]
fn what_was_made_again_is_found_before_an_anchor_and_counted_after_it() {
    let study = study();
    let at = |seq: usize| {
        let export = Forgery::of(&study);
        let digest = &export.entries[seq - 1]["digest"];
        (
            format!("prereg-head/1 study {seq} {}", digest.as_str().unwrap()),
            digest.as_str().unwrap().to_owned(),
        )
    };
    let (line, digest) = at(5);
    study.write("fifth.txt", &format!("Published:\n  {line}.\n"));
    let anchor = ["--anchor", "fifth.txt"];
    let head = ["--head", &digest];
    for place in [3, 4, 5, 6, 7] {
        let mut forged = Forgery::of(&study);
        forged.action(place)["note"] = json!("something else");
        // Nothing in itself betrays it.
        let alone = forged.said(&study, &[]);
        assert_eq!(alone.code, Some(0), "{alone:?}");
        assert_eq!(alone.json()["anchored"], Value::Null);
        let (anchored, known) = (forged.said(&study, &anchor), forged.said(&study, &head));
        if place <= 5 {
            assert_eq!(wrong(&anchored), is(5, "anchor-differs"), "entry {place}");
            assert_eq!(anchored.json()["error"]["entry"], 5);
            assert_eq!(wrong(&known), is(5, "head-unknown"), "entry {place}");
        } else {
            for said in [anchored, known] {
                let said = said.json();
                assert_eq!(
                    (&said["anchored"], &said["after_anchor"]),
                    (&json!(5), &json!(2))
                );
            }
        }
    }
    for last in 2..=7 {
        let mut cut = Forgery::of(&study);
        cut.entries.truncate(last);
        let said = cut.said(&study, &anchor);
        if last < 5 {
            assert_eq!(wrong(&said), is(5, "behind-anchor"), "{last}");
            assert_eq!(said.json()["error"]["entry"], 5);
        } else {
            assert_eq!(said.json()["after_anchor"], last - 5);
        }
    }
    // Several at once: the newest that holds counts, and one that does not is enough.
    let (seventh, _) = at(7);
    study.write("seventh.txt", &format!("{line}\n{seventh}\n"));
    let both = [
        "verify",
        "study.prereg.db",
        "--anchor",
        "seventh.txt",
        "--head",
        &digest,
    ];
    let said = study.data(&both);
    assert_eq!(
        (&said["anchored"], &said["after_anchor"]),
        (&json!(7), &json!(0))
    );
    assert_eq!(said["anchors"].as_array().unwrap().len(), 3);
    let not_shown = said["not_shown"].as_array().unwrap();
    assert_eq!(not_shown.len(), 10);
    assert_eq!(not_shown[9]["code"], "N10");
}

#[test]
fn what_a_record_says_of_its_own_publication_is_checked() {
    if !has("ssh-keygen", &["-?"]) {
        return;
    }
    let study = study();
    key(&study.base, "key", "ed25519");
    study.data(&["anchor", "--ssh-key", "key"]);
    study.data(&["anchor", "--ssh-key", "key"]);
    publish(&study, "head.txt");
    study.data(&["anchor", "--line", "head.txt"]);
    let whole = Forgery::of(&study);
    assert_eq!(whole.said(&study, &[]).code, Some(0));
    let said = whole.said(&study, &[]).json();
    let named: Vec<&Value> = said["anchors"].as_array().unwrap().iter().collect();
    let named: Vec<(&Value, &Value)> = named.iter().map(|a| (&a["entry"], &a["from"])).collect();
    let (seven, eight, nine) = (json!(7), json!(8), json!(9));
    assert_eq!(
        named,
        [(&seven, &eight), (&eight, &nine), (&nine, &json!(10))]
    );

    // The signature is of another line.
    let mut forged = Forgery::of(&study);
    let other = forged.action(9)["witness"].clone();
    forged.action(8)["witness"] = other;
    assert_eq!(
        wrong(&forged.said(&study, &[])).1,
        "ruling-differs",
        "the event binds it"
    );
    let said_before = |forged: &mut Forgery, seq: usize| {
        let action = forged.action(seq).clone();
        let said = Digest::of(&[action.to_string().as_bytes()]);
        forged.entries[seq - 1]["body"]["ruling"]["granted"][0]["said"] = json!(said.to_string());
        forged.entries[seq - 1]["body"]["ruling"]["granted"][0]["entry"] = action["entry"].clone();
    };
    said_before(&mut forged, 8);
    let said = forged.said(&study, &[]);
    assert_eq!(wrong(&said), is(5, "anchor-invalid"));
    assert_eq!(said.json()["error"]["entry"], 8);
    // The digest is another one; then the entry is one that did not stand yet.
    for (key, value) in [
        ("digest", json!("0".repeat(64))),
        ("entry", json!(10)),
        ("entry", json!(0)),
    ] {
        let mut forged = Forgery::of(&study);
        forged.action(10)[key] = value;
        said_before(&mut forged, 10);
        let said = forged.said(&study, &[]);
        assert_eq!(wrong(&said), is(5, "anchor-invalid"), "{key}");
        assert_eq!(said.json()["error"]["entry"], 10);
    }
    // An entry that was published by its own record is changed, and all that follows made again.
    let mut forged = Forgery::of(&study);
    forged.action(9)["note"] = json!("later");
    said_before(&mut forged, 9);
    assert_eq!(wrong(&forged.said(&study, &[])), is(5, "anchor-invalid"));
}

#[test]
fn a_file_that_shows_nothing_of_the_record_is_a_defect_and_no_divergence() {
    let study = study();
    let line = publish(&study, "head.txt");
    let registration = study.prereg(&["head", "--registration"]).out;
    let verify = |text: &str| {
        study.write("given", text);
        study.prereg(&["verify", "study.prereg.db", "--anchor", "given", "--json"])
    };
    for text in [
        "",
        "nothing published here\n",
        &line.replace(" study ", " another "),
        &line[..line.len() - 1],
        "-----BEGIN SSH SIGNATURE-----\nAAAA\n",
        "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN CMS-----\nMAA=\n-----END CMS-----\n",
        "0\u{80}",
    ] {
        assert_eq!(wrong(&verify(text)), is(3, "anchor"), "{text}");
    }
    for (name, code) in [("absent", "not-found"), (".", "path")] {
        let said = study.prereg(&["verify", "study.prereg.db", "--anchor", name, "--json"]);
        assert_eq!(wrong(&said), is(3, code), "{name}");
    }
    // A list of a whole laboratory's lines: those of other studies are passed over.
    let list = format!("{}\n{line}\n", line.replace(" study ", " another "));
    assert_eq!(verify(&list).json()["anchored"], 7);
    assert_eq!(verify(&registration).json()["anchored"], 2);
    let other = registration.trim_end();
    let other = format!("{}{}", &other[..other.len() - 4], "0123");
    assert_eq!(wrong(&verify(&other)), is(5, "anchor-differs"));
    let said = study.prereg(&["verify", "study.prereg.db", "--head", "0123"]);
    assert_eq!(said.code, Some(2));
    // Of a record without entries, everything that was published is missing.
    let empty = Recipe::default().lay();
    fs::write(empty.record(), b"").unwrap();
    for asked in [
        &["deviate", "--note", "none", "--json"][..],
        &["head", "--json"],
    ] {
        assert_eq!(wrong(&empty.prereg(asked)), is(4, "not-opened"));
    }
    let verify = |given: &[&str]| {
        let mut all = vec!["verify", "study.prereg.db", "--json"];
        all.extend(given);
        empty.prereg(&all)
    };
    assert_eq!(verify(&[]).json()["state"], "empty");
    empty.write("given", &line);
    assert_eq!(
        wrong(&verify(&["--anchor", "given"])),
        is(5, "behind-anchor")
    );
    let digest = "0".repeat(64);
    assert_eq!(wrong(&verify(&["--head", &digest])), is(5, "head-unknown"));
}

#[test]
fn heads_are_of_records_that_have_entries() {
    let study = Recipe::default().lay();
    let said = study.prereg(&["head", "study.prereg.db", "--json"]);
    assert_eq!(wrong(&said), is(1, "record-not-found"));
    study.register();
    assert_eq!(study.data(&["head"])["head"]["seq"], 2);
    let said = study.prereg(&["anchor", "--git", "study.toml", "--ca", "study.toml"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let said = study.prereg(&["anchor", "--git", "a", "--ssh-key", "b"]);
    assert_eq!(said.code, Some(2), "{said:?}");
}
