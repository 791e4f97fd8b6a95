//! How soon runs solve, within a limit that is part of the registration.
//!
//! A run that fails has not been censored: it would not have solved later. It counts as unsolved at
//! the limit, and so does a slot that is missing or whose duration is unknown.

use serde::Serialize;

use crate::analysis::Keyed;
use crate::analysis::means::mean::Mean;
use crate::analysis::numerics::summation::sum;

/// Times to success of two arms, in the unit of the limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeToSuccess {
    /// The limit.
    pub limit: f64,
    /// The reference.
    pub a: ArmTimes,
    /// The treatment.
    pub b: ArmTimes,
    /// Treatment minus reference in restricted mean time to success, over tasks.
    pub rmts_diff: Mean,
}

/// Times to success of one arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmTimes {
    /// Slots drawn: tasks times repeats.
    pub slots: u64,
    /// Slots resolved no later than the limit.
    pub solved_within_limit: u64,
    /// Their share of the slots; None without slots.
    pub fraction: Option<f64>,
    /// Slots solved by 1, 5, 10, 25, 50 and 100 % of the limit, keyed by the time.
    pub solved_by: Keyed<u64>,
    /// The times of the first, the quarter, half, three-quarter and last success, keyed by rank.
    pub times_at_rank: Keyed<f64>,
    /// The sum of the times of the slots solved within the limit.
    pub total_time_solved: f64,
    /// The mean time per slot, an unsolved one charged twice the limit; None without slots.
    pub par2: Option<f64>,
    /// The restricted mean time to success, an unsolved slot charged the limit; None without slots.
    pub rmts: Option<f64>,
}

/// A point of a cactus plot: so many slots were each solved within this time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CactusPoint {
    /// The rank of the success, from 1.
    pub solved: u64,
    /// Its time.
    pub time: f64,
}

const SHARES_OF_LIMIT: [f64; 6] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0];

/// Returns times to success of a reference `a` and a treatment `b`.
///
/// Intervals are at level 1 - `alpha`. `a` and `b`: for each task in the same order the durations of its resolved runs, at most
/// `repeats` of them. None when the arms differ in length, a task has more runs than slots, a
/// duration is negative or not finite, or the limit is not positive or so large that a mean is
/// not finite.
pub fn time_to_success(
    limit: f64,
    repeats: u32,
    a: &[Vec<f64>],
    b: &[Vec<f64>],
    clusters: Option<&[usize]>,
    alpha: f64,
) -> Option<TimeToSuccess> {
    let fits = |arm: &[Vec<f64>]| arm.iter().all(|times| fits_slots(times, repeats));
    let limited = limit > 0.0 && limit <= LIMIT_MAX && repeats > 0;
    if !limited || a.len() != b.len() || !fits(a) || !fits(b) {
        return None;
    }
    let (rmts_a, rmts_b) = (
        restricted(limit, repeats, a, 1.0),
        restricted(limit, repeats, b, 1.0),
    );
    let differences: Vec<f64> = rmts_a.iter().zip(&rmts_b).map(|(a, b)| b - a).collect();
    Some(TimeToSuccess {
        limit,
        a: arm_times(limit, repeats, a),
        b: arm_times(limit, repeats, b),
        rmts_diff: Mean::of_values_from(&differences, limit, clusters, alpha),
    })
}

/// Returns the cactus plot of one arm: the times of its successes within `limit`, ascending.
pub fn cactus(limit: f64, tasks: &[Vec<f64>]) -> Vec<CactusPoint> {
    let times = solved_times(limit, tasks);
    (1..)
        .zip(times)
        .map(|(solved, time)| CactusPoint { solved, time })
        .collect()
}

// Charges of it still have a finite sum over 2^32 slots.
const LIMIT_MAX: f64 = 1e290;

fn fits_slots(times: &[f64], repeats: u32) -> bool {
    let counted = u32::try_from(times.len()).is_ok_and(|count| count <= repeats);
    counted && times.iter().all(|time| time.is_finite() && *time >= 0.0)
}

fn arm_times(limit: f64, repeats: u32, tasks: &[Vec<f64>]) -> ArmTimes {
    let times = solved_times(limit, tasks);
    let slots = (tasks.len() as u64).saturating_mul(u64::from(repeats));
    let solved = times.len() as u64;
    let by = |time: f64| times.partition_point(|t| *t <= time) as u64;
    ArmTimes {
        slots,
        solved_within_limit: solved,
        fraction: (slots > 0).then(|| solved as f64 / slots as f64),
        solved_by: SHARES_OF_LIMIT
            .iter()
            .map(|share| share * limit)
            .map(|time| (format!("{time:?}"), by(time)))
            .collect(),
        times_at_rank: times_at_rank(&times),
        total_time_solved: sum(times.iter().copied()),
        par2: mean(&restricted(limit, repeats, tasks, 2.0)),
        rmts: mean(&restricted(limit, repeats, tasks, 1.0)),
    }
}

/// Returns the times of the slots solved within the limit, ascending.
fn solved_times(limit: f64, tasks: &[Vec<f64>]) -> Vec<f64> {
    let mut times: Vec<f64> = tasks
        .iter()
        .flatten()
        .copied()
        .filter(|time| *time <= limit)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the times at the ranks 1, S/4, S/2, 3S/4 (rounded down) and S of S successes.
fn times_at_rank(times: &[f64]) -> Keyed<f64> {
    let count = times.len();
    let ranks = [
        1,
        count / 4,
        count / 2,
        count / 4 * 3 + count % 4 * 3 / 4,
        count,
    ];
    ranks
        .into_iter()
        .filter_map(|rank| Some((rank.to_string(), *times.get(rank.checked_sub(1)?)?)))
        .collect()
}

/// Returns each task's mean time over its slots, an unsolved slot charged `charge` limits.
fn restricted(limit: f64, repeats: u32, tasks: &[Vec<f64>], charge: f64) -> Vec<f64> {
    tasks
        .iter()
        .map(|times| {
            let solved = times.iter().filter(|time| **time <= limit);
            let (count, sum) =
                solved.fold((0.0, 0.0), |(count, sum), time| (count + 1.0, sum + time));
            let slots = f64::from(repeats);
            (sum + (slots - count) * charge * limit) / slots
        })
        .collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| sum(values.iter().copied()) / values.len() as f64)
}
