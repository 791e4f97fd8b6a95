//! Logarithms of the gamma and beta functions.

use core::f64::consts::TAU;

/// From here on six terms of Stirling's series are exact to the last bit.
const SERIES_FROM: f64 = 16.0;
/// Half the natural logarithm of 2 pi.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// Returns ln B(a, b) for a, b > 0.
///
/// The large terms are cancelled on paper, so the absolute error does not grow with a difference
/// of three large logarithms.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    let mode = -a * libm::log1p(b / a) - b * libm::log1p(a / b);
    let width = (a / (a + b)) * b / TAU;
    mode - 0.5 * libm::log(width) + beta_stirling_error(a, b)
}

/// Returns the Stirling errors of B(a, b): those of Gamma(a) and Gamma(b) less that of Gamma(a+b).
pub(super) fn beta_stirling_error(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    stirling_error(small) + (stirling_error(large) - stirling_error(a + b))
}

/// Returns ln Gamma(x) - ((x - 1/2) ln x - x + ln(2 pi)/2), the error of Stirling's formula.
fn stirling_error(x: f64) -> f64 {
    if x < SERIES_FROM {
        return libm::lgamma(x) - ((x - 0.5) * libm::log(x) - x + HALF_LN_TAU);
    }
    let r = 1.0 / x;
    let s = r * r;
    let tail = 1.0 / 1680.0 - s * (1.0 / 1188.0 - s * (691.0 / 360_360.0));
    r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * tail)))
}

/// Returns u - ln(1 + u) for u >= -1: never negative, accurate near 0 and, as 1 + u is given
/// apart, near -1.
pub(super) fn log_excess(u: f64, one_plus_u: f64) -> f64 {
    if !(-0.4..=0.6).contains(&u) {
        return if u.is_finite() {
            u - libm::log(one_plus_u)
        } else {
            f64::INFINITY
        };
    }
    // ln(1 + u) = 2 atanh(r), whose first term u - 2r = u r is taken off exactly.
    let r = u / (2.0 + u);
    let s = r * r;
    // Sixteen terms: s <= 1/16, so the first term left out is below 1e-20.
    let mut sum = 0.0;
    for k in (0..16_u32).rev() {
        sum = sum * s + 1.0 / f64::from(2 * k + 3);
    }
    u * r - 2.0 * r * s * sum
}
