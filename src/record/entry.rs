//! Entries: what was said and ruled, in canonical bytes, chained by digest.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::command::Command;
use crate::engine::decide::Ruling;
use crate::engine::event::{Event, Outcomes};
use crate::engine::refusal::Refusal;
use crate::protocol::canonical;
use crate::protocol::registration::Registration;
use crate::units::Digest;

/// The digest before the first entry.
pub const GENESIS: Digest = Digest([0; 32]);

/// The newest entry's number and digest: what to publish, and what to check against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// How many entries there are.
    pub seq: u64,
    /// The digest of the newest.
    pub digest: Digest,
}

impl Head {
    /// The head of a record without entries.
    pub const EMPTY: Self = Self {
        seq: 0,
        digest: GENESIS,
    };
}

/// A sealed entry, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub seq: u64,
    /// What binds it to all entries before.
    pub digest: Digest,
    /// The canonical JSON of a [`Body`].
    pub body: String,
    /// The canonical JSON of an [`Opening`]; none where nothing is sealed, or it is withheld.
    pub opening: Option<String>,
}

/// The parts of an entry, wherever they stand.
#[derive(Clone, Copy, Debug)]
pub struct EntryText<'t> {
    /// Its number.
    pub seq: u64,
    /// Its digest.
    pub digest: Digest,
    /// Its body.
    pub body: &'t str,
    /// Its opening, if there is one.
    pub opening: Option<&'t str>,
}

impl EntryText<'_> {
    /// Copies the parts.
    pub fn to_entry(self) -> Entry {
        Entry {
            seq: self.seq,
            digest: self.digest,
            body: self.body.to_owned(),
            opening: self.opening.map(str::to_owned),
        }
    }
}

impl Entry {
    /// Returns its parts.
    pub fn text(&self) -> EntryText<'_> {
        EntryText {
            seq: self.seq,
            digest: self.digest,
            body: &self.body,
            opening: self.opening.as_deref(),
        }
    }
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// What was asked or reported.
    pub command: Command,
    /// What followed.
    pub ruling: Answer,
    /// Commitments to what is sealed, by name.
    pub sealed: BTreeMap<String, Digest>,
}

/// A ruling as the record writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// The command was granted; this happened.
    Granted(Vec<Event>),
    /// A rule said no.
    Refused(Refusal),
}

impl From<Ruling> for Answer {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ok(events) => Self::Granted(events),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

impl From<Answer> for Ruling {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Granted(events) => Ok(events),
            Answer::Refused(refusal) => Err(refusal),
        }
    }
}

/// What opens the commitments of an entry: the salt, and the values by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// 32 random bytes.
    pub salt: Digest,
    /// What is committed to.
    pub values: Map<String, Value>,
}

impl Opening {
    /// Returns the commitments to the values.
    pub fn commitments(&self) -> BTreeMap<String, Digest> {
        self.values
            .iter()
            .map(|(name, value)| (name.clone(), commitment(&self.salt, name, value)))
            .collect()
    }

    /// Returns whether the values are those that were committed to.
    pub fn opens(&self, commitments: &BTreeMap<String, Digest>) -> bool {
        let is_opened =
            |((name, value), (committed, digest)): ((&String, &Value), (&String, &Digest))| {
                name == committed && commitment(&self.salt, name, value) == *digest
            };
        self.values.len() == commitments.len() && self.values.iter().zip(commitments).all(is_opened)
    }
}

/// Commits to a value under its name: SHA-256 of a label, the name's own salt, and the value's
/// canonical JSON. The name's salt is the SHA-256 of a label, the entry's salt and the name, so that
/// one value can be opened without the others.
pub fn commitment(salt: &Digest, name: &str, value: &Value) -> Digest {
    commitment_to(salt, name, &canonical::text(value))
}

/// Commits to a value by its canonical JSON.
pub(super) fn commitment_to(salt: &Digest, name: &str, value: &str) -> Digest {
    let salt = Digest::of(&[b"prereg-salt/1\n", &salt.0, name.as_bytes()]);
    Digest::of(&[b"prereg-commitment/1\n", &salt.0, value.as_bytes()])
}

/// Returns the digest of an entry: SHA-256 of a label, the digest before, the number and the length
/// of the body (64-bit, big-endian), and the body.
pub fn digest(previous: &Digest, seq: u64, body: &str) -> Digest {
    let length = body.len() as u64;
    Digest::of(&[
        b"prereg-entry/1\n",
        &previous.0,
        &seq.to_be_bytes(),
        &length.to_be_bytes(),
        body.as_bytes(),
    ])
}

/// What is called whether a run was exposed to what its arm stands for.
pub const EXPOSED: &str = "exposed";

/// Returns what a command and its ruling seal, by name.
pub fn sealed_values(command: &Command, ruling: &Answer) -> Map<String, Value> {
    let mut values = Map::new();
    if let (Some(name), Some(value)) = (command.action.sealed_name(), command.action.sealed()) {
        values.insert(name.to_owned(), value);
    }
    let Answer::Granted(events) = ruling else {
        return values;
    };
    for event in events {
        if let Event::Scored {
            outcomes: Some(outcomes),
            exposed,
            ..
        } = event
        {
            let exposed = exposed.iter().cloned();
            values.extend(exposed.map(|exposed| (EXPOSED.to_owned(), exposed)));
            values.extend(
                outcomes
                    .iter()
                    .map(|(id, value)| (format!("outcomes.{id}"), value.clone())),
            );
        }
    }
    values
}

/// A [`Body`] whose parts are borrowed, to be written.
#[derive(Serialize)]
struct BodyRef<'b> {
    command: &'b Command,
    ruling: &'b Answer,
    sealed: &'b BTreeMap<String, Digest>,
}

/// Seals a command and its ruling as the entry that follows a head.
pub fn seal(head: Head, command: &Command, ruling: &Answer, salt: Digest) -> Entry {
    let values = sealed_values(command, ruling);
    let opening = (!values.is_empty()).then_some(Opening { salt, values });
    let sealed = opening
        .as_ref()
        .map(Opening::commitments)
        .unwrap_or_default();
    let body = canonical::text(&BodyRef {
        command,
        ruling,
        sealed: &sealed,
    });
    let seq = head.seq + 1;
    Entry {
        seq,
        digest: digest(&head.digest, seq, &body),
        body,
        opening: opening.as_ref().map(canonical::text),
    }
}

/// Reads an entry that is known to be intact: its command and ruling, with what was sealed put back.
pub fn unseal(entry: &Entry) -> Result<(Command, Answer), String> {
    let Body {
        mut command,
        mut ruling,
        ..
    } = read_body(&entry.body)?;
    if let Some(opening) = &entry.opening {
        open(&mut command, &mut ruling, read_opening(opening)?)?;
    }
    Ok((command, ruling))
}

/// What was sealed of a ruling.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    pub(super) outcomes: Outcomes,
    pub(super) exposed: Option<Value>,
}

/// Puts what was sealed back into the command and its ruling.
pub fn open(command: &mut Command, ruling: &mut Answer, opening: Opening) -> Result<(), String> {
    let opened = open_command(command, opening)?;
    open_ruling(ruling, opened);
    Ok(())
}

/// Puts what was sealed of a command back into it; returns the rest.
fn open_command(command: &mut Command, opening: Opening) -> Result<Opened, String> {
    let mut values = opening.values;
    if let Some(value) = command
        .action
        .sealed_name()
        .and_then(|name| values.remove(name))
    {
        command
            .action
            .open(value)
            .map_err(|error| error.to_string())?;
    }
    let exposed = values.remove(EXPOSED);
    let named = values.into_iter().map(|(name, value)| {
        name.strip_prefix("outcomes.")
            .map(|id| (id.to_owned(), value))
    });
    let outcomes = named
        .collect::<Option<_>>()
        .ok_or("an opening has a name that nothing seals")?;
    Ok(Opened { outcomes, exposed })
}

/// Puts what was sealed of a ruling back into it.
pub(super) fn open_ruling(ruling: &mut Answer, opened: Opened) {
    let Answer::Granted(events) = ruling else {
        return;
    };
    for event in events {
        if let Event::Scored {
            outcomes, exposed, ..
        } = event
        {
            *outcomes = Some(opened.outcomes);
            *exposed = opened.exposed;
            return;
        }
    }
}

/// Returns whether a ruling has what was sealed of it where that belongs, and nowhere else.
pub(super) fn has_opened(ruling: &Answer, opened: Option<&Opened>) -> bool {
    let Answer::Granted(events) = ruling else {
        return true;
    };
    let mut opened = opened;
    events.iter().all(|event| match event {
        Event::Scored {
            outcomes, exposed, ..
        } => {
            let opened = opened.take();
            let sealed = opened.and_then(|opened| opened.exposed.as_ref());
            outcomes.as_ref() == opened.map(|opened| &opened.outcomes) && exposed.as_ref() == sealed
        }
        _ => true,
    })
}

/// Splits a text at the last place at which some other stands: what is looked for stands near the end, and its last
/// character is rare.
pub(super) fn rsplit<'t>(text: &'t str, at: &str) -> Option<(&'t str, &'t str)> {
    let last = at.chars().next_back()?;
    let mut end = text.len();
    loop {
        end = text.get(..end)?.rfind(last)?;
        let (before, after) = text.split_at_checked(end + last.len_utf8())?;
        if let Some(before) = before.strip_suffix(at) {
            return Some((before, after));
        }
    }
}

/// Reads a body; refuses any other bytes than the canonical ones.
pub fn read_body(body: &str) -> Result<Body, String> {
    read(body)
}

/// Reads what an `open` command put on the record: the registration and the frame's tasks.
///
/// Faster than [`read_body`], and asks for no canonical form: that is what an audit is for.
pub fn read_opened(body: &str) -> Result<(Registration, Vec<Value>), String> {
    #[derive(Deserialize)]
    struct Opened {
        registration: Registration,
        tasks: Vec<Value>,
    }
    let opened: Opened = action_of(body)?;
    Ok((opened.registration, opened.tasks))
}

/// Reads of a body no more than some of its action.
fn action_of<A: DeserializeOwned>(body: &str) -> Result<A, String> {
    #[derive(Deserialize)]
    struct Part<A> {
        command: Asked<A>,
    }
    #[derive(Deserialize)]
    struct Asked<A> {
        action: A,
    }
    let part: Part<A> = serde_json::from_str(body).map_err(|error| error.to_string())?;
    Ok(part.command.action)
}

/// Reads an opening; refuses any other bytes than the canonical ones.
pub fn read_opening(opening: &str) -> Result<Opening, String> {
    read(opening)
}

fn read<T: Serialize + for<'de> Deserialize<'de>>(json: &str) -> Result<T, String> {
    let part: T = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if !canonical::is_text(&part, json) {
        return Err("the text is not in canonical form".to_owned());
    }
    Ok(part)
}
