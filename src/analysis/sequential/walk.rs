//! The law of the test statistic over the looks of a trial that has not stopped.
//!
//! Under no effect the statistics Z_1, Z_2, ... at fractions t_1 < t_2 < ... are jointly normal
//! with unit variances and correlations sqrt(t_j / t_k). The density of Z_k on the region where
//! every look so far continued follows from that of Z_{k-1} by one integral (Armitage, McPherson
//! and Rowe 1969). Each density is kept as quadrature nodes, dense enough for the narrower of the
//! two normal kernels that meet there.
//!
//! Under a drift the densities are those of no effect, times a likelihood ratio, so one walk
//! serves every drift.

use crate::analysis::numerics::quadrature::{Node, gauss_legendre, panels};
use crate::analysis::numerics::special::normal_sf;

/// The largest statistic that is looked at: its tail of 1e-307 is still a normal double.
pub(super) const Z_MAX: f64 = 37.5;

// Where one side only can stop, statistics below this do not come back to a boundary: 8e-24.
const Z_LOW_ONE_SIDED: f64 = -10.0;
const NODES_PER_PANEL: u32 = 16;
// In standard deviations of the kernel; 16 nodes integrate a normal density there to 1e-15.
const PANEL_WIDTH: f64 = 3.0;
// Beyond it the normal density and its tail are below 1e-313.
const NORMAL_REACH: f64 = 38.0;
// Paths that leave a short step by more standard deviations than this add nothing to its density.
const STEP_REACH: f64 = 12.0;

/// The density of the statistic at a look on the region where the trial goes on.
struct Continuing {
    fraction: f64,
    /// Places, with density times quadrature weight.
    masses: Vec<Node>,
}

/// The two probabilities of stopping at a look, not having stopped before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exit {
    pub(super) upper: f64,
    pub(super) lower: f64,
}

/// The looks passed so far.
pub(super) struct Walk {
    two_sided: bool,
    rule: Vec<Node>,
    looks: Vec<Continuing>,
}

impl Walk {
    pub(super) fn new(two_sided: bool) -> Self {
        Self {
            two_sided,
            rule: gauss_legendre(NODES_PER_PANEL),
            looks: Vec::new(),
        }
    }

    /// Passes a look: the trial goes on unless the statistic reached `boundary` (None: whatever
    /// it was). `next` is the fraction of the look after it.
    pub(super) fn pass(&mut self, fraction: f64, boundary: Option<f64>, next: f64) {
        let high = boundary.unwrap_or(Z_MAX).min(Z_MAX);
        let low = if self.two_sided {
            -high
        } else {
            Z_LOW_ONE_SIDED.min(high)
        };
        let step_in = self
            .looks
            .last()
            .map_or(1.0, |last| ((fraction - last.fraction) / fraction).sqrt());
        let step_out = ((next - fraction) / fraction).sqrt();
        let width = PANEL_WIDTH * step_in.min(step_out).min(1.0);
        let masses = panels(&self.rule, low, high, width)
            .into_iter()
            .map(|node| Node {
                x: node.x,
                weight: node.weight * self.density(fraction, node.x),
            })
            .filter(|node| node.weight > 0.0)
            .collect();
        self.looks.push(Continuing { fraction, masses });
    }

    /// Returns the density at `z` of the statistic of the look at `fraction`, on the paths that
    /// have not stopped.
    pub(super) fn density(&self, fraction: f64, z: f64) -> f64 {
        let Some(last) = self.looks.last() else {
            return normal_density(z);
        };
        let step = Step::between(last.fraction, fraction);
        let density_of = |mass: &Node| mass.weight * normal_density(step.distance(mass.x, z));
        let near = step.near(&last.masses, z).iter();
        near.map(density_of).fold(0.0, |sum, density| sum + density) * step.scale_to
    }

    /// Returns the probability under no effect that the statistic of the look at `fraction` is at
    /// least `z`, on the paths that have not stopped.
    pub(super) fn crossing(&self, fraction: f64, z: f64) -> f64 {
        self.exit(self.looks.len(), fraction, z, 0.0).upper
    }

    /// Returns the probabilities that look `index` (0 for the first), at `fraction`, is the first
    /// to stop, when the statistic at fraction 1 has mean `drift`.
    pub(super) fn exit(&self, index: usize, fraction: f64, boundary: f64, drift: f64) -> Exit {
        let before = index
            .checked_sub(1)
            .and_then(|before| self.looks.get(before));
        let Some(before) = before else {
            let mean = drift * fraction.sqrt();
            return self.sided(normal_sf(boundary - mean), normal_sf(boundary + mean));
        };
        let step = Step::between(before.fraction, fraction);
        let shift = drift * (fraction - before.fraction).sqrt();
        let mean = drift * before.fraction.sqrt();
        let from = |mass: &Node| mass.weight * likelihood_ratio(mass.x, mean);
        let above = |mass: &Node| step.distance(mass.x, boundary) - shift;
        let below = |mass: &Node| shift - step.distance(mass.x, -boundary);
        let start = before
            .masses
            .partition_point(|mass| above(mass) > NORMAL_REACH);
        let upper = before.masses.iter().skip(start);
        let upper = upper.fold(0.0, |sum, mass| sum + from(mass) * normal_sf(above(mass)));
        let end = before
            .masses
            .partition_point(|mass| below(mass) <= NORMAL_REACH);
        let lower = before.masses.iter().take(end).filter(|_| self.two_sided);
        let lower = lower.fold(0.0, |sum, mass| sum + from(mass) * normal_sf(below(mass)));
        self.sided(upper, lower)
    }

    fn sided(&self, upper: f64, lower: f64) -> Exit {
        Exit {
            upper,
            lower: if self.two_sided { lower } else { 0.0 },
        }
    }
}

/// The normal kernel that carries a statistic from one look to the next.
struct Step {
    scale_from: f64,
    scale_to: f64,
}

impl Step {
    fn between(from: f64, to: f64) -> Self {
        let gap = to - from;
        Self {
            scale_from: (from / gap).sqrt(),
            scale_to: (to / gap).sqrt(),
        }
    }

    /// Returns the masses, ascending, from which a path to `z` is not negligible.
    ///
    /// Against a short step the earlier density is nearly level, so only masses near `z` count;
    /// a long step may start far out in the tails.
    fn near<'a>(&self, masses: &'a [Node], z: f64) -> &'a [Node] {
        let deviation = 1.0 / self.scale_to;
        let reach = (STEP_REACH + Z_MAX * deviation).min(NORMAL_REACH);
        let start = masses.partition_point(|mass| self.distance(mass.x, z) > reach);
        let end = masses.partition_point(|mass| self.distance(mass.x, z) >= -reach);
        masses.get(start..end).unwrap_or_default()
    }

    /// Returns how many standard deviations of the increment lead from `x` to `z`.
    fn distance(&self, x: f64, z: f64) -> f64 {
        z * self.scale_to - x * self.scale_from
    }
}

fn normal_density(z: f64) -> f64 {
    const INVERSE_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
    if z.abs() > NORMAL_REACH {
        return 0.0;
    }
    INVERSE_SQRT_TAU * libm::exp(-0.5 * z * z)
}

/// Returns the density at `x` of a normal law of this mean and variance 1, relative to mean 0.
fn likelihood_ratio(x: f64, mean: f64) -> f64 {
    if mean == 0.0 {
        1.0
    } else {
        libm::exp(mean * (x - 0.5 * mean))
    }
}
