//! Draws units with replacement from the registered stream and sums what they contribute.
use std::array;
use std::num::{NonZeroU64, NonZeroUsize};
use std::thread;

use super::statistics::add_row;
use crate::analysis::resampling::stream::{Stream, Streams};

/// More resamples than this are refused.
pub const RESAMPLES_MAX: u64 = 10_000_000;
/// Replicates summed side by side, because one generator alone waits for its own last step.
const LANES: usize = 3;
const THREADS_MAX: u64 = 64;
/// Fewer draws than this are not worth a thread.
const DRAWS_PER_THREAD: u64 = 1 << 18;

/// How to resample: from which streams, how often, on how many threads. No result depends on `threads`.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The streams of the analysis.
    pub streams: &'a Streams,
    /// B, the number of resamples: 1 to [`RESAMPLES_MAX`].
    pub resamples: u64,
    /// The most threads to use.
    pub threads: NonZeroUsize,
}

/// Draws n of the n units B times and maps the column totals of each resample, in order.
///
/// Shape: one row per unit, its contribution to each column; one result per replicate 0..B. Replicate r
/// takes one index per draw from stream r. No result when there is no unit or B is out of range.
pub fn map_resamples<const K: usize, T: Send>(
    units: &[[f64; K]],
    plan: Plan<'_>,
    map: impl Fn(&[f64; K]) -> T + Sync,
) -> Vec<T> {
    let Some(bound) = NonZeroU64::new(units.len() as u64) else {
        return Vec::new();
    };
    if plan.resamples > RESAMPLES_MAX {
        return Vec::new();
    }
    let urn = Urn {
        units,
        bound,
        streams: plan.streams,
    };
    let parts = parts(plan, bound);
    thread::scope(|scope| {
        let (first, others) = parts.split_first().unwrap_or((&(0, 0), &[]));
        let workers: Vec<_> = others
            .iter()
            .map(|&part| {
                let (urn, map) = (&urn, &map);
                let work = move || urn.map(part, map);
                let worker = thread::Builder::new().spawn_scoped(scope, work);
                (part, worker)
            })
            .collect();
        let mut results = urn.map(*first, &map);
        for (part, worker) in workers {
            match worker.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(mapped)) => results.extend(mapped),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system has no more threads to give.
                Err(_) => results.extend(urn.map(part, &map)),
            }
        }
        results
    })
}

/// Splits the replicates into one run of neighbours per thread.
fn parts(plan: Plan<'_>, bound: NonZeroU64) -> Vec<(u64, u64)> {
    let draws = plan.resamples.saturating_mul(bound.get());
    let threads = (draws / DRAWS_PER_THREAD)
        .min(THREADS_MAX)
        .clamp(1, plan.threads.get() as u64);
    let size = plan
        .resamples
        .div_ceil(threads)
        .next_multiple_of(LANES as u64);
    (0..threads)
        .map(|part| {
            let start = (part * size).min(plan.resamples);
            (start, (start + size).min(plan.resamples))
        })
        .collect()
}

struct Urn<'a, const K: usize> {
    units: &'a [[f64; K]],
    bound: NonZeroU64,
    streams: &'a Streams,
}

impl<const K: usize> Urn<'_, K> {
    /// Maps the replicates from the first of `part` to before the second.
    fn map<T>(&self, (start, end): (u64, u64), map: &impl Fn(&[f64; K]) -> T) -> Vec<T> {
        let mut results = Vec::with_capacity((end - start) as usize);
        let mut replicate = start;
        while replicate + LANES as u64 <= end {
            results.extend(self.totals::<LANES>(replicate).iter().map(map));
            replicate += LANES as u64;
        }
        for replicate in replicate..end {
            results.extend(self.totals::<1>(replicate).iter().map(map));
        }
        results
    }

    /// Returns the column totals of neighbouring replicates, each summed in the order of its draws.
    fn totals<const L: usize>(&self, first: u64) -> [[f64; K]; L] {
        let mut lanes: [Stream; L] =
            array::from_fn(|lane| self.streams.replicate(first + lane as u64));
        let mut totals = [[0.0; K]; L];
        for _ in 0..self.bound.get() {
            for (stream, total) in lanes.iter_mut().zip(&mut totals) {
                let drawn = stream.below(self.bound) as usize;
                if let Some(unit) = self.units.get(drawn) {
                    add_row(total, unit);
                }
            }
        }
        totals
    }
}
