//! The page of an answer: who stops reading after the primary comparison has the truth.
//!
//! In the order of the page: the sentence, the flow, the primary comparisons with every estimand, the secondary
//! ones, the looks, tasks, cost and time, conduct, methods.

mod described;
mod numbers;
mod page;
mod sentence;

pub(super) use numbers::{hundredths, level_at, p_value, percent, rounded};
pub use page::{Conduct, Study, page, paragraph};
pub use sentence::sentence;
