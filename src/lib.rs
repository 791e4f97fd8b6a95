//! prereg.
pub mod engine;
pub mod protocol;
pub mod record;
pub mod runner;
pub mod units;
