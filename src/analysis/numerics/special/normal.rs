//! The standard normal law.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// Level above which the smaller tail is solved for by the central probability instead.
const CENTRAL: f64 = 0.25;
/// Halley's method cubes the error of the start, 4.5e-4, so three steps are one more than needed.
const STEPS: usize = 4;

/// Returns P(Z <= z).
pub fn normal_cdf(z: f64) -> f64 {
    normal_sf(-z)
}

/// Returns P(Z > z), the upper tail.
pub fn normal_sf(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// Returns the z with P(Z <= z) = `p`, or `None` unless 0 < `p` < 1.
///
/// Start of Abramowitz and Stegun (1964), 26.2.23, then Halley's method on the smaller tail, or
/// on the central probability near the median, where the tail would cancel.
pub fn normal_quantile(p: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let tail = p.min(1.0 - p);
    // Exact by Sterbenz's lemma wherever it is used.
    let centre = (p - 0.5).abs();
    let mut z = tail_start(tail);
    for _ in 0..STEPS {
        let excess = if tail > CENTRAL {
            centre - 0.5 * libm::erf(z * FRAC_1_SQRT_2)
        } else {
            normal_sf(z) - tail
        };
        let newton = excess / density(z);
        z += newton / (1.0 + 0.5 * z * newton);
    }
    Some(if p < 0.5 { -z } else { z })
}

/// Returns the z >= 0 with P(Z > z) = `tail` up to 4.5e-4, for 0 < `tail` <= 1/2.
fn tail_start(tail: f64) -> f64 {
    let t = (-2.0 * libm::log(tail)).sqrt();
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    (t - numerator / denominator).max(0.0)
}

fn density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt()
}
