//! The macros over lists, read back from the comprehensions the parser makes of them.

use cel::IdedExpr;
use cel::common::ast::{ComprehensionExpr, Expr, LiteralValue, operators};

/// What the author of a comprehension wrote.
pub(super) enum Macro<'e> {
    /// `all` (decided by a false) and `exists` (decided by a true).
    Fold {
        decides: bool,
        predicate: &'e IdedExpr,
    },
    /// `exists_one`.
    One { predicate: &'e IdedExpr },
    /// `map` and `filter`; for `filter` the element is the variable itself.
    Collect {
        filter: Option<&'e IdedExpr>,
        element: &'e IdedExpr,
    },
    /// A shape that no macro of this version makes.
    Other,
}

impl<'e> Macro<'e> {
    pub(super) fn of(comprehension: &'e ComprehensionExpr) -> Self {
        let Expr::Call(step) = &comprehension.loop_step.expr else {
            return Self::Other;
        };
        match (
            &comprehension.accu_init.expr,
            step.func_name.as_str(),
            step.args.as_slice(),
        ) {
            (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND, [_, predicate]) => {
                Self::Fold {
                    decides: false,
                    predicate,
                }
            }
            (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR, [_, predicate]) => {
                Self::Fold {
                    decides: true,
                    predicate,
                }
            }
            (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL, [predicate, _, _]) => {
                Self::One { predicate }
            }
            (Expr::List(_), operators::CONDITIONAL, [filter, append, _]) => {
                match appended(append) {
                    Some(element) => Self::Collect {
                        filter: Some(filter),
                        element,
                    },
                    None => Self::Other,
                }
            }
            (Expr::List(_), operators::ADD, _) => match appended(&comprehension.loop_step) {
                Some(element) => Self::Collect {
                    filter: None,
                    element,
                },
                None => Self::Other,
            },
            _ => Self::Other,
        }
    }

    /// The expressions that are evaluated once an element.
    pub(super) fn parts(&self) -> Vec<&'e IdedExpr> {
        match self {
            Self::Fold { predicate, .. } | Self::One { predicate } => vec![predicate],
            Self::Collect { filter, element } => filter.iter().copied().chain([*element]).collect(),
            Self::Other => Vec::new(),
        }
    }
}

/// The element of `@result + [element]`.
fn appended(step: &IdedExpr) -> Option<&IdedExpr> {
    match &step.expr {
        Expr::Call(call) if call.func_name == operators::ADD => match call.args.as_slice() {
            [_, list] => match &list.expr {
                Expr::List(list) => list.elements.first(),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
