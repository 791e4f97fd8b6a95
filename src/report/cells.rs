//! Cells of a table: one spelling for each kind of value, the same on any machine.
//!
//! An empty cell is an unknown value. A text that a spreadsheet would take for a formula gets an
//! apostrophe before it, and so does a text that begins with one: whoever reads the table back takes one
//! apostrophe away from the texts that begin with it.

use serde_json::Value;

use crate::protocol::model::OutcomeKind;
use crate::units::{Micros, Money, Time};

/// How many digits of a micro-dollar and a microsecond stand behind the point.
const MILLIONTHS: usize = 6;
/// How many places lie between milliseconds, which outcomes are in, and seconds.
const THOUSANDTHS: usize = 3;

/// Writes rows of a table cell by cell, as RFC 4180 has them but for the end of a line, which is a line feed.
///
/// Not through a library: nearly all cells are words and numbers of ours, and need not be looked at byte by byte.
pub struct Cells {
    out: String,
    columns: usize,
    filled: usize,
}

impl Cells {
    /// Starts some rows of a table that has so many columns.
    pub(super) fn new(columns: usize) -> Self {
        Self {
            out: String::new(),
            columns,
            filled: 0,
        }
    }

    /// Writes the names of the columns.
    pub(super) fn header<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            self.text(Some(name));
        }
        self.end();
    }

    /// Ends a row; what was left out is empty.
    pub(super) fn end(&mut self) {
        while self.filled < self.columns {
            self.unknown();
        }
        self.filled = 0;
        if self.out.is_empty() || self.out.ends_with('\n') {
            // A line of nothing would be read as no row.
            self.out.push_str("\"\"");
        }
        self.out.push('\n');
    }

    /// Returns what was written.
    pub fn finish(self) -> String {
        self.out
    }

    /// Begins a cell, and returns where it goes on.
    fn cell(&mut self) -> &mut String {
        if self.filled > 0 {
            self.out.push(',');
        }
        self.filled += 1;
        &mut self.out
    }

    /// Writes a cell that holds a word or number of ours.
    pub(super) fn plain(&mut self, text: &str) {
        self.cell().push_str(text);
    }

    /// Writes a cell whose value is not known.
    pub(super) fn unknown(&mut self) {
        self.plain("")
    }

    /// Writes a text that somebody chose.
    pub(super) fn text(&mut self, text: Option<&str>) {
        let cell = self.cell();
        let text = text.unwrap_or_default();
        let apostrophe = if needs_apostrophe(text) { "'" } else { "" };
        let is_quoted = text.contains([',', '"', '\n', '\r']);
        let quote = if is_quoted { "\"" } else { "" };
        cell.push_str(quote);
        cell.push_str(apostrophe);
        for (place, part) in text.split('"').enumerate() {
            if place > 0 {
                cell.push_str("\"\"");
            }
            cell.push_str(part);
        }
        cell.push_str(quote);
    }

    /// Writes a whole number.
    pub(super) fn number(&mut self, number: Option<u64>) {
        let cell = self.cell();
        if let Some(number) = number {
            push_number(cell, number);
        }
    }

    /// Writes a whole number with a sign.
    pub(super) fn signed(&mut self, number: Option<i32>) {
        let cell = self.cell();
        if let Some(number) = number {
            push_decimal(cell, i64::from(number), 0);
        }
    }

    /// Writes 1 for yes and 0 for no.
    pub(super) fn flag(&mut self, flag: Option<bool>) {
        self.plain(match flag {
            Some(true) => "1",
            Some(false) => "0",
            None => "",
        })
    }

    /// Writes a moment: RFC 3339 in UTC, to the microsecond.
    pub(super) fn time(&mut self, time: Option<Time>) {
        let cell = self.cell();
        if let Some(time) = time {
            time.push_precise(cell);
        }
    }

    /// Writes a duration in seconds.
    pub(super) fn seconds(&mut self, micros: Option<Micros>) {
        self.millionths(micros.map(|micros| micros.0))
    }

    /// Writes an amount in dollars.
    pub(super) fn dollars(&mut self, money: Option<Money>) {
        self.millionths(money.map(|money| money.0))
    }

    fn millionths(&mut self, millionths: Option<u64>) {
        let cell = self.cell();
        if let Some(millionths) = millionths {
            push_decimal(
                cell,
                i64::try_from(millionths).unwrap_or(i64::MAX),
                MILLIONTHS,
            );
        }
    }

    /// Writes an outcome: 1 or 0, dollars, seconds, or the number as it is.
    pub(super) fn outcome(&mut self, kind: OutcomeKind, value: &Value) {
        match (kind, value) {
            (OutcomeKind::Binary, Value::Bool(flag)) => self.flag(Some(*flag)),
            (OutcomeKind::Money, Value::Number(number)) => match number.as_i64() {
                Some(micros) => push_decimal(self.cell(), micros, MILLIONTHS),
                None => self.plain(&shifted(&number.to_string(), MILLIONTHS)),
            },
            (OutcomeKind::Duration, Value::Number(number)) => {
                self.plain(&shifted(&number.to_string(), THOUSANDTHS))
            }
            (OutcomeKind::Number, Value::Number(number)) => self.plain(&number.to_string()),
            _ => self.unknown(),
        }
    }
}

/// Returns whether a text would be taken for a formula, or for one that was made harmless.
fn needs_apostrophe(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(byte) if byte.is_ascii_alphanumeric() => return false,
        Some(b'\'' | b'\t' | b'\r') => return true,
        _ => {}
    }
    // Programs strip what is not seen before they look for a formula.
    let seen = text.trim_start_matches(|c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    });
    matches!(
        seen.chars().next(),
        // As typed, full width, and small.
        Some('=' | '+' | '-' | '@' | '\'' | '＝' | '＋' | '－' | '＠' | '﹦' | '﹢' | '﹣' | '﹫')
    )
}

fn push_number(cell: &mut String, number: u64) {
    push_digits(cell, number, 1);
}

/// Writes a number, with zeros before it where it has fewer digits.
fn push_digits(cell: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut at) = (number, digits.len());
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    let first = at.min(digits.len() - width);
    cell.push_str(std::str::from_utf8(&digits[first..]).unwrap_or_default());
}

/// Writes a number that was multiplied by a power of ten, without zeros that say nothing.
fn push_decimal(cell: &mut String, number: i64, places: usize) {
    if number < 0 {
        cell.push('-');
    }
    let one = (0..places).fold(1, |one: u64, _| one * 10);
    let number = number.unsigned_abs();
    push_number(cell, number / one);
    if !number.is_multiple_of(one) {
        cell.push('.');
        push_digits(cell, number % one, places);
        cell.truncate(cell.trim_end_matches('0').len());
    }
}

/// Divides a number as JSON spells it by a power of ten, exactly.
fn shifted(number: &str, places: usize) -> String {
    let (sign, digits) = number
        .strip_prefix('-')
        .map_or(("", number), |digits| ("-", digits));
    if let Some((mantissa, exponent)) = digits.split_once(['e', 'E'])
        && let Ok(exponent) = exponent.parse::<i64>()
    {
        let places = i64::try_from(places).unwrap_or_default();
        return format!("{sign}{mantissa}e{}", exponent - places);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole:0>width$}{fraction}", width = places + 1);
    let (whole, fraction) = all.split_at(all.len() - fraction.len() - places);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(write: impl FnOnce(&mut Cells)) -> String {
        let mut cells = Cells::new(1);
        write(&mut cells);
        cells.end();
        cells.finish()
    }

    #[test]
    fn a_text_is_never_a_formula_and_can_be_read_back() {
        for (text, cell) in [
            ("plain", "plain\n"),
            ("7=7", "7=7\n"),
            ("a-b", "a-b\n"),
            ("=1+1", "'=1+1\n"),
            ("+1", "'+1\n"),
            ("-1", "'-1\n"),
            ("@now", "'@now\n"),
            ("\tx", "'\tx\n"),
            ("\rx", "\"'\rx\"\n"),
            ("  =x", "'  =x\n"),
            ("\n=x", "\"'\n=x\"\n"),
            ("\u{a0}\u{feff}=x", "'\u{a0}\u{feff}=x\n"),
            ("＝x", "'＝x\n"),
            (" ＠x", "' ＠x\n"),
            ("'quoted", "''quoted\n"),
            (" 'quoted", "' 'quoted\n"),
            ("“quoted”", "“quoted”\n"),
            ("a,b\"c", "\"a,b\"\"c\"\n"),
        ] {
            assert_eq!(written(|cells| cells.text(Some(text))), cell, "{text:?}");
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .from_reader(cell.as_bytes());
            let back = reader.records().next().unwrap().unwrap()[0].to_owned();
            let back = match needs_apostrophe(text) {
                true => back.strip_prefix('\'').unwrap(),
                false => &back,
            };
            assert_eq!(back, text);
        }
    }

    #[test]
    fn numbers_are_exact_and_have_no_apostrophe() {
        let outcome = |kind, value: Value| written(|cells| cells.outcome(kind, &value));
        for (kind, value, cell) in [
            (OutcomeKind::Money, json!(1_250_000), "1.25\n"),
            (OutcomeKind::Money, json!(-1), "-0.000001\n"),
            (OutcomeKind::Money, json!(0), "0\n"),
            (
                OutcomeKind::Money,
                json!(9_007_199_254_740_991_i64),
                "9007199254.740991\n",
            ),
            (OutcomeKind::Duration, json!(33_006), "33.006\n"),
            (OutcomeKind::Duration, json!(0.5), "0.0005\n"),
            (OutcomeKind::Duration, json!(12.25), "0.01225\n"),
            (OutcomeKind::Duration, json!(-1500.0), "-1.5\n"),
            (OutcomeKind::Duration, json!(1e300), "1e297\n"),
            (OutcomeKind::Duration, json!(2e-9), "2e-12\n"),
            (OutcomeKind::Number, json!(-3), "-3\n"),
            (OutcomeKind::Number, json!(0.1), "0.1\n"),
            (OutcomeKind::Binary, json!(true), "1\n"),
            (OutcomeKind::Binary, json!(null), "\"\"\n"),
            (OutcomeKind::Money, json!(null), "\"\"\n"),
        ] {
            assert_eq!(outcome(kind, value.clone()), cell, "{value}");
        }
        assert_eq!(
            written(|cells| cells.number(Some(u64::MAX))),
            format!("{}\n", u64::MAX)
        );
        assert_eq!(written(|cells| cells.number(Some(0))), "0\n");
        assert_eq!(
            written(|cells| cells.signed(Some(i32::MIN))),
            format!("{}\n", i32::MIN)
        );
        assert_eq!(
            written(|cells| cells.seconds(Some(Micros(1)))),
            "0.000001\n"
        );
        let first = Time(0);
        assert_eq!(
            written(|cells| cells.time(Some(first))),
            "1970-01-01T00:00:00.000000Z\n"
        );
    }
}
