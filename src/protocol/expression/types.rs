//! Names and types: what an expression may read, and what it evidently is.

use std::collections::BTreeMap;

use cel::common::ast::LiteralValue;

use crate::protocol::draft::FieldKind;

/// Maps the first names that an expression may read to their types.
pub type Scope = BTreeMap<String, Type>;

/// Says what is known of a value before it is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Nothing is known.
    Any,
    /// True or false.
    Bool,
    /// A number; whether it is whole shows when it is read.
    Number,
    /// A whole number.
    Int,
    /// A number with a fraction, even if that is zero.
    Double,
    /// A text.
    Text,
    /// A time, written as text (RFC 3339).
    Time,
    /// A list of values of one type.
    List(Box<Type>),
    /// An object.
    Object {
        /// The types of the fields that are known.
        fields: BTreeMap<String, Type>,
        /// Whether there are no other fields.
        closed: bool,
    },
}

/// Says what an expression has to be where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// A time.
    Time,
    /// Anything.
    Any,
}

/// Types whose values may be compared with each other.
#[derive(PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Bool,
    Number,
    Text,
    List,
    Object,
}

impl Type {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Any => Kind::Any,
            Self::Bool => Kind::Bool,
            Self::Number | Self::Int | Self::Double => Kind::Number,
            Self::Text | Self::Time => Kind::Text,
            Self::List(_) => Kind::List,
            Self::Object { .. } => Kind::Object,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        self.kind() == Kind::Number
    }

    pub(super) fn phrase(&self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Int => "a whole number",
            Self::Double => "a number with a fraction",
            Self::Text => "a text",
            Self::Time => "a time",
            Self::List(_) => "a list",
            Self::Object { .. } => "an object",
        }
    }

    /// Returns the type of an object that has these fields and no others.
    pub fn closed(fields: BTreeMap<String, Self>) -> Self {
        Self::Object {
            fields,
            closed: true,
        }
    }

    /// Returns the types of declared fields.
    pub fn declared(fields: &BTreeMap<String, FieldKind>) -> BTreeMap<String, Self> {
        let kind = |kind: &FieldKind| match kind {
            FieldKind::Integer => Self::Int,
            FieldKind::Number => Self::Double,
            FieldKind::String => Self::Text,
            FieldKind::Boolean => Self::Bool,
            FieldKind::Time => Self::Time,
        };
        fields
            .iter()
            .map(|(name, field)| (name.clone(), kind(field)))
            .collect()
    }

    /// Returns the type of what may be either.
    pub fn join(self, other: Self) -> Self {
        if self == other {
            self
        } else if self.is_number() && other.is_number() {
            Self::Number
        } else {
            Self::Any
        }
    }
}

pub(super) fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Int(_) | LiteralValue::UInt(_) => Type::Int,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::String(_) => Type::Text,
        LiteralValue::Bytes(_) | LiteralValue::Null => Type::Any,
    }
}
