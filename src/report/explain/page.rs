//! Writes Markdown in which no text of an author can be anything but text.
//!
//! A text stands in quotation marks with every mark of Markdown escaped, or as code behind more
//! backticks than it holds; one of several lines stands in a block of its own. A character that
//! cannot be seen is written as its number.

use serde_json::Value;

use crate::protocol::canonical;
use crate::protocol::source::is_hidden;

/// Marks that mean something in Markdown or in the HTML that it may hold.
const MARKS: &str = "\\`*_[]<>#|~&$";

/// A page of Markdown under construction.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    in_list: bool,
}

impl Page {
    /// Returns the text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Begins a section, or a part of one.
    pub(super) fn heading(&mut self, level: usize, text: &str) {
        self.apart();
        self.text
            .push_str(&format!("{} {text}\n", "#".repeat(level)));
        self.in_list = false;
    }

    /// Says a paragraph.
    pub(super) fn say(&mut self, text: &str) {
        self.apart();
        self.text.push_str(&format!("{text}\n"));
        self.in_list = false;
    }

    /// Says one rule.
    pub(super) fn item(&mut self, text: impl AsRef<str>) {
        if !self.in_list {
            self.apart();
        }
        self.text.push_str(&format!("- {}\n", text.as_ref()));
        self.in_list = true;
    }

    /// Shows a text of the author in words, below what it is.
    pub(super) fn author(&mut self, what: &str, text: &str) {
        if text.contains('\n') {
            self.item(format!("{what}:"));
            self.block("text", text);
        } else {
            self.item(format!("{what}: {}", quote(text)));
        }
    }

    /// Shows an expression as it is registered, below what it decides.
    pub(super) fn expression(&mut self, what: &str, text: &str) {
        if text.contains('\n') {
            self.item(format!("{what}:"));
            self.block("cel", text);
        } else {
            self.item(format!("{what}: {}", code(text)));
        }
    }

    /// Shows an expression that may be absent.
    pub(super) fn expression_if(&mut self, what: &str, text: Option<&String>) {
        if let Some(text) = text {
            self.expression(what, text);
        }
    }

    /// Shows a JSON value in several lines, its keys in order.
    pub(super) fn json(&mut self, what: &str, value: &Value) {
        self.item(format!("{what}:"));
        self.block("json", &format!("{value:#}"));
    }

    /// Lays a text into the item before it, line by line.
    fn block(&mut self, kind: &str, text: &str) {
        let fence = "`".repeat(longest_run(text).max(2) + 1);
        self.text.push_str(&format!("\n  {fence}{kind}\n"));
        for line in text.split('\n') {
            let line = shown(line, |c| c != '\t');
            let indent = if line.is_empty() { "" } else { "  " };
            self.text.push_str(&format!("{indent}{line}\n"));
        }
        self.text.push_str(&format!("  {fence}\n\n"));
    }

    fn apart(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

/// Writes a text of an author so that nothing in it is a mark.
pub(super) fn prose(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in shown(text, |_| true).chars() {
        if MARKS.contains(c) {
            written.push('\\');
        }
        written.push(c);
    }
    written
}

/// Writes a text of an author in quotation marks.
pub(super) fn quote(text: &str) -> String {
    format!("“{}”", prose(text))
}

/// Writes a text as code inside a line.
pub(super) fn code(text: &str) -> String {
    let text = shown(text, |_| true);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Writes a command as code: its words in double quotes, as the protocol file spells them.
pub(super) fn command(words: &[String]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| Value::from(word.as_str()).to_string())
        .collect();
    code(&format!("[{}]", words.join(", ")))
}

/// Writes a JSON value as code inside a line, in its one spelling.
pub(super) fn json(value: &Value) -> String {
    code(&String::from_utf8_lossy(&canonical::bytes(value)))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Writes characters that a reader cannot see as their numbers; `is_in_line` tells of white space.
fn shown(text: &str, is_in_line: impl Fn(char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        let white = matches!(c, '\n' | '\r' | '\t') && is_in_line(c);
        if white || is_unseen(c) {
            written.push_str(&format!("[U+{:04X}]", u32::from(c)));
        } else {
            written.push(c);
        }
    }
    written
}

/// Returns whether a character leaves no trace on a page, or moves its neighbours.
fn is_unseen(c: char) -> bool {
    is_hidden(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{2028}' | '\u{2029}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_an_author_are_text() {
        assert_eq!(prose("a|b <i> `x`"), "a\\|b \\<i\\> \\`x\\`");
        assert_eq!(quote("![x](y)"), "“!\\[x\\](y)”");
        assert_eq!(
            prose("a\nb\u{1b}[2J\u{202e}"),
            "a\\[U+000A\\]b\\[U+001B\\]\\[2J\\[U+202E\\]"
        );
    }

    #[test]
    fn code_ends_where_it_is_meant_to() {
        assert_eq!(code("a `` b"), "```a `` b```");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(code(" a "), "`  a  `");
        assert_eq!(
            command(&["sh".to_owned(), "a\n\"b\"".to_owned()]),
            "`[\"sh\", \"a\\n\\\"b\\\"\"]`"
        );
    }

    #[test]
    fn a_block_cannot_be_left() {
        let mut page = Page::default();
        page.author("Question", "one\n```\n# two");
        page.item("next");
        assert_eq!(
            page.into_text(),
            "- Question:\n\n  ````text\n  one\n  ```\n  # two\n  ````\n\n- next\n"
        );
    }
}
