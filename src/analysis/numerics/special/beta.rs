//! The incomplete beta function and its inverse.
//!
//! A point of the law carries x, 1 - x and their distance from the mean apart, so that no tail
//! is the difference of nearly equal numbers. The smaller side is computed: by a continued
//! fraction, or, where both parameters are large and the fraction slow, by quadrature.

use core::f64::consts::{PI, TAU};
use core::ops::RangeInclusive;

use super::gamma::{beta_stirling_error, log_excess};

/// From here on (both parameters) the tail is integrated.
const QUADRATURE_FROM: f64 = 1000.0;
/// More terms than the fraction needs below [`QUADRATURE_FROM`]; a bound, so that nothing hangs.
const FRACTION_TERMS: u32 = 20_000;
/// Steps of a quantile: Newton needs some ten, bisection alone 64.
const QUANTILE_STEPS: usize = 200;
/// The parameters between which the law is computed; counts reach 2^64.
const PARAMETERS: RangeInclusive<f64> = 1e-6..=1e20;
/// Beyond these logits x or 1 - x is 0.
const LOGIT_MAX: f64 = 745.0;

/// A point x of the beta law with parameters a and b.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) x: f64,
    /// 1 - x.
    pub(super) y: f64,
    /// x b - y a = (a + b)(x - mean).
    pub(super) lambda: f64,
}

/// A tail of the law.
#[derive(Clone, Copy)]
enum Side {
    Lower,
    Upper,
}

/// Both tails of a law at a point.
#[derive(Clone, Copy)]
pub(super) struct Tails {
    pub(super) lower: f64,
    pub(super) upper: f64,
}

/// Returns P(X <= x) of the beta law, the regularised incomplete beta function.
///
/// Parameters from 1e-6 to 1e20; beyond, NaN. As accurate as if x were off by one rounding, which
/// shows where a parameter exceeds 1e12.
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if !in_domain(a, b) || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    Point::new(x, 1.0 - x, a, b).tails().lower
}

/// Returns the x with P(X <= x) = `p` of the beta law.
///
/// `None` unless 0 < `p` < 1 and both parameters lie between 1e-6 and 1e20.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> Option<f64> {
    quantile(p, Side::Lower, a, b)
}

/// Returns the x with P(X > x) = `p` of the beta law.
///
/// `None` unless 0 < `p` < 1 and both parameters lie between 1e-6 and 1e20. The other end of [`beta_quantile`], for a `p` too small to be taken from 1.
pub fn beta_upper_quantile(p: f64, a: f64, b: f64) -> Option<f64> {
    quantile(p, Side::Upper, a, b)
}

fn in_domain(a: f64, b: f64) -> bool {
    PARAMETERS.contains(&a) && PARAMETERS.contains(&b)
}

/// Returns the x that cuts off `p` on a side.
///
/// Newton's method on the logarithm of the smaller tail as a function of the logit, in which the
/// law is log-concave, kept between bounds by bisection.
fn quantile(p: f64, side: Side, a: f64, b: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && in_domain(a, b)) {
        return None;
    }
    let (target, side) = if p > 0.5 {
        (1.0 - p, side.other())
    } else {
        (p, side)
    };
    let (mut low, mut high) = (-LOGIT_MAX, LOGIT_MAX);
    let mut logit = (libm::log(a) - libm::log(b)).clamp(low, high);
    for _ in 0..QUANTILE_STEPS {
        let point = Point::at_logit(logit, a, b);
        let tail = point.tails().on(side);
        let excess = libm::log(tail) - libm::log(target);
        let beyond = match side {
            Side::Lower => excess,
            Side::Upper => -excess,
        };
        if beyond < 0.0 {
            low = logit;
        } else {
            high = logit;
        }
        let newton = logit - beyond * tail / point.density();
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        let moved = (next - logit).abs();
        logit = next;
        if moved <= f64::EPSILON * logit.abs().max(1.0) {
            break;
        }
    }
    Some(Point::at_logit(logit, a, b).x)
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }
}

impl Tails {
    fn on(self, side: Side) -> f64 {
        match side {
            Side::Lower => self.lower,
            Side::Upper => self.upper,
        }
    }
}

impl Point {
    fn new(x: f64, y: f64, a: f64, b: f64) -> Self {
        Self {
            a,
            b,
            x,
            y,
            lambda: x * b - y * a,
        }
    }

    fn at_logit(logit: f64, a: f64, b: f64) -> Self {
        let x = 1.0 / (1.0 + libm::exp(-logit));
        let y = 1.0 / (1.0 + libm::exp(logit));
        Self::new(x, y, a, b)
    }

    fn mirrored(self) -> Self {
        Self {
            a: self.b,
            b: self.a,
            x: self.y,
            y: self.x,
            lambda: -self.lambda,
        }
    }

    /// Returns P(X <= x) and P(X > x).
    pub(super) fn tails(self) -> Tails {
        if self.lambda <= 0.0 {
            let lower = self.lower();
            Tails {
                lower,
                upper: 1.0 - lower,
            }
        } else {
            let upper = self.mirrored().lower();
            Tails {
                lower: 1.0 - upper,
                upper,
            }
        }
    }

    /// Returns x^a y^b / B(a, b): the density on the logit scale.
    ///
    /// In deviations from the mean (Loader 2000), whose two terms never cancel.
    fn density(self) -> f64 {
        let Self { a, b, x, y, lambda } = self;
        let deviance = a * log_excess(lambda / a, x * (1.0 + b / a))
            + b * log_excess(-lambda / b, y * (1.0 + a / b));
        let width = (a / (a + b)) * b / TAU;
        width.sqrt() * libm::exp(-deviance - beta_stirling_error(a, b))
    }

    /// Returns P(X <= x) for an x not above the mean.
    fn lower(self) -> f64 {
        if self.x <= 0.0 {
            return 0.0;
        }
        let ratio = if self.a.min(self.b) < QUADRATURE_FROM {
            1.0 / self.fraction()
        } else {
            self.integral()
        };
        (self.density() * ratio).min(1.0)
    }

    /// Returns the density over P(X <= x), by the continued fraction of DiDonato and Morris
    /// (1992), evaluated forwards (Lentz's method as modified by Thompson and Barnett, 1986).
    fn fraction(self) -> f64 {
        let Self {
            a, b, x, lambda, ..
        } = self;
        let mut value = a * (1.0 - lambda) / (a + 1.0);
        let mut c = value;
        let mut d = 0.0;
        for term in 1..FRACTION_TERMS {
            let m = f64::from(term);
            let span = a + 2.0 * m - 1.0;
            let numerator =
                (m * (a + m - 1.0) / span) * ((a + b + m - 1.0) / span * x) * ((b - m) * x);
            let partial = m
                + m * (b - m) * x / span
                + (a + m) * (1.0 - lambda + m * (2.0 - x)) / (a + 2.0 * m + 1.0);
            d = 1.0 / (partial + numerator * d);
            c = partial + numerator / c;
            value *= c * d;
            if (c * d - 1.0).abs() <= f64::EPSILON {
                break;
            }
        }
        value
    }

    /// Returns P(X <= x) over the density, by integration of t = x (1 - w) over w.
    ///
    /// The integrand relative to its value at x is exp of three terms none of which is positive,
    /// so its sum keeps its relative accuracy. Double-exponential rule (Takahasi and Mori, 1974).
    fn integral(self) -> f64 {
        const STEP: f64 = 1.0 / 16.0;
        let Self { a, b, x, y, lambda } = self;
        let odds = x / y;
        let slope = -lambda / y;
        let curvature = a + b * odds * odds;
        // Where slope w + curvature w^2 / 2 reaches 50, and a fifth more for the skewness.
        let reach = 100.0 / (slope + (slope * slope + 100.0 * curvature).sqrt());
        let width = (1.2 * reach).min(1.0);
        let mut sum = 0.0;
        for node in -56..=56_i32 {
            let t = STEP * f64::from(node);
            let angle = PI * libm::sinh(t);
            let (from_left, from_right) = (
                1.0 / (1.0 + libm::exp(-angle)),
                1.0 / (1.0 + libm::exp(angle)),
            );
            let weight = PI * libm::cosh(t) * from_left * from_right;
            let w = width * from_left;
            let rest = if width < 1.0 { 1.0 - w } else { from_right };
            let exponent =
                slope * w + a * log_excess(-w, rest) + b * log_excess(odds * w, 1.0 + odds * w);
            sum += weight * libm::exp(-exponent) / (rest * (1.0 + odds * w));
        }
        sum * STEP * width / y
    }
}
