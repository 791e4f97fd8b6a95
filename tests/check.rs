//! The checker against malformed inputs: each is refused, at the right line, in plain words.
//!
//! `tests/bad/README.md` lists the inputs and the line of each caret; what is printed for each is a
//! snapshot of its own, to be read by a person whenever it changes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prereg::cli::render;
use prereg::engine::scoring::Scorer;
use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use prereg::protocol::defect::{Code, Defect};
use prereg::protocol::folder::{Folder, FolderFault};
use prereg::units::Digest;

/// One malformed input of the list.
struct Bad {
    name: String,
    /// The line of the caret; none for an absence, which no line is to blame for.
    line: Option<u64>,
    /// The file of the caret, if it is another one.
    file: Option<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn bad() -> PathBuf {
    root().join("tests/bad")
}

/// Reads a part of the list: lines such as "- `name` — what is wrong — 12", or, for a fault that is
/// drawn in a file beside it, "— 1 of other.json".
fn listed(part: &str) -> Vec<Bad> {
    let readme = fs::read_to_string(bad().join("README.md")).unwrap();
    let heading = format!("# {part} (");
    let lines = readme
        .lines()
        .skip_while(|line| !line.starts_with(&heading))
        .skip(1)
        .take_while(|line| !line.starts_with("# "));
    let items = lines.filter_map(|line| line.strip_prefix("- `"));
    items
        .map(|item| {
            let (name, rest) = item.split_once('`').unwrap();
            let line = rest.rsplit_once(" — ").unwrap().1;
            let (line, file) = match line.split_once(" of ") {
                Some((line, file)) => (line, Some(file.to_owned())),
                None => (line, None),
            };
            Bad {
                name: name.to_owned(),
                line: (line != "1 (file)").then(|| line.parse().unwrap()),
                file,
            }
        })
        .collect()
}

/// Returns the names of a folder's files with an ending.
fn files(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(ending)).collect()
}

fn assert_complete(part: &str, ending: &str, list: &[Bad]) {
    let mut names: BTreeSet<String> = list.iter().map(|bad| bad.name.clone()).collect();
    assert_eq!(names.len(), list.len(), "{part}: an input is listed twice");
    let mut found = files(&bad().join(part), ending);
    found.retain(|name| !name.ends_with(".schema.json") && name != "not-a-schema.json");
    names.retain(|name| !found.remove(name));
    assert!(
        names.is_empty() && found.is_empty(),
        "{part}: listed and absent {names:?}, present and not listed {found:?}"
    );
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(root().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("check__{name}"), text));
}

/// A folder in which one file has other content.
struct Overlay<'a> {
    below: DiskFolder,
    path: &'a str,
    bytes: &'a [u8],
}

impl Folder for Overlay<'_> {
    fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, FolderFault> {
        if path != self.path {
            self.below.read(path, max)
        } else if self.bytes.len() > max {
            Err(FolderFault {
                code: Code::TooLarge,
                message: "too large".to_owned(),
            })
        } else {
            Ok(self.bytes.to_vec())
        }
    }

    fn digest(&self, path: &str) -> Result<Digest, FolderFault> {
        self.below.digest(path)
    }

    fn executable(&self, path: &str) -> Result<bool, FolderFault> {
        self.below.executable(path)
    }
}

/// What the checker says of an input: drawn, and as items with line numbers.
struct Answer {
    drawn: String,
    items: Vec<serde_json::Value>,
}

fn answer(file: &str, bytes: &[u8], folder: &dyn Folder) -> Result<Answer, Vec<Defect>> {
    let found = check(bytes, folder).err().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let other = |path: &str| {
        let bytes = folder.read(path, 1 << 20).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    if found.is_empty() {
        return Err(found);
    }
    Ok(Answer {
        drawn: render::defects(file, &text, &found, other),
        items: render::defects_json(file, &text, &found, other),
    })
}

/// Adds a complaint if no defect lies in that file on that line.
fn expect_line(bad: &Bad, file: &str, answer: &Answer, complaints: &mut Vec<String>) {
    let on_line = |item: &serde_json::Value| {
        let line = item["line"].as_u64();
        item["file"] == bad.file.as_deref().unwrap_or(file)
            && match bad.line {
                None => line.is_none_or(|line| line == 1),
                Some(wanted) => line == Some(wanted),
            }
    };
    if !answer.items.iter().any(on_line) {
        complaints.push(format!(
            "{}: expected line {:?}\n{}",
            bad.name, bad.line, answer.drawn
        ));
    }
}

#[test]
fn every_malformed_protocol_is_refused_at_its_line() {
    let list = listed("protocols");
    assert_complete("protocols", ".toml", &list);
    let mut complaints = Vec::new();
    for bad_one in &list {
        let path = bad().join("protocols").join(&bad_one.name);
        let bytes = fs::read(&path).unwrap();
        match answer(
            &bad_one.name,
            &bytes,
            &DiskFolder::at(path.parent().unwrap()),
        ) {
            Err(_) => complaints.push(format!("{}: no defect", bad_one.name)),
            Ok(answer) => {
                snapshot(bad_one.name.trim_end_matches(".toml"), &answer.drawn);
                expect_line(bad_one, &bad_one.name, &answer, &mut complaints);
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_malformed_frame_is_refused_at_its_line() {
    let list = listed("frames");
    assert_complete("frames", ".jsonl", &list);
    let base = fs::read(bad().join("base.toml")).unwrap();
    let mut complaints = Vec::new();
    for bad_one in &list {
        let frame = fs::read(bad().join("frames").join(&bad_one.name)).unwrap();
        let folder = Overlay {
            below: DiskFolder::at(&bad()),
            path: "tasks.jsonl",
            bytes: &frame,
        };
        match answer("base.toml", &base, &folder) {
            Err(_) => complaints.push(format!("{}: no defect", bad_one.name)),
            Ok(answer) => {
                let name = format!("frame__{}", bad_one.name.trim_end_matches(".jsonl"));
                snapshot(&name, &answer.drawn);
                expect_line(bad_one, "tasks.jsonl", &answer, &mut complaints);
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_malformed_report_is_refused_at_its_line() {
    let list = listed("reports");
    assert_complete("reports", ".json", &list);
    let base = fs::read(bad().join("base.toml")).unwrap();
    let checked = check(&base, &DiskFolder::at(&bad())).unwrap();
    let scorer = Scorer::new(&checked.registration.protocol, &checked.tasks).unwrap();
    let mut said = String::new();
    for bad_one in &list {
        let report = fs::read(bad().join("reports").join(&bad_one.name)).unwrap();
        let fault = scorer.read_report(&report).expect_err(&bad_one.name);
        let before = &report[..fault.offset.min(report.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        assert_eq!(Some(line as u64), bad_one.line, "{}", bad_one.name);
        let at = match &fault.pointer {
            Some(pointer) => format!("at `{pointer}`"),
            None => format!("at byte {}", fault.offset),
        };
        said.push_str(&format!("{}\n    {at}: {}\n", bad_one.name, fault.message));
    }
    snapshot("reports", &said);
    let mut large = br#"{"correct": true, "bytes": 1}"#.to_vec();
    assert!(scorer.read_report(&large).is_ok());
    large.resize((1 << 20) + 1, b' ');
    assert!(scorer.read_report(&large).is_err());
}

#[test]
fn the_least_integer_of_64_bits_is_a_defect() {
    let text = "language = -9223372036854775808\n";
    let defects = check(text.as_bytes(), &DiskFolder::at(&bad())).unwrap_err();
    assert_eq!(defects[0].code, Code::Number, "{defects:?}");
}

#[test]
fn stages_beyond_every_range_are_a_defect() {
    let base = fs::read_to_string(bad().join("base.toml")).unwrap();
    let stage = |id| format!("[[stages]]\nid = \"{id}\"\nrepeats = 4000000000\n");
    let text = base.replace("repeats = 2\n", "") + &stage("one") + &stage("two");
    let defects = check(text.as_bytes(), &DiskFolder::at(&bad())).unwrap_err();
    let of_range = |defect: &&Defect| defect.code == Code::Range;
    assert!(defects.iter().filter(of_range).count() >= 2, "{defects:?}");
}

#[test]
fn the_protocols_that_ship_have_no_defects() {
    for path in [
        "tests/bad/base.toml",
        "protocols/quickstart.toml",
        "protocols/minimal.toml",
        "protocols/coding-agent.toml",
    ] {
        let place = root().join(path);
        let bytes = fs::read(&place).unwrap();
        if let Ok(answer) = answer(path, &bytes, &DiskFolder::at(place.parent().unwrap())) {
            panic!("{}", answer.drawn);
        }
    }
}

#[test]
fn codes_are_unique_kebab_case_and_described() {
    let mut table = String::new();
    let mut seen = BTreeSet::new();
    for code in Code::ALL {
        let (text, description) = (code.text(), code.description());
        assert!(seen.insert(text), "{text} stands twice");
        let kebab = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
        assert!(text.split('-').all(kebab), "{text}");
        assert!(
            description.ends_with('.') && description.len() > 20,
            "{text}: {description}"
        );
        table.push_str(&format!("{text}\n    {description}\n"));
    }
    snapshot("codes", &table);
}
