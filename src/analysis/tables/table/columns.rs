//! Finds the columns of a table by their names.
use super::{DrawOrder, Reading};
use crate::analysis::tables::defect::{Defect, DefectCode, Defects, excerpt};
use crate::analysis::values::comparison::Measure;

/// The columns without which a table cannot be read.
const NEEDED: [&str; 5] = ["task", "arm", "repeat", "status", "resolved"];
/// The other columns read, besides the measures.
const OPTIONAL: [&str; 4] = ["position", "reason", "claimed", "false_claim"];

/// Where each column that is read stands.
pub(super) struct Columns {
    names: Vec<(String, usize)>,
    pub(super) cluster: Option<String>,
    /// The number of cells of the header.
    pub(super) width: usize,
}

impl Columns {
    /// Finds the columns in a header; `None` when one is missing or stands twice.
    pub(super) fn find(
        header: &[String],
        line: u64,
        reading: Reading<'_>,
        defects: &mut Defects,
    ) -> Option<Self> {
        let before = defects.listed.len();
        let measures = Measure::ALL.map(Measure::column);
        let needed = || NEEDED.into_iter().chain(reading.cluster);
        let mut names: Vec<(String, usize)> = Vec::new();
        for name in needed().chain(OPTIONAL).chain(measures) {
            let mut places = (0..).zip(header).filter(|(_, cell)| *cell == name);
            let first = places.next();
            if places.next().is_some() {
                defects.push(header_fault(
                    DefectCode::RepeatedColumn,
                    line,
                    name,
                    "stands twice in",
                    "keep one of the two",
                ));
            }
            match first {
                Some((place, _)) => names.push((name.to_owned(), place)),
                None if needed().any(|other| other == name) => {
                    let hint = format!("the header has {}", list(header));
                    defects.push(header_fault(
                        DefectCode::MissingColumn,
                        line,
                        name,
                        "is not in",
                        &hint,
                    ));
                }
                None => {}
            }
        }
        let cluster = reading.cluster.map(str::to_owned);
        (defects.listed.len() == before).then_some(Self {
            names,
            cluster,
            width: header.len(),
        })
    }

    /// Returns the columns of a header that are not read.
    pub(super) fn unread(&self, header: &[String]) -> Vec<String> {
        let read = |name: &String| self.names.iter().any(|(other, _)| other == name);
        header.iter().filter(|name| !read(name)).cloned().collect()
    }

    /// Says whether the table has positions.
    pub(super) fn order(&self) -> DrawOrder {
        match self.place("position") {
            Some(_) => DrawOrder::Position,
            None => DrawOrder::Appearance,
        }
    }

    /// Returns the place of a column; absent when the table does not have it.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.names
            .iter()
            .find(|(other, _)| other == name)
            .map(|&(_, place)| place)
    }
}

fn header_fault(code: DefectCode, line: u64, name: &str, what: &str, hint: &str) -> Defect {
    Defect::new(code, format!("the column `{name}` {what} the header"), hint)
        .on_line(line)
        .in_column(name)
}

fn list(header: &[String]) -> String {
    let shown: Vec<String> = header.iter().take(30).map(|name| excerpt(name)).collect();
    let more = if header.len() > shown.len() {
        " and more"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}
