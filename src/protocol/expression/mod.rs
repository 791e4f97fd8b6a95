//! Expressions: a subset of CEL (Common Expression Language) with absent fields as unknown.
//!
//! The meaning is registered (`cel/prereg-1`): grammar and operators are those of the pinned `cel` crate without its
//! optional features, and what differs from it is listed in `evaluate.rs`. The golden table in the tests pins both.

mod check;
mod comprehension;
mod evaluate;
mod json;
mod message;
mod parse;
mod places;
mod rewrite;
#[cfg(test)]
mod tests;
mod times;
mod types;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

pub use evaluate::{Answer, EvaluationError};
pub use parse::NoThread;
pub use types::{Expected, Scope, Type};

/// Which kind of slip an expression's defect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slip {
    /// The text cannot be read.
    Syntax,
    /// A name, field or function does not exist.
    Name,
    /// A value has a type that cannot stand there.
    Type,
}

/// Describes what is wrong with the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionDefect {
    /// Which kind of slip it is.
    pub kind: Slip,
    /// What is wrong and what to do: lower-case, without a full stop.
    pub message: String,
    /// The bytes of the text that the defect is about; empty at the end of the text.
    pub range: Range<usize>,
    /// What may have been meant in place of these bytes.
    pub suggestion: Option<String>,
}

impl ExpressionDefect {
    fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self {
            kind: Slip::Syntax,
            message: message.into(),
            range,
            suggestion: None,
        }
    }

    fn of(self, kind: Slip) -> Self {
        Self { kind, ..self }
    }

    fn suggesting(self, suggestion: impl Into<Option<String>>) -> Self {
        Self {
            suggestion: suggestion.into(),
            ..self
        }
    }
}

/// Holds a parsed expression, ready to be evaluated many times.
///
/// Clones share the parsed form; two expressions are equal if their texts are.
#[derive(Clone)]
pub struct Expression {
    parsed: Arc<parse::Parsed>,
}

impl Expression {
    /// Parses an expression of at most 2 KiB.
    ///
    /// It never panics: what the parser cannot take is a defect.
    pub fn parse(text: &str) -> Result<Self, ExpressionDefect> {
        Self::reading(text, &Scope::new())
    }

    /// Compiles an expression that has passed its check; a defect is told with the text.
    ///
    /// A text literal that is compared with a time of the scope is a time too, however it is spelled: times compare as
    /// texts, which must have as many decimals (`Time::precise`).
    pub fn compile(text: &str, scope: &Scope) -> Result<Self, String> {
        Self::reading(text, scope).map_err(|defect| format!("`{text}`: {defect}"))
    }

    fn reading(text: &str, scope: &Scope) -> Result<Self, ExpressionDefect> {
        parse::parse(text, scope).map(|parsed| Self {
            parsed: Arc::new(parsed),
        })
    }

    /// Returns the text as it was written.
    pub fn text(&self) -> &str {
        &self.parsed.text
    }

    /// Returns all defects of the names and types in the expression, in the order of their places.
    pub fn check(&self, scope: &Scope, expected: Expected) -> Vec<ExpressionDefect> {
        check::check(&self.parsed, scope, expected)
    }

    /// Returns whether the expression reads this root, or something of it.
    pub fn reads(&self, root: &str) -> bool {
        self.parsed.evaluator.names().roots.contains(root)
    }

    /// Returns whether the expression reads a field of a root, something of it, or the root as a whole.
    pub fn reads_field(&self, root: &str, field: &str) -> bool {
        let dotted = &self.parsed.evaluator.names().dotted;
        let is_of_field = |name: &str| {
            let rest = name
                .strip_prefix(root)
                .and_then(|name| name.strip_prefix('.'));
            let rest = rest.and_then(|name| name.strip_prefix(field));
            name == root || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        dotted.iter().any(|name| is_of_field(name))
    }

    /// Evaluates the expression with these values of its roots.
    ///
    /// An absent root or field is unknown, and what depends on it is; `null` is a value.
    pub fn evaluate(
        &self,
        bindings: &serde_json::Map<String, Value>,
    ) -> Result<Answer, EvaluationError> {
        self.parsed.evaluator.evaluate(bindings)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text()).finish()
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Expression {}
