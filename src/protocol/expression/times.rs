//! Times among texts: which nodes are times, and how a literal beside one is spelled.

use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue, operators};

use super::types::{Scope, Type};
use crate::units::Time;

/// Whether a node reads a time of the scope.
pub(super) fn is_time(node: &IdedExpr, scope: &Scope) -> bool {
    if let Expr::Call(call) = &node.expr
        && let (operators::CONDITIONAL, [_, yes, no]) =
            (call.func_name.as_str(), call.args.as_slice())
    {
        return is_time(yes, scope) || is_time(no, scope);
    }
    read(node, scope) == Some(&Type::Time)
}

/// Returns the type of what a node reads, if it reads a name of the scope or a field under one.
fn read<'s>(node: &IdedExpr, scope: &'s Scope) -> Option<&'s Type> {
    let (operand, name) = match &node.expr {
        Expr::Ident(name) => return scope.get(name),
        Expr::Select(select) => (select.operand.as_ref(), select.field.as_str()),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::INDEX, [operand, index]) => (operand, text(index)?),
            _ => return None,
        },
        _ => return None,
    };
    match read(operand, scope)? {
        Type::Object { fields, .. } => fields.get(name),
        _ => None,
    }
}

fn text(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// Spells a literal that is a time as bound times are spelled; anything else stays.
pub(super) fn respell(node: &mut IdedExpr) {
    let time = text(node).and_then(|text| text.parse::<Time>().ok());
    if let Some(time) = time {
        node.expr = Expr::Literal(LiteralValue::String(time.precise().into()));
    }
}
