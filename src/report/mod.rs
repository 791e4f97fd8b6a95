//! Counts what the runs of a study say. It is never read by a decision.

pub mod tally;
