//! Tests that two paired success rates are equal, from the discordant tasks alone.

use serde::Serialize;

use super::PairedCounts;
use crate::analysis::means::mean::probability;
use crate::analysis::numerics::special::{binomial_half_tail, normal_sf};
use crate::analysis::paired::proportion::clopper_pearson;

/// McNemar's test in its variants; two-sided. Without a discordant task every p is 1; a p below
/// the range of a double is undefined.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct McNemar {
    /// (b - c)^2/(b + c) (McNemar 1947); undefined without a discordant task.
    pub chi2: Option<f64>,
    /// The p of `chi2` at one degree of freedom.
    pub p_asymptotic: Option<f64>,
    /// With max(|b - c| - 1, 0) instead of |b - c| (Edwards 1948).
    pub chi2_cc: Option<f64>,
    /// The p of `chi2_cc`.
    pub p_cc: Option<f64>,
    /// Twice the smaller binomial tail, at most 1.
    pub p_exact: Option<f64>,
    /// `p_exact` less the probability of the table itself; 1 when b = c (Lancaster 1961).
    pub p_mid: Option<f64>,
    /// As `p_mid`, but 1 - P(X = m)/2 when b = c (Fagerland, Lydersen and Laake 2013). For
    /// information only; undefined without a discordant task.
    pub p_mid_fagerland: Option<f64>,
}

/// What the discordant tasks say of the direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiscordantPairs {
    /// P(X >= c): small when the treatment is better.
    pub p_exact_greater: Option<f64>,
    /// P(X <= c): small when the treatment is worse.
    pub p_exact_less: Option<f64>,
    /// The conditional odds ratio c/b; `None` (infinite) when b = 0.
    pub cond_or: Option<f64>,
    /// Its exact interval, from the Clopper-Pearson limits of c among b + c. An upper end of
    /// `None` is infinite when b = 0.
    pub cond_or_ci: [Option<f64>; 2],
}

impl McNemar {
    /// Tests a table with at least one task.
    pub(super) fn of(counts: PairedCounts) -> Self {
        let PairedCounts { b, c, .. } = counts;
        let m = counts.discordant();
        if m == 0 {
            let certain = Some(1.0);
            return Self {
                p_asymptotic: certain,
                p_cc: certain,
                p_exact: certain,
                p_mid: certain,
                ..Self::default()
            };
        }
        let distance = b.abs_diff(c);
        let corrected = distance.saturating_sub(1);
        let tail = binomial_half_tail(b.min(c), m);
        let below = strictly_below(b.min(c), m);
        Self {
            chi2: Some(chi_squared(distance, m)),
            p_asymptotic: representable(two_sided_normal(distance, m)),
            chi2_cc: Some(chi_squared(corrected, m)),
            p_cc: representable(two_sided_normal(corrected, m)),
            p_exact: representable(2.0 * tail),
            p_mid: representable(if b == c { 1.0 } else { tail + below }),
            p_mid_fagerland: representable(if b == c { 0.5 + below } else { tail + below }),
        }
    }
}

impl DiscordantPairs {
    /// Returns `None` without a discordant task.
    pub(super) fn of(counts: PairedCounts, alpha: f64) -> Option<Self> {
        let PairedCounts { b, c, .. } = counts;
        let m = counts.discordant();
        if m == 0 {
            return None;
        }
        // The share of b is one minus the share of c, so its limits are the complements.
        let (of_b, of_c) = (clopper_pearson(b, m, alpha), clopper_pearson(c, m, alpha));
        let limits = of_b
            .zip(of_c)
            .map(|([b_low, b_high], [c_low, c_high])| [odds(c_low, b_high), odds(c_high, b_low)]);
        Some(Self {
            p_exact_greater: representable(binomial_half_tail(b, m)),
            p_exact_less: representable(binomial_half_tail(c, m)),
            cond_or: odds(c as f64, b as f64),
            cond_or_ci: limits.unwrap_or_default(),
        })
    }
}

/// Returns a probability of at most 1, or `None` below the range of a double.
fn representable(p: f64) -> Option<f64> {
    probability(p).0
}

/// Returns a ratio, or `None` where it is infinite.
fn odds(numerator: f64, denominator: f64) -> Option<f64> {
    Some(numerator / denominator).filter(|odds| odds.is_finite())
}

/// Returns P(X < x) for the heads X of m fair coins.
fn strictly_below(x: u64, m: u64) -> f64 {
    x.checked_sub(1)
        .map_or(0.0, |below| binomial_half_tail(below, m))
}

fn chi_squared(distance: u64, m: u64) -> f64 {
    let (distance, m) = (distance as f64, m as f64);
    distance / m * distance
}

fn two_sided_normal(distance: u64, m: u64) -> f64 {
    2.0 * normal_sf(distance as f64 / (m as f64).sqrt())
}
