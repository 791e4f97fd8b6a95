//! Statistics of column totals that can be resampled.
use crate::analysis::numerics::grouping::Grouping;

/// Returns the first total over the second: a mean (sum, count) or a ratio of means (treatment, reference).
///
/// Undefined when the second total is 0.
pub fn quotient(&[numerator, denominator]: &[f64; 2]) -> Option<f64> {
    finite(numerator / denominator)
}

/// Returns the first total over the second, minus the third over the fourth: a difference of conditional rates.
///
/// Shape: treatment's numerator and denominator, then the reference's. Undefined when a denominator is 0.
pub fn difference_of_rates(&[b, of_b, a, of_a]: &[f64; 4]) -> Option<f64> {
    finite(b / of_b - a / of_a)
}

/// Returns the first total over the second, over the third over the fourth: a ratio of costs per resolved task.
///
/// Shape: treatment's cost and successes, then the reference's. Undefined when nothing is resolved or
/// the reference costs nothing.
pub fn ratio_of_rates(&[b, of_b, a, of_a]: &[f64; 4]) -> Option<f64> {
    finite((b / of_b) / (a / of_a)).filter(|_| of_a != 0.0)
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Sums the rows of the tasks of each cluster, so that clusters can be drawn.
///
/// Shape: one row per cluster, in order of the ids. Undefined unless there is one cluster id per row.
pub fn cluster_rows<const K: usize>(
    rows: &[[f64; K]],
    clusters: &[usize],
) -> Option<Vec<[f64; K]>> {
    let grouping = Grouping::new(clusters);
    (grouping.task_count() == rows.len()).then(|| {
        let sums = grouping.fold(rows, |sum: &mut Option<[f64; K]>, row| {
            add_row(sum.get_or_insert([0.0; K]), row);
        });
        sums.into_iter().flatten().collect()
    })
}

/// Adds a row to a total, column by column.
#[inline]
pub(super) fn add_row<const K: usize>(total: &mut [f64; K], row: &[f64; K]) {
    for (sum, value) in total.iter_mut().zip(row) {
        *sum += value;
    }
}
