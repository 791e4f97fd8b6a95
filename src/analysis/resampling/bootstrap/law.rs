//! The exact law of the sum of n draws with replacement from n tasks.
use super::TIE;
use super::atoms::Atoms;
use super::waves::{Waves, Weighted};

/// Below this the distribution function is computed from a tilted law, whose bulk lies at the point.
const TAIL: f64 = 1e-4;
/// The untilted law is exact to far less than this.
const BODY_ROUNDING: f64 = 1e-12;
/// Levels below this may lie outside the window of the untilted law.
const LEVEL_IN_WINDOW: f64 = 1e-18;

/// The law of the sum of the offsets of n draws.
pub(super) struct SumLaw {
    draws: u64,
    largest: u64,
    law: Vec<Weighted>,
    body: Waves,
}

impl SumLaw {
    /// Takes the values of the tasks. Undefined when the window of the law is too wide to be summed.
    pub(super) fn new(atoms: &Atoms) -> Option<Self> {
        let draws = atoms.tasks();
        let law: Vec<Weighted> = atoms
            .as_slice()
            .iter()
            .map(|atom| Weighted {
                offset: atom.offset,
                share: atom.count as f64 / draws as f64,
            })
            .collect();
        Some(Self {
            draws,
            largest: atoms.span().checked_mul(draws)?,
            body: Waves::new(&law, draws, 0.0)?,
            law,
        })
    }

    /// Returns P(S <= x), to a relative error of some 1e-11 in the lower tail as well.
    pub(super) fn at_most(&self, x: u64) -> f64 {
        if x >= self.largest {
            return 1.0;
        }
        let body = self.body.discounted_cdf(x);
        if body > TAIL {
            return body.min(1.0);
        }
        self.tail(x).unwrap_or(body).clamp(0.0, 1.0)
    }

    /// Returns P(S < x).
    pub(super) fn below(&self, x: u64) -> f64 {
        x.checked_sub(1).map_or(0.0, |x| self.at_most(x))
    }

    /// Returns the smallest x with P(S <= x) >= level.
    pub(super) fn quantile(&self, level: f64) -> u64 {
        let (mut low, mut high) = self.body.window();
        if level < LEVEL_IN_WINDOW {
            low = 0;
        }
        let reaches = |x| {
            let body = self.body.discounted_cdf(x);
            if (body - level).abs() > 0.5 * level + BODY_ROUNDING {
                body > level
            } else {
                self.at_most(x) >= level * (1.0 - TIE)
            }
        };
        while low < high {
            let middle = low + (high - low) / 2;
            if reaches(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Returns P(S <= x) far below the mean by exponential tilting (Esscher 1932):
    /// P(S = s) = M^n exp(-tilt s) P_tilt(S = s), the tilt chosen so that x is the tilted mean.
    fn tail(&self, x: u64) -> Option<f64> {
        let n = self.draws as f64;
        if x == 0 {
            return self.law.first().map(|w| libm::pow(w.share, n));
        }
        let tilt = self.tilt_to(x as f64 / n);
        let growth = self.law.iter().fold(0.0, |sum, w| {
            sum + w.share * libm::expm1(tilt * w.offset as f64)
        });
        let tilted: Vec<Weighted> = self
            .law
            .iter()
            .map(|w| Weighted {
                offset: w.offset,
                share: w.share * libm::exp(tilt * w.offset as f64) / (1.0 + growth),
            })
            .collect();
        let waves = Waves::new(&tilted, self.draws, tilt)?;
        let factor = libm::exp(n * libm::log1p(growth) - tilt * x as f64);
        Some(factor * waves.discounted_cdf(x))
    }

    /// Returns a tilt under which a draw has nearly the given mean, which is below the untilted one.
    fn tilt_to(&self, mean: f64) -> f64 {
        let (mut low, mut high) = (-1.0, 0.0);
        while self.tilted_moments(low).0 > mean {
            (low, high) = (2.0 * low, low);
        }
        let mut tilt = 0.5 * (low + high);
        // Sixty halvings are more than a double can tell apart; Newton needs a handful.
        for _ in 0..60 {
            let (tilted, variance) = self.tilted_moments(tilt);
            let excess = tilted - mean;
            if excess * excess * self.draws as f64 <= 1e-4 * variance {
                break;
            }
            if excess > 0.0 {
                high = tilt;
            } else {
                low = tilt;
            }
            let newton = tilt - excess / variance;
            let inside = newton > low && newton < high;
            tilt = if inside { newton } else { 0.5 * (low + high) };
        }
        tilt
    }

    /// Returns the mean and the variance of a draw under a tilt of at most 0.
    fn tilted_moments(&self, tilt: f64) -> (f64, f64) {
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for w in &self.law {
            let offset = w.offset as f64;
            let weight = w.share * libm::exp(tilt * offset);
            mass += weight;
            first += weight * offset;
            second += weight * offset * offset;
        }
        let mean = first / mass;
        (mean, second / mass - mean * mean)
    }
}
