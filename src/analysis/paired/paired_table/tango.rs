//! Tango's score interval of the difference of two paired success rates (Tango 1998).

use super::PairedCounts;

/// Halvings of the bracket: enough for a limit of 1e-22 to keep its digits.
const HALVINGS: usize = 128;

/// Returns the differences that the score test does not reject at `z`.
pub(super) fn tango(counts: PairedCounts, z: f64) -> [f64; 2] {
    let (b, c, n) = (counts.b as f64, counts.c as f64, counts.tasks() as f64);
    [lower_limit(b, c, n, z), -lower_limit(c, b, n, z)]
}

/// Returns the smallest difference not rejected; the largest is that of the swapped table.
///
/// The score statistic falls as the difference grows, so the limit is bracketed by -1 and the
/// estimate, and bisection cannot miss it.
fn lower_limit(b: f64, c: f64, n: f64, z: f64) -> f64 {
    let estimate = (c - b) / n;
    let (mut low, mut high) = (-1.0, estimate);
    for _ in 0..HALVINGS {
        let delta = 0.5 * (low + high);
        if estimate - delta > z * (variance(b, c, n, delta) / n).sqrt() {
            low = delta;
        } else {
            high = delta;
        }
    }
    high
}

/// Returns n times the variance of the estimate when the true difference is `delta`, with the
/// discordant probabilities at their most likely values under it.
fn variance(b: f64, c: f64, n: f64, delta: f64) -> f64 {
    if delta < 0.0 {
        // By symmetry; so the root below is only ever taken of a sum.
        return variance(c, b, n, -delta);
    }
    let rest = delta * (1.0 - delta);
    let linear = (2.0 - (c - b) / n) * delta - (b + c) / n;
    let root = (linear * linear + 8.0 * (b / n) * rest).sqrt();
    let reference_only = if linear > 0.0 {
        2.0 * (b / n) * rest / (linear + root)
    } else {
        0.25 * (root - linear)
    };
    2.0 * reference_only + rest
}
