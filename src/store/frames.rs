//! The protocol and the tasks of every draft, so that a decision reads no more of them than it needs:
//! what is derived from the entry that opened the draft, saved with it.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::rows::{read, signed, unsigned, write};
use super::{Fault, Result};
use crate::engine::frame::{Extent, Framed, FramedKey, Phase};
use crate::engine::rules::Rules;
use crate::protocol::canonical;
use crate::protocol::frame::Task;
use crate::protocol::registration::Registration;

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

/// Returns the draft that was opened last.
pub(super) fn newest(connection: &Connection) -> Result<Option<Draft>> {
    let found = connection
        .prepare_cached("SELECT seq, registration, extent FROM drafts ORDER BY draft DESC LIMIT 1")?
        .query_row([], |row| {
            Ok((unsigned(row, 0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
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

/// Returns the text of the protocol that was opened last.
pub(super) fn newest_text(connection: &Connection) -> Result<Option<String>> {
    let text = connection
        .prepare_cached("SELECT text FROM drafts ORDER BY draft DESC LIMIT 1")?
        .query_row([], |row| row.get(0));
    Ok(text.optional()?)
}

/// Returns a task of a draft's frame.
pub(super) fn framed(
    connection: &Connection,
    draft: u64,
    key: &FramedKey,
) -> Result<Option<Framed>> {
    const COLUMNS: &str = "SELECT fields, confirmatory, place FROM tasks WHERE draft = ?1 AND";
    let found = match key {
        FramedKey::Id(id) => connection
            .prepare_cached(&format!("{COLUMNS} id = ?2"))?
            .query_row(params![signed(draft), id], columns)
            .optional()?,
        FramedKey::Place(phase) => connection
            .prepare_cached(&format!("{COLUMNS} confirmatory = ?2 AND place = ?3"))?
            .query_row(
                params![signed(draft), phase.confirmatory, signed(phase.index)],
                columns,
            )
            .optional()?,
    };
    found.map(framed_of).transpose()
}

type Columns = (String, Option<bool>, Option<u64>);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    let place: Option<i64> = row.get(2)?;
    Ok((row.get(0)?, row.get(1)?, place.map(i64::unsigned_abs)))
}

fn framed_of((fields, confirmatory, index): Columns) -> Result<Framed> {
    let fields: Value = read("a task", &fields)?;
    let phase = confirmatory.zip(index);
    Ok(Framed {
        task: Task::new(fields).map_err(broken)?,
        phase: phase.map(|(confirmatory, index)| Phase {
            confirmatory,
            index,
        }),
    })
}

fn broken(message: String) -> Fault {
    Fault::Row {
        row: "a task".to_owned(),
        message,
    }
}

/// Returns whether the rows of a draft are what its entry says.
pub(super) fn is_as_said(
    connection: &Connection,
    draft: u64,
    seq: u64,
    text: &str,
    rules: &Rules,
) -> Result<bool> {
    let saved = connection
        .prepare_cached("SELECT seq, text, registration, extent FROM drafts WHERE draft = ?1")?
        .query_row([signed(draft)], |row| {
            Ok((unsigned(row, 0)?, [row.get(1)?, row.get(2)?, row.get(3)?]))
        })
        .optional()?;
    let (registration, extent) = (write(rules.registration()), write(rules.extent()));
    if saved != Some((seq, [text.to_owned(), registration, extent])) {
        return Ok(false);
    }
    for (task, phase) in rules.framed() {
        let task = task.clone();
        let key = FramedKey::Id(task.id.clone());
        if framed(connection, draft, &key)? != Some(Framed { task, phase }) {
            return Ok(false);
        }
    }
    let tasks = connection
        .prepare_cached("SELECT count(*) FROM tasks WHERE draft = ?1")?
        .query_row([signed(draft)], |row| unsigned(row, 0))?;
    Ok(tasks == rules.framed().count() as u64)
}

/// Returns how many drafts there are, and how many that have tasks.
pub(super) fn count(connection: &Connection) -> Result<[u64; 2]> {
    let mut statement = connection
        .prepare("SELECT (SELECT count(*) FROM drafts), (SELECT count(DISTINCT draft) FROM tasks)")?;
    Ok(statement.query_row([], |row| Ok([unsigned(row, 0)?, unsigned(row, 1)?]))?)
}
