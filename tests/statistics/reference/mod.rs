//! Reference files: what they are computed from, and how their leaves are compared.
pub(crate) mod documents;
pub(crate) mod edge;
pub(crate) mod leaves;
pub(crate) mod monte_carlo;
pub(crate) mod real;
pub(crate) mod streams;
pub(crate) mod tolerance;
