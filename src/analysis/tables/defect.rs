//! What is wrong with a table of runs, said so that its author can mend it.

use serde::Serialize;

/// Names one kind of fault of a table. The kebab-case form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefectCode {
    /// There is no header, or no row below it.
    EmptyTable,
    /// A needed column is not in the header.
    MissingColumn,
    /// A column the table reads is in the header twice.
    RepeatedColumn,
    /// A row has more or fewer cells than the header.
    WrongCellCount,
    /// The text is not what a comma-separated table may hold.
    UnreadableRow,
    /// A cell begins or ends with white space.
    StraySpace,
    /// A cell that every row needs is empty.
    EmptyCell,
    /// The status is neither `scored` nor `unjudged`.
    UnknownStatus,
    /// A verdict is neither 1 nor 0.
    NotAVerdict,
    /// A cell is not a decimal number that a double holds.
    NotANumber,
    /// A cost, a count of tokens or a duration is below 0.
    NegativeNumber,
    /// A repeat or a position is not a whole number from 1.
    NotACount,
    /// A repeat is above the slots per task and arm.
    RepeatOutOfRange,
    /// A repeat number occurs in no row although a larger one does.
    RepeatGap,
    /// Two rows stand for the same task, arm and repeat.
    RepeatedSlot,
    /// A scored row has no verdict.
    VerdictMissing,
    /// An unjudged row has a verdict.
    VerdictUnexpected,
    /// The false claim is not "claimed and not resolved".
    ClaimContradiction,
    /// A task lies in two clusters.
    TwoClusters,
    /// A task has two positions.
    TwoPositions,
    /// Two tasks have the same position.
    SharedPosition,
    /// The text is not JSON of the form asked for.
    UnreadableJson,
    /// A task has more or fewer slots, or a list more or fewer entries, than there should be.
    SlotCount,
    /// Some tasks have a cluster and some have none.
    MissingCluster,
    /// The compared arm is not in the table.
    UnknownArm,
    /// The reference and the treatment are the same arm.
    SameArm,
    /// The counts of the flow contradict each other.
    FlowMismatch,
}

/// One fault: what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Defect {
    /// The kind of fault.
    pub code: DefectCode,
    /// One sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The line of the text, from 1; absent when the whole table is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The name of the column; absent when the whole row is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

impl Defect {
    /// Makes a fault of the whole table.
    pub fn new(code: DefectCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
            line: None,
            column: None,
        }
    }

    pub(in crate::analysis) fn on_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(in crate::analysis) fn in_column(mut self, column: &str) -> Self {
        self.column = Some(column.to_owned());
        self
    }
}

/// The most faults that are listed; the rest are counted.
pub const DEFECTS_MAX: usize = 100;

/// All faults of a table, those within a row before those between rows, the first [`DEFECTS_MAX`] in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Defects {
    /// The faults listed.
    pub listed: Vec<Defect>,
    /// How many more there are.
    pub unlisted: usize,
}

impl Defects {
    pub(in crate::analysis) fn push(&mut self, defect: Defect) {
        if self.listed.len() < DEFECTS_MAX {
            self.listed.push(defect);
        } else {
            self.unlisted += 1;
        }
    }

    /// Says whether there is no fault.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

/// Shortens a cell for a message: at most 40 characters, control characters escaped.
pub(in crate::analysis) fn excerpt(cell: &str) -> String {
    let shown: String = cell.chars().take(40).flat_map(char::escape_debug).collect();
    let cut = if cell.chars().nth(40).is_some() {
        "…"
    } else {
        ""
    };
    format!("`{shown}{cut}`")
}
