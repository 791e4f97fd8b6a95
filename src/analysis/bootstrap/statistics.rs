//! Statistics of column totals that can be resampled.

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
/// Shape: one row per cluster, in order of the dense ids. Undefined unless there is one id below n for
/// each of n tasks.
pub fn cluster_rows<const K: usize>(
    rows: &[[f64; K]],
    clusters: &[usize],
) -> Option<Vec<[f64; K]>> {
    if clusters.len() != rows.len() {
        return None;
    }
    let mut sums: Vec<Option<[f64; K]>> = vec![None; rows.len()];
    for (row, &cluster) in rows.iter().zip(clusters) {
        let sum = sums.get_mut(cluster)?.get_or_insert([0.0; K]);
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
    Some(sums.into_iter().flatten().collect())
}
