//! Adjusted p-values of a family of tests.
//!
//! A test of the family whose p-value is undefined stays in the family: it is counted as a p of 1,
//! which can only raise the others, and its own adjusted p is undefined.

use serde::Serialize;

/// How a family of tests shares its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Multiplicity {
    /// Step-down (Holm 1979): valid under any dependence.
    Holm,
    /// Step-up (Hochberg 1988): valid under independence and positive dependence.
    Hochberg,
    /// Each p times the size of the family.
    Bonferroni,
}

impl Multiplicity {
    /// Returns the adjusted p-values in the order given: never below the raw ones, never above 1.
    ///
    /// Undefined where the p-value is absent or not between 0 and 1. A p below the range of a
    /// double is not absent: `f64::MIN_POSITIVE` bounds it.
    pub fn adjust(self, p_values: &[Option<f64>]) -> Vec<Option<f64>> {
        let family = p_values.len();
        let mut ranked: Vec<(usize, f64)> = p_values
            .iter()
            .map(|p| probability(*p).unwrap_or(1.0))
            .enumerate()
            .collect();
        ranked.sort_by(|left, right| left.1.total_cmp(&right.1));
        let scaled = ranked.iter().enumerate().map(|(rank, &(index, p))| {
            let factor = match self {
                Self::Holm | Self::Hochberg => family - rank,
                Self::Bonferroni => family,
            };
            (index, (factor as f64 * p).min(1.0))
        });
        let monotone: Vec<(usize, f64)> = match self {
            Self::Holm => running(scaled, 0.0, f64::max),
            Self::Hochberg => running(scaled.rev(), 1.0, f64::min),
            Self::Bonferroni => scaled.collect(),
        };
        let mut adjusted: Vec<Option<f64>> = vec![None; family];
        for (index, value) in monotone {
            let defined = p_values.get(index).copied().and_then(probability).is_some();
            if let Some(place) = adjusted.get_mut(index).filter(|_| defined) {
                *place = Some(value);
            }
        }
        adjusted
    }
}

/// Says whether an adjusted p rejects at level `alpha`: at equality too. An undefined p never does.
pub fn rejects(adjusted_p: Option<f64>, alpha: f64) -> bool {
    adjusted_p.is_some_and(|p| p <= alpha)
}

fn probability(p: Option<f64>) -> Option<f64> {
    p.filter(|p| (0.0..=1.0).contains(p))
}

fn running(
    values: impl Iterator<Item = (usize, f64)>,
    start: f64,
    join: fn(f64, f64) -> f64,
) -> Vec<(usize, f64)> {
    values
        .scan(start, |state, (index, value)| {
            *state = join(*state, value);
            Some((index, *state))
        })
        .collect()
}
