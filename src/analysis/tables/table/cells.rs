//! Reads one row, cell by cell, and says of each bad cell what is wrong with it.
use csv::StringRecord;

use super::REPEATS_MAX;
use super::columns::Columns;
use crate::analysis::tables::defect::{Defect, DefectCode, Defects, excerpt};
use crate::analysis::values::comparison::{Measure, Run};
use crate::analysis::values::numbers::MAGNITUDE_MAX;

/// One row that could be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) task: String,
    /// The name of the cluster; empty when tasks are not clustered.
    pub(super) cluster: String,
    pub(super) arm: String,
    pub(super) repeat: u32,
    pub(super) position: Option<u64>,
    pub(super) run: Run,
}

/// Reads one row; `None` when a cell is bad.
pub(super) fn read_row(
    columns: &Columns,
    record: &StringRecord,
    line: u64,
    defects: &mut Defects,
) -> Option<Row> {
    if record.len() != columns.width {
        let message = format!(
            "the row has {} cells, the header {}",
            record.len(),
            columns.width
        );
        let hint = "give one cell per column; quote a cell that holds a comma or a quote";
        defects.push(Defect::new(DefectCode::WrongCellCount, message, hint).on_line(line));
        return None;
    }
    let mut cells = Cells {
        columns,
        record,
        line,
        defects,
        faults: 0,
    };
    let row = cells.read();
    (cells.faults == 0).then_some(row)
}

/// The cells of one row and the faults found in them.
struct Cells<'a> {
    columns: &'a Columns,
    record: &'a StringRecord,
    line: u64,
    defects: &'a mut Defects,
    faults: usize,
}

impl Cells<'_> {
    fn read(&mut self) -> Row {
        let task = self.filled("task");
        let cluster = match self.columns.cluster.clone() {
            Some(name) => self.filled(&name),
            None => String::new(),
        };
        let arm = self.filled("arm");
        let repeat = self.count("repeat").unwrap_or(0);
        if repeat > u64::from(REPEATS_MAX) {
            let hint =
                format!("number the slots of a task and arm from 1 to at most {REPEATS_MAX}");
            self.fault(
                DefectCode::RepeatOutOfRange,
                "repeat",
                &format!("the repeat {repeat} is too large"),
                &hint,
            );
        }
        let position = self
            .columns
            .place("position")
            .and_then(|_| self.count("position"));
        Row {
            line: self.line,
            task,
            cluster,
            arm,
            repeat: u32::try_from(repeat).unwrap_or(0),
            position,
            run: self.run(),
        }
    }

    fn run(&mut self) -> Run {
        let status = self.filled("status");
        if !matches!(status.as_str(), "scored" | "unjudged" | "missing" | "") {
            let message = format!("the status is {}", excerpt(&status));
            self.fault(
                DefectCode::UnknownStatus,
                "status",
                &message,
                "write `scored` when there is a verdict, `unjudged` when there is none, `missing` when nothing was executed",
            );
        }
        let scored = status == "scored";
        let resolved = self.verdict("resolved");
        let claimed = self.verdict("claimed");
        let false_claim = self.verdict("false_claim");
        self.check_verdict(
            scored,
            matches!(status.as_str(), "unjudged" | "missing"),
            resolved,
        );
        let implied = claimed
            .zip(resolved)
            .map(|(claimed, resolved)| claimed && !resolved);
        self.check_claim(scored, false_claim, implied, resolved);
        Run {
            scored,
            reason: self.trimmed("reason"),
            resolved,
            claimed,
            false_claim: false_claim.or(implied),
            numbers: Measure::ALL.map(|measure| self.number(measure.column())),
        }
    }

    fn check_verdict(&mut self, scored: bool, unjudged: bool, resolved: Option<bool>) {
        if scored && resolved.is_none() && self.cell("resolved").is_empty() {
            self.fault(
                DefectCode::VerdictMissing,
                "resolved",
                "the row is scored and has no verdict",
                "write 1 or 0, or set the status to `unjudged`",
            );
        }
        if unjudged && resolved.is_some() {
            self.fault(
                DefectCode::VerdictUnexpected,
                "resolved",
                "the row is unjudged and has a verdict",
                "empty the cell, or set the status to `scored`",
            );
        }
    }

    fn check_claim(
        &mut self,
        scored: bool,
        stated: Option<bool>,
        implied: Option<bool>,
        resolved: Option<bool>,
    ) {
        let Some(stated) = stated else { return };
        if !scored {
            self.fault(
                DefectCode::VerdictUnexpected,
                "false_claim",
                "the row is not scored and has a false claim",
                "empty the cell, or set the status to `scored`",
            );
        } else if implied.is_some_and(|implied| implied != stated)
            || (stated && resolved == Some(true))
        {
            self.fault(
                DefectCode::ClaimContradiction,
                "false_claim",
                "the cell is not what `claimed` and `resolved` say",
                "write 1 when the run claimed to have finished and is not resolved, else 0",
            );
        }
    }

    /// Returns a cell; an absent column is an empty cell. White space around a cell is a fault.
    fn cell(&self, name: &str) -> &str {
        self.columns
            .place(name)
            .and_then(|place| self.record.get(place))
            .unwrap_or("")
    }

    fn trimmed(&mut self, name: &str) -> String {
        let cell = self.cell(name).to_owned();
        let trimmed = cell.trim();
        if trimmed.len() != cell.len() {
            let message = format!(
                "the cell {} begins or ends with white space",
                excerpt(&cell)
            );
            self.fault(
                DefectCode::StraySpace,
                name,
                &message,
                "remove the white space",
            );
        }
        trimmed.to_owned()
    }

    fn filled(&mut self, name: &str) -> String {
        let cell = self.trimmed(name);
        if cell.is_empty() {
            self.fault(
                DefectCode::EmptyCell,
                name,
                "the cell is empty",
                &format!("fill in `{name}`"),
            );
        }
        cell
    }

    fn count(&mut self, name: &str) -> Option<u64> {
        let cell = self.filled(name);
        let digits = !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
        let count = cell.parse().ok().filter(|&count: &u64| digits && count > 0);
        if count.is_none() && !cell.is_empty() {
            let message = format!("{} is not a whole number from 1", excerpt(&cell));
            self.fault(
                DefectCode::NotACount,
                name,
                &message,
                "write a whole number, counted from 1",
            );
        }
        count
    }

    fn verdict(&mut self, name: &str) -> Option<bool> {
        let cell = self.trimmed(name);
        match cell.as_str() {
            "1" => return Some(true),
            "0" => return Some(false),
            "" => {}
            _ => {
                let message = format!("{} is neither 1 nor 0", excerpt(&cell));
                self.fault(
                    DefectCode::NotAVerdict,
                    name,
                    &message,
                    "write 1, 0, or leave the cell empty when it is unknown",
                );
            }
        }
        None
    }

    fn number(&mut self, name: &str) -> Option<f64> {
        let cell = self.trimmed(name);
        if cell.is_empty() {
            return None;
        }
        let decimal = cell
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = cell
            .parse()
            .ok()
            .filter(|x: &f64| decimal && x.abs() <= MAGNITUDE_MAX);
        if number.is_none() {
            let message = format!("{} is not a decimal number", excerpt(&cell));
            self.fault(
                DefectCode::NotANumber,
                name,
                &message,
                "write digits with a point, such as 12.5, or leave the cell empty",
            );
        }
        if number.is_some_and(|x| x < 0.0) {
            let message = format!("{} is below 0", excerpt(&cell));
            self.fault(
                DefectCode::NegativeNumber,
                name,
                &message,
                "write what was spent, or leave the cell empty when it is unknown",
            );
        }
        number.map(|x| x + 0.0)
    }

    fn fault(&mut self, code: DefectCode, column: &str, message: &str, hint: &str) {
        self.faults += 1;
        self.defects.push(
            Defect::new(code, message, hint)
                .on_line(self.line)
                .in_column(column),
        );
    }
}
