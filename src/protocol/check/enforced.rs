//! Which keys this version cannot enforce. No registered key is ever ignored: `register` and
//! `run` refuse a protocol that has one, and `check` accepts it.

use serde_json::Value;

use crate::protocol::defect::Place;
use crate::protocol::draft::{Draft, StudyKind};

/// Tables and keys that no part of this version enforces, wherever they are given.
const UNBUILT: &[&str] = &["/manipulation_check"];

/// Returns the place of each key that cannot be enforced.
pub(super) fn unenforced(draft: &Draft, value: &Value) -> Vec<Place> {
    let mut pointers: Vec<String> = UNBUILT
        .iter()
        .map(|pointer| (*pointer).to_owned())
        .collect();
    pointers.retain(|pointer| value.pointer(pointer).is_some());
    pointers.extend(unbuilt_words(draft));
    pointers.into_iter().map(Place::Key).collect()
}

/// Returns the keys whose word, not whose presence, is out of reach.
fn unbuilt_words(draft: &Draft) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |unbuilt: bool, pointer: String| {
        if unbuilt {
            found.push(pointer);
        }
    };
    add(
        draft.study.kind == StudyKind::Exploratory,
        "/study/kind".to_owned(),
    );
    found
}
