//! Checks of names: that each is one of its own, and that what is named is there.

use std::collections::BTreeMap;

use super::Checker;
use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::draft::{DEVICES, Draft};

impl Checker<'_> {
    /// Refuses an identifier that some file systems cannot hold.
    pub(super) fn portable(&mut self, pointer: &str, id: &str) {
        let stem = id.split('.').next().unwrap_or_default().to_lowercase();
        if DEVICES.contains(&stem.as_str()) {
            self.refuse(
                Code::Id,
                Place::Value(pointer.to_owned()),
                format!("`{id}` is a device's name on some systems; choose another"),
            );
        }
    }

    /// Refuses identifiers that are equal, or differ in case alone.
    pub(super) fn distinct<'d>(&mut self, ids: impl Iterator<Item = (String, &'d str)>) {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for (pointer, id) in ids {
            match seen.insert(id.to_lowercase(), id) {
                Some(first) if first == id => {
                    self.refuse(
                        Code::DuplicateId,
                        Place::Value(pointer),
                        format!("`{id}` is declared twice; rename one"),
                    );
                }
                Some(first) => {
                    self.refuse(
                        Code::DuplicateId,
                        Place::Value(pointer),
                        format!("`{id}` and `{first}` differ in case alone; rename one"),
                    );
                }
                None => {}
            }
        }
    }

    /// Refuses places of a workspace of which one would take the place of another.
    pub(super) fn apart<'d>(&mut self, places: impl Iterator<Item = (Place, &'d str)>) {
        let mut laid: Vec<String> = Vec::new();
        for (place, path) in places {
            let path = path.trim_end_matches('/').to_lowercase();
            let below = |one: &str, other: &str| {
                one.strip_prefix(other)
                    .is_some_and(|rest| rest.starts_with('/'))
            };
            let other = laid.iter().find(|other| {
                **other == path || below(&path, other.as_str()) || below(other.as_str(), &path)
            });
            if let Some(other) = other {
                let message = format!("this would take the place of `{other}`; name another place");
                self.refuse(Code::DuplicateId, place, message);
            }
            laid.push(path);
        }
    }

    /// Refuses words that stand twice in a list.
    pub(super) fn once<W: AsRef<str>>(&mut self, pointer: &str, words: &[W]) {
        for (i, word) in words.iter().enumerate() {
            let word = word.as_ref();
            if words[..i].iter().any(|earlier| earlier.as_ref() == word) {
                self.push(Defect::new(
                    Code::DuplicateId,
                    Place::Value(format!("{pointer}/{i}")),
                    format!("`{word}` stands twice in this list; remove one"),
                ));
            }
        }
    }

    /// Refuses a name that is not in a list, with the nearest one that is.
    pub(super) fn unknown(
        &mut self,
        code: Code,
        place: Place,
        message: String,
        name: &str,
        known: &[&str],
    ) {
        let defect = Defect::new(code, place, message);
        self.push(match nearest(name, known.iter().copied()) {
            Some(near) => defect.label(format!("did you mean `{near}`?")),
            None if known.is_empty() => defect,
            None => defect.note(format!("there are: {}", known.join(", "))),
        });
    }

    /// Returns whether the shape refused a list of tables, or the id of one of them: then a name
    /// that is not in it may be one that was refused.
    pub(super) fn names_refused(&self, list: &str) -> bool {
        let id = |pointer: &String| {
            let rest = pointer.strip_prefix(list)?.strip_prefix('/')?;
            rest.strip_suffix("/id")?.parse::<usize>().ok()
        };
        self.was_refused(list) || self.refused.iter().any(|pointer| id(pointer).is_some())
    }

    /// Refuses a name that is no arm of the protocol.
    pub(super) fn known_arm(&mut self, draft: &Draft, place: Place, name: &str) {
        let arms: Vec<&str> = draft.arms.iter().map(|arm| arm.id.0.as_str()).collect();
        if !arms.contains(&name) && !self.names_refused("/arms") {
            let message = format!("`{name}` is not an arm of this protocol");
            self.unknown(Code::UnknownArm, place, message, name, &arms);
        }
    }

    /// Refuses a name that is no outcome of the protocol.
    pub(super) fn known_outcome(&mut self, draft: &Draft, place: Place, name: &str) {
        let outcomes: Vec<&str> = draft.outcomes.iter().map(|one| one.id.0.as_str()).collect();
        if !outcomes.contains(&name) && !self.names_refused("/outcomes") {
            let message = format!("`{name}` is not an outcome of this protocol");
            self.unknown(Code::UnknownOutcome, place, message, name, &outcomes);
        }
    }

    /// Refuses names of a list that are no arms of the protocol, or stand twice.
    pub(super) fn arm_list(&mut self, draft: &Draft, pointer: &str, names: &[&str]) {
        self.once(pointer, names);
        for (i, name) in names.iter().enumerate() {
            self.known_arm(draft, Place::Value(format!("{pointer}/{i}")), name);
        }
    }
}
