//! The manual is made from the language, and is never stale.
//!
//! After a change of the language or of `src/protocol/manual.md`, write `docs/protocol.md` again:
//! `PREREG_BLESS=1 cargo test --test manual`.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::fs;
use std::path::Path;

use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use prereg::protocol::manual::manual;

#[test]
fn the_manual_is_the_one_of_this_language() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/protocol.md");
    let made = manual();
    if std::env::var_os("PREREG_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differing = stored
        .lines()
        .zip(made.lines())
        .find(|(old, new)| old != new);
    assert!(
        stored == made,
        "docs/protocol.md is stale; write it again with PREREG_BLESS=1. The first difference: {differing:#?}"
    );
}

#[test]
fn its_first_example_is_a_sound_protocol() {
    let made = manual();
    let example = made.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    check(example.as_bytes(), &DiskFolder::at(&folder)).unwrap();
}
