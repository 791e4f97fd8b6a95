//! Gauss-Legendre quadrature over panels.

use std::f64::consts::PI;

/// A point of a quadrature rule and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) x: f64,
    pub(crate) weight: f64,
}

/// Returns the `order` nodes of Gauss-Legendre quadrature on [-1, 1], ascending.
///
/// Newton's method on the Legendre polynomial, from the cosine approximation of its roots
/// (Abramowitz and Stegun 1964, 22.16.6).
pub(crate) fn gauss_legendre(order: u32) -> Vec<Node> {
    (1..=order)
        .rev()
        .map(|i| {
            let mut x = libm::cos(PI * (f64::from(i) - 0.25) / (f64::from(order) + 0.5));
            for _ in 0..NEWTON_STEPS {
                let (value, slope) = legendre(order, x);
                x -= value / slope;
            }
            let (_, slope) = legendre(order, x);
            Node {
                x,
                weight: 2.0 / ((1.0 - x * x) * slope * slope),
            }
        })
        .collect()
}

/// Returns the nodes of `rule` on panels of equal width, at most `panel_width`, that cover
/// [low, high], ascending. None when the interval is empty.
pub(crate) fn panels(rule: &[Node], low: f64, high: f64, panel_width: f64) -> Vec<Node> {
    let length = high - low;
    if !(length > 0.0 && panel_width > 0.0) {
        return Vec::new();
    }
    let count = (length / panel_width).ceil().clamp(1.0, PANELS_MAX);
    let half = length / count / 2.0;
    (0..count as u32)
        .flat_map(|panel| {
            let centre = low + half * (2.0 * f64::from(panel) + 1.0);
            rule.iter().map(move |node| Node {
                x: centre + half * node.x,
                weight: half * node.weight,
            })
        })
        .collect()
}

// Quadratic convergence from an error near 1e-3 needs four.
const NEWTON_STEPS: u32 = 8;
const PANELS_MAX: f64 = 100_000.0;

/// Returns the Legendre polynomial and its derivative at `x` inside (-1, 1).
fn legendre(order: u32, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for n in 1..order {
        let n = f64::from(n);
        (before, value) = (
            value,
            ((2.0 * n + 1.0) * x * value - n * before) / (n + 1.0),
        );
    }
    (
        value,
        f64::from(order) * (x * value - before) / (x * x - 1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_nodes_integrate_a_polynomial_of_degree_31() {
        let rule = gauss_legendre(16);
        for degree in 0..32 {
            let sum: f64 = rule
                .iter()
                .map(|node| node.weight * libm::pow(node.x, f64::from(degree)))
                .sum();
            let exact = if degree % 2 == 0 {
                2.0 / (f64::from(degree) + 1.0)
            } else {
                0.0
            };
            assert!(
                (sum - exact).abs() < 1e-14,
                "degree {degree}: {sum} {exact}"
            );
        }
    }

    #[test]
    fn panels_cover_the_interval_once() {
        let nodes = panels(&gauss_legendre(16), -3.0, 5.0, 0.7);
        assert!(nodes.windows(2).all(|pair| pair[0].x < pair[1].x));
        let sum: f64 = nodes.iter().map(|node| node.weight).sum();
        assert!((sum - 8.0).abs() < 1e-13);
        assert!(panels(&gauss_legendre(16), 1.0, 1.0, 0.7).is_empty());
    }
}
