//! The boundaries of a group sequential design, and what it costs and yields.

use serde::Serialize;

use super::spending::Spending;
use super::walk::{Exit, Walk, Z_MAX};
use crate::analysis::Flag;
use crate::analysis::numerics::special::{normal_quantile, normal_sf};

/// How many looks a design may have.
pub const LOOKS_MAX: usize = 50;
/// The smallest distance between two looks, as a share of the later one's fraction.
pub const LOOK_GAP_MIN: f64 = 1e-4;

// A look that may spend less than this has no boundary that a double can tell from none.
const INCREMENT_MIN: f64 = 1e-300;
const NEWTON_STEPS_MAX: u32 = 200;

/// Says on how many sides a trial may stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sided {
    /// Only in favour of the treatment; all of alpha is on that side.
    One,
    /// On both, symmetrically; half of alpha on each.
    Two,
}

impl Sided {
    /// Returns 1 or 2.
    pub fn count(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl Serialize for Sided {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.count())
    }
}

/// Says what the last look of a trial that ended before its planned size may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnderRun {
    /// What the spending function grants at the fraction reached.
    #[default]
    SpendToT,
    /// All that is left of alpha; sound only when the reason to stop is blind to outcomes.
    SpendAll,
}

/// A schedule of looks and the alpha they share.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialDesign {
    /// Fractions of the planned information, ascending, each in (0, 1].
    pub fractions: Vec<f64>,
    /// How alpha is spent over them.
    pub spending: Spending,
    /// The error rate of the whole schedule, both sides together where there are two.
    pub alpha: f64,
    /// On how many sides the trial may stop.
    pub sided: Sided,
    /// What the last look spends.
    pub under_run: UnderRun,
}

/// The boundaries of a design, one entry per look.
///
/// A boundary that no statistic can reach, because the look may spend nothing that a double
/// holds, is None: that look cannot reject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boundaries {
    /// The fractions of the looks.
    pub fractions: Vec<f64>,
    /// Alpha spent up to each look, all sides together.
    pub cumulative_alpha_total: Vec<f64>,
    /// The statistic that stops at each look.
    pub z: Vec<Option<f64>>,
    /// The fixed-sample p-value of that statistic: two-sided where the design is.
    pub nominal_p: Vec<Option<f64>>,
}

/// Returns the boundaries of a design by numerical integration over its looks.
///
/// Refuses with `invalid_design` (no look or more than [`LOOKS_MAX`], fractions not ascending in
/// (0, 1], alpha per side not in (0, 1/2), a spending function that is none) and with
/// `looks_too_close` (nearer than [`LOOK_GAP_MIN`]).
pub fn boundaries(design: &SequentialDesign) -> Result<Boundaries, Flag> {
    solve(design).map(|solved| solved.boundaries)
}

/// A design's boundaries with the densities behind them.
pub(super) struct Solved {
    pub(super) boundaries: Boundaries,
    pub(super) alpha_per_side: f64,
    walk: Walk,
}

impl Solved {
    /// Returns the stopping probabilities of every look, when the statistic at fraction 1 has mean
    /// `drift`.
    pub(super) fn exits(&self, drift: f64) -> Vec<Exit> {
        let looks = self.boundaries.fractions.iter().zip(&self.boundaries.z);
        looks
            .enumerate()
            .map(|(index, (fraction, z))| match z {
                Some(z) => self.walk.exit(index, *fraction, *z, drift),
                None => Exit {
                    upper: 0.0,
                    lower: 0.0,
                },
            })
            .collect()
    }
}

pub(super) fn solve(design: &SequentialDesign) -> Result<Solved, Flag> {
    check(design)?;
    let sides = f64::from(design.sided.count());
    let alpha = design.alpha / sides;
    let two_sided = design.sided == Sided::Two;
    let mut walk = Walk::new(two_sided);
    let mut found = Boundaries {
        fractions: design.fractions.clone(),
        cumulative_alpha_total: Vec::new(),
        z: Vec::new(),
        nominal_p: Vec::new(),
    };
    let mut before = 0.0;
    let mut fractions = design.fractions.iter().copied().peekable();
    while let Some(fraction) = fractions.next() {
        let next = fractions.peek().copied();
        let spend_all = next.is_none() && design.under_run == UnderRun::SpendAll;
        let (spent, increment) = spend(design.spending, alpha, before, fraction, spend_all)
            .ok_or(Flag::InvalidDesign)?;
        let z = boundary(&walk, fraction, increment);
        if let Some(next) = next {
            walk.pass(fraction, z, next);
        }
        found.cumulative_alpha_total.push(sides * spent);
        found.z.push(z);
        found.nominal_p.push(z.map(|z| sides * normal_sf(z)));
        before = fraction;
    }
    Ok(Solved {
        boundaries: found,
        alpha_per_side: alpha,
        walk,
    })
}

/// Returns what one side has spent at `fraction`, and what it spends there.
fn spend(
    spending: Spending,
    alpha: f64,
    before: f64,
    fraction: f64,
    spend_all: bool,
) -> Option<(f64, f64)> {
    if !spend_all || fraction == 1.0 {
        let increment = spending.spent_between(alpha, before, fraction)?;
        return Some((spending.spent(alpha, fraction)?, increment));
    }
    let earlier = if before > 0.0 {
        spending.spent(alpha, before)?
    } else {
        0.0
    };
    Some((alpha, alpha - earlier))
}

/// Returns the statistic that is reached with probability `increment` on the paths so far.
///
/// Newton's method on the logarithm of the crossing probability, from a bound above the root.
/// That logarithm is concave (Prekopa 1973: a normal law on a convex region), so the steps
/// descend to the root without passing it.
fn boundary(walk: &Walk, fraction: f64, increment: f64) -> Option<f64> {
    if increment.is_nan() || increment < INCREMENT_MIN {
        return None;
    }
    let mut z = (-normal_quantile(increment)?).min(Z_MAX);
    for _ in 0..NEWTON_STEPS_MAX {
        let crossing = walk.crossing(fraction, z);
        let density = walk.density(fraction, z);
        if crossing < f64::MIN_POSITIVE || density < f64::MIN_POSITIVE {
            // Too far out for a double; the root is nearer.
            z -= 0.25;
            continue;
        }
        let step = crossing / density * (libm::log(crossing) - libm::log(increment));
        z += step;
        if step.abs() <= 1e-14 * z.abs().max(1.0) {
            return Some(z);
        }
    }
    None
}

fn check(design: &SequentialDesign) -> Result<(), Flag> {
    let fractions = &design.fractions;
    let alpha = design.alpha / f64::from(design.sided.count());
    let ordered = fractions
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a < b));
    let inside = fractions.iter().all(|t| *t > 0.0 && *t <= 1.0);
    let counted = !fractions.is_empty() && fractions.len() <= LOOKS_MAX;
    if !(ordered && inside && counted && alpha > 0.0 && alpha < 0.5 && design.spending.is_valid()) {
        return Err(Flag::InvalidDesign);
    }
    let apart = fractions
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if b - a >= LOOK_GAP_MIN * b));
    if apart {
        Ok(())
    } else {
        Err(Flag::LooksTooClose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(fractions: &[f64], spending: Spending, alpha: f64, sided: Sided) -> SequentialDesign {
        let fractions = fractions.to_vec();
        SequentialDesign {
            fractions,
            spending,
            alpha,
            sided,
            under_run: UnderRun::SpendToT,
        }
    }

    /// Integrates by Simpson's rule on an even number of intervals.
    fn simpson(low: f64, high: f64, intervals: usize, f: impl Fn(f64) -> f64) -> f64 {
        let step = (high - low) / intervals as f64;
        let weight = |i: usize| {
            if i == 0 || i == intervals {
                1.0
            } else {
                [2.0, 4.0][i % 2]
            }
        };
        (0..=intervals)
            .map(|i| weight(i) * f(low + i as f64 * step))
            .sum::<f64>()
            * step
            / 3.0
    }

    fn density(z: f64) -> f64 {
        libm::exp(-0.5 * z * z) / std::f64::consts::TAU.sqrt()
    }

    /// The probabilities to cross upwards first at the second and at the third look, under a drift,
    /// by Simpson's rule on the paths themselves.
    fn crossings(t: [f64; 3], z: [f64; 3], low: [f64; 2], drift: f64) -> [f64; 2] {
        let from = |i: usize, x: f64, y: f64| {
            let gap = t[i] - t[i - 1];
            (y * t[i].sqrt() - x * t[i - 1].sqrt() - drift * gap) / gap.sqrt()
        };
        let first = |x: f64| density(x - drift * t[0].sqrt());
        let second = |y: f64| {
            let scale = (t[1] / (t[1] - t[0])).sqrt();
            simpson(low[0], z[0], 3000, |x| {
                first(x) * density(from(1, x, y)) * scale
            })
        };
        [
            simpson(low[0], z[0], 3000, |x| {
                first(x) * normal_sf(from(1, x, z[1]))
            }),
            simpson(low[1], z[1], 3000, |y| {
                second(y) * normal_sf(from(2, y, z[2]))
            }),
        ]
    }

    #[test]
    fn three_looks_stop_as_often_as_simpsons_rule_says() {
        let schedules = [[0.5, 0.51, 0.9], [0.2, 0.98, 1.0]];
        for fractions in schedules {
            for (sided, drift) in [(Sided::Two, 0.0), (Sided::One, 3.0)] {
                let solved = solve(&design(&fractions, Spending::Pocock, 0.04, sided)).unwrap();
                let z: Vec<f64> = solved.boundaries.z.iter().map(|z| z.unwrap()).collect();
                let low = if sided == Sided::Two {
                    [-z[0], -z[1]]
                } else {
                    [-8.0, -8.0]
                };
                let expected = crossings(fractions, [z[0], z[1], z[2]], low, drift);
                let exits = solved.exits(drift);
                for (exit, expected) in exits.iter().skip(1).zip(expected) {
                    let far = (exit.upper - expected).abs();
                    assert!(
                        far < 1e-10,
                        "{fractions:?} {sided:?} {drift}: {exit:?} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn each_look_spends_what_it_may_on_each_side() {
        let many: Vec<f64> = (1..=50).map(|i| f64::from(i) / 50.0).collect();
        let uneven = [0.01, 0.0101, 0.2, 0.5, 0.5001, 0.9, 1.0];
        for fractions in [&many[..], &uneven[..]] {
            for spending in [Spending::Obf, Spending::Pocock, Spending::Power(3.0)] {
                let solved = solve(&design(fractions, spending, 0.05, Sided::Two)).unwrap();
                let mut before = 0.0;
                for (exit, t) in solved.exits(0.0).iter().zip(fractions) {
                    let increment = spending.spent_between(0.025, before, *t).unwrap();
                    let far = (exit.upper / increment - 1.0).abs();
                    assert!(
                        far < 1e-10 || increment < INCREMENT_MIN,
                        "{spending:?} {t}: {far}"
                    );
                    assert!(
                        (exit.lower / increment - 1.0).abs() < 1e-10 || increment < INCREMENT_MIN
                    );
                    before = *t;
                }
            }
        }
    }
}
