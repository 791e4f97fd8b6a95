//! The tree as it is evaluated: operations that the crate decides otherwise become calls of functions of ours.

use std::collections::BTreeSet;
use std::mem;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use cel::{ExecutionError, IdedExpr};

use super::comprehension::Macro;
use super::times;
use super::types::Scope;

pub(super) const LOGIC: &str = "@logic";
pub(super) const FINITE: &str = "@finite";
pub(super) const ITEMS: &str = "@items";

/// The names that the tree reads, as the crate resolves them.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// First names.
    pub(super) roots: BTreeSet<String>,
    /// Whole dotted names.
    pub(super) dotted: BTreeSet<String>,
}

impl Names {
    /// Whether `error` says that a field or a root is absent.
    pub(super) fn explain(&self, error: &ExecutionError) -> bool {
        match error {
            ExecutionError::NoSuchKey(_) => true,
            // The same error is made for functions that do not exist.
            ExecutionError::UndeclaredReference(name) => self.roots.contains(name.as_str()),
            _ => false,
        }
    }
}

/// An operation that decides itself which of its operands count.
pub(super) enum Node {
    /// `&&` (a false decides) or `||` (a true decides).
    Either {
        left: IdedExpr,
        right: IdedExpr,
        decides: bool,
    },
    /// `all` or `exists`: the same over the elements of a range.
    Fold {
        range: IdedExpr,
        variable: String,
        predicate: IdedExpr,
        decides: bool,
    },
    /// `has`, of what it asks for.
    Has(IdedExpr),
}

/// Rewrites a tree, and keeps what it takes out of it.
pub(super) struct Rewriter<'s> {
    scope: &'s Scope,
    pub(super) nodes: Vec<Node>,
    pub(super) names: Names,
}

impl<'s> Rewriter<'s> {
    pub(super) fn new(scope: &'s Scope) -> Self {
        Self {
            scope,
            nodes: Vec::new(),
            names: Names::default(),
        }
    }

    pub(super) fn rewrite(&mut self, node: &mut IdedExpr) {
        match &mut node.expr {
            Expr::Call(call) => {
                call.target
                    .iter_mut()
                    .for_each(|target| self.rewrite(target));
                call.args
                    .iter_mut()
                    .for_each(|argument| self.rewrite(argument));
                self.rewrite_call(node);
            }
            Expr::Comprehension(_) => self.rewrite_comprehension(node),
            Expr::Select(select) if select.test => {
                select.test = false;
                self.rewrite(node);
                let asked = mem::take(node);
                self.set_aside(node, Node::Has(asked));
            }
            Expr::Select(_) | Expr::Ident(_) => self.rewrite_name(node),
            Expr::List(list) => list
                .elements
                .iter_mut()
                .for_each(|element| self.rewrite(element)),
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        self.rewrite(&mut entry.key);
                        self.rewrite(&mut entry.value);
                    }
                }
            }
            Expr::Struct(_) | Expr::Literal(_) | Expr::Unspecified => {}
        }
    }

    fn rewrite_name(&mut self, node: &mut IdedExpr) {
        if let Some(segments) = dotted_name(node) {
            self.names
                .roots
                .extend(segments.first().map(ToString::to_string));
            self.names.dotted.insert(segments.join("."));
        } else if let Expr::Select(select) = &mut node.expr {
            self.rewrite(&mut select.operand);
        }
    }

    fn rewrite_call(&mut self, node: &mut IdedExpr) {
        let Expr::Call(call) = &mut node.expr else {
            return;
        };
        match (call.func_name.as_str(), call.args.as_mut_slice()) {
            (name @ (operators::LOGICAL_AND | operators::LOGICAL_OR), [left, right]) => {
                let decides = name == operators::LOGICAL_OR;
                let either = Node::Either {
                    left: mem::take(left),
                    right: mem::take(right),
                    decides,
                };
                self.set_aside(node, either);
            }
            (
                operators::ADD
                | operators::SUBSTRACT
                | operators::MULTIPLY
                | operators::DIVIDE
                | operators::NEGATE
                | "double",
                _,
            ) => wrap(node, FINITE),
            (
                operators::EQUALS
                | operators::NOT_EQUALS
                | operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS,
                [left, right],
            ) => {
                if times::is_time(left, self.scope) {
                    times::respell(right);
                } else if times::is_time(right, self.scope) {
                    times::respell(left);
                }
            }
            _ => {}
        }
    }

    fn rewrite_comprehension(&mut self, node: &mut IdedExpr) {
        let Expr::Comprehension(comprehension) = &mut node.expr else {
            return;
        };
        self.rewrite(&mut comprehension.iter_range);
        wrap(&mut comprehension.iter_range, ITEMS);
        let fold = match Macro::of(comprehension) {
            Macro::Fold { decides, .. } => Some(decides),
            _ => None,
        };
        match fold {
            Some(decides) => {
                let fold = self.fold(comprehension, decides);
                self.set_aside(node, fold);
            }
            None => self.rewrite_step(&mut comprehension.loop_step),
        }
    }

    fn fold(&mut self, comprehension: &mut ComprehensionExpr, decides: bool) -> Node {
        let mut predicate = match &mut comprehension.loop_step.expr {
            Expr::Call(step) => step.args.pop().unwrap_or_default(),
            _ => IdedExpr::default(),
        };
        self.rewrite(&mut predicate);
        Node::Fold {
            range: mem::take(&mut comprehension.iter_range),
            variable: mem::take(&mut comprehension.iter_var),
            predicate,
            decides,
        }
    }

    /// Rewrites what the author wrote inside a step, and leaves the shape of the step, which the crate looks for.
    fn rewrite_step(&mut self, step: &mut IdedExpr) {
        let Expr::Call(call) = &mut step.expr else {
            return;
        };
        match (call.func_name.as_str(), call.args.as_mut_slice()) {
            (operators::CONDITIONAL, [condition, append, _]) => {
                self.rewrite(condition);
                self.rewrite_step(append);
            }
            (operators::ADD, [_, appended]) => self.rewrite(appended),
            _ => {}
        }
    }

    fn set_aside(&mut self, node: &mut IdedExpr, operation: Node) {
        let index = i64::try_from(self.nodes.len()).unwrap_or(i64::MAX);
        self.nodes.push(operation);
        node.expr = Expr::Literal(LiteralValue::Int(index.into()));
        wrap(node, LOGIC);
    }
}

/// Puts a call of a function of ours around `node`.
fn wrap(node: &mut IdedExpr, function: &str) {
    let argument = mem::take(node);
    node.id = argument.id;
    let func_name = function.to_owned();
    node.expr = Expr::Call(CallExpr {
        func_name,
        target: None,
        args: vec![argument],
    });
}

/// The segments of `a.b.c`.
pub(super) fn dotted_name(node: &IdedExpr) -> Option<Vec<&str>> {
    match &node.expr {
        Expr::Ident(name) => Some(vec![name]),
        Expr::Select(select) if !select.test => {
            let mut segments = dotted_name(&select.operand)?;
            segments.push(&select.field);
            Some(segments)
        }
        _ => None,
    }
}
