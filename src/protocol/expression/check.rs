//! The check of names and types before anything is evaluated.

use std::collections::BTreeMap;
use std::ops::Range;

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, MapExpr, SelectExpr, operators,
};

use super::comprehension::Macro;
use super::message::symbol;
use super::parse::{Parsed, on_large_stack};
use super::places::Places;
use super::types::{Expected, Kind, Scope, Type, literal_type};
use super::{ExpressionDefect, Slip};
use crate::protocol::defect::nearest;

/// Functions with the number of their arguments, the receiver among them.
const FUNCTIONS: [(&str, usize); 8] = [
    ("size", 1),
    ("contains", 2),
    ("startsWith", 2),
    ("endsWith", 2),
    ("int", 1),
    ("double", 1),
    ("string", 1),
    ("bool", 1),
];
const MACROS: [&str; 6] = ["has", "all", "exists", "exists_one", "map", "filter"];
const METHODS: [&str; 3] = ["contains", "startsWith", "endsWith"];

pub(super) fn check(parsed: &Parsed, scope: &Scope, expected: Expected) -> Vec<ExpressionDefect> {
    on_large_stack(|| check_here(parsed, scope, expected)).unwrap_or_else(|| {
        vec![ExpressionDefect::new(
            "the expression cannot be checked; simplify it",
            0..parsed.text.len(),
        )]
    })
}

fn check_here(parsed: &Parsed, scope: &Scope, expected: Expected) -> Vec<ExpressionDefect> {
    let places = Places::new(&parsed.text, &parsed.info);
    let mut checker = Checker {
        scope,
        places,
        variables: Vec::new(),
        defects: Vec::new(),
    };
    let found = checker.infer(&parsed.tree);
    let fits = match expected {
        Expected::Bool => matches!(found, Type::Any | Type::Bool),
        Expected::Number => found == Type::Any || found.is_number(),
        Expected::Time => matches!(found, Type::Any | Type::Time),
        Expected::Any => true,
    };
    if !fits {
        let wanted = match expected {
            Expected::Bool => Type::Bool,
            Expected::Time => Type::Time,
            Expected::Number | Expected::Any => Type::Number,
        };
        let message = format!(
            "the expression is {}; {} is needed here",
            found.phrase(),
            wanted.phrase()
        );
        checker.report(message, places.whole());
    }
    let mut defects = checker.defects;
    defects.sort_by_key(|defect| (defect.range.start, defect.range.end));
    defects
}

struct Checker<'a> {
    scope: &'a Scope,
    places: Places<'a>,
    /// The variables of the macros around the node, innermost last.
    variables: Vec<(&'a str, Type)>,
    defects: Vec<ExpressionDefect>,
}

impl<'a> Checker<'a> {
    fn report(&mut self, message: impl Into<String>, range: Range<usize>) {
        self.defects
            .push(ExpressionDefect::new(message, range).of(Slip::Type));
    }

    fn infer(&mut self, node: &'a IdedExpr) -> Type {
        match &node.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.name(node, name),
            Expr::Select(select) => self.select(node, select),
            Expr::Call(call) => self.call(node, call),
            Expr::Comprehension(comprehension) => self.comprehension(node, comprehension),
            Expr::List(list) => {
                let elements: Vec<Type> = list
                    .elements
                    .iter()
                    .map(|element| self.infer(element))
                    .collect();
                Type::List(Box::new(
                    elements.into_iter().reduce(Type::join).unwrap_or(Type::Any),
                ))
            }
            Expr::Map(map) => self.map(map),
            Expr::Struct(_) | Expr::Unspecified => Type::Any,
        }
    }

    fn name(&mut self, node: &IdedExpr, name: &str) -> Type {
        if let Some((_, known)) = self
            .variables
            .iter()
            .rev()
            .find(|(variable, _)| *variable == name)
        {
            return known.clone();
        }
        if let Some(known) = self.scope.get(name) {
            return known.clone();
        }
        let variables = self.variables.iter().map(|(variable, _)| *variable);
        let names: Vec<&str> = self
            .scope
            .keys()
            .map(String::as_str)
            .chain(variables)
            .collect();
        let near = nearest(name, names.iter().copied()).map(str::to_owned);
        let message = match near {
            Some(_) => format!("`{name}` is not known here"),
            None => format!(
                "`{name}` is not known here; the names are {}",
                listed(&names)
            ),
        };
        let defect = ExpressionDefect::new(message, self.places.token(node));
        self.defects.push(defect.of(Slip::Name).suggesting(near));
        Type::Any
    }

    fn map(&mut self, map: &'a MapExpr) -> Type {
        let mut fields = BTreeMap::new();
        let mut closed = true;
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            self.infer(&entry.key);
            let value = self.infer(&entry.value);
            match &entry.key.expr {
                Expr::Literal(LiteralValue::String(key)) => {
                    fields.insert(key.inner().to_owned(), value);
                }
                _ => closed = false,
            }
        }
        Type::Object { fields, closed }
    }

    fn select(&mut self, node: &'a IdedExpr, select: &'a SelectExpr) -> Type {
        let operand = self.infer(&select.operand);
        let found = self.field(&operand, &select.field, self.places.field(node, select));
        if select.test { Type::Bool } else { found }
    }

    fn field(&mut self, operand: &Type, field: &str, range: Range<usize>) -> Type {
        match operand {
            Type::Any => Type::Any,
            Type::Object { fields, closed } => match fields.get(field) {
                Some(known) => known.clone(),
                None if *closed => {
                    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
                    let near = nearest(field, names.iter().copied()).map(str::to_owned);
                    let message = match names.as_slice() {
                        _ if near.is_some() => format!("there is no field `{field}`"),
                        [] => format!("there is no `{field}`: nothing is declared up to here"),
                        [only] => format!("there is no field `{field}`; the only one is {only}"),
                        _ => format!(
                            "there is no field `{field}`; the fields are {}",
                            listed(&names)
                        ),
                    };
                    let defect = ExpressionDefect::new(message, range);
                    self.defects.push(defect.of(Slip::Name).suggesting(near));
                    Type::Any
                }
                None => Type::Any,
            },
            other => {
                self.report(
                    format!("{} has no fields; remove `{field}`", other.phrase()),
                    range,
                );
                Type::Any
            }
        }
    }

    fn call(&mut self, node: &'a IdedExpr, call: &'a CallExpr) -> Type {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT, operands) => {
                operands.iter().for_each(|operand| self.needs_bool(operand));
                Type::Bool
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.needs_bool(condition);
                self.infer(yes).join(self.infer(no))
            }
            (operators::INDEX, [operand, index]) => self.index(operand, index),
            (operators::NEGATE, [operand]) => {
                let found = self.infer(operand);
                if found != Type::Any && !found.is_number() {
                    self.report(
                        format!("`-` needs a number, and this is {}", found.phrase()),
                        self.places.span(operand),
                    );
                    return Type::Any;
                }
                found
            }
            (_, [left, right]) if is_operator(&call.func_name) => {
                let types = (self.infer(left), self.infer(right));
                self.binary(node, call, types)
            }
            _ => self.function(node, call),
        }
    }

    fn needs_bool(&mut self, operand: &'a IdedExpr) {
        let found = self.infer(operand);
        self.needs(&found, operand, Type::Bool);
    }

    fn needs(&mut self, found: &Type, operand: &IdedExpr, wanted: Type) {
        let fits = *found == Type::Any || found.kind() == wanted.kind();
        if !fits {
            let message = format!(
                "this is {}; {} is needed here",
                found.phrase(),
                wanted.phrase()
            );
            self.report(message, self.places.span(operand));
        }
    }

    fn index(&mut self, operand: &'a IdedExpr, index: &'a IdedExpr) -> Type {
        let container = self.infer(operand);
        let key = self.infer(index);
        match (&container, &index.expr) {
            (Type::Object { .. }, Expr::Literal(LiteralValue::String(field))) => {
                self.field(&container, field.inner(), self.places.token(index))
            }
            (Type::List(element), _) => {
                self.needs(&key, index, Type::Number);
                element.as_ref().clone()
            }
            (Type::Object { .. }, _) => {
                self.needs(&key, index, Type::Text);
                Type::Any
            }
            (Type::Any, _) => Type::Any,
            (other, _) => {
                let message = format!("{} has no elements; remove the index", other.phrase());
                self.report(message, self.places.span(operand));
                Type::Any
            }
        }
    }

    fn binary(
        &mut self,
        node: &'a IdedExpr,
        call: &'a CallExpr,
        (left, right): (Type, Type),
    ) -> Type {
        let sign = symbol(&call.func_name);
        let known = left != Type::Any && right != Type::Any;
        let same_kind = left.kind() == right.kind();
        let bad = format!(
            "`{sign}` does not take {} and {}; make them one type",
            left.phrase(),
            right.phrase()
        );
        match call.func_name.as_str() {
            operators::EQUALS | operators::NOT_EQUALS => {
                if known && !same_kind {
                    self.report(
                        format!(
                            "{} and {} are never equal; make them one type",
                            left.phrase(),
                            right.phrase()
                        ),
                        self.places.token(node),
                    );
                }
                Type::Bool
            }
            operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS => {
                let has_order = |side: &Type| !matches!(side, Type::List(_) | Type::Object { .. });
                if (known && !same_kind) || !has_order(&left) || !has_order(&right) {
                    self.report(bad, self.places.token(node));
                }
                Type::Bool
            }
            operators::IN => {
                if !matches!(right, Type::Any | Type::List(_) | Type::Object { .. }) {
                    let message = format!(
                        "`in` needs a list or an object after it, and this is {}",
                        right.phrase()
                    );
                    self.report(message, self.places.token(node));
                }
                Type::Bool
            }
            _ => self.arithmetic(node, call, (left, right), bad),
        }
    }

    fn arithmetic(
        &mut self,
        node: &IdedExpr,
        call: &CallExpr,
        (left, right): (Type, Type),
        bad: String,
    ) -> Type {
        let adds = call.func_name == operators::ADD;
        let takes = |side: &Type| {
            *side == Type::Any
                || side.is_number()
                || (adds && matches!(side.kind(), Kind::Text | Kind::List))
        };
        let known = left != Type::Any && right != Type::Any;
        if !takes(&left) || !takes(&right) || (known && left.kind() != right.kind()) {
            self.report(bad, self.places.token(node));
            return Type::Any;
        }
        let of_double = |side: &Type| *side == Type::Double;
        if call.func_name == operators::MODULO && (of_double(&left) || of_double(&right)) {
            let message = "`%` takes whole numbers only; write `int(…)` around the others";
            self.report(message, self.places.token(node));
            return Type::Int;
        }
        if matches!(
            (&left, &right),
            (Type::Int, Type::Double) | (Type::Double, Type::Int)
        ) {
            self.mixed(node, call, left == Type::Int);
            return Type::Double;
        }
        match (left, right) {
            // Both sides are of one type, or the operator fails.
            (Type::Any | Type::Number, other) | (other, Type::Any | Type::Number) => other,
            (left, right) => left.join(right),
        }
    }

    /// Whole and other numbers do not mix in arithmetic; a literal is easily written as the other.
    fn mixed(&mut self, node: &IdedExpr, call: &CallExpr, left_is_whole: bool) {
        let sign = symbol(&call.func_name);
        let Some(whole) = (if left_is_whole {
            call.args.first()
        } else {
            call.args.last()
        }) else {
            return;
        };
        if let Expr::Literal(LiteralValue::Int(value)) = &whole.expr {
            let written = format!("{}.0", value.inner().unsigned_abs());
            let message =
                format!("`{sign}` does not mix whole numbers with others; write `{written}`");
            let defect = ExpressionDefect::new(message, self.places.token(whole));
            self.defects.push(defect.of(Slip::Type).suggesting(written));
        } else {
            let message = format!(
                "`{sign}` does not mix whole numbers with others; write `double(…)` around the whole one"
            );
            self.report(message, self.places.token(node));
        }
    }

    fn function(&mut self, node: &'a IdedExpr, call: &'a CallExpr) -> Type {
        let name = call.func_name.as_str();
        let parts: Vec<&'a IdedExpr> = call
            .target
            .iter()
            .map(AsRef::as_ref)
            .chain(&call.args)
            .collect();
        let range = self.places.function(node, name);
        let Some((_, count)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            self.unknown_function(name, &parts, range);
            return Type::Any;
        };
        let types: Vec<Type> = parts.iter().map(|part| self.infer(part)).collect();
        let is_method = METHODS.contains(&name);
        let form_fits = if is_method {
            call.target.is_some()
        } else {
            name == "size" || call.target.is_none()
        };
        if parts.len() != *count || !form_fits {
            let form = match (is_method, name) {
                (true, _) => format!("text.{name}(part)"),
                (false, _) => format!("{name}(value)"),
            };
            self.report(
                format!("`{name}` is called otherwise; write `{form}`"),
                range,
            );
            return Type::Any;
        }
        for (part, found) in parts.iter().zip(&types).filter(|_| is_method) {
            self.needs(found, part, Type::Text);
        }
        if name == "size"
            && types
                .iter()
                .any(|found| found.is_number() || *found == Type::Bool)
        {
            self.report(
                "`size` needs a text, a list or an object; give it one",
                range,
            );
        }
        match name {
            "size" | "int" => Type::Int,
            "double" => Type::Double,
            "string" => Type::Text,
            _ => Type::Bool,
        }
    }

    fn unknown_function(&mut self, name: &str, parts: &[&'a IdedExpr], range: Range<usize>) {
        let names: Vec<&str> = FUNCTIONS
            .iter()
            .map(|(known, _)| *known)
            .chain(MACROS)
            .collect();
        if MACROS.contains(&name) {
            let form = if name == "has" {
                "has(a.b)".to_owned()
            } else {
                format!("list.{name}(x, …)")
            };
            self.report(
                format!("`{name}` is called otherwise; write `{form}`"),
                range,
            );
            return;
        }
        for part in parts {
            self.infer(part);
        }
        let message = format!(
            "there is no function `{name}`; the functions are {}",
            listed(&names)
        );
        let defect = ExpressionDefect::new(message, range);
        self.defects.push(
            defect
                .of(Slip::Name)
                .suggesting(nearest(name, names).map(str::to_owned)),
        );
    }

    fn comprehension(&mut self, node: &'a IdedExpr, comprehension: &'a ComprehensionExpr) -> Type {
        let range = self.infer(&comprehension.iter_range);
        let element = match range {
            Type::List(element) => *element,
            Type::Object { .. } => Type::Text,
            Type::Any => Type::Any,
            other => {
                let message = format!("this is {}; a list is needed here", other.phrase());
                self.report(message, self.places.span(&comprehension.iter_range));
                Type::Any
            }
        };
        if !self.variables.is_empty() {
            self.report(
                "macros over lists nest too deeply; keep them side by side",
                self.places.span(node),
            );
        }
        self.variables.push((&comprehension.iter_var, element));
        let found = match Macro::of(comprehension) {
            Macro::Fold { predicate, .. } | Macro::One { predicate } => {
                self.needs_bool(predicate);
                Type::Bool
            }
            Macro::Collect { filter, element } => {
                if let Some(filter) = filter {
                    self.needs_bool(filter);
                }
                Type::List(Box::new(self.infer(element)))
            }
            Macro::Other => Type::Any,
        };
        self.variables.pop();
        found
    }
}

fn is_operator(name: &str) -> bool {
    name == operators::IN || name.starts_with('_')
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
