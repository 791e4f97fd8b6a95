//! Draws defects: the line, the caret, what to do.
//!
//! ```text
//! error[unknown-outcome]: `resolvd` is not an outcome of this protocol
//!   --> claude-md.toml:94:12
//!    |
//! 94 | outcome  = "resolvd"
//!    |            ^^^^^^^^^ did you mean `resolved`?
//!    = outcomes are declared at claude-md.toml:83
//! ```
//!
//! A defect names a place, not bytes: the text is read again here to find them. Lines and columns
//! start at 1, and columns count characters.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use crate::protocol::defect::{Defect, Place};
use crate::protocol::source::{Source, is_hidden, line_of};

/// How wide a drawn line of the source may be before it is cut around its caret.
const WIDTH_MAX: usize = 100;
/// How many carets are drawn at most; the rest of a longer place is evident.
const CARETS_MAX: usize = 80;

/// How many characters a line of a note has at most.
const NOTE_MAX: usize = 74;

/// Draws every defect of a protocol, and a last line that counts them.
///
/// `other` returns the text of a file beside the protocol, for the defects that lie there.
pub fn defects(
    file: &str,
    text: &str,
    defects: &[Defect],
    other: impl Fn(&str) -> Option<String>,
) -> String {
    drawn(file, text, defects, other) + &count(defects.len(), "registered")
}

/// Returns the line that counts defects and says what was not done because of them.
pub(super) fn count(defects: usize, undone: &str) -> String {
    match defects {
        1 => format!("1 defect, nothing {undone}\n"),
        some => format!("{some} defects, nothing {undone}\n"),
    }
}

/// Draws every defect of a file.
pub(super) fn drawn(
    file: &str,
    text: &str,
    defects: &[Defect],
    other: impl Fn(&str) -> Option<String>,
) -> String {
    let source = source_for(text, defects);
    let mut drawn = String::new();
    for defect in defects {
        let spot = Spot::of(file, text, source.as_ref(), defect, &other);
        drawn.push_str(&draw(defect, &spot));
        drawn.push_str("\n\n");
    }
    drawn
}

/// Reads a protocol again where that is needed to find a place; a history is none.
fn source_for<'t>(text: &'t str, defects: &[Defect]) -> Option<Source<'t>> {
    let needs = |defect: &Defect| !matches!(defect.place, Place::File | Place::Span(_));
    let needed = defects.iter().any(needs);
    needed.then(|| Source::read(text).ok()).flatten()
}

/// Returns every defect of a file for machines: `code`, `message`, `file`, `line`, `column`,
/// `end_column`, `label`, `note`, null where there is none, and `example`, lines of text.
pub fn defects_json(
    file: &str,
    text: &str,
    defects: &[Defect],
    other: impl Fn(&str) -> Option<String>,
) -> Vec<Value> {
    let source = source_for(text, defects);
    let one = |defect: &Defect| {
        let spot = Spot::of(file, text, source.as_ref(), defect, &other);
        let at = spot.span.as_ref().map(|span| {
            let column = spot.text[..span.start].chars().count() + 1;
            let end_column = column + spot.text[span.clone()].chars().count();
            (spot.line, column, end_column)
        });
        json!({
            "code": defect.code.text(),
            "message": defect.message,
            "file": spot.file,
            "line": at.map(|at| at.0),
            "column": at.map(|at| at.1),
            "end_column": at.map(|at| at.2),
            "label": defect.label,
            "note": defect.note,
            "example": defect.example,
        })
    };
    defects.iter().map(one).collect()
}

/// Where a defect is drawn: a file, the line, and the bytes of it, if it is about some. Nothing else
/// of the text, which may be long.
struct Spot {
    file: String,
    line: usize,
    text: String,
    span: Option<Range<usize>>,
}

impl Spot {
    fn of(
        file: &str,
        text: &str,
        source: Option<&Source<'_>>,
        defect: &Defect,
        other: &impl Fn(&str) -> Option<String>,
    ) -> Self {
        let (name, text) = match &defect.file {
            None => (file.to_owned(), Some(Cow::Borrowed(text))),
            Some(path) => (beside(file, path), other(path).map(Cow::Owned)),
        };
        let span = match (&defect.place, source) {
            (Place::File, _) => None,
            (Place::Span(span), _) => Some(span.clone()),
            (place, Some(source)) if defect.file.is_none() => Some(source.span(place)),
            _ => None,
        };
        let text = text.unwrap_or_default();
        let span = span.filter(|_| !text.is_empty());
        let span = span.map(|span| on_one_line(&text, span));
        let at = span.as_ref().map_or(0, |span| span.start);
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        Self {
            line: line_of(&text, at),
            text: visible(&text[start..end]),
            span: span.map(|span| span.start - start..span.end - start),
            file: name,
        }
    }
}

/// Returns the path of a file that stands beside another.
fn beside(file: &str, path: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{path}"),
        None => path.to_owned(),
    }
}

/// Cuts a span to whole characters of its first line.
fn on_one_line(text: &str, span: Range<usize>) -> Range<usize> {
    let mut start = floor_boundary(text, span.start);
    if start == text.len() {
        // What is missing at the end is missed on the last line, not after it.
        start = text.trim_end_matches(['\n', '\r']).len();
    }
    let line_end = text[start..]
        .find(['\n', '\r'])
        .map_or(text.len(), |at| start + at);
    let mut end = span.end.clamp(start, line_end);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

fn draw(defect: &Defect, spot: &Spot) -> String {
    let label = defect.label.as_deref().map(one_line);
    let title = Level::ERROR
        .primary_title(one_line(&defect.message))
        .id(defect.code.text());
    let mut group = match &spot.span {
        Some(span) => {
            let shown: usize = spot.text[span.clone()]
                .chars()
                .take(CARETS_MAX)
                .map(char::len_utf8)
                .sum();
            let annotation = AnnotationKind::Primary
                .span(span.start..span.start + shown)
                .label(label);
            title.element(
                Snippet::source(spot.text.as_str())
                    .line_start(spot.line)
                    .path(spot.file.as_str())
                    .annotation(annotation),
            )
        }
        None => title.element(Origin::path(spot.file.as_str())),
    };
    if !defect.example.is_empty() {
        group = group.element(Level::NOTE.no_name().message(example(&defect.example)));
    }
    if let Some(note) = &defect.note {
        group = group.element(Level::NOTE.no_name().message(wrap(&one_line(note))));
    }
    let drawn = Renderer::plain().term_width(WIDTH_MAX).render(&[group]);
    tidy(&drawn, spot.span.is_none())
}

/// Sets the lines of an example below its first.
fn example(lines: &[String]) -> String {
    let mut lines = lines.iter().map(|line| one_line(line));
    let first = lines.next().unwrap_or_default();
    lines.fold(first, |text, line| format!("{text}\n    {line}"))
}

/// Breaks a note at blanks, so that a line of it fits beside the margin.
fn wrap(note: &str) -> String {
    let mut lines = vec![String::new()];
    for word in note.split(' ') {
        let line = match lines.last() {
            Some(line)
                if !line.is_empty() && line.chars().count() + word.chars().count() >= NOTE_MAX =>
            {
                lines.push(String::new());
                lines.len() - 1
            }
            _ => lines.len() - 1,
        };
        if !lines[line].is_empty() {
            lines[line].push(' ');
        }
        lines[line].push_str(word);
    }
    lines.join("\n")
}

/// Takes the empty margin before a note out, and sets a note without a snippet in line.
fn tidy(drawn: &str, without_snippet: bool) -> String {
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    let mut kept: Vec<String> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let next = lines.get(i + 1).map_or("", |next| next.trim_start());
        if line.trim_start() == "|" && next.starts_with("= ") {
            continue;
        }
        match (i, without_snippet) {
            (0, _) | (_, false) => kept.push((*line).to_owned()),
            (_, true) => kept.push(format!("  {}", line)),
        }
    }
    kept.join("\n")
}

/// Puts visible marks of the same length in place of characters that a terminal would hide or obey.
///
/// The renderer itself marks control characters; what it leaves is three bytes long in UTF-8, as
/// the mark is, so that places stay true.
fn visible(text: &str) -> String {
    let mark = |c: char| {
        if is_hidden(c) && c.len_utf8() == 3 {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(mark).collect()
}

/// Makes one line of a message that may hold what an author wrote.
fn one_line(text: &str) -> String {
    let mark = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_hidden(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(mark).collect()
}
