//! Special functions: tails and quantiles of the normal, Student t, beta and fair binomial laws.
//!
//! Every tail is computed directly, never as one minus the other, so it keeps its relative
//! accuracy down to the smallest normal number. Quantiles are `None` where the level is not
//! strictly between 0 and 1 or a parameter is out of its domain; the other functions return NaN
//! for arguments outside their domain, and callers ask only for arguments inside.

mod beta;
mod binomial;
mod gamma;
mod normal;
mod student;

pub use beta::{beta_cdf, beta_quantile, beta_upper_quantile};
pub use binomial::binomial_half_tail;
pub use gamma::ln_beta;
pub use normal::{normal_cdf, normal_quantile, normal_sf};
pub use student::{t_quantile, t_sf, t_two_sided};
