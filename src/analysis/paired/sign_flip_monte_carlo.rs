//! The sign-flip test by sampling, for differences without a small common denominator.
//!
//! Replicate r flips task i by bit i of its registered stream, zeros included, so anyone can recompute
//! the count. p = (1 + count) / (1 + B) never falls below 1 / (1 + B) (Davison and Hinkley 1997, 4.2.5).

use std::num::NonZeroU64;

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::numerics::moments::exponent_of;
use crate::analysis::numerics::summation::sum;
use crate::analysis::resampling::stream::Streams;

/// The sign-flip test over B random sign patterns; `null` without tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignFlipMonteCarlo {
    /// The number of sign patterns drawn.
    #[serde(rename = "B")]
    pub resamples: u64,
    /// How many of them had a sum at least as far from 0 as the one observed.
    pub count: u64,
    /// (1 + count) / (1 + B).
    pub p_two_sided: Option<f64>,
    /// The Monte Carlo standard error sqrt(p (1 - p) / B).
    pub mcse: Option<f64>,
    /// Why something above is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

impl SignFlipMonteCarlo {
    /// Samples B sign patterns of differences given as doubles; the time grows with B.
    ///
    /// A sum within n 2^-52 of the total magnitude of the observed one is a tie.
    pub fn of_values(differences: &[f64], resamples: NonZeroU64, streams: &Streams) -> Self {
        if differences.iter().any(|value| !value.is_finite()) {
            return Self::undefined(resamples, Flag::InvalidValue);
        }
        let exponent = exponent_of(
            differences
                .iter()
                .fold(0.0, |most, value| value.abs().max(most)),
        );
        let values: Vec<f64> = differences
            .iter()
            .map(|&value| libm::scalbn(value, -exponent))
            .collect();
        let observed = sum(values.iter().copied());
        let magnitude: f64 = values.iter().map(|value| value.abs()).sum();
        let tie = values.len() as f64 * f64::EPSILON * magnitude;
        let kept = KeptSums::new(&values);
        Self::new(values.len(), resamples, |replicate| {
            // What is kept counts, what is flipped counts against: twice the kept less all of it.
            let flipped = 2.0 * kept.draw(streams, replicate) - observed;
            flipped.abs() >= observed.abs() - tie
        })
    }

    fn new(tasks: usize, resamples: NonZeroU64, reaches: impl Fn(u64) -> bool) -> Self {
        if tasks == 0 {
            return Self::undefined(resamples, Flag::NoTask);
        }
        let count: u64 = (0..resamples.get())
            .map(|replicate| u64::from(reaches(replicate)))
            .sum();
        let drawn = resamples.get() as f64;
        let p = (1.0 + count as f64) / (1.0 + drawn);
        Self {
            resamples: resamples.get(),
            count,
            p_two_sided: Some(p),
            mcse: Some((p * (1.0 - p) / drawn).sqrt()),
            flag: None,
        }
    }

    fn undefined(resamples: NonZeroU64, flag: Flag) -> Self {
        Self {
            resamples: resamples.get(),
            count: 0,
            p_two_sided: None,
            mcse: None,
            flag: Some(flag),
        }
    }
}

/// For each four tasks in turn, the sums of every subset of them: four signs are one look-up.
#[derive(Clone, Debug)]
struct KeptSums {
    tables: Vec<Vec<f64>>,
}

impl KeptSums {
    fn new(values: &[f64]) -> Self {
        Self {
            tables: values.chunks(4).map(subset_sums).collect(),
        }
    }

    /// Returns the sum of the tasks that keep their sign in a replicate.
    fn draw(&self, streams: &Streams, replicate: u64) -> f64 {
        let mut stream = streams.replicate(replicate);
        let mut kept = 0.0;
        for tables in self.tables.chunks(16) {
            let mut signs = stream.next_word();
            for table in tables {
                // The last table may be of fewer than four tasks; its spare signs are not used.
                let subset = (signs & 15) as usize & (table.len() - 1);
                kept = table.get(subset).map_or(kept, |&sum| kept + sum);
                signs >>= 4;
            }
        }
        kept
    }
}

/// Returns the sum of every subset; bit i of the index says whether value i is in it.
fn subset_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for &value in values {
        let with: Vec<f64> = sums.iter().map(|&sum| sum + value).collect();
        sums.extend(with);
    }
    sums
}
