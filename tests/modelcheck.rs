//! The model check: what is found, by which history, and that the history does what it claims.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::path::Path;

use prereg::engine::modelcheck::{self, Weakness};
use prereg::folder::DiskFolder;
use prereg::protocol::check::{Checked, check};

fn shipped(name: &str) -> Checked {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    let text = std::fs::read(folder.join(name)).unwrap();
    check(&text, &DiskFolder::at(&folder)).unwrap()
}

#[test]
fn show() {
    let name = std::env::var("NAME").unwrap();
    let checked = shipped(&format!("{name}.toml"));
    let start = std::time::Instant::now();
    let model = modelcheck::check(&checked.registration).unwrap();
    eprintln!(
        "{name}: {} states, depth {}, complete {} in {:?} (possible {:?})",
        model.states,
        model.depth,
        model.complete,
        start.elapsed(),
        modelcheck::possible(&checked.registration.protocol)
    );
    for (weakness, history) in &model.findings {
        eprintln!("{weakness:?}\n{}", history.lines().join("\n"));
    }
}
