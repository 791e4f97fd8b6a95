//! Where in its text a node of an expression was written.

use std::ops::Range;

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr, SelectExpr, SourceInfo};

use super::comprehension::Macro;

/// Finds places in the text of one expression.
///
/// The parser keeps one token a node (the operator, the dot, the opening parenthesis); names of fields and functions
/// are found from there.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    text: &'a str,
    info: &'a SourceInfo,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str, info: &'a SourceInfo) -> Self {
        Self { text, info }
    }

    /// The token a node was made from; the whole text where that is not known.
    pub(super) fn token(&self, node: &IdedExpr) -> Range<usize> {
        self.token_of(node.id)
    }

    pub(super) fn token_of(&self, id: u64) -> Range<usize> {
        let whole = 0..self.text.len();
        // The parser counts an inclusive end.
        let Some((start, last)) = self.info.offset_for(id) else {
            return whole;
        };
        let range = start as usize..(last as usize).saturating_add(1);
        if self.text.get(range.clone()).is_some() {
            range
        } else {
            whole
        }
    }

    /// The text without the blanks around it.
    pub(super) fn whole(&self) -> Range<usize> {
        let start = self.text.len() - self.text.trim_start().len();
        start..self.text.trim_end().len().max(start)
    }

    /// The name of the field that `node` selects.
    pub(super) fn field(&self, node: &IdedExpr, select: &SelectExpr) -> Range<usize> {
        let found = match (&select.operand.expr, select.test) {
            // `has(a.b)` keeps the place of its parenthesis, not of the dot.
            (Expr::Ident(_), true) => {
                self.after_dot(self.token(&select.operand).end, &select.field)
            }
            (Expr::Select(inner), true) => {
                self.after_dot(self.field(&select.operand, inner).end, &select.field)
            }
            (_, true) => None,
            (_, false) => self.after_dot(self.token(node).start, &select.field),
        };
        found.unwrap_or_else(|| self.token(node))
    }

    fn after_dot(&self, from: usize, name: &str) -> Option<Range<usize>> {
        let rest = self.text.get(from..)?;
        let name_and_rest = rest.trim_start().strip_prefix('.')?.trim_start();
        name_and_rest.starts_with(name).then(|| {
            let start = self.text.len() - name_and_rest.len();
            start..start + name.len()
        })
    }

    /// The name of the function that the call `node` calls.
    pub(super) fn function(&self, node: &IdedExpr, name: &str) -> Range<usize> {
        let token = self.token(node);
        let before = self.text.get(..token.start).map(str::trim_end);
        match before {
            Some(before) if before.ends_with(name) => before.len() - name.len()..before.len(),
            _ => token,
        }
    }

    /// Everything a node was written with, without parentheses around it.
    pub(super) fn span(&self, node: &IdedExpr) -> Range<usize> {
        match &node.expr {
            Expr::Select(select) => {
                let field = self.field(node, select);
                if select.test {
                    let name = self.function(node, "has");
                    return name.start..self.closed(field.end, ')');
                }
                join(self.span(&select.operand), field)
            }
            Expr::Call(call) => {
                let written_as_function = call
                    .func_name
                    .chars()
                    .next()
                    .is_some_and(char::is_alphabetic);
                let mut span = if written_as_function {
                    join(self.function(node, &call.func_name), self.token(node))
                } else {
                    self.token(node)
                };
                for part in call.target.iter().map(AsRef::as_ref).chain(&call.args) {
                    span = join(span, self.span(part));
                }
                match call.func_name.as_str() {
                    "_[_]" => span.start..self.closed(span.end, ']'),
                    _ if written_as_function => span.start..self.closed(span.end, ')'),
                    _ => span,
                }
            }
            Expr::List(list) => {
                let span = list
                    .elements
                    .iter()
                    .map(|element| self.span(element))
                    .fold(self.token(node), join);
                span.start..self.closed(span.end, ']')
            }
            Expr::Map(map) => {
                let span =
                    map.entries
                        .iter()
                        .fold(self.token(node), |span, entry| match &entry.expr {
                            EntryExpr::MapEntry(entry) => join(span, self.span(&entry.value)),
                            EntryExpr::StructField(_) => span,
                        });
                span.start..self.closed(span.end, '}')
            }
            Expr::Comprehension(comprehension) => {
                let parts = Macro::of(comprehension).parts();
                let span = parts
                    .iter()
                    .fold(self.token(node), |span, part| join(span, self.span(part)));
                join(
                    self.span(&comprehension.iter_range),
                    span.start..self.closed(span.end, ')'),
                )
            }
            _ => self.token(node),
        }
    }

    /// The end of the closing `bracket` if it is what follows `end`, else `end`.
    fn closed(&self, end: usize, bracket: char) -> usize {
        let rest = self.text.get(end..).unwrap_or_default().trim_start();
        if rest.starts_with(bracket) {
            self.text.len() - rest.len() + bracket.len_utf8()
        } else {
            end
        }
    }
}

fn join(left: Range<usize>, right: Range<usize>) -> Range<usize> {
    left.start.min(right.start)..left.end.max(right.end)
}
