//! Whatever becomes of a protocol's bytes, the checker answers: it never panics and always ends.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod cases;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cases::cases;
use prereg::cli::render;
use prereg::protocol::check::check;
use prereg::protocol::defect::Code;
use prereg::protocol::folder::{Folder, FolderFault};
use prereg::units::Digest;
use proptest::prelude::*;

/// Files that are read once and held in memory.
struct MemoryFolder {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryFolder {
    fn of(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut left = vec![PathBuf::new()];
        while let Some(below) = left.pop() {
            for entry in fs::read_dir(root.join(&below)).unwrap() {
                let path = below.join(entry.unwrap().file_name());
                if root.join(&path).is_dir() {
                    left.push(path);
                } else {
                    let name = path.to_str().unwrap().to_owned();
                    files.insert(name, fs::read(root.join(&path)).unwrap());
                }
            }
        }
        Self { files }
    }

    fn absent() -> FolderFault {
        FolderFault {
            code: Code::NotFound,
            message: "there is no such file or folder".to_owned(),
        }
    }
}

impl Folder for MemoryFolder {
    fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, FolderFault> {
        let bytes = self.files.get(path).ok_or_else(Self::absent)?;
        assert!(bytes.len() <= max);
        Ok(bytes.clone())
    }

    fn digest(&self, path: &str) -> Result<Digest, FolderFault> {
        let below = format!("{path}/");
        let found = |name: &&String| *name == path || name.starts_with(&below);
        let name = self.files.keys().find(found).ok_or_else(Self::absent)?;
        Ok(Digest::of(&[name.as_bytes()]))
    }

    fn executable(&self, path: &str) -> Result<bool, FolderFault> {
        self.files.get(path).map(|_| true).ok_or_else(Self::absent)
    }
}

/// One thing that may become of a text.
#[derive(Clone, Debug)]
enum Edit {
    Byte(usize, u8),
    Insert(usize, String),
    Cut(usize, usize),
    LineOut(usize),
    LineTwice(usize),
    LinesSwapped(usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let piece = prop_oneof![
        "[\\[\\]{}\"'=.,#\\\\ \n\t]{1,3}",
        Just("\u{202e}".to_owned()),
        Just("é{task.".to_owned()),
        Just("= 9e999".to_owned()),
        Just("\"\"\"".to_owned()),
        Just("((((".to_owned()),
    ];
    let at = any::<usize>;
    let edit = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        (at(), piece).prop_map(|(at, text)| Edit::Insert(at, text)),
        (at(), 1_usize..40).prop_map(|(at, length)| Edit::Cut(at, length)),
        at().prop_map(Edit::LineOut),
        at().prop_map(Edit::LineTwice),
        (at(), at()).prop_map(|(a, b)| Edit::LinesSwapped(a, b)),
    ];
    prop::collection::vec(edit, 1..6)
}

fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        let mut lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|b| *b == b'\n')
            .map(Vec::from)
            .collect();
        let (size, count) = (bytes.len().max(1), lines.len().max(1));
        match edit {
            Edit::Byte(at, byte) => {
                if let Some(here) = bytes.get_mut(at % size) {
                    *here = *byte;
                }
                continue;
            }
            Edit::Insert(at, text) => {
                let at = (at % size).min(bytes.len());
                bytes.splice(at..at, text.bytes());
                continue;
            }
            Edit::Cut(at, length) => {
                let at = (at % size).min(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
                continue;
            }
            Edit::LineOut(at) if !lines.is_empty() => drop(lines.remove(at % count)),
            Edit::LineTwice(at) if !lines.is_empty() => {
                let line = lines[at % count].clone();
                lines.insert(at % count, line);
            }
            Edit::LinesSwapped(a, b) if !lines.is_empty() => lines.swap(a % count, b % count),
            Edit::LineOut(_) | Edit::LineTwice(_) | Edit::LinesSwapped(..) => {}
        }
        bytes = lines.concat();
    }
    bytes
}

fn answers(bytes: &[u8], folder: &MemoryFolder) {
    let start = Instant::now();
    let found = check(bytes, folder);
    if let Err(defects) = found {
        assert!(!defects.is_empty(), "refused without a reason");
        let text = String::from_utf8_lossy(bytes);
        let other = |path: &str| {
            let bytes = folder.files.get(path)?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        let drawn = render::defects("protocol.toml", &text, &defects, other);
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!drawn.contains(hidden), "{drawn:?}");
        let items = render::defects_json("protocol.toml", &text, &defects, other);
        assert_eq!(items.len(), defects.len());
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(250), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_quickstart_is_answered(edits in edits()) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
        let folder = MemoryFolder::of(&root);
        answers(&edited(&folder.files["quickstart.toml"], &edits), &folder);
    }

    #[test]
    fn any_small_study_is_answered(edits in edits()) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocols");
        let folder = MemoryFolder::of(&root);
        answers(&edited(&folder.files["base.toml"], &edits), &folder);
    }
}

#[test]
fn what_exceeds_the_limits_is_refused_at_once() {
    let folder = MemoryFolder {
        files: BTreeMap::new(),
    };
    let deep_array = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_table = format!("a = {}1{}", "{b=".repeat(50_000), "}".repeat(50_000));
    let dotted = format!("a{} = 1", ".a".repeat(50_000));
    let many = "a = 1\n".repeat(30_000);
    let tables = "[[arms]]\n".repeat(25_000);
    let keys: String = (0..20_500).map(|i| format!("k{i}=1\n")).collect();
    let large = "# a comment\n".repeat(30_000);
    for text in [deep_array, deep_table, dotted, many, tables, keys, large] {
        answers(text.as_bytes(), &folder);
        assert!(check(text.as_bytes(), &folder).is_err());
    }
}
