//! A confidence sequence for the mean difference: an interval that holds after every task at once.

use serde::Serialize;

use crate::analysis::Flag;

/// The predictable plug-in empirical Bernstein confidence sequence after the last task.
///
/// Limits are of the mean difference. `lower` and `upper` are the intersection of the intervals
/// after every task and of [-1, 1]; `*_now` is the interval after the last task alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EmpiricalBernstein {
    /// The number of tasks.
    pub n: usize,
    /// The largest lower limit so far, at least -1.
    pub lower: Option<f64>,
    /// The smallest upper limit so far, at most 1.
    pub upper: Option<f64>,
    /// The lower limit at the last task; it may lie below -1.
    pub lower_now: Option<f64>,
    /// The upper limit at the last task; it may lie above 1.
    pub upper_now: Option<f64>,
    /// The first task, counted from 1, after which the intersection leaves out 0.
    pub first_exclusion: Option<usize>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Returns the confidence sequence of `differences`, each in [-1, 1], in draw order.
///
/// Waudby-Smith and Ramdas (2024), theorem 2, on x = (d + 1) / 2. Undefined with `no_task`, with
/// `invalid_value` when a difference leaves [-1, 1] or alpha is not in (0, 1), and with
/// `empty_intersection` when the intervals so far share no point (the assumptions fail, or the
/// error of alpha happened).
pub fn prpl_eb(differences: &[f64], alpha: f64) -> EmpiricalBernstein {
    let n = differences.len();
    let undefined = |flag| EmpiricalBernstein {
        n,
        flag: Some(flag),
        ..Default::default()
    };
    let inside = differences.iter().all(|d| (-1.0..=1.0).contains(d));
    if !(inside && alpha > 0.0 && alpha < 1.0) {
        return undefined(Flag::InvalidValue);
    }
    let mut state = State::new(alpha);
    let (mut lower, mut upper) = (-1.0_f64, 1.0_f64);
    let (mut lower_now, mut upper_now) = (None, None);
    let mut first_exclusion = None;
    for (task, difference) in (1..).zip(differences) {
        state.observe(f64::midpoint(*difference, 1.0));
        let (low, high) = state.interval();
        (lower, upper) = (lower.max(low), upper.min(high));
        (lower_now, upper_now) = (Some(low), Some(high));
        if first_exclusion.is_none() && (lower > 0.0 || upper < 0.0) {
            first_exclusion = Some(task);
        }
    }
    if n == 0 {
        return undefined(Flag::NoTask);
    }
    let empty = lower > upper;
    EmpiricalBernstein {
        n,
        lower: (!empty).then_some(lower),
        upper: (!empty).then_some(upper),
        lower_now,
        upper_now,
        first_exclusion,
        flag: empty.then_some(Flag::EmptyIntersection),
    }
}

/// The running sums after `count` values x in [0, 1].
struct State {
    log_odds: f64,
    count: f64,
    sum: f64,
    squares: f64,
    lambda_sum: f64,
    lambda_x_sum: f64,
    bound_sum: f64,
}

impl State {
    fn new(alpha: f64) -> Self {
        Self {
            log_odds: libm::log(2.0) - libm::log(alpha),
            count: 0.0,
            sum: 0.0,
            squares: 0.0,
            lambda_sum: 0.0,
            lambda_x_sum: 0.0,
            bound_sum: 0.0,
        }
    }

    fn mean(&self) -> f64 {
        (0.5 + self.sum) / (self.count + 1.0)
    }

    fn observe(&mut self, x: f64) {
        let mean_before = self.mean();
        let variance_before = (0.25 + self.squares) / (self.count + 1.0);
        self.count += 1.0;
        let pace = variance_before * self.count * libm::log1p(self.count);
        // At most 1/2: the bound below needs lambda < 1.
        let lambda = (2.0 * self.log_odds / pace).sqrt().min(0.5);
        let residual = x - mean_before;
        self.lambda_sum += lambda;
        self.lambda_x_sum += lambda * x;
        self.bound_sum += residual * residual * (-libm::log1p(-lambda) - lambda);
        self.sum += x;
        let residual = x - self.mean();
        self.squares += residual * residual;
    }

    /// Returns the interval on the scale of differences.
    fn interval(&self) -> (f64, f64) {
        let centre = self.lambda_x_sum / self.lambda_sum;
        let half_width = (self.log_odds + self.bound_sum) / self.lambda_sum;
        (
            2.0 * (centre - half_width) - 1.0,
            2.0 * (centre + half_width) - 1.0,
        )
    }
}
