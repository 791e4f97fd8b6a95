//! On how many cases a law is tried.
//!
//! Those that keep records on a disk wait for it: on many cases, with `TMPDIR` in memory, and in release.

#![allow(dead_code, reason = "each test file uses its own part")]

/// Returns the number in the variable `PREREG_CASES`, and no fewer than a sample that fits into a test run.
pub(crate) fn cases(sample: u32) -> u32 {
    let wanted = std::env::var("PREREG_CASES").ok();
    wanted.map_or(sample, |wanted| sample.max(wanted.parse().unwrap()))
}

/// Returns how many studies with so many histories each make up the cases of a law.
pub(crate) fn studies(histories: u64) -> u64 {
    u64::from(cases(10_000)).div_ceil(histories)
}
