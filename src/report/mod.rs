//! Counts what the runs of a study say, and says its plan. It is never read by a decision.

mod cells;
pub mod explain;
mod seats;
pub mod slots;
pub mod tables;
pub mod tally;
pub mod told;
