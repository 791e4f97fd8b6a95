//! The power is cut: what was written and not flushed is lost, in part, or torn.
//!
//! A library that is loaded before all others logs what is done to the record's files
//! (`powercut.c`). From the beginning of that log the files are built again as a disk may have them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::common::{Dice, Recipe, Study};
use super::stage::STEPS;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// One thing that was done.
struct Act {
    act: u8,
    at: usize,
    bytes: Vec<u8>,
    path: String,
}

fn read_log(path: &Path) -> Vec<Act> {
    let log = fs::read(path).unwrap();
    let mut acts = Vec::new();
    let mut rest = log.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        let words: Vec<&str> = head.splitn(4, ' ').collect();
        let length: usize = words[2].parse().unwrap();
        acts.push(Act {
            act: words[0].as_bytes()[0],
            at: words[1].parse().unwrap(),
            bytes: rest[end + 1..end + 1 + length].to_vec(),
            path: words[3].to_owned(),
        });
        rest = &rest[end + 1 + length..];
    }
    acts
}

/// What becomes of what was not flushed.
#[derive(Clone, Copy, Debug)]
enum Loss {
    None,
    All,
    Some,
    Torn,
}

/// A file on a disk: what is surely there, and what was done since.
#[derive(Clone, Default)]
struct Node {
    sure: Vec<u8>,
    since: Vec<(u8, usize, Vec<u8>)>,
}

fn apply(bytes: &mut Vec<u8>, act: u8, at: usize, data: &[u8]) {
    if act == b'T' {
        bytes.resize(at, 0);
        return;
    }
    if bytes.len() < at + data.len() {
        bytes.resize(at + data.len(), 0);
    }
    bytes[at..at + data.len()].copy_from_slice(data);
}

impl Node {
    fn flush(&mut self) {
        for (act, at, data) in std::mem::take(&mut self.since) {
            apply(&mut self.sure, act, at, &data);
        }
    }

    fn after(&self, loss: Loss, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.sure.clone();
        for (act, at, data) in &self.since {
            match loss {
                Loss::All => {}
                Loss::None => apply(&mut bytes, *act, *at, data),
                Loss::Some if dice.below(2) == 0 => apply(&mut bytes, *act, *at, data),
                Loss::Torn if *act == b'W' => {
                    // Sectors are counted from the file's beginning.
                    let mut from = 0;
                    while from < data.len() {
                        let to = data.len().min(from + SECTOR - (at + from) % SECTOR);
                        if dice.below(2) == 0 {
                            apply(&mut bytes, *act, at + from, &data[from..to]);
                        }
                        from = to;
                    }
                }
                Loss::Torn if dice.below(2) == 0 => apply(&mut bytes, *act, *at, data),
                _ => {}
            }
        }
        bytes
    }
}

/// A disk with a folder of names: which file each leads to, and to which it surely did last.
#[derive(Default)]
struct Disk {
    nodes: Vec<Node>,
    now: BTreeMap<String, usize>,
    sure: BTreeMap<String, usize>,
    printed: [String; 2],
    executed: u64,
}

impl Disk {
    fn act(&mut self, act: &Act) {
        let node = self.now.get(&act.path).copied();
        match (act.act, node) {
            (b'C', _) => {
                self.nodes.push(Node::default());
                self.now.insert(act.path.clone(), self.nodes.len() - 1);
            }
            (b'U', _) => drop(self.now.remove(&act.path)),
            (b'S', Some(node)) => {
                // A file that is flushed has its name, too.
                self.nodes[node].flush();
                self.sure.insert(act.path.clone(), node);
            }
            (b'D', _) => self.sure = self.now.clone(),
            (b'W' | b'T', Some(node)) => {
                let since = &mut self.nodes[node].since;
                since.push((act.act, act.at, act.bytes.clone()));
            }
            (b'P', _) => {
                let text = String::from_utf8_lossy(&act.bytes);
                self.printed[usize::from(act.path == "2")].push_str(&text);
            }
            (b'X', _) => self.executed = self.executed.max(act.at as u64),
            (other, node) => panic!("{} {node:?} {}", other as char, act.path),
        }
    }

    /// Returns the files as they are found after a cut.
    fn after(&self, loss: Loss, dice: &mut Dice) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let names: Vec<&String> = self.now.keys().chain(self.sure.keys()).collect();
        for name in names {
            let is_new = match loss {
                Loss::None => true,
                Loss::All => false,
                Loss::Some | Loss::Torn => dice.below(2) == 0,
            };
            let names = if is_new { &self.now } else { &self.sure };
            if let Some(node) = names.get(name) {
                found.insert(name.clone(), self.nodes[*node].after(loss, dice));
            } else {
                found.remove(name);
            }
        }
        found
    }
}

/// A study whose every write is logged; nothing where that cannot be done here.
fn logged(recipe: &Recipe) -> Option<(Study, PathBuf)> {
    let mut study = recipe.lay();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/powercut.c");
    let library = study.folder.path().join("powercut.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .args(["-ldl", "-lpthread"])
        .output();
    if !built.as_ref().is_ok_and(|built| built.status.success()) {
        println!("not covered: cuts of the power, since no C compiler builds here: {built:?}");
        return None;
    }
    let log = study.folder.path().join("cut.log");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let record = fs::canonicalize(&study.base)
        .unwrap()
        .join("study.prereg.db");
    study.env.insert("LD_PRELOAD".to_owned(), text(&library));
    study.env.insert("CUT_LOG".to_owned(), text(&log));
    study.env.insert("CUT_RECORD".to_owned(), text(&record));
    Some((study, log))
}

/// Returns the lines of a record's entries.
fn lines(study: &Study, record: &str) -> Vec<String> {
    let said = study.prereg(&["export", record]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out.lines().skip(1).map(str::to_owned).collect()
}

/// What was acknowledged, by what was printed before a cut: the newest entry, and how many slots
/// had ended.
fn acknowledged(disk: &Disk) -> (u64, u64) {
    let answers = disk.printed[0].lines();
    let entries = answers.filter_map(|line| {
        let answer: serde_json::Value = serde_json::from_str(line).ok()?;
        answer["entry"].as_u64().or(answer["head"]["seq"].as_u64())
    });
    let told = disk.printed[1].lines().filter_map(|line| {
        let line = line.strip_prefix("progress    ")?;
        line.split_once('/')?.0.parse().ok()
    });
    (entries.max().unwrap_or(0), told.max().unwrap_or(0))
}

/// Cuts the power at many moments of what was logged, and looks at what is left.
fn cut(name: &str, study: &Study, log: &Path, cuts: usize, last: &[&str]) {
    let mut dice = Dice::new(name);
    let acts = read_log(log);
    let plain = Study {
        env: BTreeMap::new(),
        folder: tempfile::tempdir().unwrap(),
        base: study.base.clone(),
        log: study.log.clone(),
    };
    let whole = lines(&plain, "study.prereg.db");
    let (mut held, mut lost) = (0, 0);
    for round in 0..cuts {
        let moment = dice.below(acts.len() as u64 + 1) as usize;
        let loss = [Loss::All, Loss::Some, Loss::Torn, Loss::None][round % 4];
        let mut disk = Disk::default();
        acts[..moment].iter().for_each(|act| disk.act(act));
        for path in super::common::files_below(&study.base) {
            if path.to_str().unwrap().contains("study.prereg.db") {
                fs::remove_file(path).unwrap();
            }
        }
        for (path, bytes) in disk.after(loss, &mut dice) {
            fs::write(path, bytes).unwrap();
        }
        let place = format!("{name}: {loss:?} after {moment} of {} acts", acts.len());
        let (entries, ended) = acknowledged(&disk);
        let verified = plain.prereg(&["verify", "study.prereg.db"]);
        if entries > 0 || disk.executed > 0 || plain.record().exists() && verified.code == Some(0) {
            assert_eq!(verified.code, Some(0), "{place}: {verified:?}");
            if !verified.out.starts_with("empty") {
                let found = lines(&plain, "study.prereg.db");
                assert!(whole.starts_with(&found), "{place}: another history");
                assert!(
                    found.len() as u64 >= entries,
                    "{place}: {entries} acknowledged"
                );
                lost += whole.len() - found.len();
                let status = plain.data(&["status", "study.prereg.db"]);
                let standing = &status["standing"];
                assert!(
                    standing["runs"].as_u64() >= Some(disk.executed),
                    "{place}: executed"
                );
                assert!(
                    standing["slots_ended"].as_u64() >= Some(ended),
                    "{place}: {ended} told"
                );
            }
            held += 1;
        } else {
            // Nothing was acknowledged, and no divergence is read out of what was begun.
            assert!(
                matches!(verified.code, Some(1 | 5)),
                "{place}: {verified:?}"
            );
        }
        // No repair by hand: whatever is left goes on.
        let said = plain.prereg(last);
        assert_eq!(said.code, Some(0), "{place}: {said:?}");
        plain.verify();
    }
    println!(
        "{name}: {cuts} cuts over {} acts; {held} records, {lost} entries that nobody was told of",
        acts.len()
    );
    assert!(held > cuts / 2, "{held}");
}

/// Steps by hand, each a process of its own.
fn cut_steps(name: &str, cuts: usize) {
    let recipe = Recipe {
        controls: true,
        ..Recipe::default()
    };
    let Some((study, log)) = logged(&recipe) else {
        return;
    };
    study.write("report", r#"{"correct": true, "bytes": 1}"#);
    for step in STEPS {
        study.data(step);
    }
    for note in 0..12 {
        study.data(&["deviate", "--note", &format!("note {note}")]);
    }
    cut(name, &study, &log, cuts, &["register", "study.toml"]);
}

/// A session, whose commits are flushed by its workers.
fn cut_session(name: &str, cuts: usize) {
    let arm = |answer: char| {
        format!("printf 'X {{run.id}} 0 -\\n' >> \"$CUT_LOG\"; printf {answer} > out")
    };
    let recipe = Recipe {
        tasks: 3,
        arms: [arm('a'), arm('b')],
        controls: true,
        env_pass: "\"PATH\", \"LOG\", \"CUT_LOG\"",
        ..Recipe::default()
    };
    let Some((study, log)) = logged(&recipe) else {
        return;
    };
    let said = study.prereg(&["run", "study.toml"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let runs = study.base.join("study.prereg.runs");
    let _ = fs::remove_dir_all(runs);
    cut(name, &study, &log, cuts, &["register", "study.toml"]);
}

#[test]
fn a_cut_of_the_power_loses_no_step() {
    cut_steps("cuts of steps", 20);
}

#[test]
fn a_cut_of_the_power_loses_nothing_of_a_session() {
    cut_session("cuts of a session", 20);
}

#[test]
#[ignore = "takes a minute; the sample runs always"]
fn a_cut_of_the_power_loses_no_step_300() {
    cut_steps("300 cuts of steps", 300);
}

#[test]
#[ignore = "takes a minute; the sample runs always"]
fn a_cut_of_the_power_loses_nothing_of_a_session_300() {
    cut_session("300 cuts of a session", 300);
}

/// The method sees what it is to see: without a flush before anything is told, entries are lost.
#[test]
fn without_flushes_a_cut_loses_what_was_told() {
    let Some((study, log)) = logged(&Recipe::default()) else {
        return;
    };
    study.register();
    for note in 0..8 {
        study.data(&["deviate", "--note", &format!("note {note}")]);
    }
    let acts = read_log(&log);
    let flushes = acts.iter().filter(|act| act.act == b'S').count();
    assert!(flushes > 8, "{flushes}");
    let mut disk = Disk::default();
    acts.iter()
        .filter(|act| act.act != b'S')
        .for_each(|act| disk.act(act));
    let (entries, _) = acknowledged(&disk);
    assert!(entries >= 9, "{entries}");
    let left = disk.after(Loss::All, &mut Dice::new("no flushes"));
    let bytes: usize = left.values().map(Vec::len).sum();
    assert_eq!(bytes, 0, "everything is lost");
}
