//! Loads and saves rows; decides nothing.

use std::cmp::Ordering;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use crate::engine::durations::{Side, Span};
use crate::engine::event::{LaneId, Place};
use crate::engine::facts::{Fact, FactKey, FactKind};
use crate::engine::outage::Window;
use crate::engine::slice::{Cell, Lane, Lookup, Run, Slice, Standing, Turn};
use crate::record::entry::{Entry, EntryText, Head};
use crate::units::{Digest, RunId};

type Result<T> = std::result::Result<T, Fault>;

/// Returns the newest entry's number and digest.
pub(super) fn head(connection: &Connection) -> Result<Head> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, digest FROM entries WHERE seq = (SELECT max(seq) FROM entries)",
    )?;
    let head = statement
        .query_row([], |row| {
            Ok(Head {
                seq: unsigned(row, 0)?,
                digest: digest(row, 1)?,
            })
        })
        .optional()?;
    Ok(head.unwrap_or(Head::EMPTY))
}

/// Appends an entry.
pub(super) fn append(connection: &Connection, entry: &Entry) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO entries (seq, digest, body, opening) VALUES (?1, ?2, ?3, ?4)",
    )?;
    statement.execute(params![
        signed(entry.seq),
        entry.digest.0.as_slice(),
        entry.body,
        entry.opening
    ])?;
    Ok(())
}

/// Returns an entry.
pub(super) fn entry(connection: &Connection, seq: u64) -> Result<Option<Entry>> {
    let mut statement = connection
        .prepare_cached("SELECT seq, digest, body, opening FROM entries WHERE seq = ?1")?;
    Ok(statement.query_row([signed(seq)], read_entry).optional()?)
}

/// Hands every entry to a function, in order, until it is satisfied.
pub(super) fn each_entry<E: From<Fault>>(
    connection: &Connection,
    mut each: impl FnMut(EntryText<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut statement = connection
        .prepare("SELECT seq, digest, body, opening FROM entries ORDER BY seq")
        .map_err(Fault::from)?;
    let mut rows = statement.query([]).map_err(Fault::from)?;
    while let Some(row) = rows.next().map_err(Fault::from)? {
        each(entry_text(row).map_err(Fault::from)?)?;
    }
    Ok(())
}

fn entry_text<'r>(row: &'r Row<'_>) -> rusqlite::Result<EntryText<'r>> {
    Ok(EntryText {
        seq: unsigned(row, 0)?,
        digest: digest(row, 1)?,
        body: text(row, 2)?,
        opening: match row.get_ref(3)? {
            ValueRef::Null => None,
            _ => Some(text(row, 3)?),
        },
    })
}

/// Returns a column that is a text, where it stands.
pub(super) fn text<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    let found = row.get_ref(column)?.as_str();
    found.map_err(|error| match row.get::<_, String>(column) {
        // It says of which column.
        Err(told) => told,
        Ok(_) => error.into(),
    })
}

/// Returns what a function finds first in the entries after one.
pub(super) fn find_after<T>(
    connection: &Connection,
    seq: u64,
    mut find: impl FnMut(&Entry) -> std::result::Result<Option<T>, String>,
) -> Result<Option<T>> {
    let mut statement = connection
        .prepare("SELECT seq, digest, body, opening FROM entries WHERE seq > ?1 ORDER BY seq")?;
    let mut rows = statement.query([signed(seq)])?;
    while let Some(row) = rows.next()? {
        let entry = read_entry(row)?;
        let found = find(&entry).map_err(|message| Fault::Row {
            row: format!("entry {}", entry.seq),
            message,
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: unsigned(row, 0)?,
        digest: digest(row, 1)?,
        body: row.get(2)?,
        opening: row.get(3)?,
    })
}

/// Returns the entry that an operation's key belongs to.
pub(super) fn key(connection: &Connection, key: &str) -> Result<Option<u64>> {
    let mut statement = connection.prepare_cached("SELECT seq FROM keys WHERE key = ?1")?;
    Ok(statement
        .query_row([key], |row| unsigned(row, 0))
        .optional()?)
}

/// Keeps the entry that an operation's key belongs to.
pub(super) fn save_key(connection: &Connection, key: &str, seq: u64) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO keys (key, seq) VALUES (?1, ?2)")?
        .execute(params![key, signed(seq)])?;
    Ok(())
}

/// Returns the standing and the entry that it stands for; that of an empty record where there is none.
pub(super) fn standing(connection: &Connection) -> Result<(Standing, u64)> {
    let mut statement =
        connection.prepare_cached("SELECT facts, applied FROM standing WHERE one = 1")?;
    let row = statement
        .query_row([], |row| Ok((row.get::<_, String>(0)?, unsigned(row, 1)?)))
        .optional()?;
    match row {
        Some((facts, applied)) => Ok((read("standing", &facts)?, applied)),
        None => Ok((Standing::default(), 0)),
    }
}

/// Saves the standing, and the entry that all derived rows stand for.
pub(super) fn save_standing(
    connection: &Connection,
    standing: &Standing,
    applied: u64,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO standing (one, applied, facts) VALUES (1, ?1, ?2)
         ON CONFLICT (one) DO UPDATE SET applied = excluded.applied, facts = excluded.facts",
    )?;
    statement.execute(params![signed(applied), write(standing)])?;
    Ok(())
}

/// Returns a run.
pub(super) fn run(connection: &Connection, run: RunId) -> Result<Option<Run>> {
    with_run(connection, run, |facts| {
        facts.map(|facts| read("a run", facts)).transpose()
    })
}

/// Hands the facts of a run to a function; nothing where there is no such run.
pub(super) fn with_run<T>(
    connection: &Connection,
    run: RunId,
    with: impl FnOnce(Option<&str>) -> Result<T>,
) -> Result<T> {
    let mut statement = connection.prepare_cached("SELECT facts FROM runs WHERE run = ?1")?;
    let mut rows = statement.query([signed(run.0)])?;
    match rows.next()? {
        Some(row) => {
            let facts = text(row, 0)?;
            with(Some(facts))
        }
        None => with(None),
    }
}

/// Saves runs.
pub(super) fn save_runs<'r>(
    connection: &Connection,
    runs: impl Iterator<Item = &'r Run>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs (run, role, task, arm, state, stopped_in, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (run) DO UPDATE SET
            state = excluded.state, stopped_in = excluded.stopped_in, facts = excluded.facts",
    )?;
    for run in runs {
        statement.execute(params![
            signed(run.run.0),
            role(run.place),
            run.task,
            run.arm,
            run.state.text(),
            run.stopped_in().map(|window| window.0),
            write(run)
        ])?;
    }
    Ok(())
}

/// Returns the runs of a task and arm whose slots are their ranks, in order.
pub(super) fn cell(connection: &Connection, (task, arm): &Cell) -> Result<Vec<RunId>> {
    let mut statement = connection.prepare_cached(
        "SELECT run FROM runs WHERE role = 'counted' AND task = ?1 AND arm = ?2 ORDER BY run",
    )?;
    numbers(statement.query_map([task, arm], |row| unsigned(row, 0))?)
}

/// Returns the error stops of a window, in order.
pub(super) fn error_stops(connection: &Connection, window: Window) -> Result<Vec<RunId>> {
    let mut statement =
        connection.prepare_cached("SELECT run FROM runs WHERE stopped_in = ?1 ORDER BY run")?;
    numbers(statement.query_map([window.0], |row| unsigned(row, 0))?)
}

fn numbers(rows: impl Iterator<Item = rusqlite::Result<u64>>) -> Result<Vec<RunId>> {
    let runs = rows.map(|run| run.map(RunId));
    Ok(runs.collect::<rusqlite::Result<_>>()?)
}

/// Returns what a run is for.
pub(super) fn role(place: Option<Place>) -> &'static str {
    match place {
        None => "control",
        Some(place) if place.by_counts => "counted",
        Some(place) if place.lane.is_registered() => "slot",
        Some(_) => "pilot",
    }
}

/// Returns the newest run of a control on a task.
pub(super) fn newest_control(
    connection: &Connection,
    task: &str,
    control: &str,
) -> Result<Option<Run>> {
    let mut statement = connection.prepare_cached(
        "SELECT facts FROM runs WHERE role = 'control' AND task = ?1 AND arm = ?2 ORDER BY run DESC LIMIT 1",
    )?;
    let facts: Option<String> = statement
        .query_row([task, control], |row| row.get(0))
        .optional()?;
    facts.map(|facts| read("a run", &facts)).transpose()
}

/// Hands the number and the facts of every run to a function, in order, as long as it wants more; returns
/// whether it still does.
pub(super) fn each_facts(
    connection: &Connection,
    mut each: impl FnMut(RunId, &str) -> Result<bool>,
) -> Result<bool> {
    let mut statement = connection.prepare("SELECT run, facts FROM runs ORDER BY run")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let facts = text(row, 1)?;
        if !each(RunId(unsigned(row, 0)?), facts)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Hands the facts of runs to a function, as long as it wants more, in the order in which they are asked for; nothing
/// where there is no such run, or none is asked for.
///
/// They are mostly asked for in the order of their numbers: then the next one is a few steps away, and is not looked
/// up.
pub(super) fn each_facts_of<T>(
    connection: &Connection,
    asked: impl Iterator<Item = (T, Option<RunId>)>,
    mut each: impl FnMut(T, Option<&str>) -> Result<bool>,
) -> Result<()> {
    let mut statement =
        connection.prepare("SELECT run, facts FROM runs WHERE run >= ?1 ORDER BY run")?;
    let mut asked = asked.peekable();
    while let Some((what, run)) = asked.next() {
        let Some(first) = run else {
            match each(what, None)? {
                true => continue,
                false => return Ok(()),
            }
        };
        let mut rows = statement.query([signed(first.0)])?;
        let mut next = Some((what, first));
        while let Some((what, run)) = next {
            let found = loop {
                let Some(row) = rows.next()? else { break None };
                match unsigned(row, 0)?.cmp(&run.0) {
                    Ordering::Less => {}
                    Ordering::Equal => break Some(row),
                    Ordering::Greater => break None,
                }
            };
            let facts = found.map(|row| text(row, 1)).transpose()?;
            if !each(what, facts)? {
                return Ok(());
            }
            let is_near = |after: RunId| {
                let steps = after.0.saturating_sub(run.0);
                found.is_some() && (1..=STEPS).contains(&steps)
            };
            let after = asked.next_if(|(_, after)| after.is_some_and(is_near));
            next = after.and_then(|(what, after)| Some((what, after?)));
        }
    }
    Ok(())
}

/// How long the facts of a row mostly are at the most.
const USUAL_BYTES: usize = 512;
/// How many rows are passed over rather than looked up.
const STEPS: u64 = 8;
/// Of how many lanes one look says that they are not there.
const LANES_AHEAD: u64 = 64;

/// Puts a lane into a slice that does not hold it; returns whether there is such a lane.
///
/// Lanes are mostly opened one after the other: where there is none, some that would come next are found not to
/// be there either, and are not looked up one by one.
pub(super) fn load_lane(connection: &Connection, slice: &mut Slice, id: LaneId) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT number, facts FROM lanes WHERE draft = ?1 AND number >= ?2 ORDER BY number LIMIT 1",
    )?;
    let mut rows = statement.query([signed(id.draft), signed(id.number)])?;
    let mut end = id.number.saturating_add(LANES_AHEAD);
    if let Some(row) = rows.next()? {
        let number = unsigned(row, 0)?;
        if number == id.number {
            let facts = text(row, 1)?;
            slice.hold_lane(id, read("a lane", facts)?);
            return Ok(true);
        }
        end = end.min(number);
    }
    for number in id.number..end {
        // What the slice holds is newer.
        slice.lanes.entry(LaneId { number, ..id }).or_insert(None);
    }
    Ok(false)
}

/// Saves lanes.
pub(super) fn save_lanes<'l>(
    connection: &Connection,
    lanes: impl Iterator<Item = (LaneId, &'l Lane)>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO lanes (draft, number, stage, ready, facts) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (draft, number) DO UPDATE SET ready = excluded.ready, facts = excluded.facts",
    )?;
    for (id, lane) in lanes {
        statement.execute(params![
            signed(id.draft),
            signed(id.number),
            stage(lane.stage),
            ready(id, lane),
            write(lane)
        ])?;
    }
    Ok(())
}

pub(super) fn stage(stage: usize) -> i64 {
    i64::try_from(stage).unwrap_or(i64::MAX)
}

/// Returns the number by which a lane that may start is found in its stage.
pub(super) fn ready(id: LaneId, lane: &Lane) -> Option<i64> {
    lane.turn().filter(|_| id.is_registered()).map(turn)
}

/// Numbers the turns of a stage: blocks that were voided come first.
fn turn(turn: Turn) -> i64 {
    signed(turn.position) + if turn.first_time { 1 << 62 } else { 0 }
}

/// Returns a fact.
pub(super) fn fact(connection: &Connection, key: &FactKey) -> Result<Option<Fact>> {
    let mut statement = connection.prepare_cached("SELECT fact FROM facts WHERE key = ?1")?;
    let key = write(key);
    let fact: Option<String> = statement.query_row([&key], |row| row.get(0)).optional()?;
    fact.map(|fact| read(&key, &fact)).transpose()
}

/// Returns how long the next shorter or longer block took. The keys stand in the order of the spans.
pub(super) fn span_beside(connection: &Connection, span: Span, side: Side) -> Result<Option<Span>> {
    let sql = match side {
        Side::Longer => {
            "SELECT key FROM facts WHERE key > ?1 AND key < '{\"lasted\":\"a' ORDER BY key LIMIT 1"
        }
        Side::Shorter => {
            "SELECT key FROM facts WHERE key < ?1 AND key > '{\"lasted\":\"' ORDER BY key DESC LIMIT 1"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let key = write(&FactKey::Lasted(span));
    let found: Option<String> = statement.query_row([&key], |row| row.get(0)).optional()?;
    match found.map(|key| read(&key, &key)).transpose()? {
        Some(FactKey::Lasted(span)) => Ok(Some(span)),
        _ => Ok(None),
    }
}

/// Saves facts.
pub(super) fn save_facts<'f>(
    connection: &Connection,
    facts: impl Iterator<Item = (&'f FactKey, &'f Fact)>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO facts (key, fact) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET fact = excluded.fact",
    )?;
    for (key, fact) in facts {
        statement.execute([write(key), write(fact)])?;
    }
    Ok(())
}

/// Hands every fact of a kind to a function.
pub(super) fn each_fact_of<E: From<Fault>>(
    connection: &Connection,
    kind: FactKind,
    each: impl FnMut(FactKey, Fact) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let kind = match kind {
        FactKind::Window => "window",
        FactKind::Deviation => "deviation",
        FactKind::Void => "void",
        FactKind::Unblinding => "unblinding",
    };
    // A semicolon comes right after a colon.
    let bounds = [':', ';'].map(|end| format!("{{\"{kind}\"{end}"));
    let sql = "SELECT key, fact FROM facts WHERE key > ?1 AND key < ?2";
    each_selected(connection, sql, bounds, each)
}

fn each_selected<E: From<Fault>>(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
    mut each: impl FnMut(FactKey, Fact) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut statement = connection.prepare(sql).map_err(Fault::from)?;
    let mut rows = statement.query(values).map_err(Fault::from)?;
    while let Some(row) = rows.next().map_err(Fault::from)? {
        let columns = || Ok((row.get(0)?, row.get(1)?));
        let (key, fact): (String, String) = columns().map_err(Fault::Storage)?;
        each(read("a fact", &key)?, read(&key, &fact)?)?;
    }
    Ok(())
}

/// Hands the facts of every lane of the registered plan to a function, as long as it wants more.
pub(super) fn each_lane(
    connection: &Connection,
    mut each: impl FnMut(LaneId, &str) -> bool,
) -> Result<()> {
    let mut statement = connection.prepare("SELECT number, facts FROM lanes WHERE draft = ?1")?;
    let mut rows = statement.query([signed(LaneId::registered(0).draft)])?;
    while let Some(row) = rows.next()? {
        let id = LaneId::registered(unsigned(row, 0)?);
        let facts = text(row, 1)?;
        if !each(id, facts) {
            break;
        }
    }
    Ok(())
}

/// Reads a lane.
pub(super) fn read_lane(facts: &str) -> Result<Lane> {
    plain_lane(facts).map_or_else(|| read("a lane", facts), Ok)
}

/// How a lane is spelled that has had one run, before the number of that.
const ONE_RUN: &str = r#"{"next":null,"attempts":0,"open":null,"runs":["#;

/// Reads a lane that is done after one run, as nearly all of a long record are; none where it is another one, or
/// spelled otherwise.
fn plain_lane(facts: &str) -> Option<Lane> {
    let run = facts.strip_prefix(ONE_RUN)?.strip_suffix("]}")?;
    let is_plain = run.bytes().all(|byte| byte.is_ascii_digit()) && !run.starts_with('0');
    let run = is_plain.then(|| run.parse().ok()).flatten()?;
    Some(Lane {
        runs: vec![RunId(run)],
        ..Lane::default()
    })
}

/// Puts into a slice the first lane of a stage that may start, after some turn, and that the slice has
/// not touched; returns whether there is one.
pub(super) fn load_ready(
    connection: &Connection,
    slice: &mut Slice,
    (place, after): Lookup,
) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT number, facts FROM lanes
         WHERE ready IS NOT NULL AND stage = ?1 AND ready > ?2 ORDER BY ready",
    )?;
    // Lanes that the slice holds are newer there, and passed over.
    let mut rows = statement.query([stage(place), after.map_or(-1, turn)])?;
    while let Some(row) = rows.next()? {
        let id = LaneId::registered(unsigned(row, 0)?);
        if !slice.lanes.contains_key(&id) {
            let facts: String = row.get(1)?;
            slice.hold_lane(id, read("a lane", &facts)?);
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn columns_differ(row: String) -> Fault {
    Fault::Row {
        row,
        message: "its columns are not what its facts say".to_owned(),
    }
}

/// Reads the facts of a row, which may be borrowed from.
pub(super) fn read<'f, T: Deserialize<'f>>(row: &str, facts: &'f str) -> Result<T> {
    serde_json::from_str(facts).map_err(|error| Fault::Row {
        row: row.to_owned(),
        message: error.to_string(),
    })
}

/// Writes the facts of a row.
pub(super) fn write(facts: &impl Serialize) -> String {
    let mut text = Vec::with_capacity(USUAL_BYTES);
    // Plain data with text keys: neither can fail.
    let written = serde_json::to_writer(&mut text, facts);
    debug_assert!(written.is_ok(), "{written:?}");
    String::from_utf8(text).unwrap_or_default()
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    Ok(Digest(row.get(column)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_lane_is_what_its_json_says() {
        for run in [1, 10, 333_333, u64::MAX] {
            let lane = Lane {
                runs: vec![RunId(run)],
                ..Lane::default()
            };
            assert_eq!(plain_lane(&write(&lane)), Some(lane));
        }
        for other in [
            "0",
            "01",
            "+1",
            "1,2",
            "1.0",
            "-1",
            " 1",
            "1e3",
            "",
            "18446744073709551616",
        ] {
            assert_eq!(plain_lane(&format!("{ONE_RUN}{other}]}}")), None, "{other}");
        }
        let more = Lane {
            runs: vec![RunId(1)],
            voids: 1,
            ..Lane::default()
        };
        assert_eq!(plain_lane(&write(&more)), None);
    }
}
