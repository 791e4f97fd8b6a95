//! Tests and intervals of paired differences that need no normal law: tables of pairs, sign flips, ranks.

pub mod paired_table;
pub mod proportion;
pub mod sign_flip;
pub mod sign_flip_monte_carlo;
pub mod signed_rank;
