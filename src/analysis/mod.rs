//! Computes what a registration asks of task values, and nothing else: no file, clock or random source.
//!
//! `values` turns runs into one value per task and arm; `paired`, `means`, `resampling` and `sequential` compute with
//! them, `numerics` is below all; `described` is what has no test. `registered` answers what a protocol registered,
//! `tables` and `results` what people bring.
//!
//! Every result serialises to the keys of the reference files. What is not defined is `None`
//! (`null`), with a [`Flag`] that says why; it is never 0 and never NaN. Elementary functions come
//! from `libm`, so a result has the same bits on every machine.
#![expect(
    clippy::float_arithmetic,
    reason = "this room is where floats are computed with"
)]

pub mod described;
mod flag;
mod keyed;
pub mod means;
pub mod multiplicity;
pub mod numerics;
pub mod paired;
pub mod registered;
pub mod resampling;
pub mod results;
pub mod sequential;
pub mod tables;
pub mod values;

pub use flag::Flag;
pub use keyed::Keyed;
pub use numerics::lattice::Lattice;
