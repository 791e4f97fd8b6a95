//! The registered streams, and the bootstraps that are drawn from them or exact.

pub mod bootstrap;
pub mod stream;
