//! What an entry asks and what it opens, where both are plainly spelled: read faster than by `entry`.
//!
//! What was read is spelled as the text is, and nothing else is spelled so. Therefore the actions that a record is
//! full of may be read on a shorter way, and what is sealed without a tree of values. Whatever is not so plain is left
//! to `entry`, which says what is wrong with it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as Derived, Serialize};
use serde_json::value::RawValue;

use super::entry::{self, EXPOSED, EntryText, Opened};
use crate::engine::command::{Action, Clock, Command, Ending, Executed};
use crate::protocol::canonical;
use crate::units::{Digest, RunId, Time};

/// The most brackets that a value has which is read here: how deep a text may be counts from its beginning.
const BRACKETS_MAX: usize = 64;

/// An entry whose ruling was not read.
#[derive(Debug)]
pub(super) struct Asked {
    /// What was asked or reported, with what was sealed of it.
    pub(super) command: Command,
    /// Where in the body the ruling stands.
    pub(super) ruling: Range<usize>,
    /// The names of what it seals, in order.
    pub(super) sealed: Vec<String>,
    /// What was sealed of the ruling.
    pub(super) opened: Option<Opened>,
}

/// Reads an entry but for its ruling, if all else is plainly in canonical form, and it seals nothing that is not
/// opened: then the body is in canonical form if its ruling is.
pub(super) fn read(entry: EntryText<'_>) -> Option<Asked> {
    let rest = entry.body.strip_prefix("{\"command\":")?;
    let (mut command, rest) = command(rest)?;
    let rest = rest.strip_prefix(",\"ruling\":")?;
    let start = entry.body.len() - rest.len();
    let (ruling, sealed) = entry::rsplit(rest.strip_suffix('}')?, ",\"sealed\":")?;
    // 64 digits between quotation marks.
    let sealed: Vec<(&str, Digest)> = members(sealed, |_| 66)?;
    let opened = match entry.opening {
        Some(opening) => Some(open(opening, &sealed, &mut command)?),
        None if sealed.is_empty() => None,
        None => return None,
    };
    Some(Asked {
        command,
        ruling: start..start + ruling.len(),
        sealed: sealed.iter().map(|(name, _)| (*name).to_owned()).collect(),
        opened,
    })
}

/// Reads the command that a text begins with, if it is in canonical form; returns what follows.
fn command(text: &str) -> Option<(Command, &str)> {
    let (command, length) = match first::<Plain>(text) {
        Some((plain, length)) => (plain.command()?, length),
        None => first(text)?,
    };
    let (asked, rest) = text.split_at_checked(length)?;
    canonical::is_text(&command, asked).then_some((command, rest))
}

/// Reads what a text begins with; returns how long that is.
fn first<'t, T: Deserialize<'t>>(text: &'t str) -> Option<(T, usize)> {
    let mut parts = serde_json::Deserializer::from_str(text).into_iter();
    let part = parts.next()?.ok()?;
    Some((part, parts.byte_offset()))
}

/// A command that nearly every entry of a long record has.
#[derive(Derived)]
#[serde(deny_unknown_fields)]
struct Plain {
    action: PlainAction,
    actor: String,
    at: Time,
    #[serde(default)]
    clock: Clock,
    key: String,
}

/// The fields of all actions of this kind. Each is read where it stands: an [`Action`] is told by one that need not
/// come first, and what comes before has to be kept until then.
#[derive(Derived)]
#[serde(deny_unknown_fields)]
struct PlainAction {
    #[serde(rename = "do")]
    kind: Kind,
    arm: Option<String>,
    diff: Option<Digest>,
    ending: Option<Ending>,
    executed: Option<Executed>,
    run: Option<RunId>,
    task: Option<String>,
}

#[derive(Derived)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Start,
    Finish,
    Score,
}

impl Plain {
    /// Returns the command; a field that is not of its action shows once both are compared.
    fn command(self) -> Option<Command> {
        let action = self.action;
        let action = match action.kind {
            Kind::Start => Action::Start {
                task: action.task?,
                arm: action.arm?,
                executed: action.executed?,
            },
            Kind::Finish => Action::Finish {
                run: action.run?,
                ending: action.ending?,
                execution: None,
            },
            Kind::Score => Action::Score {
                run: action.run?,
                diff: action.diff,
                evidence: None,
            },
        };
        Some(Command {
            at: self.at,
            clock: self.clock,
            actor: self.actor,
            key: self.key,
            action,
        })
    }
}

/// Reads an opening, if it is in canonical form and opens the commitments; puts what was sealed of the command back
/// into it, and returns the rest.
fn open(opening: &str, sealed: &[(&str, Digest)], command: &mut Command) -> Option<Opened> {
    let rest = opening.strip_prefix("{\"salt\":\"")?;
    let (salt, rest) = rest.split_at_checked(64)?;
    let salt: Digest = salt.parse().ok()?;
    let values = rest.strip_prefix("\",\"values\":")?.strip_suffix('}')?;
    let values: Vec<(&str, &RawValue)> = members(values, |value: &&RawValue| value.get().len())?;
    if values.len() != sealed.len() {
        return None;
    }
    let mut opened = Opened::default();
    for ((name, value), (committed, digest)) in values.into_iter().zip(sealed) {
        let value = value.get();
        if name != *committed || entry::commitment_to(&salt, name, value) != *digest {
            return None;
        }
        match (name, &mut command.action) {
            ("execution", Action::Finish { execution, .. }) => *execution = spelled(value)?,
            ("evidence", Action::Score { evidence, .. }) => *evidence = spelled(value)?,
            (EXPOSED, _) => opened.exposed = Some(spelled(value)?),
            _ => {
                let id = name.strip_prefix("outcomes.")?;
                opened.outcomes.insert(id.to_owned(), spelled(value)?);
            }
        }
    }
    Some(opened)
}

/// Reads a value, if it is in canonical form.
fn spelled<T: Serialize + DeserializeOwned>(text: &str) -> Option<T> {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'['));
    if brackets.count() > BRACKETS_MAX {
        return None;
    }
    let part = serde_json::from_str(text).ok()?;
    canonical::is_text(&part, text).then_some(part)
}

/// Reads the members of an object, if it is in canonical form wherever their values are; `length` says how long these
/// stand there.
fn members<'t, V: Deserialize<'t>>(
    text: &'t str,
    length: impl Fn(&V) -> usize,
) -> Option<Vec<(&'t str, V)>> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let are_plain = members.iter().all(|(key, _)| key.is_ascii());
    let are_sorted = members.is_sorted_by(|(a, _), (b, _)| a < b);
    // Two quotation marks and a colon each, commas between, and brackets around: there is no space left for more.
    let each = members
        .iter()
        .map(|(key, value)| key.len() + 3 + length(value));
    let between = members.len().saturating_sub(1);
    (are_plain && are_sorted && each.sum::<usize>() + between + 2 == text.len()).then_some(members)
}

/// The members of an object, as they stand; keys that hold an escape cannot be borrowed.
struct Members<'t, V>(Vec<(&'t str, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<'de, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
            type Value = Vec<(&'de str, V)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("members")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }

        deserializer.deserialize_map(Pairs(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::engine::event::Event;
    use crate::record::entry::{Answer, Entry, Head, seal, unseal};

    fn command(action: Value, sealed: Value) -> Command {
        let mut action: Action = serde_json::from_value(action).unwrap();
        action.open(sealed).unwrap();
        Command {
            at: Time(7),
            clock: Clock::default(),
            actor: "x".to_owned(),
            key: "\"k\"".to_owned(),
            action,
        }
    }

    fn entries() -> Vec<Entry> {
        let scored = |exposed: Option<Value>| Event::Scored {
            run: RunId(1),
            outcomes: Some(BTreeMap::from([
                ("a".to_owned(), json!(1.5)),
                ("ok".to_owned(), json!({"b": [null, "ü"], "c": {}})),
            ])),
            exposed,
        };
        let unjudged = json!({"event": "unjudged", "run": 1, "cause": "no-report"});
        let unjudged: Event = serde_json::from_value(unjudged).unwrap();
        let start = json!({"do": "start", "task": "t", "arm": "a", "executed": "here"});
        let ending = json!({"timed_out": false, "error_stop": true});
        let finish = json!({"do": "finish", "run": 1, "ending": ending});
        let score = json!({"do": "score", "run": 1});
        let kept = json!({"do": "score", "run": 1, "diff": "0".repeat(64)});
        let execution = json!({"exit": 0, "leaked": false, "observed": {"b": 0.25, "a": []}});
        let seen = json!({"report": "{\"a\":1}"});
        [
            (command(start, Value::Null), unjudged.clone()),
            (command(finish.clone(), execution), unjudged.clone()),
            (command(finish, Value::Null), unjudged.clone()),
            (command(score.clone(), seen.clone()), scored(None)),
            (command(score, json!({})), scored(Some(json!(true)))),
            (command(kept, seen), scored(Some(Value::Null))),
            (command(json!({"do": "unblind"}), Value::Null), unjudged),
        ]
        .map(|(command, event)| {
            let ruling = Answer::Granted(vec![event]);
            seal(Head::EMPTY, &command, &ruling, Digest([7; 32]))
        })
        .into()
    }

    /// Puts the ruling of an entry beside what was asked.
    fn whole(entry: &Entry, asked: Asked) -> (Command, Answer) {
        let mut ruling = entry::read_body(&entry.body).unwrap().ruling;
        if let Some(opened) = asked.opened {
            entry::open_ruling(&mut ruling, opened);
        }
        (asked.command, ruling)
    }

    #[test]
    fn what_is_plainly_spelled_is_read_as_everywhere() {
        for entry in entries() {
            let asked = read(entry.text()).expect(&entry.body);
            assert!(entry.body[asked.ruling.clone()].starts_with("{\"granted\":["));
            let sealed = entry::read_body(&entry.body).unwrap().sealed;
            assert!(asked.sealed.iter().eq(sealed.keys()));
            assert_eq!(whole(&entry, asked), unseal(&entry).unwrap());
        }
    }

    #[test]
    fn no_other_spelling_is_read() {
        for entry in entries() {
            let ruling = read(entry.text()).unwrap().ruling;
            for (is_body, text) in [(true, Some(&entry.body)), (false, entry.opening.as_ref())] {
                let Some(text) = text else { continue };
                for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
                    for more in [" ", "\"", ",", "}", "0", "\"a\":1,", "null"] {
                        let mut other = entry.clone();
                        let changed = format!("{}{more}{}", &text[..at], &text[at..]);
                        match is_body {
                            true => other.body = changed,
                            false => other.opening = Some(changed),
                        }
                        let Some(asked) = read(other.text()) else {
                            continue;
                        };
                        // What the ruling says is not looked at.
                        if other.body[asked.ruling.clone()] != entry.body[ruling.clone()] {
                            continue;
                        }
                        // A text or number that says something else is what everybody reads there.
                        assert_eq!(whole(&other, asked), unseal(&other).unwrap());
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_deep_is_left_to_others() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(spelled::<Value>(&deep(BRACKETS_MAX)).is_some());
        assert!(spelled::<Value>(&deep(BRACKETS_MAX + 1)).is_none());
    }
}
