//! Errors of the crate in the words of this language.

use cel::ExecutionError;
use cel::common::ast::operators;

/// Says an error without the values in it: they may be long, and maps in them have no fixed order.
pub(super) fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(overload) => {
            let types = overload.argument_types().join(" and ");
            format!("`{}` does not take {types}", symbol(overload.function()))
        }
        ExecutionError::UnsupportedBinaryOperator(name, left, right) => {
            format!(
                "`{}` does not take {} and {}",
                symbol(name),
                left.type_of(),
                right.type_of()
            )
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!(
                "{} and {} are not comparable",
                left.type_of(),
                right.type_of()
            )
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(name, ..) => format!("`{}` overflows", symbol(name)),
        ExecutionError::IndexOutOfBounds(_) => "an index is past the end of its list".to_owned(),
        ExecutionError::UnsupportedKeyType(key) => {
            format!("{} is not a type of a key", key.type_of())
        }
        ExecutionError::UnsupportedIndex(index, value) => {
            format!("{} is not an index of {}", index.type_of(), value.type_of())
        }
        ExecutionError::DuplicateKey(_) => "a map repeats a key".to_owned(),
        ExecutionError::UnexpectedType { got, want } => format!("{got} where {want} is needed"),
        ExecutionError::UndeclaredReference(name) => format!("there is no function `{name}`"),
        ExecutionError::FunctionError { function, .. } => {
            format!("`{function}` does not take this value")
        }
        ExecutionError::InternalError(message) => message.clone(),
        _ => "the expression cannot be evaluated".to_owned(),
    }
}

/// An operator as it is written.
pub(super) fn symbol(name: &str) -> &str {
    match name {
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        "_[_]" => "[]",
        "_._" => ".",
        operators::CONDITIONAL => "?:",
        operators::IN => "in",
        _ => name.trim_matches('_'),
    }
}
