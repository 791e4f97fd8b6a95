//! prereg.
pub mod engine;
pub mod protocol;
pub mod units;
