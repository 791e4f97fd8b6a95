//! How much of alpha a look may spend.

use std::f64::consts::E;

use crate::analysis::numerics::special::{normal_quantile, normal_sf};

/// Names a spending function (Lan and DeMets 1983); each acts on one side's alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spending {
    /// Spends late: 2 - 2 Phi(z_{a/2} / sqrt t), of O'Brien-Fleming type.
    Obf,
    /// Spends evenly: a ln(1 + (e - 1) t), of Pocock type.
    Pocock,
    /// Spends a t^rho (Kim and DeMets 1987); rho is positive.
    Power(f64),
}

impl Spending {
    /// Returns what has been spent of `alpha`, one side's, when a fraction `t` in (0, 1] is closed.
    pub(super) fn spent(self, alpha: f64, t: f64) -> Option<f64> {
        match self {
            Self::Obf => {
                let z = -normal_quantile(alpha / 2.0)?;
                Some(2.0 * normal_sf(z / t.sqrt()))
            }
            Self::Pocock => Some(alpha * libm::log1p((E - 1.0) * t)),
            Self::Power(rho) => Some(alpha * libm::pow(t, rho)),
        }
    }

    /// Returns what is spent between the fractions `before` (0 at the first look) and `t`.
    ///
    /// Written without the cancellation that the difference of two sums spent has when the looks
    /// are close or rho is small.
    pub(super) fn spent_between(self, alpha: f64, before: f64, t: f64) -> Option<f64> {
        if before == 0.0 {
            return self.spent(alpha, t);
        }
        match self {
            Self::Obf => Some(self.spent(alpha, t)? - self.spent(alpha, before)?),
            Self::Pocock => {
                let growth = (E - 1.0) * (t - before) / (1.0 + (E - 1.0) * before);
                Some(alpha * libm::log1p(growth))
            }
            Self::Power(rho) => {
                let growth = libm::expm1(rho * (libm::log(t) - libm::log(before)));
                let spent = self.spent(alpha, before)?;
                // 0 times infinity where t^rho underflows.
                Some(if spent > 0.0 {
                    spent * growth
                } else {
                    self.spent(alpha, t)?
                })
            }
        }
    }

    /// Says whether the function is one: rho is positive and finite.
    pub(super) fn is_valid(self) -> bool {
        match self {
            Self::Obf | Self::Pocock => true,
            Self::Power(rho) => rho.is_finite() && rho > 0.0,
        }
    }
}
