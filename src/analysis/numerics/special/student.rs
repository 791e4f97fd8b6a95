//! Student's t law with real degrees of freedom.

use core::f64::consts::FRAC_1_SQRT_2;

use super::beta::{Point, Tails};
use super::gamma::ln_beta;
use super::normal::{normal_quantile, normal_sf};

/// t over the root of df from which the tail is its leading power to the last bit.
const POWER_FROM: f64 = 1e10;
/// Degrees of freedom from which the law is normal: the tails differ by t^4/(4 df).
const NORMAL_FROM: f64 = 1e20;
/// Below, tails need more than the range of a double.
const DF_MIN: f64 = 1e-5;
/// Level above which the smaller tail is solved for by the central probability instead.
const CENTRAL: f64 = 0.25;
/// Steps of a quantile: Newton needs some ten.
const QUANTILE_STEPS: usize = 200;

/// Returns P(T > t) for `df` >= 1e-5; NaN below.
pub fn t_sf(t: f64, df: f64) -> f64 {
    let upper = 0.5 * t_two_sided(t, df);
    if t < 0.0 { 1.0 - upper } else { upper }
}

/// Returns P(|T| >= |t|) for `df` >= 1e-5; NaN below.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    outside_and_inside(t.abs(), df).upper
}

/// Returns the t with P(T <= t) = `p`, or `None` unless 0 < `p` < 1, `df` >= 1e-5 and t is finite.
///
/// Newton's method on the logarithm of the smaller tail (near the median: of the central
/// probability) as a function of ln t, which is concave, from the normal quantile upwards.
pub fn t_quantile(p: f64, df: f64) -> Option<f64> {
    if df.is_nan() || df < DF_MIN {
        return None;
    }
    let z = normal_quantile(p)?;
    if z == 0.0 || df >= NORMAL_FROM {
        return Some(z);
    }
    let tail = p.min(1.0 - p);
    let central = tail > CENTRAL;
    let target = if central {
        2.0 * (p - 0.5).abs()
    } else {
        2.0 * tail
    };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = z.abs();
    for _ in 0..QUANTILE_STEPS {
        let both = outside_and_inside(t, df);
        let (reached, sign) = if central {
            (both.lower, -1.0)
        } else {
            (both.upper, 1.0)
        };
        let excess = libm::log(reached) - libm::log(target);
        if sign * excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t * libm::exp(sign * excess * reached / (2.0 * t * density(t, df)));
        let next = if newton > low && newton < high {
            newton
        } else {
            between(low, high)
        };
        if !next.is_finite() {
            return None;
        }
        let moved = (next - t).abs();
        t = next;
        if moved <= 2.0 * f64::EPSILON * t {
            break;
        }
    }
    Some(if p < 0.5 { -t } else { t })
}

/// Returns a number between two bounds, the upper one possibly infinite.
fn between(low: f64, high: f64) -> f64 {
    if high.is_infinite() {
        return if low < 1.0 {
            2.0
        } else {
            low * low.min(1e16) * 2.0
        };
    }
    if low > 0.0 {
        low.sqrt() * high.sqrt()
    } else {
        0.5 * high
    }
}

/// Returns P(|T| <= t) as `lower` and P(|T| > t) as `upper`, for t >= 0.
fn outside_and_inside(t: f64, df: f64) -> Tails {
    if t.is_nan() || df.is_nan() || df < DF_MIN {
        return Tails {
            lower: f64::NAN,
            upper: f64::NAN,
        };
    }
    if df >= NORMAL_FROM {
        return Tails {
            lower: libm::erf(t * FRAC_1_SQRT_2),
            upper: 2.0 * normal_sf(t),
        };
    }
    let scaled = t / df.sqrt();
    let a = 0.5 * df;
    if scaled > POWER_FROM {
        let upper = libm::exp(-df * libm::log(scaled) - libm::log(a) - ln_beta(a, 0.5)).min(1.0);
        return Tails {
            lower: 1.0 - upper,
            upper,
        };
    }
    let square = scaled * scaled;
    let point = Point {
        a,
        b: 0.5,
        x: 1.0 / (1.0 + square),
        y: square / (1.0 + square),
        lambda: 0.5 * (1.0 - t * t) / (1.0 + square),
    };
    let tails = point.tails();
    Tails {
        lower: tails.upper,
        upper: tails.lower,
    }
}

/// Returns the density of T at t.
fn density(t: f64, df: f64) -> f64 {
    let scaled = t / df.sqrt();
    let log_kernel = -0.5 * (df + 1.0) * ln_one_plus_square(scaled);
    libm::exp(log_kernel - ln_beta(0.5 * df, 0.5)) / df.sqrt()
}

/// Returns ln(1 + s^2) without overflow.
fn ln_one_plus_square(s: f64) -> f64 {
    if s > POWER_FROM {
        2.0 * libm::log(s)
    } else {
        libm::log1p(s * s)
    }
}
