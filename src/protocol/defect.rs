//! What can be wrong with a protocol or an input file: codes, places, messages.
//!
//! A code is part of the interface: kebab-case, stable, described. A defect says in one plain
//! sentence what to do, and names a place in the file; whoever prints it draws the caret.

use std::ops::Range;

use serde::Serialize;

/// Where in a file a defect lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// The key that a JSON pointer names (for a table, its header).
    Key(String),
    /// The value that a JSON pointer names.
    Value(String),
    /// Some bytes inside the text value that a JSON pointer names.
    Within(String, Range<usize>),
    /// Some bytes of the file.
    Span(Range<usize>),
}

macro_rules! codes {
    ($($name:ident, $text:literal, $description:literal;)*) => {
        /// A stable code for what is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $description] $name),* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the code as it is printed.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns what the code means, in one sentence.
            pub fn description(self) -> &'static str {
                match self { $(Self::$name => $description),* }
            }
        }
    };
}

codes! {
    NotFound, "not-found", "A file or folder that is named does not exist.";
    NotFile, "not-file", "What is named is not a regular file or folder.";
    Unreadable, "unreadable", "A file or folder cannot be read.";
    TooLarge, "too-large", "A file is larger, has more parts or has more defects than are read or shown.";
    Encoding, "encoding", "A file is not UTF-8 text without a byte order mark.";
    Syntax, "syntax", "The text does not follow its format.";
    DuplicateKey, "duplicate-key", "A key or table stands twice.";
    Number, "number", "A number is not finite, or not exact for every reader.";
    Text, "text", "A text holds characters that a reader cannot see.";
    UnknownKey, "unknown-key", "A key is not part of the language.";
    MissingKey, "missing-key", "A key that is required here is absent.";
    Type, "type", "A value has the wrong type.";
    Word, "word", "A word is not in the list of words that may stand here.";
    NeverStarts, "never-starts", "A stage could never start.";
    Range, "range", "A number, duration or size is outside its range.";
    Literal, "literal", "A text is not spelled as a literal of its kind is.";
    Id, "id", "An identifier has characters that identifiers cannot have.";
    DuplicateId, "duplicate-id", "Two things of a kind share a name, or one is named twice.";
    Arms, "arms", "The arms cannot be compared.";
    ArmsDiffer, "arms-differ", "An arm differs from the reference in something undeclared.";
    Frame, "frame", "A line of the frame is not a task.";
    Operation, "operation", "A line of a history is not an operation, or stands before its time.";
    Anchor, "anchor", "A file does not show that a head of the record was published.";
    UnknownSplit, "unknown-split", "A task's split is not declared.";
    Draw, "draw", "The draw cannot be made.";
    Template, "template", "A template names something that does not exist.";
    Path, "path", "A path leaves its folder, or a pattern of paths cannot be read.";
    Command, "command", "A command is empty or cannot be executed.";
    UnknownArm, "unknown-arm", "An arm that is named is not declared.";
    UnknownOutcome, "unknown-outcome", "An outcome that is named is not declared.";
    Expression, "expression", "An expression cannot be read.";
    UnknownName, "unknown-name", "An expression reads, or a table tells of, a name that does not exist there.";
    ExpressionType, "expression-type", "An expression has a type that cannot stand there.";
    ReportSchema, "report-schema", "The report's schema is not a usable JSON Schema.";
    BadReport, "bad-report", "A report does not satisfy its schema.";
    Secret, "secret", "A value looks like a secret; registrations are public and permanent.";
    Analysis, "analysis", "The analysis cannot work.";
    UnknownLimitation, "unknown-limitation", "A limitation is not in the list of weaknesses.";
    LimitationNotFound, "limitation-not-found", "A limitation is named that the protocol does not have.";
    OrderUnbalanced, "order-unbalanced", "One arm is always first.";
    OrderConfoundedWithTime, "order-confounded-with-time", "The arms run one after another, so time is confounded with the arm.";
    FewTasks, "few-tasks", "The registered test cannot reach its level with so few tasks.";
    UnequalLimits, "unequal-limits", "The arms have different limits.";
    UnlimitedVoids, "unlimited-voids", "A block or a run may be voided without limit.";
    NoControl, "no-control", "A positive or a negative control is missing.";
    MissingUnbounded, "missing-unbounded", "A missing value of the primary outcome has no worst case.";
    UnpinnedCommand, "unpinned-command", "An arm's program is neither probed nor digested.";
    TimeoutUnscored, "timeout-unscored", "A run that meets its limit is not scored.";
    LateReports, "late-reports", "A report after the deadline may count.";
    OutcomesUnsealed, "outcomes-unsealed", "Outcomes by arm can be seen while the study runs.";
    UnlimitedAttempts, "unlimited-attempts", "A slot may be attempted without limit.";
    DrawCanGrow, "draw-can-grow", "Tasks may be added after outcomes have been seen.";
    OutageNotBlind, "outage-not-blind", "Some history voids a run or a block although only one arm had error stops.";
    CanGetStuck, "can-get-stuck", "After some history no start is ever granted again, and slots are left.";
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// One thing that is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// What is wrong.
    pub code: Code,
    /// The file, by its path beside the protocol; none means the protocol itself.
    pub file: Option<String>,
    /// Where.
    pub place: Place,
    /// One plain sentence, lower-case, without a full stop.
    pub message: String,
    /// A few words beside the caret, such as a suggestion.
    pub label: Option<String>,
    /// A line below: another place, or what to do.
    pub note: Option<String>,
    /// The lines of an example that shows it, with a first line that says what it is.
    pub example: Vec<String>,
}

impl Defect {
    /// Makes a defect without label or note.
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self {
            code,
            file: None,
            place,
            message: message.into(),
            label: None,
            note: None,
            example: Vec::new(),
        }
    }

    /// Says that the place is one of another file than the protocol.
    #[must_use]
    pub fn in_file(mut self, path: &str) -> Self {
        self.file = Some(path.to_owned());
        self
    }

    /// Adds the words beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds the line below.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// How many defects of one kind of check are told; who has more mends these first.
pub const DEFECTS_MAX: usize = 100;

/// Defects as they are found: those that are told, and how many more there are.
#[derive(Clone, Debug, Default)]
pub struct Found {
    defects: Vec<Defect>,
    more: usize,
}

impl Found {
    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.defects.is_empty()
    }

    /// Returns whether more is counted only, and not told.
    pub fn is_full(&self) -> bool {
        self.defects.len() >= DEFECTS_MAX
    }

    /// Returns the defects that are told, and last how many are not.
    pub fn told(mut self) -> Vec<Defect> {
        if self.more > 0 {
            let more = self.more;
            let message = format!("{more} more defects are not shown; mend these first");
            let defect = Defect::new(Code::TooLarge, Place::File, message);
            self.defects.push(defect);
        }
        self.defects
    }
}

impl Extend<Defect> for Found {
    fn extend<I: IntoIterator<Item = Defect>>(&mut self, found: I) {
        for defect in found {
            match self.is_full() {
                true => self.more += 1,
                false => self.defects.push(defect),
            }
        }
    }
}

/// Returns the word of a list that was probably meant, if one is near: few letters differ, or one
/// begins with the other.
pub fn nearest<'a>(word: &str, list: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = if length < 2 { 0 } else { length.div_ceil(4) };
    let begins = |longer: &str, shorter: &str| shorter.len() > 2 && longer.starts_with(shorter);
    list.into_iter()
        .map(|candidate| match distance(word, candidate) {
            far if far > limit && (begins(word, candidate) || begins(candidate, word)) => {
                (limit, candidate)
            }
            distance => (distance, candidate),
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance of two words, ignoring case; two neighbours that are swapped are one
/// edit.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let substituted = row[j] + usize::from(x != y);
            let mut least = substituted.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_probably_meant_is_near() {
        let words = ["report", "main", "exit", "superiority", "b", "timeout"];
        for (word, meant) in [
            ("reprot", Some("report")),
            ("mian", Some("main")),
            ("exitcode", Some("exit")),
            ("superior", Some("superiority")),
            ("bb", Some("b")),
            ("c", None),
            ("Time_Out", Some("timeout")),
            ("zebra", None),
        ] {
            assert_eq!(nearest(word, words), meant, "{word}");
        }
    }
}
