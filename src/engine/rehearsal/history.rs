//! A history as it is written: one operation a line, in the order in which they happen.

use super::op::Timed;
use crate::protocol::canonical::{self, JsonFault};
use crate::protocol::defect::{Code, DEFECTS_MAX, Defect, Found, Place};
use crate::units::Time;

/// The longest history that is read, in bytes.
pub const BYTES_MAX: usize = 64 << 20;

/// The longest line that is read, in bytes.
const LINE_MAX: usize = 1 << 20;

/// Reads a history: every operation, or all that is wrong with its lines, each at its bytes.
pub fn read(bytes: &[u8]) -> Result<Vec<Timed>, Vec<Defect>> {
    if bytes.len() > BYTES_MAX {
        let message = format!(
            "the history is larger than {} MiB; rehearse a shorter one",
            BYTES_MAX >> 20
        );
        return Err(vec![Defect::new(Code::TooLarge, Place::File, message)]);
    }
    let mut found = Found::default();
    let mut history: Vec<Timed> = Vec::new();
    let mut before = None;
    for (number, (start, line)) in (1_u64..).zip(canonical::lines(bytes)) {
        let read = read_line(line).and_then(|timed| in_order(timed, &mut before, number));
        match read {
            Ok(timed) if found.is_empty() => history.push(timed),
            Ok(_) => {}
            // To find places takes time, and nobody asks for those that are not told.
            Err(defects) if found.is_full() => found.extend(defects),
            Err(defects) => {
                let told = defects.into_iter().enumerate();
                found.extend(told.map(|(i, defect)| match i < DEFECTS_MAX {
                    true => in_file(defect, start, line),
                    false => defect,
                }));
            }
        }
    }
    match found.is_empty() {
        true => Ok(history),
        false => Err(found.told()),
    }
}

fn read_line(line: &[u8]) -> Result<Timed, Vec<Defect>> {
    let refuse = |place, message: String| vec![Defect::new(Code::Operation, place, message)];
    if line.iter().all(u8::is_ascii_whitespace) {
        let message = "the line is blank; write an operation, or remove it";
        return Err(refuse(Place::File, message.to_owned()));
    }
    if line.len() > LINE_MAX {
        let message = format!("the line is longer than {} MiB", LINE_MAX >> 20);
        return Err(refuse(Place::Span(0..1), message));
    }
    let value = canonical::read(line).map_err(|JsonFault { offset, message }| {
        refuse(Place::Span(offset..offset + 1), message)
    })?;
    Timed::read(&value)
}

/// Refuses an operation that is earlier than the one on the line before: a single slip is told once.
fn in_order(
    timed: Timed,
    before: &mut Option<(Time, u64)>,
    number: u64,
) -> Result<Timed, Vec<Defect>> {
    match before.replace((timed.at, number)) {
        Some((earlier, on)) if timed.at < earlier => {
            let message = format!(
                "{} is earlier than {earlier} on line {on}; time never goes back, so move the line or mend its time",
                timed.at
            );
            let place = Place::Value("/at".to_owned());
            Err(vec![Defect::new(Code::Operation, place, message)])
        }
        _ => Ok(timed),
    }
}

/// Turns a place in a line into bytes of the file.
fn in_file(mut defect: Defect, start: usize, line: &[u8]) -> Defect {
    let span = match &defect.place {
        Place::Key(pointer) => canonical::place(line, pointer).map(|placed| placed.key),
        Place::Value(pointer) | Place::Within(pointer, _) => {
            canonical::place(line, pointer).map(|placed| placed.value)
        }
        Place::Span(span) => Some(span.clone()),
        Place::File => None,
    };
    let span = span.unwrap_or(0..line.len());
    defect.place = Place::Span(start + span.start..start + span.end);
    defect
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String)> {
        let defects = read(text.as_bytes()).unwrap_err();
        let part = |defect: Defect| {
            let Place::Span(span) = defect.place else {
                panic!("{defect:?}")
            };
            let end = span.end.min(text.len());
            (text[span.start..end].to_owned(), defect.message)
        };
        defects.into_iter().map(part).collect()
    }

    #[test]
    fn one_slip_of_time_is_told_once() {
        let line = |day| format!("{{\"op\":\"clock\",\"at\":\"2026-12-{day}T00:00:00Z\"}}\n");
        let late = [line("01"), line("20"), line("02"), line("03")].concat();
        let told = told(&late);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, "\"2026-12-02T00:00:00Z\"");
        assert!(told[0].1.contains("on line 2"), "{told:?}");
        let sound = [line("01"), line("01"), line("02")].concat();
        assert_eq!(read(sound.as_bytes()).unwrap().len(), 3);
    }

    #[test]
    fn places_are_those_of_the_file() {
        let at = "\"at\":\"2026-12-01T00:00:00Z\"";
        let text = format!(
            "{{\"op\":\"clock\",{at}}}\r\n\n{{ \"op\" : \"start_pair\", {at}, \"first\": {{\"task\": 1, \"arm\": \"a\"}}, \"second\" : {{ \"arm\":\"b\" , \"tsk\":\"t\"}} }}\nnull\n{{\"op\":}}"
        );
        let told: Vec<String> = told(&text).into_iter().map(|told| told.0).collect();
        let second = "{ \"arm\":\"b\" , \"tsk\":\"t\"}";
        assert_eq!(told, ["", "1", second, "\"tsk\"", "null", "}"]);
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        let defects = read(&vec![b'\n'; BYTES_MAX + 1]).unwrap_err();
        assert_eq!(defects[0].code, Code::TooLarge);
        let defects = read(&[b'\n'; 1_000]).unwrap_err();
        assert_eq!(defects.len(), 101);
        assert!(defects[100].message.starts_with("900 more"), "{defects:?}");
    }
}
