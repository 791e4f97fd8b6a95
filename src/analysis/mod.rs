//! Computes what a registration asks of task values, and nothing else: no file, clock or random source.
//!
//! Every result serialises to the keys of the reference files. What is not defined is `None`
//! (`null`), with a [`Flag`] that says why; it is never 0 and never NaN. Elementary functions come
//! from `libm`, so a result has the same bits on every machine.
#![expect(
    clippy::float_arithmetic,
    reason = "this room is where floats are computed with"
)]

pub mod bootstrap;
pub mod claims;
mod coin_sum;
pub mod comparison;
pub mod confidence_sequence;
pub mod controls;
pub mod cost_effectiveness;
pub mod defect;
pub mod direct;
pub mod equivalence;
pub mod evalue;
mod flag;
pub mod flow;
pub mod given;
mod grouping;
mod keyed;
pub mod lattice;
pub mod mean;
mod moments;
pub mod multiplicity;
pub mod numbers;
pub mod paired_table;
pub mod proportion;
mod quadrature;
pub mod quantiles;
pub mod ratio;
mod ratio_intervals;
pub mod registered;
pub mod repeats;
pub mod results;
pub mod sequential;
pub mod sign_flip;
pub mod sign_flip_monte_carlo;
pub mod signed_rank;
pub mod special;
pub mod stream;
mod summation;
pub mod table;
pub mod time_to_success;
pub mod values;

pub use flag::Flag;
pub use keyed::Keyed;
pub use lattice::Lattice;
