//! What a command says, and how it ends: data on standard output, everything else on standard error.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::exit::Exit;
use super::render;
use crate::analysis::tables::defect;
use crate::engine::refusal::Refusal;
use crate::protocol::defect::{Defect, Place};
use crate::protocol::source::{Source, is_hidden, line_of};
use crate::record::divergence::Divergence;
use crate::runner::session::SessionFault;
use crate::store::Fault;

/// What a command that went through says.
#[derive(Debug)]
pub(super) struct Reply {
    /// For people.
    pub text: String,
    /// For people too, and not part of what was asked for.
    pub aside: String,
    /// The same as data.
    pub json: Value,
    /// How it ends.
    pub exit: Exit,
}

impl Reply {
    /// Says something and ends well.
    pub(super) fn done(text: impl Into<String>, json: Value) -> Self {
        Self {
            text: text.into(),
            aside: String::new(),
            json,
            exit: Exit::Done,
        }
    }

    /// Ends well; all that was to be said has been written as it was made.
    pub(super) fn written() -> Self {
        Self::done("", Value::Null)
    }
}

/// Why a command did not go through.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command line does not say enough.
    Usage {
        /// The stable code.
        code: &'static str,
        /// What to do.
        message: String,
    },
    /// A file is not valid.
    Defects(Defects),
    /// A table of runs is not valid.
    Table {
        /// The file as the user named it.
        file: String,
        /// What is wrong with it.
        defects: defect::Defects,
    },
    /// A registered rule says no.
    Refused {
        /// The refusal.
        refusal: Refusal,
        /// The registered protocol's text, where there is one.
        text: Option<String>,
    },
    /// Another session is at work.
    Busy {
        /// The stable code.
        code: &'static str,
        /// What is going on.
        message: String,
    },
    /// What is asked for cannot be had as things stand.
    Declined {
        /// The stable code.
        code: &'static str,
        /// What to do.
        message: String,
    },
    /// Something broke.
    Fault {
        /// The stable code.
        code: &'static str,
        /// What broke.
        message: String,
    },
    /// The operator ended it.
    Interrupted {
        /// What became of it.
        message: &'static str,
    },
    /// The record does not re-derive.
    Diverged {
        /// How.
        divergence: Divergence,
        /// The registered protocol's text, where it can be read.
        text: Option<String>,
    },
}

/// The defects of a file, with what is needed to draw them.
#[derive(Debug)]
pub(super) struct Defects {
    /// The file as the user named it.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The folder that it stands in.
    pub folder: PathBuf,
    /// The defects.
    pub defects: Vec<Defect>,
    /// What was not done because of them.
    pub undone: &'static str,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let (code, message) = (fault.code(), fault.to_string());
        match fault {
            Fault::Published(mut divergence) => {
                let message = &mut divergence.message;
                message.push_str("; nothing was written: put back the record that was published");
                Self::Diverged {
                    divergence,
                    text: None,
                }
            }
            Fault::Output(error) => Self::output(&error),
            Fault::Exists(_) => Self::Usage { code, message },
            Fault::SealedExport(_) => Self::Declined { code, message },
            _ => Self::Fault { code, message },
        }
    }
}

impl From<SessionFault> for Failure {
    fn from(fault: SessionFault) -> Self {
        let (code, message) = (fault.code(), fault.to_string());
        match fault {
            SessionFault::Busy => Self::Busy { code, message },
            SessionFault::Store(fault) => Self::from(fault),
            _ => Self::Fault { code, message },
        }
    }
}

impl Failure {
    /// Makes the fault of a file that a command reads or writes.
    pub(super) fn file(path: &Path, error: &io::Error) -> Self {
        Self::Fault {
            code: "file",
            message: format!("`{}`: {error}", path.display()),
        }
    }

    /// Makes the fault of output that nobody took.
    fn output(error: &io::Error) -> Self {
        Self::Fault {
            code: "output",
            message: format!("what was to be said could not be written: {error}"),
        }
    }

    /// Refuses to write over a file.
    pub(super) fn exists(path: &Path) -> Self {
        Self::Usage {
            code: "file-exists",
            message: format!("`{}` exists; name a new file", path.display()),
        }
    }

    /// Returns the exit code.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } => Exit::Usage,
            Self::Defects(_) | Self::Table { .. } => Exit::Defect,
            Self::Refused { .. } | Self::Busy { .. } | Self::Declined { .. } => Exit::Refusal,
            Self::Fault { .. } => Exit::Fault,
            Self::Interrupted { .. } => Exit::Interrupted,
            Self::Diverged { .. } => Exit::Divergence,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Usage { code, message } => format!("usage[{code}]: {message}\n"),
            Self::Busy { code, message } | Self::Declined { code, message } => {
                format!("refused[{code}]: {message}\n")
            }
            Self::Fault { code, message } => format!("fault[{code}]: {message}\n"),
            Self::Interrupted { message } => format!("interrupted {message}\n"),
            Self::Defects(found) => {
                let other = |path: &str| std::fs::read_to_string(found.folder.join(path)).ok();
                let drawn = render::drawn(&found.file, &found.text, &found.defects, other);
                drawn + &render::count(found.defects.len(), found.undone)
            }
            Self::Table { file, defects } => table_defects(file, defects),
            Self::Refused { refusal, text } => format!(
                "refused[{}]: {refusal}\n{}",
                refusal.code(),
                registered(refusal.rule().as_deref(), text.as_deref())
            ),
            Self::Diverged { divergence, text } => {
                let registered = registered(divergence.rule.as_deref(), text.as_deref());
                let place = if divergence.entry == 0 {
                    String::new()
                } else {
                    format!(" at entry {}", divergence.entry)
                };
                format!(
                    "diverged[{}]{place}: {}\n{registered}",
                    divergence.code.text(),
                    divergence.message
                )
            }
        }
    }

    fn json(&self) -> Value {
        let line = |rule, text: &Option<String>| {
            registered_line(rule, text.as_deref()).map(|(line, _)| line)
        };
        match self {
            Self::Usage { code, message } => {
                json!({ "error": { "kind": "usage", "code": code, "message": message } })
            }
            Self::Busy { code, message } | Self::Declined { code, message } => {
                json!({ "error": { "kind": "refusal", "code": code, "message": message } })
            }
            Self::Fault { code, message } => {
                json!({ "error": { "kind": "fault", "code": code, "message": message } })
            }
            Self::Interrupted { message } => {
                json!({ "error": { "kind": "interrupted", "code": "interrupted", "message": message } })
            }
            Self::Defects(found) => {
                let other = |path: &str| std::fs::read_to_string(found.folder.join(path)).ok();
                json!({ "error": { "kind": "defects", "defects": render::defects_json(&found.file, &found.text, &found.defects, other) } })
            }
            Self::Table { file, defects } => {
                json!({ "error": { "kind": "defects", "file": file, "defects": defects.listed, "unlisted": defects.unlisted } })
            }
            Self::Refused { refusal, text } => json!({ "error": {
                "kind": "refusal",
                "code": refusal.code(),
                "message": refusal.to_string(),
                "rule": refusal.rule(),
                "line": line(refusal.rule().as_deref(), text),
                "retry": refusal.retry(),
                "facts": refusal,
            } }),
            Self::Diverged { divergence, text } => json!({ "error": {
                "kind": "divergence",
                "code": divergence.code,
                "entry": divergence.entry,
                "message": divergence.message,
                "rule": divergence.rule,
                "line": line(divergence.rule.as_deref(), text),
            } }),
        }
    }
}

/// Shows what a terminal would obey, or what would turn the direction of the text, as what it is.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character == '\n' || !unseen(character) {
            true => shown.push(character),
            false => shown.extend(character.escape_unicode()),
        }
    }
    shown
}

fn unseen(character: char) -> bool {
    let breaks = matches!(character, '\u{2028}' | '\u{2029}');
    breaks || character.is_control() || is_hidden(character)
}

/// Tells what is wrong with a table of runs, each slip with its line and column.
fn table_defects(file: &str, defects: &defect::Defects) -> String {
    let mut text = String::new();
    for found in &defects.listed {
        let place = match (&found.line, &found.column) {
            (Some(line), Some(column)) => format!("{file}:{line}, column `{column}`"),
            (Some(line), None) => format!("{file}:{line}"),
            (None, Some(column)) => format!("{file}, column `{column}`"),
            (None, None) => file.to_owned(),
        };
        text.push_str(&format!(
            "error[{}]: {}\n  --> {place}\n   = {}\n\n",
            json!(found.code).as_str().unwrap_or_default(),
            found.message,
            found.hint
        ));
    }
    let count = defects.listed.len() + defects.unlisted;
    text + &render::count(count, "computed")
}

/// Shows the line of the protocol that holds a rule; nothing where there is none.
pub(super) fn registered(rule: Option<&str>, text: Option<&str>) -> String {
    registered_line(rule, text).map_or(String::new(), |(line, shown)| {
        format!("  registered at line {line}: {shown}\n")
    })
}

/// Returns the line of the protocol that holds a rule: the key itself, or the nearest table.
fn registered_line(rule: Option<&str>, text: Option<&str>) -> Option<(usize, String)> {
    let (rule, text) = (rule?, text?);
    let line = line_of_rule(&Source::read(text).ok()?, text, rule)?;
    let shown = text.lines().nth(line - 1)?;
    Some((
        line,
        shown.split(" #").next().unwrap_or(shown).trim().to_owned(),
    ))
}

/// Returns the line of the protocol that holds a rule, by the rule's JSON pointer.
pub(super) fn line_of_rule(source: &Source<'_>, text: &str, rule: &str) -> Option<usize> {
    let span = source.span(&Place::Key(rule.to_owned()));
    (!span.is_empty()).then(|| line_of(text, span.start))
}

/// Replies to a verb that writes what it says as it is made.
pub(super) fn streamed(written: io::Result<()>) -> Result<Reply, Failure> {
    match written {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(&error)),
        _ => Ok(Reply::written()),
    }
}

/// Prints what was said, or why nothing was; returns how the process ends.
pub(super) fn print(result: &Result<Reply, Failure>, json: bool) -> Exit {
    let (out, text, exit) = match (result, json) {
        (Ok(said), true) if !said.json.is_null() => (true, format!("{}\n", said.json), said.exit),
        (Ok(said), _) => (true, visible(&said.text), said.exit),
        (Err(failure), true) => (true, format!("{}\n", failure.json()), failure.exit()),
        (Err(failure), false) => (false, visible(&failure.text()), failure.exit()),
    };
    if let (Ok(said), false) = (result, json) {
        // Where nobody takes it, what was asked for is said all the same.
        let _ = write(&mut io::stderr().lock(), &visible(&said.aside));
    }
    let written = if out {
        write(&mut io::stdout().lock(), &text)
    } else {
        write(&mut io::stderr().lock(), &text)
    };
    match written {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let fault = Failure::output(&error);
            // Where this cannot be said either, nobody listens.
            let _ = write(&mut io::stderr().lock(), &fault.text());
            Exit::Fault
        }
        _ => exit,
    }
}

fn write(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}
