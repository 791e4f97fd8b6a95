//! The checker against malformed inputs: each is refused, at the right line, in plain words.
//!
//! `tests/protocols/README.md` lists the inputs and the line of each caret; what is printed for each is a
//! snapshot of its own, to be read by a person whenever it changes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prereg::cli::render;
use prereg::engine::scoring::Scorer;
use prereg::engine::sound;
use prereg::folder::DiskFolder;
use prereg::protocol::check::{Checked, is_weakness};
use prereg::protocol::defect::{Code, Defect};
use prereg::protocol::folder::{Folder, FolderFault};
use prereg::protocol::frame::fractional_fields;
use prereg::protocol::model::Objective;
use prereg::protocol::registration::Registration;
use prereg::units::{Digest, Ratio, Share};
use serde_json::json;

/// One malformed input of the list.
struct Bad {
    name: String,
    /// The lines of the carets, one for each slip; none for an absence, which no line is to blame
    /// for.
    lines: Vec<u64>,
    /// The file of the caret, if it is another one.
    file: Option<String>,
}

/// Checks a protocol and plays it.
fn check(bytes: &[u8], folder: &dyn Folder) -> Result<Checked, Vec<Defect>> {
    sound::check(bytes, folder).map(|(checked, _)| checked)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn protocols() -> PathBuf {
    root().join("tests/protocols")
}

/// Reads a part of the list: lines such as "- `name` — what is wrong — 12", or, for a fault that is
/// drawn in a file beside it, "— 1 of other.json".
fn listed(part: &str) -> Vec<Bad> {
    let readme = fs::read_to_string(protocols().join("README.md")).unwrap();
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
                lines: match line {
                    "1 (file)" => Vec::new(),
                    lines => lines
                        .split(", ")
                        .map(|line| line.parse().unwrap())
                        .collect(),
                },
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
    let mut found = files(&protocols().join(part), ending);
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

/// Returns the folder of `base.toml` with another frame.
fn with_frame(frame: &[u8]) -> Overlay<'_> {
    Overlay {
        below: DiskFolder::at(&protocols()),
        path: "tasks.jsonl",
        bytes: frame,
    }
}

/// What the checker says of an input: drawn, and as items with line numbers.
struct Answer {
    drawn: String,
    items: Vec<serde_json::Value>,
}

/// Returns what the checker says of an input; nothing where it finds no defect.
fn answer(file: &str, bytes: &[u8], folder: &dyn Folder) -> Option<Answer> {
    let found = check(bytes, folder).err().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let other = |path: &str| {
        let bytes = folder.read(path, 1 << 20).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    (!found.is_empty()).then(|| Answer {
        drawn: render::defects(file, &text, &found, other),
        items: render::defects_json(file, &text, &found, other),
    })
}

/// Adds a complaint if no defect lies in that file on that line; several lines are all there are.
fn expect_lines(bad: &Bad, file: &str, answer: &Answer, complaints: &mut Vec<String>) {
    let file = bad.file.as_deref().unwrap_or(file);
    let there = answer.items.iter().filter(|item| item["file"] == file);
    let lines: Vec<Option<u64>> = there.map(|item| item["line"].as_u64()).collect();
    let found = match bad.lines.as_slice() {
        [] => lines.iter().any(|line| line.is_none_or(|line| line == 1)),
        [line] => lines.contains(&Some(*line)),
        all => lines.iter().flatten().eq(all) && lines.len() == all.len(),
    };
    if !found {
        complaints.push(format!(
            "{}: expected line {:?}\n{}",
            bad.name, bad.lines, answer.drawn
        ));
    }
}

#[test]
fn every_malformed_protocol_is_refused_at_its_line() {
    let list = listed("bad");
    assert_complete("bad", ".toml", &list);
    let mut complaints = Vec::new();
    for bad_one in &list {
        let path = protocols().join("bad").join(&bad_one.name);
        let bytes = fs::read(&path).unwrap();
        match answer(
            &bad_one.name,
            &bytes,
            &DiskFolder::at(path.parent().unwrap()),
        ) {
            None => complaints.push(format!("{}: no defect", bad_one.name)),
            Some(answer) => {
                snapshot(bad_one.name.trim_end_matches(".toml"), &answer.drawn);
                expect_lines(bad_one, &bad_one.name, &answer, &mut complaints);
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_malformed_frame_is_refused_at_its_line() {
    let list = listed("frames");
    assert_complete("frames", ".jsonl", &list);
    let base = fs::read(protocols().join("base.toml")).unwrap();
    let mut complaints = Vec::new();
    for bad_one in &list {
        let frame = fs::read(protocols().join("frames").join(&bad_one.name)).unwrap();
        match answer("base.toml", &base, &with_frame(&frame)) {
            None => complaints.push(format!("{}: no defect", bad_one.name)),
            Some(answer) => {
                let name = format!("frame__{}", bad_one.name.trim_end_matches(".jsonl"));
                snapshot(&name, &answer.drawn);
                expect_lines(bad_one, "tasks.jsonl", &answer, &mut complaints);
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_malformed_report_is_refused_at_its_line() {
    let list = listed("reports");
    assert_complete("reports", ".json", &list);
    let base = fs::read(protocols().join("base.toml")).unwrap();
    let checked = check(&base, &DiskFolder::at(&protocols())).unwrap();
    let scorer = Scorer::new(
        &checked.registration.protocol,
        &fractional_fields(&checked.tasks),
    )
    .unwrap();
    let mut said = String::new();
    for bad_one in &list {
        let report = fs::read(protocols().join("reports").join(&bad_one.name)).unwrap();
        let fault = scorer.read_report(&report).expect_err(&bad_one.name);
        let before = &report[..fault.offset.min(report.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        assert_eq!(bad_one.lines, [line as u64], "{}", bad_one.name);
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

/// Every slip of one key or one value is told once, and nothing that follows from it.
#[test]
fn one_slip_is_one_defect() {
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let lines: Vec<&str> = base.lines().collect();
    let mut complaints = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.split_once(" = ") else {
            continue;
        };
        let other = if value.starts_with('"') {
            "7"
        } else {
            "\"zq\""
        };
        let misspelt = match key.strip_suffix('"') {
            Some(key) => format!("{key}x\" = {value}"),
            None => format!("{key}x = {value}"),
        };
        for (slip, least) in [
            (misspelt, 1),
            (format!("{key} = {other}"), 1),
            (String::new(), 0),
        ] {
            let mut lines = lines.clone();
            lines[i] = &slip;
            let text = lines.join("\n");
            let found = check(text.as_bytes(), &DiskFolder::at(&protocols())).err();
            let found = found.unwrap_or_default();
            if found.len() > 1 || found.len() < least {
                let drawn = render::defects("base.toml", &text, &found, |_| None);
                complaints.push(format!("line {}, `{slip}`:\n{drawn}", i + 1));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Codes that no stored protocol and no stored frame causes, with the reason.
const NOT_STORED: &[(Code, &str)] = &[
    (Code::Unreadable, "who may read a file is not kept with it"),
    (Code::TooLarge, "the file would be large"),
    (Code::BadReport, "a report causes it, never a protocol"),
    (Code::Operation, "a history causes it, never a protocol"),
    (
        Code::Anchor,
        "a file about a publication causes it, never a protocol",
    ),
];

#[test]
fn every_code_is_caused_by_a_stored_input() {
    let mut caused = BTreeSet::new();
    let mut cause = |bytes: &[u8], folder: &dyn Folder| {
        let found = check(bytes, folder).err().unwrap_or_default();
        caused.extend(found.into_iter().map(|defect| defect.code));
    };
    for part in ["bad", "weak"] {
        let place = protocols().join(part);
        for name in files(&place, ".toml") {
            cause(
                &fs::read(place.join(name)).unwrap(),
                &DiskFolder::at(&place),
            );
        }
    }
    let base = fs::read(protocols().join("base.toml")).unwrap();
    for name in files(&protocols().join("frames"), ".jsonl") {
        let frame = fs::read(protocols().join("frames").join(name)).unwrap();
        cause(&base, &with_frame(&frame));
    }
    caused.extend(NOT_STORED.iter().map(|(code, _)| *code));
    let all: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    assert_eq!(caused, all);
}

/// Returns the code of the only defect of a text, in the folder of `base.toml`.
fn only_code(text: &str) -> Code {
    let found = check(text.as_bytes(), &DiskFolder::at(&protocols())).unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].code
}

#[test]
fn what_is_too_large_to_store_is_refused() {
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let long = |command: usize| {
        let argument = "x".repeat(command);
        base.replace(
            "printf b > out\"]\ndiffers",
            &format!("{argument}\"]\ndiffers"),
        )
    };
    let keys: String = (0..20_500).map(|i| format!("k{i} = 1\n")).collect();
    for (what, text, code) in [
        (
            "257 KiB",
            base.clone() + &"#\n".repeat(257 * 512),
            Code::TooLarge,
        ),
        (
            "deep arrays",
            format!("a = {}", "[".repeat(100_000)),
            Code::Syntax,
        ),
        (
            "deep tables",
            format!("a = {}", "{a=".repeat(80_000)),
            Code::Syntax,
        ),
        ("100,000 deep tables", "{a=".repeat(100_000), Code::TooLarge),
        (
            "a dotted key",
            format!("a{} = 1", ".a".repeat(100_000)),
            Code::Syntax,
        ),
        ("20,500 keys", keys, Code::TooLarge),
        (
            "30,000 times a key",
            "k = 1\n".repeat(30_000),
            Code::DuplicateKey,
        ),
        ("200,000 keys", "k = 1\n".repeat(200_000), Code::TooLarge),
        (
            "200,000 tables",
            "[[arms]]\n".repeat(200_000),
            Code::TooLarge,
        ),
        ("25,000 tables", "[[arms]]\n".repeat(25_000), Code::TooLarge),
        ("a command of 129 KiB", long(129 * 1024), Code::Command),
    ] {
        let start = Instant::now();
        assert_eq!(only_code(&text), code, "{what}");
        assert!(start.elapsed() < Duration::from_secs(1), "{what}");
    }
    assert!(check(long(64 * 1024).as_bytes(), &DiskFolder::at(&protocols())).is_ok());
}

#[test]
fn toml_1_1_is_read_and_means_the_same() {
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let newer = base
        .replace(
            "env = { LC_ALL = \"C\" }",
            "env = {\n  LC_ALL = \"\\x43\",\n}",
        )
        .replace("id = \"base\"", "id = \"\\x62ase\"");
    let digest = |text: &str| {
        let checked = check(text.as_bytes(), &DiskFolder::at(&protocols())).unwrap();
        checked.registration.digest()
    };
    assert_ne!(newer, base);
    assert_eq!(digest(&newer), digest(&base));
}

/// Checks a file by the command line; returns its exit status and the code of its first defect.
fn by_command(path: &Path) -> (Option<i32>, String) {
    let start = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_prereg"))
        .args(["check", "--json"])
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{path:?}");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let code = &said["error"]["defects"][0]["code"];
    (output.status.code(), code.as_str().unwrap().to_owned())
}

#[test]
fn what_is_no_plain_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let pipe = Command::new("mkfifo").arg(place("pipe")).status();
    assert!(pipe.unwrap().success());
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let large = base.clone() + &"#\n".repeat(257 * 512);
    fs::write(place("large"), large).unwrap();
    fs::write(place("base.toml"), &base).unwrap();
    std::os::unix::fs::symlink(place("base.toml"), place("link")).unwrap();
    for (path, code) in [
        (place("nowhere"), "not-found"),
        (place("nowhere/at/all"), "not-found"),
        (folder.path().to_owned(), "not-file"),
        (place("pipe"), "not-file"),
        (place("link"), "not-file"),
        (PathBuf::from("/dev/zero"), "not-file"),
        (place("large"), "too-large"),
    ] {
        assert_eq!(by_command(&path), (Some(3), code.to_owned()), "{path:?}");
    }
}

#[test]
fn what_a_protocol_names_is_a_plain_file_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for name in ["tasks.jsonl", "judge.sh", "report.schema.json"] {
        fs::copy(protocols().join(name), place(name)).unwrap();
    }
    let pipe = Command::new("mkfifo").arg(place("pipe")).status();
    assert!(pipe.unwrap().success());
    fs::create_dir(place("real")).unwrap();
    std::os::unix::fs::symlink("real", place("linked")).unwrap();
    std::os::unix::fs::symlink("/", place("real/out")).unwrap();
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let copy = |from: &str| {
        let copied = format!("workspace = {{ copy = \"{from}\" }}");
        base.replace("workspace = \"empty\"", &copied)
    };
    let file = |key: &str, name: &str, other: &str| {
        base.replace(
            &format!("{key} = \"{name}\""),
            &format!("{key} = \"{other}\""),
        )
    };
    for (what, text, code) in [
        (
            "the frame is a pipe",
            file("frame", "tasks.jsonl", "pipe"),
            "not-file",
        ),
        (
            "the frame is absent",
            file("frame", "tasks.jsonl", "none"),
            "not-found",
        ),
        (
            "the schema is a folder",
            file("schema", "report.schema.json", "real"),
            "not-file",
        ),
        ("the workspace is a link", copy("linked"), "not-file"),
        ("the workspace holds a link", copy("real"), "not-file"),
        ("the workspace is a pipe", copy("pipe"), "not-file"),
    ] {
        let start = Instant::now();
        let found = check(text.as_bytes(), &DiskFolder::at(folder.path())).unwrap_err();
        let codes: Vec<&str> = found.iter().map(|defect| defect.code.text()).collect();
        assert_eq!(codes, [code], "{what}: {found:?}");
        assert!(start.elapsed() < Duration::from_secs(1), "{what}");
    }
}

#[test]
fn each_weakness_is_found_where_it_is_and_nowhere_else() {
    let weaknesses = Code::ALL.iter().filter(|code| is_weakness(**code));
    let wanted: BTreeSet<String> = weaknesses
        .clone()
        .map(|code| format!("{}.toml", code.text()))
        .collect();
    for part in ["weak", "sound"] {
        assert_eq!(files(&protocols().join(part), ".toml"), wanted, "{part}");
    }
    for code in weaknesses {
        let name = format!("{}.toml", code.text());
        let look = |part: &str, accepted: bool| {
            let folder = protocols().join(part);
            let mut text = fs::read_to_string(folder.join(&name)).unwrap();
            if accepted {
                text += &format!("\n[limitations]\n\"{}\" = \"it is known\"\n", code.text());
            }
            let found = check(text.as_bytes(), &DiskFolder::at(&folder)).err();
            let found = found.unwrap_or_default();
            let codes: Vec<Code> = found.iter().map(|defect| defect.code).collect();
            (codes, render::defects(&name, &text, &found, |_| None))
        };
        let (codes, drawn) = look("weak", false);
        assert_eq!(codes, [*code], "{drawn}");
        snapshot(&format!("weak__{}", code.text()), &drawn);
        let (codes, drawn) = look("weak", true);
        assert_eq!(codes, [], "{drawn}");
        let (codes, drawn) = look("sound", false);
        assert_eq!(codes, [], "{drawn}");
        let (codes, drawn) = look("sound", true);
        assert_eq!(codes, [Code::LimitationNotFound], "{drawn}");
    }
}

#[test]
fn the_least_integer_of_64_bits_is_a_defect() {
    let text = "language = -9223372036854775808\n";
    let defects = check(text.as_bytes(), &DiskFolder::at(&protocols())).unwrap_err();
    assert_eq!(defects[0].code, Code::Number, "{defects:?}");
}

#[test]
fn stages_beyond_every_range_are_a_defect() {
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let stage = |id| format!("[[stages]]\nid = \"{id}\"\nrepeats = 4000000000\n");
    let text = base.replace("repeats = 2\n", "") + &stage("one") + &stage("two");
    let defects = check(text.as_bytes(), &DiskFolder::at(&protocols())).unwrap_err();
    let of_range = |defect: &&Defect| defect.code == Code::Range;
    assert!(defects.iter().filter(of_range).count() >= 2, "{defects:?}");
}

#[test]
fn the_protocols_that_ship_have_no_defects() {
    let shipped = root().join("protocols");
    let mut places: Vec<PathBuf> = files(&shipped, ".toml")
        .into_iter()
        .map(|name| shipped.join(name))
        .collect();
    assert!(places.len() >= 4, "{places:?}");
    places.push(protocols().join("base.toml"));
    for place in places {
        let bytes = fs::read(&place).unwrap();
        let folder = DiskFolder::at(place.parent().unwrap());
        if let Some(answer) = answer(&place.to_string_lossy(), &bytes, &folder) {
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

/// Checks `base.toml` with a part of it replaced.
fn edited(from: &str, to: &str) -> Result<Checked, Vec<Defect>> {
    let base = fs::read_to_string(protocols().join("base.toml")).unwrap();
    let text = base.replacen(from, to, 1);
    assert!(from == to || text != base, "base.toml has no {from}");
    check(text.as_bytes(), &DiskFolder::at(&protocols()))
}

#[test]
fn a_share_is_read_however_it_is_written() {
    for share in ["1e-7", "0.0000001", "\"1/10000000\""] {
        let to = format!("[analysis]\nmissing_share_max = {share}\n");
        let analysis = edited("[analysis]\n", &to)
            .unwrap()
            .registration
            .protocol
            .analysis;
        let least = Share {
            num: 1,
            den: 10_000_000,
        };
        assert_eq!(analysis.unwrap().missing_share_max, least, "{share}");
    }
}

#[test]
fn the_analysis_is_bound_with_its_defaults_written_out() {
    let checked = edited("alpha = 0.05\n", "").unwrap();
    let value = json!(checked.registration.protocol.analysis);
    let comparison = |outcome: &str| {
        json!({
            "outcome": outcome, "estimand": "as_drawn", "effect": "paired_diff", "test": "sign_flip",
            "interval": "t_cr2", "alternative": "two_sided", "objective": "superiority", "margin": null,
        })
    };
    let expected = json!({
        "reference": "a", "treatments": ["b"], "alpha": { "num": 1, "den": 20 },
        "cluster": "none", "inference": "tasks_sampled", "resamples": 9999,
        "missing_share_max": { "num": 1, "den": 10 }, "seal": true,
        "primary": comparison("passed"),
        "secondary": [{ "id": "claims", "comparison": comparison("false_claim") }],
        "multiplicity": { "method": "holm", "gate": "primary" }, "looks": null, "descriptive": null,
    });
    assert_eq!(value, expected);
}

#[test]
fn a_secondary_comparison_is_bound_with_what_it_takes_from_the_primary() {
    let primary = "objective = \"superiority\"\n";
    let equivalence = "effect = \"paired_diff\"\nobjective = \"equivalence\"\nmargin = 0.25\n";
    let secondary = |more: &str| {
        let to = format!(
            "{equivalence}[[analysis.secondary]]\nid = \"more\"\noutcome = \"false_claim\"\n{more}"
        );
        edited(primary, &to).unwrap().registration
    };
    let bound = |registration: &Registration| {
        let analysis = registration.protocol.analysis.clone().unwrap();
        analysis.secondary[0].comparison.clone()
    };
    let left_out = secondary("");
    let all = "estimand = \"as_drawn\"\ntest = \"sign_flip\"\n";
    assert_eq!(
        secondary(&format!("{all}{equivalence}")).digest(),
        left_out.digest()
    );
    let quarter = Some(Ratio { num: 1, den: 4 });
    assert_eq!(bound(&left_out).margin, quarter);
    // What is to be shown and its margin belong together.
    let other = bound(&secondary("objective = \"superiority\"\n"));
    assert_eq!(
        (other.objective, other.margin),
        (Objective::Superiority, None)
    );
    let fifth = Some(Ratio { num: 1, den: 5 });
    let own = bound(&secondary("margin = 0.2\n"));
    assert_eq!((own.objective, own.margin), (Objective::Equivalence, fifth));
}

#[test]
fn a_number_of_the_analysis_is_held_exactly_or_refused() {
    let digits = "has more digits than are held exactly; write at most 15";
    let primary = "objective = \"superiority\"\n";
    let described = |what: &str| format!("{primary}[analysis.descriptive]\n{what}\n");
    let money =
        "[[outcomes]]\nid = \"price\"\nkind = \"money\"\nvalue = \"1\"\nbetter = \"lower\"\n";
    let cost =
        |price: &str| described(&format!("cost_effectiveness = {{ lambda = [{price}] }}")) + money;
    let time = |limit: &str| described(&format!("time_to_success = {{ limit_s = {limit} }}"));
    let margin = |size: &str| format!("objective = \"equivalence\"\nmargin = {size}\n");
    let looks = |first: &str| {
        format!("{primary}[analysis.looks]\nspending = \"obf\"\nfractions = [{first}, 1.0]\n")
    };
    let share = |share: &str| format!("alpha = 0.05\nmissing_share_max = {share}\n");
    let long = "0.12345678901234567";
    let rows = [
        ("alpha = 0.05", "alpha = 0.123456789012345".to_owned(), ""),
        ("alpha = 0.05", format!("alpha = {long}"), digits),
        ("alpha = 0.05\n", share("0.123456789012345"), ""),
        ("alpha = 0.05\n", share(long), digits),
        (primary, margin("0.123456789012345"), ""),
        (primary, margin(long), digits),
        (primary, margin("-0.05"), "a margin is more than 0"),
        (primary, looks("0.25"), ""),
        (primary, looks(long), digits),
        (primary, time("0.001"), ""),
        (primary, time("2592000"), ""),
        (primary, time("0.0005"), "finer than a millisecond"),
        (primary, time("2592000.5"), "2592000 or less"),
        (primary, cost("0, 0.000001, 999999999"), ""),
        (primary, cost("2, 0.0000001"), "finer than a micro-dollar"),
        (primary, cost("-1"), "from 0 to 999999999"),
    ];
    for (from, to, message) in rows {
        let found = edited(from, &to).err().unwrap_or_default();
        let said: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
        match message {
            "" => assert_eq!(said, Vec::<&str>::new(), "{to}"),
            message => {
                assert!(
                    said.len() == 1 && said[0].contains(message),
                    "{to}: {said:?}"
                );
                assert_eq!(found[0].code, Code::Range, "{to}");
            }
        }
    }
}
