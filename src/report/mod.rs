//! Counts what the runs of a study say, and says its plan. It is never read by a decision.

pub mod explain;
pub mod tally;
