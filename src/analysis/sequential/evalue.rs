//! An always-valid test of the sign of the differences.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::numerics::summation::CompensatedSum;

/// Evidence against "a difference is as often positive as negative", after every task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignEvalue {
    /// Positive differences.
    pub up: u64,
    /// Negative differences.
    pub down: u64,
    /// The logarithm of the e-value after the last task.
    pub log_e: Option<f64>,
    /// Its largest value after any task, at least 0.
    pub max_log_e: Option<f64>,
    /// min(1, 1 / max E): a p-value that holds whenever one stops.
    pub p_anytime: Option<f64>,
    /// The first task, counted from 1 and with the zero differences, at which E >= 1 / alpha.
    pub first_crossing: Option<usize>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Returns the e-value of the signs of `differences`, in draw order; zeros carry none.
///
/// E = 2^m B(u + 1/2, v + 1/2) / B(1/2, 1/2) after u positive and v negative differences, m of
/// both: the Beta(1/2, 1/2) mixture of likelihood ratios (Robbins 1970; Krichevsky and Trofimov
/// 1981). Undefined with `invalid_value` when a difference is NaN or alpha is not in (0, 1).
pub fn sign_evalue(differences: &[f64], alpha: f64) -> SignEvalue {
    let threshold = -libm::log(alpha);
    let valid = alpha > 0.0 && alpha < 1.0 && !differences.iter().any(|d| d.is_nan());
    let mut wealth = Wealth::default();
    let mut max_log_e = 0.0_f64;
    let mut first_crossing = None;
    for (task, difference) in (1..).zip(differences) {
        if *difference > 0.0 {
            wealth.bet(true);
        } else if *difference < 0.0 {
            wealth.bet(false);
        }
        max_log_e = max_log_e.max(wealth.log_e());
        if first_crossing.is_none() && wealth.log_e() >= threshold {
            first_crossing = Some(task);
        }
    }
    SignEvalue {
        up: wealth.up,
        down: wealth.down,
        log_e: valid.then(|| wealth.log_e()),
        max_log_e: valid.then_some(max_log_e),
        // Smaller than a double can be exactly, it is the smallest such one: it is never nothing.
        p_anytime: valid.then(|| libm::exp(-max_log_e).max(f64::MIN_POSITIVE)),
        first_crossing: first_crossing.filter(|_| valid),
        flag: (!valid).then_some(Flag::InvalidValue),
    }
}

/// The mixture's wealth, built bet by bet.
#[derive(Default)]
struct Wealth {
    up: u64,
    down: u64,
    log_e: CompensatedSum,
}

impl Wealth {
    /// Multiplies E by 2 (w + 1/2) / (m + 1), w being the earlier differences of this sign.
    fn bet(&mut self, positive: bool) {
        let wins = if positive { self.up } else { self.down };
        let bets = self.up + self.down;
        let factor = (2.0 * wins as f64 + 1.0) / (bets as f64 + 1.0);
        self.log_e.add(libm::log(factor));
        if positive {
            self.up += 1;
        } else {
            self.down += 1;
        }
    }

    fn log_e(&self) -> f64 {
        self.log_e.value()
    }
}
