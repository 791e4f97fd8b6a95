//! Counts what the runs of a study say, and says its plan. It is never read by a decision.

pub mod answer;
pub mod cells;
pub mod explain;
pub mod exploratory;
mod layout;
pub mod observed;
mod seats;
pub mod slots;
pub mod tables;
pub mod tally;
pub mod told;
