//! The pages of what nobody registered: a table of runs, and values that are given without one.
//!
//! In the order of the registered answer's page: a sentence, the flow, the verdicts under every estimand, what else
//! is compared, tasks, cost and time, methods. Only the verdicts of the drawn tasks have a p.

mod cases;
mod shown;
mod table;

pub use cases::{counts, numbers, tasks};
pub use table::{ComparedTable, page};

/// What every page here begins with.
const STAMP: &str = "exploratory, not registered: nothing is confirmed by this\n\n";
/// What every page here ends with.
const MORE: &str = "\n--json has every number, with its definition's name\n";
