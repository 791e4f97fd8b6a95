//! On how many cases a law is tried.

/// Returns the number in the variable `PREREG_CASES`, or else a sample that fits into a test run.
pub(crate) fn cases(sample: u32) -> u32 {
    let wanted = std::env::var("PREREG_CASES").ok();
    wanted.map_or(sample, |wanted| wanted.parse().unwrap())
}
