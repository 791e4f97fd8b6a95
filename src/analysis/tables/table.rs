//! Reads the table of runs: one row per task, arm and repeat.
//!
//! `columns` reads the header, `cells` one row, `assemble` what rows must agree on.
//! Columns are found by name, in any order; columns the statistics do not read are kept out and
//! named. A table with any fault yields no numbers, only its faults.
mod assemble;
mod cells;
mod columns;

use serde::Serialize;

use crate::analysis::tables::defect::{Defect, DefectCode, Defects, excerpt};
use crate::analysis::values::comparison::{ArmRuns, Comparison};
use cells::{Row, read_row};
use columns::Columns;

/// The most slots per task and arm a table may have.
pub const REPEATS_MAX: u32 = 1000;

/// What the caller knows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The column that holds the cluster of a task; none when tasks are not clustered.
    pub cluster: Option<&'a str>,
    /// Slots per task and arm; the largest repeat of the table when absent.
    pub repeats: Option<u32>,
}

/// Says what the order of the tasks is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawOrder {
    /// The `position` column.
    Position,
    /// The order of first appearance, because there is no `position` column.
    Appearance,
}

/// The runs of a table without faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    repeats: u32,
    order: DrawOrder,
    unread: Vec<String>,
    tasks: Vec<String>,
    clusters: Option<Vec<usize>>,
    arms: Vec<ArmRuns>,
}

impl Table {
    /// Reads comma-separated text with a header. Refuses with all faults found.
    pub fn read(text: &str, reading: Reading<'_>) -> Result<Self, Defects> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut defects = Defects::default();
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .from_reader(text.as_bytes());
        let mut records = reader.records();
        let mut lines = Lines {
            text,
            byte: 0,
            line: 1,
        };
        let (line, header): (u64, Vec<String>) = match records.next() {
            Some(Ok(record)) => (
                lines.of(&record),
                record.iter().map(str::to_owned).collect(),
            ),
            _ => (1, Vec::new()),
        };
        if header.iter().all(String::is_empty) {
            defects.push(empty("the table is empty"));
            return Err(defects);
        }
        let Some(columns) = Columns::find(&header, line, reading, &mut defects) else {
            return Err(defects);
        };
        let mut rows = Vec::new();
        for record in records {
            match record {
                Ok(record) => {
                    rows.extend(read_row(&columns, &record, lines.of(&record), &mut defects))
                }
                Err(error) => defects.push(unreadable(&error)),
            }
        }
        if rows.is_empty() && defects.is_empty() {
            defects.push(empty("the table has a header and no row"));
        }
        let unread = columns.unread(&header);
        let order = columns.order();
        assemble::assemble(&rows, reading, &mut defects)
            .map(|parts| Self {
                repeats: parts.repeats,
                order,
                unread,
                tasks: parts.tasks,
                clusters: reading.cluster.map(|_| parts.clusters),
                arms: parts.arms,
            })
            .filter(|_| defects.is_empty())
            .ok_or(defects)
    }

    /// Returns k, the slots per task and arm.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Says where the order of the tasks comes from.
    pub fn order(&self) -> DrawOrder {
        self.order
    }

    /// Returns the names of the columns that were not read.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Returns the names of the tasks in draw order.
    pub fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// Returns the names of the arms in order of first appearance.
    pub fn arms(&self) -> impl Iterator<Item = &str> {
        self.arms.iter().map(|arm| arm.name.as_str())
    }

    /// Returns the runs of two arms. Refuses with unknown-arm or same-arm.
    pub fn compare(&self, reference: &str, treatment: &str) -> Result<Comparison, Defect> {
        if reference == treatment {
            return Err(Defect::new(
                DefectCode::SameArm,
                format!("reference and treatment are both {}", excerpt(reference)),
                "name two different arms",
            ));
        }
        Ok(Comparison {
            repeats: self.repeats,
            clusters: self.clusters.clone(),
            reference: self.arm(reference)?,
            treatment: self.arm(treatment)?,
        })
    }

    fn arm(&self, name: &str) -> Result<ArmRuns, Defect> {
        self.arms
            .iter()
            .find(|arm| arm.name == name)
            .cloned()
            .ok_or_else(|| {
                let names: Vec<String> = self
                    .arms
                    .iter()
                    .take(20)
                    .map(|arm| excerpt(&arm.name))
                    .collect();
                let more = if self.arms.len() > names.len() {
                    " and more"
                } else {
                    ""
                };
                Defect::new(
                    DefectCode::UnknownArm,
                    format!("no row has the arm {}", excerpt(name)),
                    format!("the arms of the table are {}{more}", names.join(", ")),
                )
            })
    }
}

/// Counts lines up to each record; the reader's own count stands before the blank lines it skips.
struct Lines<'a> {
    text: &'a str,
    byte: usize,
    line: u64,
}

impl Lines<'_> {
    fn of(&mut self, record: &csv::StringRecord) -> u64 {
        let bytes = self.text.as_bytes();
        let start = record.position().map_or(0, csv::Position::byte);
        let start = usize::try_from(start).unwrap_or(self.byte).max(self.byte);
        let rest = bytes.get(start..).unwrap_or_default();
        let blank = rest
            .iter()
            .take_while(|byte| b"\r\n".contains(byte))
            .count();
        let next = bytes.iter().skip(self.byte + 1).map(Some).chain([None]);
        let passed = bytes.iter().skip(self.byte).take(start + blank - self.byte);
        let ends = passed
            .zip(next)
            .filter(|&(&byte, next)| byte == b'\n' || (byte == b'\r' && next != Some(&b'\n')));
        self.line += ends.count() as u64;
        self.byte = start + blank;
        self.line
    }
}

fn empty(message: &str) -> Defect {
    Defect::new(
        DefectCode::EmptyTable,
        message,
        "give one header row and one row per task, arm and repeat",
    )
}

fn unreadable(error: &csv::Error) -> Defect {
    let defect = Defect::new(
        DefectCode::UnreadableRow,
        "the row is not comma-separated UTF-8 text",
        "save the table as UTF-8 text with commas between cells",
    );
    match error.position() {
        Some(position) => defect.on_line(position.line()),
        None => defect,
    }
}
