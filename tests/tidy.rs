//! The source is a test subject: imports go downwards, pure rooms stay pure, rooms keep to themselves.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, from the highest to the lowest; each may import those that stand after it.
const ROOMS: &[&str] = &[
    "cli", "folder", "runner", "store", "report", "record", "engine", "analysis", "protocol",
    "units",
];
/// The rooms that know no clock, file, process, database or random source.
const PURE: &[&str] = &[
    "report", "record", "engine", "analysis", "protocol", "units",
];
/// What a pure room does not say.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "SystemTime",
    "Instant",
    "rusqlite",
    "rustix",
    "signal_hook",
    "File::",
    "getrandom",
    "clock::now",
];

/// Returns every source file below a folder, with its text without tests and comments.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") && !is_tests {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            found.push((path, lines.collect::<Vec<_>>().join("\n")));
        }
    }
    found
}

fn product() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let room = |path: &Path| {
        path.strip_prefix(&root)
            .unwrap()
            .iter()
            .next()
            .unwrap()
            .to_string_lossy()
            .trim_end_matches(".rs")
            .to_owned()
    };
    sources(&root)
        .into_iter()
        .map(|(path, text)| (room(&path), path, text))
        .filter(|(room, ..)| room != "lib" && room != "main")
        .collect()
}

#[test]
fn every_file_stands_in_a_room() {
    for (room, path, _) in product() {
        assert!(
            ROOMS.contains(&room.as_str()),
            "{} stands in no room",
            path.display()
        );
    }
}

#[test]
fn imports_go_downwards() {
    let rank = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut seen = 0;
    for (room, path, text) in product() {
        for used in text.split("crate::").skip(1) {
            let used: String = used
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let Some(below) = rank(&used) else {
                panic!("{} uses crate::{used}, which is no room", path.display())
            };
            seen += 1;
            assert!(
                Some(below) >= rank(&room),
                "{} ({room}) imports {used}, which stands above it",
                path.display()
            );
        }
    }
    assert!(seen > 100, "the test has lost sight of the imports");
}

#[test]
fn pure_rooms_know_nothing_of_the_world() {
    for (room, path, text) in product()
        .into_iter()
        .filter(|(room, ..)| PURE.contains(&room.as_str()))
    {
        for word in IMPURE {
            assert!(
                !text.contains(word),
                "{} ({room}) says `{word}`",
                path.display()
            );
        }
    }
}

#[test]
fn rooms_keep_to_themselves() {
    for (room, path, text) in product() {
        let says = |word: &str| text.contains(word);
        assert!(
            room == "store" || !(says("SELECT ") || says("INSERT INTO") || says("rusqlite")),
            "{} speaks SQL",
            path.display()
        );
        assert!(
            room == "cli" || !(says("io::stdout") || says("io::stderr")),
            "{} prints",
            path.display()
        );
        assert!(
            room == "runner" || !says("SystemTime"),
            "{} reads the clock",
            path.display()
        );
        assert!(
            room == "runner" || !says("process::Command"),
            "{} starts a process",
            path.display()
        );
        for word in [
            "println!",
            "print!",
            "dbg!",
            "todo!",
            "unimplemented!",
            "FIXME",
        ] {
            assert!(!says(word), "{} says {word}", path.display());
        }
    }
}

#[test]
fn a_decision_never_looks_at_an_outcome() {
    let mut read = 0;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    for (path, text) in sources(&root) {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
        // What computes an outcome, what keeps it, what counts it for people, and what a scheduled look
        // sees, before anything is decided.
        let may = [
            "scoring.rs",
            "evolve.rs",
            "totals.rs",
            "totals/marks.rs",
            "looks/seen.rs",
        ];
        if may.contains(&name) {
            continue;
        }
        assert!(!text.contains(".outcomes"), "{name} reads outcomes");
        let keeps_facts = name == "facts.rs";
        assert!(
            keeps_facts || !text.contains("Totals"),
            "{name} reads totals"
        );
        read += 1;
    }
    assert!(read > 20, "{read} files");
}
