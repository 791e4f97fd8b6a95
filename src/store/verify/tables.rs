//! The tables that are derived from the entries, row by row beside what the entries say.

use std::borrow::Cow;
use std::ops::Range;

use rusqlite::{Connection, Row};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Auditor, End, tables_differ};
use crate::engine::event::{LaneId, Place};
use crate::engine::facts::{Fact, FactKey};
use crate::engine::outage::Window;
use crate::engine::slice::{Lane, Run, State};
use crate::store::{Fault, rows};
use crate::units::RunId;

/// A table with many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Table {
    Runs,
    Lanes,
    Facts,
}

impl Table {
    pub(super) const ALL: [Self; 3] = [Self::Runs, Self::Lanes, Self::Facts];

    fn sql(self) -> &'static str {
        match self {
            Self::Runs => {
                "SELECT facts, run, role, task, arm, state, stopped_in FROM runs ORDER BY run"
            }
            Self::Lanes => "SELECT facts, draft, number, ready, stage FROM lanes",
            Self::Facts => "SELECT fact, key FROM facts",
        }
    }
}

/// Rows as they stand.
#[derive(Default)]
pub(super) struct RawRows {
    /// Their texts, one after the other.
    text: String,
    rows: Vec<Raw>,
}

/// A row; its texts are places in the text of all.
enum Raw {
    Run(Range<usize>, u64, [Range<usize>; 4], Option<i64>),
    Lane(Range<usize>, LaneId, (Option<i64>, i64)),
    Fact(Range<usize>, Range<usize>),
}

/// What of a run's facts its columns say again.
#[derive(Deserialize)]
struct Columns<'r> {
    run: RunId,
    #[serde(borrow)]
    task: Cow<'r, str>,
    #[serde(borrow)]
    arm: Cow<'r, str>,
    place: Option<Place>,
    state: State,
    #[serde(default)]
    error: bool,
    window: Option<Window>,
}

impl<'r> From<&'r Run> for Columns<'r> {
    fn from(run: &'r Run) -> Self {
        Self {
            run: run.run,
            task: Cow::Borrowed(&run.task),
            arm: Cow::Borrowed(&run.arm),
            place: run.place,
            state: run.state,
            error: run.error,
            window: run.window,
        }
    }
}

impl Columns<'_> {
    fn are(&self, number: u64, columns: [&str; 4], stopped: Option<i64>) -> bool {
        let window = self.window.filter(|_| self.error);
        let expected = [
            rows::role(self.place),
            &self.task,
            &self.arm,
            self.state.text(),
        ];
        number == self.run.0 && stopped == window.map(|window| window.0) && columns == expected
    }
}

/// Rows that were checked, up to the first that is wrong.
pub(super) struct CheckedRows {
    text: String,
    rows: Vec<Checked>,
    /// What is wrong with the next one.
    wrong: Option<Fault>,
}

/// A row whose columns are what its JSON says.
struct Checked {
    key: Key,
    /// Where the row stands as JSON.
    json: Range<usize>,
}

/// Which row it is.
enum Key {
    Run(RunId),
    Lane(LaneId),
    Fact(FactKey),
}

/// Hands every row of a table to a function, so many at once.
pub(super) fn each<E: From<Fault>>(
    connection: &Connection,
    table: Table,
    at_once: usize,
    mut each: impl FnMut(RawRows) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = connection.prepare(table.sql()).map_err(Fault::from)?;
    let mut rows = statement.query([]).map_err(Fault::from)?;
    let mut waiting = RawRows::default();
    while let Some(row) = rows.next().map_err(Fault::from)? {
        waiting.add(table, row).map_err(Fault::Storage)?;
        if waiting.rows.len() == at_once {
            each(std::mem::take(&mut waiting))?;
        }
    }
    each(waiting)
}

impl RawRows {
    fn add(&mut self, table: Table, row: &Row<'_>) -> rusqlite::Result<()> {
        let json = self.text(row, 0)?;
        let raw = match table {
            Table::Runs => {
                let mut column = |column| self.text(row, column);
                let columns = [column(2)?, column(3)?, column(4)?, column(5)?];
                Raw::Run(json, rows::unsigned(row, 1)?, columns, row.get(6)?)
            }
            Table::Lanes => {
                let id = LaneId {
                    draft: rows::unsigned(row, 1)?,
                    number: rows::unsigned(row, 2)?,
                };
                Raw::Lane(json, id, (row.get(3)?, row.get(4)?))
            }
            Table::Facts => Raw::Fact(json, self.text(row, 1)?),
        };
        self.rows.push(raw);
        Ok(())
    }

    /// Takes the text of a column; returns where it stands.
    fn text(&mut self, row: &Row<'_>, column: usize) -> rusqlite::Result<Range<usize>> {
        let start = self.text.len();
        self.text.push_str(rows::text(row, column)?);
        Ok(start..self.text.len())
    }

    /// Checks rows up to the first whose columns are not what its JSON says.
    pub(super) fn check(self) -> CheckedRows {
        let Self { text, rows } = self;
        let mut checked = Vec::with_capacity(rows.len());
        let mut wrong = None;
        for row in rows {
            match row.check(&text) {
                Ok(row) => checked.push(row),
                Err(fault) => {
                    wrong = Some(fault);
                    break;
                }
            }
        }
        let rows = checked;
        CheckedRows { text, rows, wrong }
    }
}

impl Raw {
    fn check(self, text: &str) -> Result<Checked, Fault> {
        match self {
            Self::Run(place, number, columns, stopped) => {
                let json = &text[place.clone()];
                let columns = columns.map(|column| &text[column]);
                let told: Option<Columns<'_>> = serde_json::from_str(json).ok();
                let found = told.filter(|told| told.are(number, columns, stopped));
                // All of it is read where it is not spelled as it should be.
                let run = match found.map(|told| told.run) {
                    Some(run) => run,
                    None => {
                        let run: Run = rows::read("a run", json)?;
                        if !Columns::from(&run).are(number, columns, stopped) {
                            return Err(rows::columns_differ(format!("run {}", run.run)));
                        }
                        run.run
                    }
                };
                let (key, json) = (Key::Run(run), place);
                Ok(Checked { key, json })
            }
            Self::Lane(json, id, columns) => {
                let lane: Lane = rows::read("a lane", &text[json.clone()])?;
                if columns != (rows::ready(id, &lane), rows::stage(lane.stage)) {
                    return Err(rows::columns_differ(format!("lane {}", id.number)));
                }
                let key = Key::Lane(id);
                Ok(Checked { key, json })
            }
            Self::Fact(json, key) => {
                let key = &text[key];
                let found: FactKey = rows::read("a fact", key)?;
                // By its spelling a fact is found: another one would be another row.
                if key != rows::write(&found) {
                    return Err(rows::columns_differ(format!("the fact {key}")));
                }
                rows::read::<Fact>(key, &text[json.clone()])?;
                let key = Key::Fact(found);
                Ok(Checked { key, json })
            }
        }
    }
}

impl CheckedRows {
    /// Compares the rows with what the entries say; returns how many there are.
    pub(super) fn compare(&mut self, auditor: &mut Auditor) -> Result<usize, End> {
        for row in &self.rows {
            row.compare(&self.text[row.json.clone()], auditor)?;
        }
        match self.wrong.take() {
            None => Ok(self.rows.len()),
            Some(fault) => Err(fault.into()),
        }
    }
}

impl Checked {
    fn compare(&self, json: &str, auditor: &mut Auditor) -> Result<(), End> {
        let is_same = match &self.key {
            Key::Run(run) => is_same::<Run>("a run", json, auditor.run(*run)?)?,
            Key::Lane(id) => is_same::<Lane>("a lane", json, auditor.lane(*id)?)?,
            Key::Fact(key) => is_same::<Fact>("a fact", json, auditor.fact(key)?)?,
        };
        if is_same {
            return Ok(());
        }
        let name = match &self.key {
            Key::Run(run) => format!("the row of run {run}"),
            Key::Lane(id) => format!("the row of lane {}", id.number),
            Key::Fact(_) => "a row of the table `facts`".to_owned(),
        };
        Err(tables_differ(format!("{name} is not what the entries say")))
    }
}

/// Returns whether a row says what it should; its spelling is free.
fn is_same<R: DeserializeOwned + PartialEq>(
    row: &str,
    json: &str,
    kept: Option<Cow<'_, [u8]>>,
) -> Result<bool, Fault> {
    if kept.as_deref() == Some(json.as_bytes()) {
        return Ok(true);
    }
    let found: R = rows::read(row, json)?;
    let kept = kept.and_then(|kept| serde_json::from_slice(&kept).ok());
    Ok(kept == Some(found))
}

/// Compares how many rows a table has.
pub(super) fn compare_count(table: Table, seen: usize, auditor: &Auditor) -> Result<(), End> {
    let (runs, lanes, facts) = auditor.counts();
    let (expected, lacks) = match table {
        Table::Runs => (
            runs,
            "the table `runs` lacks a run that the entries started",
        ),
        Table::Lanes => (
            lanes,
            "the table `lanes` lacks a lane that the entries opened",
        ),
        Table::Facts => (
            facts,
            "the table `facts` lacks a row that the entries call for",
        ),
    };
    match seen == expected {
        true => Ok(()),
        false => Err(tables_differ(lacks.to_owned())),
    }
}
