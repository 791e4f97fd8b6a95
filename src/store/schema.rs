//! What tables a record has, and that it has no others.

use std::path::Path;

use rusqlite::Connection;

use super::{Fault, Result, rows};

/// The tables, and what belongs to them.
pub(super) const TEXT: &str = include_str!("schema.sql");
/// What SQLite itself adds for whoever asks it to look at a file: it chooses by them how to find rows, and not which.
const STATISTICS: [&str; 2] = [
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

/// Returns the statements that make the tables, as SQLite keeps them.
fn statements() -> impl Iterator<Item = &'static str> {
    let statements = TEXT.split("\nCREATE ");
    // A comment stands before a statement; none stands within one.
    statements.map(|statement| {
        statement
            .split("\n--")
            .next()
            .unwrap_or(statement)
            .trim()
            .trim_end_matches(';')
    })
}

/// Refuses a file in which something stands that is not of its making: what answers in the place of a table (views,
/// virtual tables, an index with rows of its own), or acts when one is written to (triggers). One whose own tables are
/// made otherwise is no record.
pub(super) fn must_be_own(connection: &Connection, path: &Path) -> Result<()> {
    let mut made = connection.prepare("SELECT sql, type = 'table', name FROM sqlite_schema")?;
    let mut made = made.query([])?;
    while let Some(row) = made.next()? {
        let sql = row.get_ref(0)?.as_str().unwrap_or_default();
        let is_own = statements().any(|own| sql.strip_prefix("CREATE ") == Some(own));
        if is_own || STATISTICS.contains(&sql) {
            continue;
        }
        let (is_table, name) = (row.get(1)?, rows::text(row, 2)?);
        let is_one_of_ours = |own: &str| own.starts_with(&format!("TABLE {name} ("));
        if is_table && statements().any(is_one_of_ours) {
            return Err(Fault::NotARecord(path.to_owned()));
        }
        return Err(Fault::Row {
            row: "the schema".to_owned(),
            message: format!("`{sql}` is not of its making"),
        });
    }
    Ok(())
}

/// Refuses a file in which who looks a row up finds another one than who reads all of them: whose indexes and pages
/// do not fit together.
pub(super) fn must_fit_together(connection: &Connection) -> Result<()> {
    // Of the entries, whose chain was followed, the last has to be found where it is looked up.
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'entries'")?;
    let mut tables = tables.query([])?;
    while let Some(row) = tables.next()? {
        let table = rows::text(row, 0)?;
        let asked = format!("PRAGMA integrity_check({table})");
        let found: String = connection.query_row(&asked, [], |row| row.get(0))?;
        if found != "ok" {
            // Before what is wrong it may say in which database.
            let message = found.lines().find(|line| !line.starts_with("***"));
            return Err(Fault::Row {
                row: format!("the pages of `{table}`"),
                message: message.unwrap_or("they do not fit together").to_owned(),
            });
        }
    }
    Ok(())
}
