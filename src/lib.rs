//! prereg.
pub mod cli;
pub mod engine;
pub mod folder;
pub mod protocol;
pub mod record;
pub mod runner;
pub mod units;
