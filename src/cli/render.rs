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

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use crate::protocol::defect::{Defect, Place};
use crate::protocol::source::Source;

/// How wide a drawn line of the source may be before it is cut around its caret.
const WIDTH_MAX: usize = 100;
/// How many carets are drawn at most; the rest of a longer place is evident.
const CARETS_MAX: usize = 80;

/// Draws every defect of a file, and a last line that counts them.
///
/// `other` returns the text of a file beside the protocol, for the defects that lie there.
pub fn defects(
    file: &str,
    text: &str,
    defects: &[Defect],
    other: impl Fn(&str) -> Option<String>,
) -> String {
    let source = Source::read(text).ok();
    let mut drawn = String::new();
    for defect in defects {
        let spot = Spot::of(file, text, source.as_ref(), defect, &other);
        drawn.push_str(&draw(defect, &spot));
        drawn.push_str("\n\n");
    }
    match defects.len() {
        1 => drawn.push_str("1 defect, nothing registered\n"),
        count => drawn.push_str(&format!("{count} defects, nothing registered\n")),
    }
    drawn
}

/// Returns every defect of a file for machines: `code`, `message`, `file`, `line`, `column`,
/// `end_column`, `label`, `note`; null where there is none.
pub fn defects_json(
    file: &str,
    text: &str,
    defects: &[Defect],
    other: impl Fn(&str) -> Option<String>,
) -> Vec<Value> {
    let source = Source::read(text).ok();
    let one = |defect: &Defect| {
        let spot = Spot::of(file, text, source.as_ref(), defect, &other);
        let at = spot.span.as_ref().map(|span| {
            let line_start = spot.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
            let line = spot.text[..line_start].matches('\n').count() + 1;
            let column = spot.text[line_start..span.start].chars().count() + 1;
            (line, column, column + spot.text[span.clone()].chars().count())
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
        })
    };
    defects.iter().map(one).collect()
}

/// Where a defect is drawn: a file, its text, and the bytes, if it is about some.
struct Spot {
    file: String,
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
            None => (file.to_owned(), Some(text.to_owned())),
            Some(path) => (beside(file, path), other(path)),
        };
        let span = match (&defect.place, source) {
            (Place::File, _) => None,
            (Place::Span(span), _) => Some(span.clone()),
            (place, Some(source)) if defect.file.is_none() => Some(source.span(place)),
            _ => None,
        };
        let text = text.unwrap_or_default();
        let span = span.filter(|_| !text.is_empty());
        Self {
            span: span.map(|span| on_one_line(&text, span)),
            file: name,
            text,
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
    let start = floor_boundary(text, span.start);
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
    let title = Level::ERROR
        .primary_title(defect.message.as_str())
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
                .label(defect.label.as_deref());
            title.element(
                Snippet::source(spot.text.as_str())
                    .path(spot.file.as_str())
                    .annotation(annotation),
            )
        }
        None => title.element(Origin::path(spot.file.as_str())),
    };
    for line in defect.note.iter().flat_map(|note| note.lines()) {
        group = group.element(Level::NOTE.no_name().message(line));
    }
    Renderer::plain()
        .term_width(WIDTH_MAX)
        .render(&[group])
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}
