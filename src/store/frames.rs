//! The protocol and the tasks of every draft, so that a decision reads no more of them than it needs:
//! what is derived from the entry that opened the draft, saved with it.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::rows::{read, signed, unsigned, write};
use super::{Fault, Result};
use crate::engine::frame::{Extent, Framed, FramedKey, Phase};
use crate::engine::rules::Rules;
use crate::protocol::canonical;
use crate::protocol::frame::Task;
use crate::protocol::registration::Registration;
use crate::units::Digest;

/// What a draft says, without its tasks.
#[derive(Debug)]
pub(super) struct Draft {
    /// The entry that opened it.
    pub(super) seq: u64,
    pub(super) registration: Registration,
    pub(super) extent: Extent,
}

/// Saves a draft and its tasks.
pub(super) fn save(
    connection: &Connection,
    draft: u64,
    seq: u64,
    text: &str,
    rules: &Rules,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO drafts (draft, seq, text, registration, extent) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            signed(draft),
            signed(seq),
            text,
            write(rules.registration()),
            write(rules.extent())
        ])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO tasks (draft, id, fields, confirmatory, place) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (task, phase) in rules.framed() {
        insert.execute(params![
            signed(draft),
            task.id,
            canonical::text(&task.fields),
            phase.map(|phase| phase.confirmatory),
            phase.map(|phase| signed(phase.index))
        ])?;
    }
    Ok(())
}

/// Returns a draft.
pub(super) fn draft(connection: &Connection, draft: u64) -> Result<Option<Draft>> {
    let found = connection
        .prepare_cached("SELECT seq, registration, extent FROM drafts WHERE draft = ?1")?
        .query_row([signed(draft)], |row| {
            Ok((
                unsigned(row, 0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
            ))
        })
        .optional()?;
    found
        .map(|(seq, registration, extent)| {
            Ok(Draft {
                seq,
                registration: read("a draft", &registration)?,
                extent: read("a draft", &extent)?,
            })
        })
        .transpose()
}

/// Returns the entry that opened the last draft.
pub(super) fn newest_seq(connection: &Connection) -> Result<Option<u64>> {
    let seq = connection
        .prepare_cached("SELECT seq FROM drafts WHERE draft = (SELECT max(draft) FROM drafts)")?
        .query_row([], |row| unsigned(row, 0));
    Ok(seq.optional()?)
}

/// Returns the text of the protocol that was opened last.
pub(super) fn newest_text(connection: &Connection) -> Result<Option<String>> {
    let text = connection
        .prepare_cached("SELECT text FROM drafts WHERE draft = (SELECT max(draft) FROM drafts)")?
        .query_row([], |row| row.get(0));
    Ok(text.optional()?)
}

/// Returns the ids of the tasks that a draft draws, in the order of the draw.
pub(super) fn drawn(connection: &Connection, draft: u64) -> Result<Vec<String>> {
    let mut statement = connection
        .prepare("SELECT id FROM tasks WHERE draft = ?1 AND confirmatory = 1 ORDER BY place")?;
    let ids = statement.query_map([signed(draft)], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Hands the tasks of a draft's frame that are looked up to a function, in the order of what they are looked up by;
/// nothing where there is no such task.
pub(super) fn each_framed(
    connection: &Connection,
    draft: u64,
    keys: &BTreeSet<FramedKey>,
    mut each: impl FnMut(&FramedKey, Option<Framed>),
) -> Result<()> {
    let mut keys = keys.iter().peekable();
    while let Some(key) = keys.next() {
        match key {
            FramedKey::Id(id) => each(key, of_id(connection, draft, id)?),
            FramedKey::Place(first) => each_from(connection, draft, *first, |phase, found| {
                let is_there = found.is_some();
                each(&FramedKey::Place(phase), found);
                let next = FramedKey::Place(phase.next());
                is_there && keys.next_if(|key| **key == next).is_some()
            })?,
        }
    }
    Ok(())
}

fn of_id(connection: &Connection, draft: u64, id: &str) -> Result<Option<Framed>> {
    let found = connection
        .prepare_cached(
            "SELECT fields, confirmatory, place FROM tasks WHERE draft = ?1 AND id = ?2",
        )?
        .query_row(params![signed(draft), id], columns)
        .optional()?;
    found.map(framed_of).transpose()
}

/// Hands the task at a place to a function, and those at the places after it as long as it wants more.
fn each_from(
    connection: &Connection,
    draft: u64,
    first: Phase,
    mut each: impl FnMut(Phase, Option<Framed>) -> bool,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT fields, confirmatory, place FROM tasks
         WHERE draft = ?1 AND confirmatory = ?2 AND place >= ?3 ORDER BY place",
    )?;
    let from = params![signed(draft), first.confirmatory, signed(first.index)];
    let mut rows = statement.query(from)?;
    let mut phase = first;
    loop {
        let row = rows.next()?.map(columns).transpose()?;
        let found = row.map(framed_of).transpose()?;
        let found = found.filter(|found| found.phase == Some(phase));
        if !each(phase, found) {
            return Ok(());
        }
        phase = phase.next();
    }
}

/// The fields of a task, whether it is drawn or a pilot, and its place there.
type Columns = (String, Option<i64>, Option<i64>);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn framed_of((fields, confirmatory, index): Columns) -> Result<Framed> {
    let fields: Value = read("a task", &fields)?;
    Ok(Framed {
        task: Task::new(fields).map_err(broken)?,
        phase: phase_of(confirmatory, index)?,
    })
}

fn phase_of(confirmatory: Option<i64>, index: Option<i64>) -> Result<Option<Phase>> {
    let confirmatory = match (confirmatory, index) {
        (None, None) => return Ok(None),
        (Some(0), Some(_)) => false,
        (Some(1), Some(_)) => true,
        _ => return Err(broken("it is neither drawn nor a pilot".to_owned())),
    };
    let index = index.and_then(|index| u64::try_from(index).ok());
    let index = index.ok_or_else(|| broken("its place is below 0".to_owned()))?;
    Ok(Some(Phase {
        confirmatory,
        index,
    }))
}

fn broken(message: String) -> Fault {
    Fault::Row {
        row: "a task".to_owned(),
        message,
    }
}

/// Digests what the rows of a draft should say.
pub(super) fn digest(seq: u64, text: &str, rules: &Rules) -> Digest {
    let (registration, extent) = (write(rules.registration()), write(rules.extent()));
    let mut framed: Vec<(&Task, Option<Phase>)> = rules.framed().collect();
    framed.sort_unstable_by_key(|(task, _)| task.id.as_str());
    let draft = digest_of_draft(seq, [text, &registration, &extent]);
    framed.into_iter().fold(draft, |digest, (task, phase)| {
        let place = phase.map(|phase| (i64::from(phase.confirmatory), signed(phase.index)));
        let (confirmatory, place) = place.unzip();
        let columns = (canonical::text(&task.fields), confirmatory, place);
        and_task(digest, &task.id, &columns)
    })
}

/// Digests what the rows of every draft say.
pub(super) fn digests(connection: &Connection) -> Result<BTreeMap<u64, Digest>> {
    let mut drafts =
        connection.prepare("SELECT draft, seq, text, registration, extent FROM drafts")?;
    let mut rows = drafts.query([])?;
    let mut digests = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let texts: [String; 3] = [row.get(2)?, row.get(3)?, row.get(4)?];
        let digest = digest_of_draft(unsigned(row, 1)?, texts.each_ref().map(String::as_str));
        digests.insert(unsigned(row, 0)?, digest);
    }
    let mut tasks = connection
        .prepare("SELECT fields, confirmatory, place, draft, id FROM tasks ORDER BY draft, id")?;
    let mut rows = tasks.query([])?;
    while let Some(row) = rows.next()? {
        // A task of a draft that is not there is one too many.
        let digest = digests.entry(unsigned(row, 3)?).or_insert(Digest([0; 32]));
        let id: String = row.get(4)?;
        *digest = and_task(*digest, &id, &columns(row)?);
    }
    Ok(digests)
}

fn digest_of_draft(seq: u64, texts: [&str; 3]) -> Digest {
    let digest = Digest::of(&[&seq.to_be_bytes()]);
    texts.into_iter().fold(digest, |digest, text| {
        Digest::of(&[&digest.0, text.as_bytes()])
    })
}

fn and_task(digest: Digest, id: &str, (fields, confirmatory, place): &Columns) -> Digest {
    let place = format!("{confirmatory:?} {place:?}");
    let parts = [id, fields, &place];
    parts.into_iter().fold(digest, |digest, part| {
        Digest::of(&[&digest.0, part.as_bytes()])
    })
}
