//! The fields of an object of JSON, asked for one by one, and what is wrong with them.

use serde_json::{Map, Value};

use crate::protocol::defect::{Code, Defect, Place, nearest};
use crate::protocol::shape::found_in_words;
use crate::protocol::source::child;
use crate::units::{EXACT_MAX, Micros, Money, RunId, Time};

/// What a field must be: in words, and how it is read.
pub(super) struct Kind<T> {
    wanted: &'static str,
    read: fn(&Value) -> Option<T>,
}

pub(super) const ANY: Kind<Value> = Kind {
    wanted: "anything",
    read: |value| Some(value.clone()),
};
pub(super) const DURATION: Kind<Micros> = Kind {
    wanted: "a duration such as \"95s\"",
    read: |value| value.as_str()?.parse().ok(),
};
pub(super) const EXIT: Kind<i32> = Kind {
    wanted: "an exit status such as 0",
    read: |value| value.as_i64()?.try_into().ok(),
};
pub(super) const FLAG: Kind<bool> = Kind {
    wanted: "true or false",
    read: Value::as_bool,
};
pub(super) const MONEY: Kind<Money> = Kind {
    wanted: "an amount such as \"2.50 USD\"",
    read: |value| value.as_str()?.parse().ok(),
};
pub(super) const OBJECT: Kind<Map<String, Value>> = Kind {
    wanted: "an object in braces",
    read: |value| value.as_object().cloned(),
};
pub(super) const RUN: Kind<RunId> = Kind {
    wanted: "a run such as \"r1\", or its number",
    read: run,
};
pub(super) const TEXT: Kind<String> = Kind {
    wanted: "a text in double quotes",
    read: |value| value.as_str().map(str::to_owned),
};
pub(super) const TEXTS: Kind<Vec<String>> = Kind {
    wanted: "an array of texts in double quotes",
    read: |value| value.as_array()?.iter().map(TEXT.read).collect(),
};
pub(super) const TIME: Kind<Time> = Kind {
    wanted: "a time from 1970 on such as \"2026-12-01T10:00:00Z\"",
    read: |value| value.as_str()?.parse().ok().filter(|at| *at >= Time(0)),
};
pub(super) const WHOLE: Kind<u64> = Kind {
    wanted: "a whole number from 0",
    read: Value::as_u64,
};

fn run(value: &Value) -> Option<RunId> {
    let number = match value {
        Value::String(name) => {
            let digits = name.strip_prefix('r')?;
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| plain)?
        }
        other => other.as_u64()?,
    };
    Some(RunId(number)).filter(|run| run.0 <= EXACT_MAX)
}

/// An object that is being read.
pub(super) struct Fields<'v> {
    /// What the object is, for people.
    of: &'v str,
    /// Where it stands: a JSON pointer.
    pointer: String,
    object: &'v Map<String, Value>,
    /// The fields that it may have.
    known: Vec<&'static str>,
    /// Whether all others were taken, whatever they are.
    taken: bool,
    defects: Vec<Defect>,
}

impl<'v> Fields<'v> {
    /// Begins to read an object.
    pub(super) fn of(of: &'v str, pointer: String, object: &'v Map<String, Value>) -> Self {
        Self {
            of,
            pointer,
            object,
            known: Vec::new(),
            taken: false,
            defects: Vec::new(),
        }
    }

    /// Says that there may be a field.
    pub(super) fn know(&mut self, name: &'static str) {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
    }

    /// Returns whether a field is there.
    pub(super) fn has(&mut self, name: &'static str) -> bool {
        self.find(name).is_some()
    }

    /// Reads a field that may be absent.
    pub(super) fn optional<T>(&mut self, name: &'static str, kind: &Kind<T>) -> Option<T> {
        let value = self.find(name)?;
        let read = (kind.read)(value);
        if read.is_none() {
            self.mistyped(name, kind.wanted, value);
        }
        read
    }

    /// Reads a field that must be there.
    pub(super) fn required<T>(&mut self, name: &'static str, kind: &Kind<T>) -> Option<T> {
        self.must_have(name, kind.wanted)?;
        self.optional(name, kind)
    }

    /// Reads a field that must be one of some words.
    pub(super) fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Option<T> {
        let all = words.iter().map(|(word, _)| *word);
        let wanted = format!("one of {}", all.clone().collect::<Vec<_>>().join(", "));
        let value = self.must_have(name, &wanted)?;
        let found = value.as_str();
        let meant = words.iter().find(|(word, _)| found == Some(*word));
        if meant.is_none() {
            let defect = self.wrong(Code::Word, name, &wanted, value);
            self.defects
                .push(guessed(defect, found.and_then(|word| nearest(word, all))));
        }
        meant.map(|(_, meaning)| *meaning)
    }

    /// Reads a field that must be an object of its own.
    pub(super) fn within<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        let value = self.must_have(name, OBJECT.wanted)?;
        let Some(object) = value.as_object() else {
            self.mistyped(name, OBJECT.wanted, value);
            return None;
        };
        let mut inner = Fields::of(name, child(&self.pointer, name), object);
        let read = read(&mut inner);
        self.defects.extend(inner.close());
        read
    }

    /// Takes all fields that were not asked for, but for some that may not be there.
    pub(super) fn rest(&mut self, but: &[&str]) -> Map<String, Value> {
        let fields = self.object.iter();
        let rest: Map<String, Value> = fields
            .filter(|(name, _)| !self.known.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for name in but.iter().filter(|name| rest.contains_key(**name)) {
            self.unknown(name);
        }
        self.taken = true;
        rest
    }

    /// Ends the reading; returns what was wrong, fields that nobody asked for included.
    pub(super) fn close(mut self) -> Vec<Defect> {
        let asked = |name: &&String| self.taken || self.known.contains(&name.as_str());
        let unknown: Vec<&String> = self.object.keys().filter(|name| !asked(name)).collect();
        for name in unknown {
            self.unknown(name);
        }
        self.defects
    }

    /// Returns what was wrong so far.
    pub(super) fn defects(self) -> Vec<Defect> {
        self.defects
    }

    fn find(&mut self, name: &'static str) -> Option<&'v Value> {
        self.know(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn must_have(&mut self, name: &'static str, wanted: &str) -> Option<&'v Value> {
        let found = self.find(name);
        if found.is_none() {
            let of = match self.of {
                "" => "an operation".to_owned(),
                of => format!("`{of}`"),
            };
            let message = format!("{of} needs `{name}`, {wanted}");
            let place = Place::Value(self.pointer.clone());
            self.defects
                .push(Defect::new(Code::MissingKey, place, message));
        }
        found
    }

    fn mistyped(&mut self, name: &str, wanted: &str, value: &Value) {
        let defect = self.wrong(Code::Type, name, wanted, value);
        self.defects.push(defect);
    }

    fn wrong(&self, code: Code, name: &str, wanted: &str, value: &Value) -> Defect {
        let found = found_in_words(value);
        let place = Place::Value(child(&self.pointer, name));
        let message = format!("`{name}` must be {wanted}, and not {found}");
        Defect::new(code, place, message)
    }

    fn unknown(&mut self, name: &str) {
        let place = Place::Key(child(&self.pointer, name));
        let message = format!("`{}` has no field `{name}`", self.of);
        let defect = Defect::new(Code::UnknownKey, place, message);
        let near = nearest(name, self.known.iter().copied());
        self.defects.push(match near {
            Some(_) => guessed(defect, near),
            None => defect.note(format!("its fields are {}", self.known.join(", "))),
        });
    }
}

fn guessed(defect: Defect, near: Option<&str>) -> Defect {
    match near {
        Some(near) => defect.label(format!("did you mean `{near}`?")),
        None => defect,
    }
}
