//! What k repeats of a task say: pass@j, pass^j, and how much of the noise they are.

use serde::Serialize;

use crate::analysis::Keyed;

/// pass@j and pass^j of two arms, with variance components.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repeats {
    /// The reference.
    pub a: ArmRepeats,
    /// The treatment.
    pub b: ArmRepeats,
    /// The components of the paired difference; absent when k < 2 or there are fewer than 2 tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<DifferenceComponents>,
}

/// pass@j, pass^j and variance components of one arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmRepeats {
    /// `pass@j`: the share of draws of j of the k runs with a success; `pass^j`: with nothing else.
    ///
    /// None for j above k, and without tasks.
    #[serde(flatten)]
    pub passes: Keyed<Option<f64>>,
    /// None when k < 2 or there are fewer than 2 tasks.
    pub var_comp: Option<VarianceComponents>,
    /// The standard error of the rate over fresh repeats of the same tasks; absent when k < 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub se_fixed_tasks: Option<f64>,
}

/// Where the variance of a run's outcome lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VarianceComponents {
    /// The variance between runs of a task.
    pub within: f64,
    /// The variance between tasks' true rates, unbiased; may be negative.
    pub between: f64,
    /// between / (between + within); None when their sum is 0.
    pub icc: Option<f64>,
}

/// Where the variance of a task's difference lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DifferenceComponents {
    /// The variance of the differences.
    pub total_var: f64,
    /// What is left of it without the noise of repeats, unbiased; may be negative.
    pub between_var: f64,
    /// The standard error of the mean difference with k repeats.
    pub se_now: f64,
    /// The standard error if every task had infinitely many repeats; 0 for a negative variance.
    pub se_k_infinite: f64,
    /// The standard error over fresh repeats of the same tasks.
    pub se_fixed_tasks: f64,
}

/// Returns pass@j, pass^j (Chen et al. 2021; Yao et al. 2024) and variance components.
///
/// `successes_*`: successes of each task out of `repeats` slots, the same tasks in both arms.
/// None when the arms differ in length or a task has more successes than slots.
pub fn pass_k(
    successes_a: &[u64],
    successes_b: &[u64],
    repeats: u64,
    pass_at: &[u64],
    pass_hat: &[u64],
) -> Option<Repeats> {
    let fits = |successes: &[u64]| successes.iter().all(|s| *s <= repeats);
    let usable = repeats > 0 && u32::try_from(repeats).is_ok();
    if !usable || successes_a.len() != successes_b.len() || !fits(successes_a) || !fits(successes_b)
    {
        return None;
    }
    let arm = |successes: &[u64]| ArmRepeats {
        passes: passes(successes, repeats, pass_at, pass_hat),
        var_comp: variance_components(successes, repeats),
        se_fixed_tasks: within(successes, repeats)
            .map(|within| (within / (repeats as f64 * successes.len() as f64)).sqrt()),
    };
    Some(Repeats {
        a: arm(successes_a),
        b: arm(successes_b),
        diff: difference_components(successes_a, successes_b, repeats),
    })
}

fn passes(
    successes: &[u64],
    repeats: u64,
    pass_at: &[u64],
    pass_hat: &[u64],
) -> Keyed<Option<f64>> {
    let mean = |j: u64, value: &dyn Fn(u64) -> f64| {
        let defined = (1..=repeats).contains(&j) && !successes.is_empty();
        let sum: f64 = successes
            .iter()
            .filter(|_| defined)
            .map(|s| value(*s))
            .sum();
        defined.then(|| sum / successes.len() as f64)
    };
    let at = pass_at.iter().map(|&j| {
        (
            format!("pass@{j}"),
            mean(j, &|s| 1.0 - share_of_draws(repeats - s, j, repeats)),
        )
    });
    let hat = pass_hat.iter().map(|&j| {
        (
            format!("pass^{j}"),
            mean(j, &|s| share_of_draws(s, j, repeats)),
        )
    });
    at.chain(hat).collect()
}

/// Returns C(kind, j) / C(k, j): the share of draws of `j` of `k` runs that are all of a kind with
/// `kind` members.
fn share_of_draws(kind: u64, j: u64, k: u64) -> f64 {
    if j > kind {
        return 0.0;
    }
    // C(kind, j) / C(k, j) = C(k - j, k - kind) / C(k, k - kind): the shorter product is taken.
    let (top, factors) = if j <= k - kind {
        (kind, j)
    } else {
        (k - j, k - kind)
    };
    let mut share = 1.0;
    for i in 0..factors {
        share *= (top - i) as f64 / (k - i) as f64;
        if share == 0.0 {
            break;
        }
    }
    share
}

/// Returns the sum over tasks of s (k - s), the ordered pairs of runs that differ, once each way.
fn unequal_pairs(successes: &[u64], repeats: u64) -> i128 {
    successes
        .iter()
        .map(|&s| i128::from(s) * i128::from(repeats - s))
        .sum()
}

/// Returns the mean over tasks of p (1 - p) k / (k - 1); None when k < 2 or without tasks.
fn within(successes: &[u64], repeats: u64) -> Option<f64> {
    if repeats < 2 || successes.is_empty() {
        return None;
    }
    let scale = repeats as f64 * (repeats - 1) as f64 * successes.len() as f64;
    Some(unequal_pairs(successes, repeats) as f64 / scale)
}

fn variance_components(successes: &[u64], repeats: u64) -> Option<VarianceComponents> {
    let within = within(successes, repeats)?;
    let counts = successes.iter().map(|s| i128::from(*s));
    let variances = variances(counts, unequal_pairs(successes, repeats), repeats)?;
    let between = variances.without_repeats;
    let sum = between + within;
    let icc = (sum != 0.0).then(|| between / sum);
    Some(VarianceComponents {
        within,
        between,
        icc,
    })
}

fn difference_components(a: &[u64], b: &[u64], repeats: u64) -> Option<DifferenceComponents> {
    let differences = a
        .iter()
        .zip(b)
        .map(|(a, b)| i128::from(*b) - i128::from(*a));
    let pairs = unequal_pairs(a, repeats) + unequal_pairs(b, repeats);
    let Variances {
        total,
        without_repeats,
    } = variances(differences, pairs, repeats)?;
    let within = within(a, repeats)? + within(b, repeats)?;
    let tasks = a.len() as f64;
    Some(DifferenceComponents {
        total_var: total,
        between_var: without_repeats,
        se_now: (total / tasks).sqrt(),
        se_k_infinite: (without_repeats.max(0.0) / tasks).sqrt(),
        se_fixed_tasks: (within / (repeats as f64 * tasks)).sqrt(),
    })
}

/// The variance (n - 1) of `counts / k`, and the same less what k repeats add to it.
struct Variances {
    total: f64,
    without_repeats: f64,
}

/// Returns the variances from exact sums; None for fewer than two tasks or repeats.
///
/// Exact, because a component of 0 must come out as 0: its square root is reported.
fn variances(
    counts: impl Iterator<Item = i128>,
    unequal_pairs: i128,
    repeats: u64,
) -> Option<Variances> {
    let (n, sum, squares) = counts.fold((0_i128, 0_i128, 0_i128), |(n, sum, squares), count| {
        (n + 1, sum + count, squares + count * count)
    });
    let k = i128::from(repeats);
    if n < 2 || k < 2 {
        return None;
    }
    let spread = n.checked_mul(squares)?.checked_sub(sum.checked_mul(sum)?)?;
    let left = spread
        .checked_mul(k - 1)?
        .checked_sub(unequal_pairs.checked_mul(n - 1)?)?;
    let scale = n as f64 * (n - 1) as f64 * (k as f64 * k as f64);
    Some(Variances {
        total: spread as f64 / scale,
        without_repeats: left as f64 / (scale * (k - 1) as f64),
    })
}
