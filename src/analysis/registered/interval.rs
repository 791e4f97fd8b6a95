//! The registered effect with the registered interval.

use std::num::{NonZeroU64, NonZeroUsize};

use super::answer::Effected;
use super::hypothesis::{mean, table};
use super::pairs::Pairs;
use crate::analysis::Flag;
use crate::analysis::means::mean::Mean;
use crate::analysis::means::ratio::MeanRatio;
use crate::analysis::numerics::special::t_quantile;
use crate::analysis::resampling::bootstrap::{
    Plan, cluster_rows, enumerate, quotient, resample, task_ideal,
};
use crate::analysis::resampling::stream::Streams;
use crate::protocol::model::{Effect, Interval};

/// An effect with its interval; what is not defined is `None`, and `flag` says why.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimated {
    /// The effect: a difference, or a ratio.
    pub(super) estimate: Option<f64>,
    /// The standard error of the effect, where the interval is made with one.
    pub(super) se: Option<f64>,
    /// The interval.
    pub(super) ci: Option<[f64; 2]>,
    /// Why there is none.
    pub(super) flag: Option<Flag>,
}

impl Estimated {
    /// Returns the effect as an answer has it, with its interval at level 1 - `alpha`.
    pub(super) fn at_level(self, alpha: f64) -> Effected {
        Effected {
            estimate: finite(self.estimate),
            se: finite(self.se),
            ci_level: 1.0 - alpha,
            ci: self
                .ci
                .filter(|ends| ends.iter().all(|end| end.is_finite())),
            ci_flag: self.flag,
        }
    }
}

/// Leaves out what is not a number.
pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// From where a bootstrap draws, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawing<'a> {
    pub(super) streams: &'a Streams,
    pub(super) resamples: NonZeroU64,
    pub(super) threads: NonZeroUsize,
}

impl<'a> Drawing<'a> {
    /// Returns how to resample.
    pub(super) fn plan(&self) -> Plan<'a> {
        Plan {
            streams: self.streams,
            resamples: self.resamples.get(),
            threads: self.threads,
        }
    }
}

/// Returns the effect with its interval at level 1 - `alpha`.
pub(super) fn estimate(
    pairs: &Pairs,
    effect: Effect,
    interval: Interval,
    alpha: f64,
    drawing: Drawing<'_>,
) -> Estimated {
    match effect {
        Effect::PairedDiff => difference(pairs, interval, alpha, drawing),
        Effect::RatioOfMeans => ratio(pairs, interval, alpha, drawing),
        Effect::GeometricRatio => geometric(pairs, interval, alpha, drawing),
    }
}

fn difference(pairs: &Pairs, interval: Interval, alpha: f64, drawing: Drawing<'_>) -> Estimated {
    let mean = mean(pairs, alpha);
    let of_table = |ci| Estimated {
        estimate: mean.mean,
        ci,
        ..Estimated::default()
    };
    let bounded = |estimated: Estimated| match pairs.lattice {
        // Two shares differ by no more than 1.
        Some(_) => Estimated {
            ci: estimated
                .ci
                .map(|ends| ends.map(|end| end.clamp(-1.0, 1.0))),
            ..estimated
        },
        None => estimated,
    };
    match interval {
        Interval::T => bounded(by_error(&mean, Interval::T)),
        Interval::Tango => of_table(table(pairs, alpha).difference.ci_tango),
        Interval::Newcombe => of_table(table(pairs, alpha).difference.ci_newcombe),
        Interval::AgrestiMin => of_table(table(pairs, alpha).difference.ci_agresti_min),
        Interval::BootstrapPercentile | Interval::BootstrapBca => Estimated {
            estimate: mean.mean,
            ..drawn_difference(pairs, interval, alpha, drawing)
        },
        Interval::TCr2 | Interval::Fieller => bounded(by_error(&mean, interval)),
    }
}

fn by_error(mean: &Mean, interval: Interval) -> Estimated {
    let error = match interval {
        Interval::T => &mean.iid,
        _ => mean.deciding(),
    };
    Estimated {
        estimate: mean.mean,
        se: error.se,
        ci: error.ci,
        flag: error.flag,
    }
}

/// Resamples tasks, or whole clusters; exactly, where the law of the mean can be summed or the draws be listed.
fn drawn_difference(
    pairs: &Pairs,
    interval: Interval,
    alpha: f64,
    drawing: Drawing<'_>,
) -> Estimated {
    if let (Some(differences), None) = (&pairs.lattice, &pairs.clusters) {
        let law = task_ideal(differences, alpha);
        let ci = match interval {
            Interval::BootstrapBca => law.bca,
            _ => law.percentile,
        };
        if law.flag != Some(Flag::LatticeTooFine) {
            return Estimated {
                ci,
                se: law.law.map(|law| law.se),
                flag: law.flag,
                ..Estimated::default()
            };
        }
    }
    let rows: Vec<[f64; 2]> = pairs.differences.iter().map(|one| [*one, 1.0]).collect();
    drawn(pairs, &rows, interval, alpha, drawing)
}

fn drawn(
    pairs: &Pairs,
    rows: &[[f64; 2]],
    interval: Interval,
    alpha: f64,
    drawing: Drawing<'_>,
) -> Estimated {
    let units = units(rows, pairs.clusters.as_deref());
    resampled(&units, quotient, interval, alpha, drawing)
}

/// Returns the rows of what is drawn: of the tasks, or where there are any of whole clusters.
pub(super) fn units<const K: usize>(
    rows: &[[f64; K]],
    clusters: Option<&[usize]>,
) -> Vec<[f64; K]> {
    match clusters {
        None => rows.to_vec(),
        Some(clusters) => cluster_rows(rows, clusters).unwrap_or_default(),
    }
}

/// Draws units for a statistic of their totals; of few units every draw is listed.
pub(super) fn resampled<const K: usize>(
    units: &[[f64; K]],
    statistic: impl Fn(&[f64; K]) -> Option<f64> + Sync,
    interval: Interval,
    alpha: f64,
    drawing: Drawing<'_>,
) -> Estimated {
    let of = |percentile, bca| match interval {
        Interval::BootstrapBca => bca,
        _ => percentile,
    };
    if let Some(found) = enumerate(units, &statistic, alpha) {
        return Estimated {
            estimate: found.estimate,
            se: found.se,
            ci: of(found.percentile, found.bca),
            flag: found.flag,
        };
    }
    let found = resample(units, statistic, alpha, drawing.plan());
    Estimated {
        estimate: found.estimate,
        se: found.se,
        ci: of(found.percentile, found.bca),
        flag: found.flag,
    }
}

fn ratio(pairs: &Pairs, interval: Interval, alpha: f64, drawing: Drawing<'_>) -> Estimated {
    let found = MeanRatio::new(&pairs.reference, &pairs.treatment, alpha);
    match interval {
        Interval::Fieller => Estimated {
            estimate: found.ratio,
            ci: found.intervals.as_ref().and_then(|ends| ends.fieller),
            flag: found
                .flag
                .or(found.intervals.and_then(|ends| ends.fieller_flag)),
            se: None,
        },
        Interval::BootstrapPercentile | Interval::BootstrapBca => {
            let arms = pairs.treatment.iter().zip(&pairs.reference);
            let rows: Vec<[f64; 2]> = arms.map(|(b, a)| [*b, *a]).collect();
            drawn(pairs, &rows, interval, alpha, drawing)
        }
        _ => Estimated {
            estimate: found.ratio,
            ..by_delta(pairs, found.ratio, found.mean_a, interval, alpha)
        },
    }
}

/// Linearises a ratio R of means: the mean of b - R a, over the reference's mean (delta method).
fn by_delta(
    pairs: &Pairs,
    ratio: Option<f64>,
    reference: Option<f64>,
    interval: Interval,
    alpha: f64,
) -> Estimated {
    let (Some(ratio), Some(reference)) = (ratio, reference) else {
        return Estimated {
            flag: Some(Flag::ZeroDenominator),
            ..Estimated::default()
        };
    };
    let arms = pairs.reference.iter().zip(&pairs.treatment);
    let residuals: Vec<f64> = arms.map(|(a, b)| b - ratio * a).collect();
    let mean = Mean::of_values(&residuals, pairs.clusters.as_deref(), alpha);
    let error = match interval {
        Interval::T => &mean.iid,
        _ => mean.deciding(),
    };
    let se = error.se.map(|se| se / reference.abs());
    let reach = se
        .filter(|se| *se > 0.0)
        .zip(error.df.and_then(|df| t_quantile(1.0 - alpha / 2.0, df)));
    Estimated {
        se,
        ci: reach.map(|(se, t)| [ratio - t * se, ratio + t * se]),
        flag: error.flag,
        ..Estimated::default()
    }
}

/// Returns the difference of logarithms as the ratio that it is.
fn geometric(pairs: &Pairs, interval: Interval, alpha: f64, drawing: Drawing<'_>) -> Estimated {
    let Some(logarithms) = pairs.logarithms() else {
        return Estimated {
            flag: Some(Flag::RatioNotPositive),
            ..Estimated::default()
        };
    };
    let found = difference(&logarithms, interval, alpha, drawing);
    Estimated {
        estimate: found.estimate.map(libm::exp),
        // The error is one of the logarithm.
        se: None,
        ci: found.ci.map(|ends| ends.map(libm::exp)),
        flag: found.flag,
    }
}
