//! How far two Monte Carlo values may lie apart: 5 standard errors of both together.
//!
//! The references broke ties between resamples by the rounding of their sums. In
//! `ratio_bootstrap_cluster` of few clusters, z0 (and what follows from it) and in
//! `bootstrap_cluster_mc` the share at or below 0 are off by that, beyond 5 standard errors from some
//! 100,000 resamples of ours on; enumeration of all draws confirms ours.
use std::collections::BTreeMap;

use prereg::analysis::numerics::special::normal_quantile;
use serde_json::Value;

use super::leaves::Path;

/// The number of standard errors allowed.
const SIGMA: f64 = 5.0;
/// The standard error of a 2.5% quantile of a normal statistic, in units of its sd / sqrt(B).
const QUANTILE_FACTOR: f64 = 2.67;
/// An allowance for resampling distributions with heavier tails than the normal.
const TAIL_FACTOR: f64 = 2.0;

/// The numbers beside a leaf, in the reference and in ours.
struct Block<'a> {
    path: &'a [String],
    expected: &'a BTreeMap<Path, Value>,
    got: &'a BTreeMap<Path, Value>,
}

impl Block<'_> {
    fn at(&self, leaves: &BTreeMap<Path, Value>, steps: &[&str]) -> Option<f64> {
        let steps = steps.iter().map(|step| (*step).to_owned());
        let path: Path = self.path.iter().cloned().chain(steps).collect();
        leaves.get(&path).and_then(Value::as_f64)
    }

    fn reference(&self, steps: &[&str]) -> Result<f64, String> {
        self.at(self.expected, steps)
            .ok_or(format!("the reference has no {steps:?}"))
    }

    fn ours(&self, steps: &[&str]) -> Result<f64, String> {
        self.at(self.got, steps)
            .ok_or(format!("ours has no {steps:?}"))
    }
}

/// Returns the difference allowed between `e` and `g`.
pub(crate) fn allowed(
    path: &Path,
    e: f64,
    g: f64,
    expected: &BTreeMap<Path, Value>,
    got: &BTreeMap<Path, Value>,
) -> Result<f64, String> {
    let depth = path
        .iter()
        .take_while(|step| !super::tolerance::is_monte_carlo(step))
        .count();
    let block = Block {
        path: &path[..=depth],
        expected,
        got,
    };
    let rest: Vec<&str> = path[depth + 1..].iter().map(String::as_str).collect();
    let (reference, own) = (block.reference(&["B"])?, block.ours(&["B"])?);
    let both = (1.0 / reference + 1.0 / own).sqrt();
    // Of both shares the one nearer to a half, because the other may have met no rare resample.
    let share =
        |p: f64, q: f64| SIGMA * (p * (1.0 - p)).max(q * (1.0 - q)).sqrt() * both + SIGMA / own;
    let agree = |same: bool| {
        if same {
            Ok(f64::INFINITY)
        } else {
            Err("beyond Monte Carlo".into())
        }
    };
    match rest.as_slice() {
        // The number of resamples is chosen, not computed.
        ["B"] => agree(g >= 999.0 && g.fract() == 0.0),
        ["estimate" | "acceleration"] => Ok((1e-9 * e.abs()).max(1e-12)),
        ["undefined" | "count"] => {
            agree((e / reference - g / own).abs() <= share(e / reference, g / own))
        }
        ["p_le_zero" | "p_two_sided"] => Ok(share(e, g)),
        [quadrant] if quadrant.contains("effective") => Ok(share(e, g)),
        ["mcse"] => {
            let p = block.ours(&["p_two_sided"])?;
            agree((g - (p * (1.0 - p) / own).sqrt()).abs() <= 1e-12)
        }
        ["se"] => Ok(SIGMA * TAIL_FACTOR * e * both / 2.0_f64.sqrt()),
        ["z0"] => Ok(SIGMA * 1.2533 * both),
        ["bca_levels", _] => {
            let z = normal_quantile(e).ok_or("a level outside (0, 1)")?;
            let density = libm::exp(-z * z / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
            Ok(SIGMA * TAIL_FACTOR * 1.2533 * 1.2 * density * both)
        }
        [ends @ ("percentile" | "bca"), end] => block.end(ends, end, own, reference),
        ["basic", "0"] => block.end("percentile", "1", own, reference),
        ["basic", "1"] => block.end("percentile", "0", own, reference),
        // An estimate of a standard error from 20 to 50 batches; its own error is large.
        ["percentile_mcse" | "bca_mcse", _] => {
            let scaled = g * (own / reference).sqrt();
            agree(e == 0.0 || (scaled > e / 6.0 && scaled < e * 6.0))
        }
        _ => Err("no rule for this Monte Carlo value".into()),
    }
}

impl Block<'_> {
    fn end(&self, ends: &str, end: &str, own: f64, reference: f64) -> Result<f64, String> {
        let given = self.reference(&[&format!("{ends}_mcse"), end])?;
        let normal = QUANTILE_FACTOR * self.reference(&["se"])? / own.sqrt();
        let ours = (given * (reference / own).sqrt()).max(normal);
        Ok(SIGMA * (given * given + ours * ours).sqrt())
    }
}
