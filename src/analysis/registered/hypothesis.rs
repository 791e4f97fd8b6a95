//! The registered test of the registered hypothesis.
//!
//! An objective is a null hypothesis, which lies at 0 or at a margin, and a side. Every test is made on
//! differences that are shifted so that the null hypothesis lies at 0. Equivalence makes two tests, and its p
//! is the larger one (Schuirmann 1987).

use std::num::NonZeroU64;

use super::describe::share;
use super::pairs::Pairs;
use crate::analysis::means::mean::Mean;
use crate::analysis::numerics::special::{binomial_half_tail, normal_sf, t_sf, t_two_sided};
use crate::analysis::paired::paired_table::{PairedCounts, PairedTable};
use crate::analysis::paired::sign_flip::SignFlip;
use crate::analysis::paired::sign_flip_monte_carlo::SignFlipMonteCarlo;
use crate::analysis::paired::signed_rank::{SignedRank, ZeroMethod};
use crate::analysis::resampling::stream::Streams;
use crate::analysis::values::numbers::plus;
use crate::analysis::{Flag, Lattice};
use crate::protocol::model::{Alternative, Better, Comparison, Objective, Test};
use crate::units::Ratio;

/// What a test says; what is not defined is `None`, and `flag` says why. A p below the range of a double is the
/// smallest one that has all its digits, with the flag for that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tested {
    /// The statistic, where the test has one that is not its p.
    pub(super) statistic: Option<f64>,
    /// Its degrees of freedom.
    pub(super) df: Option<f64>,
    /// The p of the hypothesis.
    pub(super) p: Option<f64>,
    /// The smallest p that as many units can give.
    pub(super) p_floor: Option<f64>,
    /// Why there is no p, or that it is smaller still.
    pub(super) flag: Option<Flag>,
}

impl Tested {
    /// Takes a p with the flag that a test gave; `flag` may be about another number beside it.
    fn with(p: Option<f64>, flag: Option<Flag>) -> Self {
        let (p, flag) = match (p, flag) {
            (Some(p), _) if p > 0.0 => (Some(p), None),
            (Some(_), _) | (None, Some(Flag::BelowRange)) => {
                (Some(f64::MIN_POSITIVE), Some(Flag::BelowRange))
            }
            (None, flag) => (None, flag),
        };
        Self {
            p,
            flag,
            ..Self::default()
        }
    }
}

/// The side on which a test looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Both,
    Greater,
    Less,
}

/// A null hypothesis: that the difference is less than `shift` below 0, seen from a side.
#[derive(Clone, Copy, Debug)]
struct Null {
    shift: Shift,
    side: Side,
}

/// How far the null hypothesis lies below 0: nowhere, by the margin, or above 0 by it.
#[derive(Clone, Copy, Debug)]
enum Shift {
    None,
    Up(Ratio),
    Down(Ratio),
}

impl Shift {
    fn value(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Up(by) => share(by.num, by.den),
            Self::Down(by) => -share(by.num, by.den),
        }
    }

    /// Shifts exact differences; undefined where 64 bits do not hold them.
    fn exact(self, differences: &Lattice) -> Option<Lattice> {
        let (by, sign) = match self {
            Self::None => return Some(differences.clone()),
            Self::Up(by) => (by, 1),
            Self::Down(by) => (by, -1),
        };
        let scale = differences.scale.checked_mul(by.den)?;
        let by_scaled = i64::try_from(by.num.checked_mul(differences.scale)?).ok()?;
        let den = i64::try_from(by.den).ok()?;
        let shifted = differences.values.iter().map(|value| {
            let value = value.checked_mul(den)?.checked_add(sign * by_scaled)?;
            Some((value, scale))
        });
        Lattice::from_fractions(&shifted.collect::<Option<Vec<_>>>()?)
    }
}

/// Makes the registered test; `streams` are drawn from where the test samples.
pub(super) fn test(
    pairs: &Pairs,
    comparison: &Comparison,
    better: Better,
    resamples: NonZeroU64,
    streams: &Streams,
) -> Tested {
    let made = |null| one(pairs, comparison.test, null, resamples, streams);
    let margin = comparison.margin.unwrap_or(Ratio { num: 0, den: 1 });
    let above = Null {
        shift: Shift::Up(margin),
        side: Side::Greater,
    };
    let below = Null {
        shift: Shift::Down(margin),
        side: Side::Less,
    };
    match (comparison.objective, better) {
        (Objective::Superiority, _) => made(Null {
            shift: Shift::None,
            side: match comparison.alternative {
                Alternative::TwoSided => Side::Both,
                Alternative::Greater => Side::Greater,
                Alternative::Less => Side::Less,
            },
        }),
        (Objective::NonInferiority, Better::Higher) => made(above),
        (Objective::NonInferiority, Better::Lower) => made(below),
        (Objective::Equivalence, _) => weaker(made(above), made(below)),
    }
}

/// Returns the test with the larger p; the one that has none, where one has none.
fn weaker(one: Tested, other: Tested) -> Tested {
    match (one.p, other.p) {
        (None, _) => one,
        (Some(p), Some(q)) if p >= q => one,
        _ => other,
    }
}

fn one(pairs: &Pairs, test: Test, null: Null, resamples: NonZeroU64, streams: &Streams) -> Tested {
    match test {
        Test::TCr2 => student(pairs, null),
        Test::SignFlip => match &pairs.lattice {
            Some(differences) => flipped(pairs, differences, null),
            None => flipped_by_sampling(pairs, null, resamples, streams),
        },
        Test::McnemarExact | Test::McnemarMid => discordant(pairs, test, null.side),
        Test::Wilcoxon => ranked(pairs, null),
    }
}

/// Returns the mean difference with its standard errors.
pub(super) fn mean(pairs: &Pairs, alpha: f64) -> Mean {
    let clusters = pairs.clusters.as_deref();
    match &pairs.lattice {
        Some(differences) => Mean::of_lattice(differences, clusters, alpha),
        None => Mean::of_values(&pairs.differences, clusters, alpha),
    }
}

fn student(pairs: &Pairs, null: Null) -> Tested {
    // The level of the intervals, which are not looked at here, is of no account.
    let mean = mean(pairs, 0.05);
    let error = mean.deciding();
    let (Some(value), Some(se), Some(df)) = (mean.mean, error.se.filter(|se| *se > 0.0), error.df)
    else {
        return Tested::with(None, error.flag.or(Some(Flag::FewerThanTwo)));
    };
    let t = (value + null.shift.value()) / se;
    let p = match null.side {
        Side::Both => t_two_sided(t, df),
        Side::Greater => t_sf(t, df),
        Side::Less => t_sf(-t, df),
    };
    Tested {
        statistic: Some(t),
        df: Some(df),
        ..Tested::with(p.is_finite().then_some(p), Some(Flag::OutOfRange))
    }
}

fn flipped(pairs: &Pairs, differences: &Lattice, null: Null) -> Tested {
    let Some(shifted) = null.shift.exact(differences) else {
        return Tested::with(None, Some(Flag::LatticeTooFine));
    };
    let flip = match &pairs.clusters {
        Some(clusters) => SignFlip::of_clusters(&shifted, clusters),
        None => SignFlip::of_tasks(&shifted),
    };
    let p = match null.side {
        Side::Both => flip.p_two_sided,
        Side::Greater => flip.p_greater,
        Side::Less => flip.p_less,
    };
    Tested {
        p_floor: match null.side {
            Side::Both => flip.p_floor_two_sided,
            Side::Greater | Side::Less if flip.n_nonzero == 0 => flip.p_floor_two_sided,
            Side::Greater | Side::Less => flip.p_floor_two_sided.map(|both| both / 2.0),
        },
        ..Tested::with(p, flip.flag)
    }
}

/// Flips numbers, whole clusters together, by sampling; two-sided, as is registered of numbers.
fn flipped_by_sampling(
    pairs: &Pairs,
    null: Null,
    resamples: NonZeroU64,
    streams: &Streams,
) -> Tested {
    if null.side != Side::Both {
        return Tested::with(None, Some(Flag::LatticeTooFine));
    }
    let shift = null.shift.value();
    let shifted = pairs.differences.iter().map(|value| value + shift);
    let units = match &pairs.clusters {
        None => shifted.collect(),
        Some(clusters) => {
            let mut sums = vec![0.0; clusters.len()];
            for (value, cluster) in shifted.zip(clusters) {
                if let Some(sum) = sums.get_mut(*cluster) {
                    *sum += value;
                }
            }
            sums.truncate(clusters.iter().max().map_or(0, |last| last + 1));
            sums
        }
    };
    let flip = SignFlipMonteCarlo::of_values(&units, resamples, streams);
    Tested::with(flip.p_two_sided, flip.flag)
}

/// Returns the table of one repeat of each task.
pub(super) fn table(pairs: &Pairs, alpha: f64) -> PairedTable {
    let outcomes = pairs.reference.iter().zip(&pairs.treatment);
    let outcomes = outcomes.map(|(reference, treatment)| (*reference > 0.5, *treatment > 0.5));
    PairedTable::new(PairedCounts::from_outcomes(outcomes), alpha)
}

fn discordant(pairs: &Pairs, test: Test, side: Side) -> Tested {
    let signs = pairs.differences.iter();
    let up = signs.clone().filter(|value| **value > 0.0).count() as u64;
    let down = signs.filter(|value| **value < 0.0).count() as u64;
    let table = table(pairs, 0.05);
    let both = table.mcnemar;
    let exact = test == Test::McnemarExact;
    let side_p = |against: u64| match exact {
        true => binomial_half_tail(against, up + down),
        false => {
            let below = against.checked_sub(1);
            let below = below.map_or(0.0, |below| binomial_half_tail(below, up + down));
            (binomial_half_tail(against, up + down) + below) / 2.0
        }
    };
    let p = match side {
        Side::Both if exact => both.p_exact,
        Side::Both => both.p_mid,
        Side::Greater | Side::Less if up + down == 0 => both.p_mid,
        Side::Greater => Some(side_p(down)),
        Side::Less => Some(side_p(up)),
    };
    Tested::with(p, table.flag)
}

fn ranked(pairs: &Pairs, null: Null) -> Tested {
    let shift = null.shift.value();
    let exact = pairs.lattice.as_ref().and_then(|own| null.shift.exact(own));
    let ranks = match exact {
        Some(differences) => SignedRank::of_lattice(&differences, ZeroMethod::Wilcoxon),
        None => {
            let shifted = pairs.differences.iter().map(|one| plus(*one, shift));
            let shifted: Vec<f64> = shifted.collect();
            SignedRank::of_values(&shifted, ZeroMethod::Wilcoxon)
        }
    };
    let sides = ranks.one_sided;
    let normal = |z: f64| Some(normal_sf(z));
    let exact = match null.side {
        Side::Both => ranks.p_exact,
        // Without a difference there is no side.
        Side::Greater | Side::Less if sides.is_none() => ranks.p_exact,
        Side::Greater => sides.and_then(|sides| sides.p_exact_greater),
        Side::Less => sides.and_then(|sides| sides.p_exact_less),
    };
    let beyond = ranks.flag == Some(Flag::TooManyRanks);
    let normal = ranks.z.filter(|_| beyond).and_then(|z| match null.side {
        Side::Both => ranks.p_normal,
        Side::Greater => normal(z),
        Side::Less => normal(-z),
    });
    Tested {
        statistic: Some(ranks.w_plus),
        ..Tested::with(exact.or(normal), ranks.flag)
    }
}
