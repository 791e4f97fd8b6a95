//! The statistics: every reference value, brute force in small cases, and the laws that need neither.
//!
//! `PROPTEST_CASES` says on how many cases a law is tried; the references and their data lie in `tests/stats` and
//! `tests/data`, or where `PREREG_STATS` and `PREREG_DATA` say.

#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first broken assumption"
)]

mod bootstrap;
mod bootstrap_laws;
mod descriptive_laws;
mod direct;
mod exact_test_laws;
mod mean_laws;
mod paired;
mod paired_laws;
mod ratio_laws;
mod resampling_laws;
mod results_laws;
mod sequential_laws;
mod special;
mod special_laws;
mod stats;
mod stream;
mod table;
