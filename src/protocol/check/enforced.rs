//! Which keys this version cannot enforce. No registered key is ever ignored: `register` and
//! `run` refuse a protocol that has one, and `check` accepts it.

use crate::protocol::defect::Place;
use crate::protocol::draft::{Draft, StudyKind};

/// Returns the place of each key that cannot be enforced: an exploratory study is not registered.
pub(super) fn unenforced(draft: &Draft) -> Vec<Place> {
    match draft.study.kind {
        StudyKind::Exploratory => vec![Place::Key("/study/kind".to_owned())],
        StudyKind::Confirmatory => Vec::new(),
    }
}
