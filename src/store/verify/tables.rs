//! The tables that are derived from the entries, row by row beside what the entries say.

use std::borrow::Cow;

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

/// A row as it stands.
pub(super) enum Raw {
    Run(String, u64, [String; 4], Option<i64>),
    Lane(String, LaneId, (Option<i64>, i64)),
    Fact(String, String),
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
    fn are(&self, number: u64, columns: &[String; 4], stopped: Option<i64>) -> bool {
        let window = self.window.filter(|_| self.error);
        let expected = [
            rows::role(self.place),
            &self.task,
            &self.arm,
            self.state.text(),
        ];
        number == self.run.0 && stopped == window.map(|window| window.0) && *columns == expected
    }
}

/// A row whose columns are what its JSON says.
pub(super) struct Checked {
    key: Key,
    /// The row as JSON.
    json: String,
}

/// Which row it is.
enum Key {
    Run(RunId),
    Lane(LaneId),
    Fact(FactKey),
}

/// Hands every row of a table to a function.
pub(super) fn each<E: From<Fault>>(
    connection: &Connection,
    table: Table,
    mut each: impl FnMut(Raw) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = connection.prepare(table.sql()).map_err(Fault::from)?;
    let mut rows = statement.query([]).map_err(Fault::from)?;
    while let Some(row) = rows.next().map_err(Fault::from)? {
        each(raw(table, row).map_err(Fault::Storage)?)?;
    }
    Ok(())
}

fn raw(table: Table, row: &Row<'_>) -> rusqlite::Result<Raw> {
    let json = row.get(0)?;
    Ok(match table {
        Table::Runs => {
            let columns = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
            Raw::Run(json, rows::unsigned(row, 1)?, columns, row.get(6)?)
        }
        Table::Lanes => {
            let id = LaneId {
                draft: rows::unsigned(row, 1)?,
                number: rows::unsigned(row, 2)?,
            };
            Raw::Lane(json, id, (row.get(3)?, row.get(4)?))
        }
        Table::Facts => Raw::Fact(json, row.get(1)?),
    })
}

impl Raw {
    /// Refuses a row whose columns are not what its JSON says.
    pub(super) fn check(self) -> Result<Checked, Fault> {
        match self {
            Self::Run(json, number, columns, stopped) => {
                let told: Option<Columns<'_>> = serde_json::from_str(&json).ok();
                let found = told.filter(|told| told.are(number, &columns, stopped));
                // All of it is read where it is not spelled as it should be.
                let run = match found.map(|told| told.run) {
                    Some(run) => run,
                    None => {
                        let run: Run = rows::read("a run", &json)?;
                        if !Columns::from(&run).are(number, &columns, stopped) {
                            return Err(rows::columns_differ(format!("run {}", run.run)));
                        }
                        run.run
                    }
                };
                let key = Key::Run(run);
                Ok(Checked { key, json })
            }
            Self::Lane(json, id, columns) => {
                let lane: Lane = rows::read("a lane", &json)?;
                if columns != (rows::ready(id, &lane), rows::stage(lane.stage)) {
                    return Err(rows::columns_differ(format!("lane {}", id.number)));
                }
                let key = Key::Lane(id);
                Ok(Checked { key, json })
            }
            Self::Fact(json, key) => {
                let found: FactKey = rows::read("a fact", &key)?;
                // By its spelling a fact is found: another one would be another row.
                if key != rows::write(&found) {
                    return Err(rows::columns_differ(format!("the fact {key}")));
                }
                rows::read::<Fact>(&key, &json)?;
                let key = Key::Fact(found);
                Ok(Checked { key, json })
            }
        }
    }
}

impl Checked {
    pub(super) fn table(&self) -> Table {
        match self.key {
            Key::Run(_) => Table::Runs,
            Key::Lane(_) => Table::Lanes,
            Key::Fact(_) => Table::Facts,
        }
    }

    /// Compares the row with what the entries say.
    pub(super) fn compare(&self, auditor: &mut Auditor) -> Result<(), End> {
        let json = &self.json;
        let (is_same, name) = match &self.key {
            Key::Run(run) => (
                is_same::<Run>("a run", json, auditor.run(*run)?)?,
                format_args!("the row of run {run}").to_string(),
            ),
            Key::Lane(id) => (
                is_same::<Lane>("a lane", json, auditor.lane(*id)?)?,
                format_args!("the row of lane {}", id.number).to_string(),
            ),
            Key::Fact(key) => (
                is_same::<Fact>("a fact", json, auditor.fact(key)?)?,
                "a row of the table `facts`".to_owned(),
            ),
        };
        match is_same {
            true => Ok(()),
            false => Err(tables_differ(format!("{name} is not what the entries say"))),
        }
    }
}

/// Returns whether a row says what it should; its spelling is free.
fn is_same<R: DeserializeOwned + PartialEq>(
    row: &str,
    json: &str,
    kept: Option<Vec<u8>>,
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
