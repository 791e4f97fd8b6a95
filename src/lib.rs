//! prereg.
pub mod cli;
pub mod engine;
pub mod folder;
pub mod protocol;
pub mod record;
pub mod report;
pub mod runner;
pub mod store;
pub mod units;
