//! Special functions, exact sums, lattices, quantiles: what every statistic is computed with.

pub(in crate::analysis) mod coin_sum;
pub(in crate::analysis) mod grouping;
pub mod lattice;
pub(in crate::analysis) mod moments;
pub(in crate::analysis) mod quadrature;
pub mod quantiles;
pub mod special;
pub(in crate::analysis) mod summation;
