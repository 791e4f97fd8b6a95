//! The resampled blocks: what is drawn, and from which stream.
//!
//! Every block draws from the streams of its own path in the results, such as
//! `cost_usd.ratio_bootstrap_task`, so anyone can recompute it from the registration.
use std::num::{NonZeroU64, NonZeroUsize};

use crate::analysis::described::cost_effectiveness::{CostTask, benefit_rows, cost_rows};
use crate::analysis::paired::sign_flip_monte_carlo::SignFlipMonteCarlo;
use crate::analysis::resampling::bootstrap::{
    Acceptability, Plan, Quadrants, Resampled, acceptability, cluster_rows, difference_of_rates,
    quadrants, quotient, ratio_of_rates, resample,
};
use crate::analysis::resampling::stream::Streams;
use crate::analysis::values::binary::PairedShares;
use crate::analysis::values::numbers::PairedNumbers;

/// How Monte Carlo blocks are computed. No result depends on `threads`.
#[derive(Clone, Copy, Debug)]
pub struct Resampling<'a> {
    /// The registration hash, in hexadecimal.
    pub registration_hash: &'a str,
    /// B, the number of resamples.
    pub resamples: NonZeroU64,
    /// The most threads to use.
    pub threads: NonZeroUsize,
    /// Is told the path of a block before it is drawn.
    pub begin: fn(&str),
}

/// False claims and claims of a task in the treatment and the reference.
pub(super) type ClaimRow = [f64; 4];

impl Resampling<'_> {
    fn draw<T>(&self, path: &str, compute: impl FnOnce(Plan<'_>) -> T) -> T {
        (self.begin)(path);
        let streams = Streams::new(self.registration_hash, path);
        compute(Plan {
            streams: &streams,
            resamples: self.resamples.get(),
            threads: self.threads,
        })
    }

    /// Draws clusters for the mean difference of shares; absent without clusters.
    pub(super) fn shares_by_cluster(
        &self,
        path: &str,
        shares: &PairedShares,
        alpha: f64,
    ) -> Option<Resampled> {
        let rows = with_count(&shares.difference_values());
        let units = cluster_rows(&rows, shares.clusters()?)?;
        Some(self.draw(path, |plan| resample(&units, quotient, alpha, plan)))
    }

    /// Draws tasks for the mean difference of numbers.
    pub(super) fn difference(&self, path: &str, pairs: &PairedNumbers, alpha: f64) -> Resampled {
        let rows = with_count(&pairs.differences);
        self.draw(path, |plan| resample(&rows, quotient, alpha, plan))
    }

    /// Draws tasks for the ratio of the means of numbers.
    pub(super) fn ratio(&self, path: &str, pairs: &PairedNumbers, alpha: f64) -> Resampled {
        let rows = ratio_rows(pairs);
        self.draw(path, |plan| resample(&rows, quotient, alpha, plan))
    }

    /// Draws clusters for the ratio of the means of numbers; absent without clusters.
    pub(super) fn ratio_by_cluster(
        &self,
        path: &str,
        pairs: &PairedNumbers,
        alpha: f64,
    ) -> Option<Resampled> {
        let units = cluster_rows(&ratio_rows(pairs), pairs.clusters.as_deref()?)?;
        Some(self.draw(path, |plan| resample(&units, quotient, alpha, plan)))
    }

    /// Draws signs for the mean difference of numbers.
    pub(super) fn sign_flip(&self, path: &str, pairs: &PairedNumbers) -> SignFlipMonteCarlo {
        (self.begin)(path);
        let streams = Streams::new(self.registration_hash, path);
        SignFlipMonteCarlo::of_values(&pairs.differences, self.resamples, &streams)
    }

    /// Draws tasks for the difference of false claims per claim.
    pub(super) fn claims(&self, path: &str, rows: &[ClaimRow], alpha: f64) -> Resampled {
        self.draw(path, |plan| {
            resample(rows, difference_of_rates, alpha, plan)
        })
    }

    /// Draws tasks for the ratio of the costs per resolved task.
    pub(super) fn cost_per_resolved(
        &self,
        path: &str,
        tasks: &[CostTask],
        alpha: f64,
    ) -> Resampled {
        let rows = cost_rows(tasks);
        self.draw(path, |plan| resample(&rows, ratio_of_rates, alpha, plan))
    }

    /// Draws tasks for the quadrants of effect and cost.
    pub(super) fn quadrants(&self, path: &str, tasks: &[CostTask]) -> Quadrants {
        // What a success is worth is of no account here.
        let rows = benefit_rows(tasks, 1);
        self.draw(path, |plan| quadrants(&rows, plan))
    }

    /// Draws tasks, or clusters where there are any, for the acceptability curve.
    pub(super) fn acceptability(
        &self,
        path: &str,
        rows: &[[f64; 2]],
        clusters: Option<&[usize]>,
        worths: &[f64],
    ) -> Acceptability {
        let units = clusters.and_then(|clusters| cluster_rows(rows, clusters));
        let units = units.as_deref().unwrap_or(rows);
        self.draw(path, |plan| acceptability(units, worths, plan))
    }
}

/// Returns one row per value: the value, and 1 for the count that divides it.
fn with_count(values: &[f64]) -> Vec<[f64; 2]> {
    values.iter().map(|&value| [value, 1.0]).collect()
}

fn ratio_rows(pairs: &PairedNumbers) -> Vec<[f64; 2]> {
    pairs
        .treatment
        .iter()
        .zip(&pairs.reference)
        .map(|(&b, &a)| [b, a])
        .collect()
}
