//! The law of a sum of independent draws by Fourier inversion.
//!
//! A sum of integer draws, folded to a period that its law does not leave, is a finite Fourier
//! sum: P(S = s) = (1/N) sum over k of phi(w k)^n exp(-i w k s), w = 2 pi / N. phi^n vanishes for
//! all but the lowest few dozen frequencies when n is large, so the distribution function at one point
//! costs those few terms. phi is computed as phi - 1, which keeps n log phi accurate for any n.

/// Mass beyond the period is under exp(-45) on either side, far below the rounding of a double.
const LOG_MASS_OUTSIDE: f64 = 45.0;
/// Frequencies under exp(-50) are left out.
const LOG_MODULUS_MIN: f64 = 50.0;
const PERIOD_MAX: u64 = 1 << 20;
/// Distinct values times period; beyond it resampling is cheaper than the exact law.
const WORK_MAX: u64 = 1 << 25;

/// An offset and its probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighted {
    pub(super) offset: u64,
    pub(super) share: f64,
}

/// One frequency with its share of the distribution function.
struct Wave {
    frequency: u64,
    re: f64,
    im: f64,
}

/// The law of a sum S of n draws, discounted by exp(tilt) per step below a point.
pub(super) struct Waves {
    low: u64,
    high: u64,
    tilt: f64,
    /// The point from which phases are measured, modulo the period.
    origin: u64,
    waves: Vec<Wave>,
    /// What the waves sum to just below the window.
    below: f64,
    circle: Circle,
}

impl Waves {
    /// Inverts the law of `draws` draws. Undefined when the window is too wide to be summed.
    pub(super) fn new(law: &[Weighted], draws: u64, tilt: f64) -> Option<Self> {
        let (low, high, mean) = window(law, draws)?;
        let period = (high - low).saturating_add(1) | 1;
        if period > PERIOD_MAX || period.saturating_mul(law.len() as u64) > WORK_MAX {
            return None;
        }
        let circle = Circle::new(period);
        let centre = libm::round(mean) as u64;
        let mut waves = characteristic_powers(law, draws, centre, &circle);
        for wave in &mut waves {
            wave.sum_below(tilt, &circle);
        }
        let origin = (u128::from(draws) * u128::from(centre) % u128::from(period)) as u64;
        let mut this = Self {
            low,
            high,
            tilt,
            origin,
            waves,
            below: 0.0,
            circle,
        };
        this.below = this.waves_at((low + period - 1) % period);
        Some(this)
    }

    /// Returns the smallest and the largest sum of the window; what lies outside has no mass to speak of.
    pub(super) fn window(&self) -> (u64, u64) {
        (self.low, self.high)
    }

    /// Returns the sum over s <= x of exp(tilt (x - s)) P(S = s): with tilt 0 the distribution function.
    pub(super) fn discounted_cdf(&self, x: u64) -> f64 {
        if x < self.low {
            return 0.0;
        }
        let x = x.min(self.high);
        let steps = (x - self.low + 1) as f64;
        let constant = if self.tilt == 0.0 {
            steps
        } else {
            libm::expm1(self.tilt * steps) / libm::expm1(self.tilt)
        };
        let swing =
            self.waves_at(x % self.circle.period) - libm::exp(self.tilt * steps) * self.below;
        constant / self.circle.period as f64 + swing
    }

    fn waves_at(&self, x: u64) -> f64 {
        let period = self.circle.period;
        let turn = (x + period - self.origin) % period;
        self.waves
            .iter()
            .map(|wave| {
                let (versine, sine) = self.circle.at(wave.frequency * turn % period);
                wave.re - wave.re * versine + wave.im * sine
            })
            .sum()
    }
}

impl Wave {
    /// Turns phi^n at this frequency into its share of the discounted distribution function:
    /// divides by 1 - exp(tilt + i w k), a geometric sum, and counts the conjugate.
    fn sum_below(&mut self, tilt: f64, circle: &Circle) {
        let (versine, sine) = circle.at(self.frequency);
        let shrink = libm::exp(tilt);
        let (re, im) = (shrink * versine - libm::expm1(tilt), -shrink * sine);
        let factor = 2.0 / (circle.period as f64 * (re * re + im * im));
        (self.re, self.im) = (
            factor * (self.re * re + self.im * im),
            factor * (self.im * re - self.re * im),
        );
    }
}

/// Returns a window that holds the sum but for a mass of exp(-45) on either side, and the mean of a draw.
///
/// P(S - ES >= h) <= exp(-h^2 / (2 (var + b h / 3))) for draws at most b above their mean
/// (Bernstein 1946), solved for h.
fn window(law: &[Weighted], draws: u64) -> Option<(u64, u64, f64)> {
    let span = law.last()?.offset;
    let largest = span.checked_mul(draws)?;
    let mean = law.iter().map(|w| w.share * w.offset as f64).sum::<f64>();
    let variance = law.iter().fold(0.0, |sum, w| {
        let deviation = w.offset as f64 - mean;
        sum + w.share * deviation * deviation
    });
    let n = draws as f64;
    let reach = |bound: f64| {
        let linear = bound * LOG_MASS_OUTSIDE / 3.0;
        linear + (linear * linear + 2.0 * LOG_MASS_OUTSIDE * n * variance).sqrt()
    };
    let low = (n * mean - reach(mean)).floor().max(0.0) as u64;
    let high = (n * mean + reach(span as f64 - mean)).ceil() as u64;
    Some((low.min(largest), high.min(largest), mean))
}

/// Returns phi(w k)^n exp(-i w k n centre) for the positive frequencies k where it matters.
fn characteristic_powers(law: &[Weighted], draws: u64, centre: u64, circle: &Circle) -> Vec<Wave> {
    let period = circle.period;
    let mut phases: Vec<(u64, u64, f64)> = law
        .iter()
        .map(|w| {
            let step = (w.offset % period + period - centre % period) % period;
            (0, step, w.share)
        })
        .collect();
    let n = draws as f64;
    let negligible = libm::expm1(-2.0 * LOG_MODULUS_MIN / n);
    (1..=period / 2)
        .filter_map(|frequency| {
            // phi - 1, by parts.
            let (mut re, mut im) = (0.0, 0.0);
            for (phase, step, share) in &mut phases {
                *phase += *step;
                if *phase >= period {
                    *phase -= period;
                }
                let (versine, sine) = circle.at(*phase);
                re -= *share * versine;
                im += *share * sine;
            }
            let excess = 2.0 * re + re * re + im * im;
            if excess <= negligible {
                return None;
            }
            let modulus = libm::exp(0.5 * n * libm::log1p(excess));
            let (sine, cosine) = libm::sincos(n * libm::atan2(im, 1.0 + re));
            Some(Wave {
                frequency,
                re: modulus * cosine,
                im: modulus * sine,
            })
        })
        .collect()
}

/// The angles 2 pi m / N of an odd N, as (1 - cos, sin).
struct Circle {
    period: u64,
    points: Vec<(f64, f64)>,
}

impl Circle {
    fn new(period: u64) -> Self {
        let half = std::f64::consts::PI / period as f64;
        let upper = (0..=period / 2).map(|m| {
            let (sine, cosine) = libm::sincos(half * m as f64);
            (2.0 * sine * sine, 2.0 * sine * cosine)
        });
        let mut points: Vec<(f64, f64)> = upper.collect();
        let lower: Vec<(f64, f64)> = points.iter().skip(1).map(|&(v, s)| (v, -s)).collect();
        points.extend(lower.into_iter().rev());
        Self { period, points }
    }

    /// Returns (1 - cos, sin) of 2 pi m / N for m < N.
    #[inline]
    fn at(&self, m: u64) -> (f64, f64) {
        self.points.get(m as usize).copied().unwrap_or_default()
    }
}
