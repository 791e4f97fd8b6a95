//! From text to tree, with the limits that make it safe.

use std::io;
use std::ops::Range;
use std::thread;

use cel::common::ast::{EntryExpr, Expr, LiteralValue, SourceInfo};
use cel::{IdedExpr, ParseError, ParseErrors, parser::Parser};

use super::ExpressionDefect;
use super::comprehension::Macro;
use super::evaluate::Evaluator;
use super::places::Places;
use super::rewrite::dotted_name;
use super::types::Scope;

const TEXT_MAX: usize = 2 * 1024;
/// Parser and evaluator recurse, with up to 80 KiB a level in an unoptimised build, and an overflow aborts the process.
const STACK: usize = 32 << 20;
const DEPTH_MAX: usize = 64;
/// Up to this depth the stack of any thread is enough to evaluate.
const SHALLOW_MAX: usize = 12;

/// A parsed expression.
pub(super) struct Parsed {
    pub(super) text: String,
    pub(super) tree: IdedExpr,
    pub(super) info: SourceInfo,
    pub(super) evaluator: Evaluator,
}

pub(super) fn parse(text: &str, scope: &Scope) -> Result<Parsed, ExpressionDefect> {
    if text.len() > TEXT_MAX {
        return Err(ExpressionDefect::new(
            format!(
                "the expression has {} bytes; shorten it to at most {TEXT_MAX}",
                text.len()
            ),
            0..text.len(),
        ));
    }
    on_large_stack(|| parse_here(text, scope)).unwrap_or_else(|| {
        Err(ExpressionDefect::new(
            "the expression cannot be parsed; simplify it",
            0..text.len(),
        ))
    })
}

/// What is unwound with where no thread is to be had for an expression.
///
/// That says nothing of the expression: whoever took it for an answer would record a ruling that nobody
/// can derive again. So it is none, as it is when there is no memory left.
#[derive(Debug)]
pub struct NoThread(pub io::Error);

/// Runs `work` on a thread whose stack is large enough for any expression; nothing if it panics.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new()
            .name("expression".to_owned())
            .stack_size(STACK);
        match builder.spawn_scoped(scope, work) {
            Ok(thread) => thread.join().ok(),
            Err(error) => std::panic::resume_unwind(Box::new(NoThread(error))),
        }
    })
}

fn parse_here(text: &str, scope: &Scope) -> Result<Parsed, ExpressionDefect> {
    let (tree, info) = Parser::new()
        .parse_with_source_info(text)
        .map_err(|errors| syntax_defect(text, &errors))?;
    let depth = depth(&tree);
    if depth.written > DEPTH_MAX {
        return Err(too_deep(text));
    }
    if let Some(defect) = foreign(&tree, Places::new(text, &info)) {
        return Err(defect);
    }
    let evaluator = Evaluator::new(tree.clone(), scope, depth.evaluated > SHALLOW_MAX);
    Ok(Parsed {
        text: text.to_owned(),
        tree,
        info,
        evaluator,
    })
}

fn too_deep(text: &str) -> ExpressionDefect {
    ExpressionDefect::new(
        format!("the expression is nested too deeply; keep it to {DEPTH_MAX} levels"),
        0..text.len(),
    )
}

/// The nodes directly under a node, with those parts of a macro that the author wrote.
fn children(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Call(call) => call
            .target
            .iter()
            .map(AsRef::as_ref)
            .chain(&call.args)
            .collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| entry_nodes(&entry.expr))
            .collect(),
        Expr::Struct(literal) => literal
            .entries
            .iter()
            .flat_map(|entry| entry_nodes(&entry.expr))
            .collect(),
        Expr::Comprehension(comprehension) => {
            let mut nodes = vec![&comprehension.iter_range];
            nodes.extend(Macro::of(comprehension).parts());
            nodes
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_nodes(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    }
}

struct Depth {
    written: usize,
    /// The same, but a dotted name is evaluated at once.
    evaluated: usize,
}

fn depth(node: &IdedExpr) -> Depth {
    let below: Vec<Depth> = children(node).into_iter().map(depth).collect();
    let written = 1 + below.iter().map(|depth| depth.written).max().unwrap_or(0);
    let evaluated = match dotted_name(node) {
        Some(_) => 1,
        None => 1 + below.iter().map(|depth| depth.evaluated).max().unwrap_or(0),
    };
    Depth { written, evaluated }
}

/// The first thing in the tree that CEL has and the registered language does not.
fn foreign(node: &IdedExpr, places: Places<'_>) -> Option<ExpressionDefect> {
    let message = match &node.expr {
        Expr::Struct(_) => Some(
            "there are no message types; write a map with text keys, as in `{'a': 1}`".to_owned(),
        ),
        Expr::Literal(LiteralValue::UInt(_)) => {
            Some("there are no unsigned numbers; write the number without `u`".to_owned())
        }
        Expr::Literal(LiteralValue::Bytes(_)) => {
            Some("there are no byte strings; write the text without `b`".to_owned())
        }
        Expr::Ident(name) => name
            .strip_prefix('.')
            .map(|name| format!("write `{name}` without the dot before it")),
        Expr::Call(call) => call
            .func_name
            .strip_prefix('.')
            .map(|name| format!("write `{name}` without the dot before it")),
        Expr::Unspecified => Some("the expression is incomplete; complete it".to_owned()),
        _ => None,
    };
    match message {
        Some(message) => Some(ExpressionDefect::new(message, places.token(node))),
        None => children(node)
            .into_iter()
            .find_map(|child| foreign(child, places)),
    }
}

/// Makes one defect of the parser's errors: the first, since the others mostly follow from it.
fn syntax_defect(text: &str, errors: &ParseErrors) -> ExpressionDefect {
    if text.trim().is_empty() {
        return ExpressionDefect::new("the expression is empty; write one", 0..text.len());
    }
    let is_syntax = |error: &&ParseError| error.msg.starts_with(SYNTAX);
    // What is incomplete is reported where it starts; the place where something is missing says more.
    let incomplete = |error: &&ParseError| error.msg.starts_with("Incomplete");
    let first = errors.errors.iter().find(|error| !incomplete(error));
    match first
        .or_else(|| errors.errors.iter().find(is_syntax))
        .or(errors.errors.first())
    {
        Some(error) if error.msg.contains("Recursion limit") || error.msg == "UNKNOWN" => {
            too_deep(text)
        }
        Some(error) => defect_of(text, error),
        None => ExpressionDefect::new(
            "the expression cannot be parsed; simplify it",
            0..text.len(),
        ),
    }
}

const SYNTAX: &str = "Syntax error: ";

fn defect_of(text: &str, error: &ParseError) -> ExpressionDefect {
    let range = range_of(text, error);
    let found = text.get(range.clone()).unwrap_or_default();
    let meant = match found {
        "and" | "&" => Some("&&"),
        "or" | "|" => Some("||"),
        "not" => Some("!"),
        "=" => Some("=="),
        _ => None,
    };
    if let Some(meant) = meant {
        let message = format!("`{found}` is not an operator here; write `{meant}`");
        return ExpressionDefect::new(message, range).suggesting(meant.to_owned());
    }
    let message = match error.msg.strip_prefix(SYNTAX) {
        Some(message) if message.starts_with("token recognition") && found.starts_with(['\'', '"']) => {
            "the text literal is not closed or has an unknown escape; close it or double the backslash".to_owned()
        }
        Some(message) if message.starts_with("token recognition") => {
            format!("`{found}` has no meaning here; remove it or put it in quotes")
        }
        Some(message) if message.starts_with("missing ") => {
            let missing = message.split('\'').nth(1).unwrap_or("a token");
            format!("`{missing}` is missing; add it here")
        }
        Some(_) if found.is_empty() => "the expression ends too early; complete it".to_owned(),
        Some(message) if message.ends_with("expecting <EOF>") => {
            format!("`{found}` is too much; remove it or put an operator before it")
        }
        Some(_) => format!("`{found}` cannot stand here; remove it or write a value before it"),
        None => explain(&error.msg, found),
    };
    ExpressionDefect::new(message, range)
}

/// Says what to do about those errors that the parser words itself.
fn explain(message: &str, found: &str) -> String {
    if message.starts_with("reserved identifier") {
        return format!(
            "`{found}` is a reserved word; a field of this name is written `['{found}']`"
        );
    }
    match message {
        "invalid int literal" => "the whole number is too large; write it with `.0`".to_owned(),
        "invalid double literal" => "the number is too large; write a smaller one".to_owned(),
        "invalid argument to has() macro" => {
            "`has` takes a field, as in `has(report.passed)`".to_owned()
        }
        "argument must be a simple name" => {
            "the first argument of a macro is a new name, as in `all(x, x > 0)`".to_owned()
        }
        other if other.starts_with("unsupported syntax") => {
            format!("`{found}` is not supported; use `has(…)` and `['…']`")
        }
        other => format!("{}; change it", other.to_lowercase()),
    }
}

/// The bytes of the word or sign that an error is about.
fn range_of(text: &str, error: &ParseError) -> Range<usize> {
    if error.expr_id != 0
        && let Some(info) = &error.source_info
        && let Some((start, last)) = info.offset_for(error.expr_id)
    {
        let range = start as usize..(last as usize).saturating_add(1);
        if text.get(range.clone()).is_some() {
            return range;
        }
    }
    let (line, column) = error.pos;
    let before = usize::try_from(line).unwrap_or(0).saturating_sub(1);
    let line_start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let column = usize::try_from(column).unwrap_or(0).saturating_sub(1);
    let rest = text.get(line_start..).unwrap_or_default();
    // Columns of the lexer count characters, those of macros bytes.
    let in_line = if error.msg.starts_with(SYNTAX) {
        rest.char_indices()
            .nth(column)
            .map_or(rest.len(), |(at, _)| at)
    } else {
        column
    };
    let start = line_start.saturating_add(in_line).min(text.len());
    word_at(text, start)
}

fn word_at(text: &str, start: usize) -> Range<usize> {
    let Some(rest) = text.get(start..) else {
        return text.len()..text.len();
    };
    let word: usize = rest
        .chars()
        .take_while(|sign| sign.is_alphanumeric() || *sign == '_')
        .map(char::len_utf8)
        .sum();
    let sign = rest.chars().next().map_or(0, char::len_utf8);
    let quoted = rest.starts_with(['\'', '"']);
    start
        ..start
            + if quoted {
                rest.trim_end().len()
            } else {
                word.max(sign)
            }
}
