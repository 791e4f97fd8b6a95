//! Intervals of a ratio of two paired means.
//!
//! Both rest on the residuals r_i = b_i - R a_i, whose variance has nothing to cancel. With
//! A = mean_a^2 - t^2 V(a), Fieller's ends solve A x^2 + 2 t^2 C(a, r) x - t^2 V(r) = 0 for
//! x = end - R, where V and C are the variances and the covariance of the means.

use crate::analysis::means::mean::t_critical;
use crate::analysis::numerics::moments::{Moments, ROUNDING, square};

/// A ratio of means with the variances of the two means, in units of powers of two.
#[derive(Clone, Debug)]
pub(crate) struct RatioOfMeans {
    tasks: f64,
    mean_a: f64,
    mean_b: f64,
    /// Treatment over reference, in units of 2^exponent.
    ratio: f64,
    exponent: i32,
    variance_a: f64,
    variance_residual: f64,
    covariance: f64,
}

/// The ends of Fieller's interval, or why there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fieller {
    /// The two ends, each `None` beyond the range of a double.
    Ends([Option<f64>; 2]),
    /// The reference mean may be 0.
    Unbounded,
    /// One task, or a level outside (0, 1).
    Undefined,
}

impl RatioOfMeans {
    /// Takes lists of equal length, their moments, and a reference mean that is not 0.
    pub(crate) fn new(reference: &[f64], treatment: &[f64], a: &Moments, b: &Moments) -> Self {
        let tasks = reference.len() as f64;
        let ratio = b.mean / a.mean;
        let (mut squares_a, mut squares, mut products, mut largest) = (0.0, 0.0, 0.0, 0.0_f64);
        for (&x, &y) in reference.iter().zip(treatment) {
            let (x, y) = (libm::scalbn(x, -a.exponent), libm::scalbn(y, -b.exponent));
            let deviation = x - a.mean;
            let residual = (y - b.mean) - ratio * deviation;
            squares_a += square(deviation);
            squares += square(residual);
            products += deviation * residual;
            largest = largest.max(y.abs()).max((ratio * x).abs());
        }
        let per_mean = tasks * (tasks - 1.0);
        // Residuals that are only rounding are those of proportional arms.
        let proportional = (squares / per_mean).sqrt() <= ROUNDING * largest;
        let kept = if proportional { 0.0 } else { 1.0 };
        Self {
            tasks,
            mean_a: a.mean,
            mean_b: b.mean,
            ratio,
            exponent: b.exponent - a.exponent,
            variance_a: squares_a / per_mean,
            variance_residual: kept * squares / per_mean,
            covariance: kept * products / per_mean,
        }
    }

    /// Returns the ratio; undefined beyond the range of a double.
    pub(crate) fn value(&self) -> Option<f64> {
        self.in_unit(self.ratio)
    }

    /// Returns Fieller's interval at level 1 - alpha with Student's t, n - 1 degrees of freedom (Fieller 1954).
    pub(crate) fn fieller(&self, alpha: f64) -> Fieller {
        let Some(critical) = self.critical(alpha) else {
            return Fieller::Undefined;
        };
        let t2 = square(critical);
        let bounded = square(self.mean_a) - t2 * self.variance_a;
        if bounded <= 0.0 {
            return Fieller::Unbounded;
        }
        let shift = t2 * self.covariance;
        let spread = (square(shift) + t2 * self.variance_residual * bounded).sqrt();
        // The root away from 0 first; the other from the product of the two, which does not cancel.
        let far = if shift > 0.0 {
            -shift - spread
        } else {
            spread - shift
        };
        let far_end = far / bounded;
        let near_end = if far == 0.0 {
            0.0
        } else {
            -t2 * self.variance_residual / far
        };
        let (low, high) = (far_end.min(near_end), far_end.max(near_end));
        Fieller::Ends([
            self.in_unit(self.ratio + low),
            self.in_unit(self.ratio + high),
        ])
    }

    /// Says whether the ratio has a logarithm.
    pub(crate) fn is_positive(&self) -> bool {
        self.ratio > 0.0
    }

    /// Returns the standard error of log R by the delta method.
    ///
    /// Undefined with one task, for R at or below 0, and beyond the range of a double.
    pub(crate) fn log_standard_error(&self) -> Option<f64> {
        let se = (self.variance_residual.sqrt() / self.mean_b).abs();
        (self.tasks > 1.0 && self.is_positive() && se.is_finite()).then_some(se)
    }

    /// Returns the interval of log R, transformed back; undefined as its standard error, or beyond the range.
    pub(crate) fn delta_log(&self, alpha: f64) -> Option<[f64; 2]> {
        let half = self.critical(alpha)? * self.log_standard_error()?;
        let end = |log: f64| {
            let end = self.in_unit(self.ratio * libm::exp(log));
            end.filter(|&end| end > 0.0)
        };
        Some([end(-half)?, end(half)?])
    }

    fn critical(&self, alpha: f64) -> Option<f64> {
        let df = self.tasks - 1.0;
        t_critical(alpha, df).filter(|_| df > 0.0)
    }

    fn in_unit(&self, scaled: f64) -> Option<f64> {
        Some(libm::scalbn(scaled, self.exponent)).filter(|value| value.is_finite())
    }
}
