//! Means with their standard errors, and what is made of them: ratios, equivalence.

pub mod equivalence;
pub mod mean;
pub mod ratio;
pub(in crate::analysis) mod ratio_intervals;
