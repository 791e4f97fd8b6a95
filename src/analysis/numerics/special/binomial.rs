//! The number of heads among fair coins.

use super::beta::Point;

/// Up to here the tail is an exact integer over a power of two.
const EXACT_MAX: u64 = 120;

/// Returns P(X <= x) for the number X of heads among `n` fair coins.
///
/// Exact (one rounding) up to 120 coins; beyond, the incomplete beta function with its distance
/// from the mean taken from the integers, so that counts above 2^53 do not lose it.
pub fn binomial_half_tail(x: u64, n: u64) -> f64 {
    if x >= n {
        return 1.0;
    }
    if n <= EXACT_MAX {
        return exact_tail(x, n);
    }
    let lambda = 0.5 * (2 * i128::from(x) + 1 - i128::from(n)) as f64;
    let point = Point {
        a: (n - x) as f64,
        b: (x + 1) as f64,
        x: 0.5,
        y: 0.5,
        lambda,
    };
    point.tails().lower
}

fn exact_tail(x: u64, n: u64) -> f64 {
    let mut ways: u128 = 1;
    let mut sum: u128 = 1;
    for heads in 1..=u128::from(x) {
        ways = ways * (u128::from(n) + 1 - heads) / heads;
        sum += ways;
    }
    sum as f64 / (1_u128 << n) as f64
}
