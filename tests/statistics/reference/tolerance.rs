//! Which tolerance class a leaf has, and whether two leaves agree within it.
use std::collections::BTreeMap;

use serde_json::Value;

use super::leaves::Path;

/// The tolerance classes of the references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// What the document was computed from.
    Input,
    /// Words, truth values, and what is undefined.
    Exact,
    /// Counts, means, standard errors, closed forms: relative 1e-10, absolute 1e-12 near 0.
    T1,
    /// Tails and quantiles: relative 1e-9 down to 1e-300.
    T2,
    /// Inverted intervals: absolute 1e-8.
    T3,
    /// Sequential z: absolute 1e-6; nominal p: relative 1e-5.
    T4,
    /// The exact law of a resampled mean: as T1, and T2 for its probabilities.
    T5,
    /// Monte Carlo: within 5 standard errors of both.
    T6,
}

/// What a comparison needs to know besides the leaves.
pub(crate) struct Scene {
    /// Says which leaves are inputs.
    pub(crate) inputs: fn(&[String]) -> bool,
}

/// Monte Carlo blocks by the end of their key.
const MONTE_CARLO: [&str; 8] = [
    "bootstrap_cluster_mc",
    "ratio_bootstrap_task",
    "diff_bootstrap_task",
    "ratio_bootstrap_cluster",
    "cost_per_resolved_ratio_bootstrap",
    "quadrants_bootstrap",
    "sign_flip_mc",
    "diff_bootstrap_cluster",
];

/// Says whether a key names a Monte Carlo block.
pub(crate) fn is_monte_carlo(step: &str) -> bool {
    MONTE_CARLO.contains(&step)
}

/// Returns the last key of a path that is not a place in a list.
fn key(path: &[String]) -> &str {
    let named = path
        .iter()
        .rev()
        .find(|step| step.parse::<usize>().is_err());
    named.map_or("", String::as_str)
}

fn within(path: &[String], blocks: &[&str]) -> bool {
    path.iter().any(|step| blocks.contains(&step.as_str()))
}

/// Returns the class of a leaf, chosen by its keys.
pub(crate) fn class(path: &[String], value: &Value, inputs: fn(&[String]) -> bool) -> Class {
    let key = key(path);
    if inputs(path) {
        Class::Input
    } else if !value.is_number() {
        Class::Exact
    } else if path.iter().skip(1).any(|step| is_monte_carlo(step)) {
        Class::T6
    } else if within(path, &["bootstrap_task_ideal", "bootstrap_cluster_exact"]) {
        Class::T5
    } else if ["ci_tango", "fieller"].contains(&key) {
        Class::T3
    } else if ["z", "z_boundary", "nominal_p"].contains(&key)
        || key.starts_with("drift_")
        || key.starts_with("inflation")
        || key.starts_with("exit_upper")
        || key.starts_with("expected_information")
    {
        if within(path, &["wilcoxon", "wilcoxon_pratt"]) {
            Class::T2
        } else {
            Class::T4
        }
    } else if is_tail(path, key) {
        Class::T2
    } else {
        Class::T1
    }
}

fn is_tail(path: &[String], key: &str) -> bool {
    let special = [
        "normal_cdf",
        "normal_ppf",
        "t_sf",
        "t_ppf",
        "beta_ppf",
        "binom_half_tail",
    ];
    key == "p"
        || key.starts_with("p_")
        || key.ends_with("_p")
        || key.starts_with("delta_log")
        || key.starts_with("repeated_ci")
        || key.starts_with("error_rate_upper")
        || ["clopper_pearson", "cond_or_ci", "sign_flip_task", "cr2"].contains(&key)
        || within(path, &special)
}

/// Says whether our results may have a leaf beyond the references.
///
/// Some references leave out the noise of repeats, or the counts beside the intervals of a rate,
/// that others of the same form have.
pub(crate) fn may_be_added(path: &[String]) -> bool {
    let counted = within(path, &["rate_ci"]) && ["x", "n"].contains(&key(path));
    counted || (within(path, &["pass_k"]) && key(path) == "se_fixed_tasks")
}

/// Returns the part of the tolerance that two leaves use up, or why they are too far apart.
pub(crate) fn difference(
    class: Class,
    path: &Path,
    expected: &Value,
    got: &Value,
    all: [&BTreeMap<Path, Value>; 2],
) -> Result<f64, String> {
    let (Some(e), Some(g)) = (expected.as_f64(), got.as_f64()) else {
        // The reference had no double for it; ours is checked against the definition elsewhere.
        return if expected == got {
            Ok(0.0)
        } else {
            Err("must be equal".into())
        };
    };
    if expected.is_u64() && got.is_u64() && class != Class::T6 {
        return if expected == got {
            Ok(0.0)
        } else {
            Err("a count must be equal".into())
        };
    }
    let apart = (e - g).abs();
    let allowed = match class {
        Class::Input | Class::Exact => 0.0,
        Class::T1 => (1e-10 * e.abs()).max(1e-12),
        Class::T2 => tail(e),
        Class::T3 => 1e-8,
        Class::T4 if key(path) == "nominal_p" => 1e-5 * e,
        Class::T4 => 1e-6,
        Class::T5 => ideal(key(path), e),
        Class::T6 => super::monte_carlo::allowed(path, e, g, all[0], all[1])?,
    };
    match apart {
        0.0 => Ok(0.0),
        apart if apart <= allowed => Ok(apart / allowed),
        apart => Err(format!("{apart:.1e} apart, {allowed:.1e} allowed")),
    }
}

fn tail(e: f64) -> f64 {
    // Below 1e-300 doubles lose digits, and the references with them.
    if e.abs() < 1e-300 {
        1e-7 * e.abs()
    } else {
        1e-9 * e.abs()
    }
}

fn ideal(key: &str, e: f64) -> f64 {
    let probability = key.starts_with("cdf") || key == "p_le_zero" || key == "bca_levels";
    if probability {
        tail(e)
    } else {
        (1e-10 * e.abs()).max(1e-12)
    }
}
