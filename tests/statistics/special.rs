//! The special functions against `edge-special.json`, class T2: relative 1e-9.
#![expect(
    clippy::float_arithmetic,
    clippy::unwrap_used,
    reason = "a test of numbers: a wrong reading of the references may fail it"
)]

use prereg::analysis::numerics::special::{
    beta_quantile, binomial_half_tail, normal_cdf, normal_quantile, t_quantile, t_sf,
};
use serde_json::Value;

fn reference() -> Value {
    let text = std::fs::read_to_string("tests/stats/edge-special.json").unwrap();
    serde_json::from_str(&text).unwrap()
}

fn rows(name: &str) -> Vec<Vec<Option<f64>>> {
    let all = reference();
    let rows = all[name].as_array().unwrap();
    rows.iter()
        .map(|row| row.as_array().unwrap().iter().map(Value::as_f64).collect())
        .collect()
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    // Below 1e-300 doubles lose digits, and the references with them.
    let allowed = if expected.abs() < 1e-300 { 1e-7 } else { 1e-12 };
    let error = (found - expected).abs();
    assert!(
        error <= allowed * expected.abs(),
        "found {found:e}, expected {expected:e}"
    );
}

fn check(name: &str, function: impl Fn(&[f64]) -> f64) {
    for row in rows(name) {
        let numbers: Vec<f64> = row.into_iter().flatten().collect();
        // A row that ends in null is out of the reference's own reach.
        if let Some((expected, arguments)) = numbers.split_last()
            && !arguments.is_empty()
        {
            assert_close(function(arguments), *expected);
        }
    }
}

#[test]
fn tails_equal_the_references() {
    check("normal_cdf", |a| normal_cdf(a[0]));
    check("t_sf", |a| t_sf(a[0], a[1]));
    check("binom_half_tail", |a| {
        binomial_half_tail(a[0] as u64, a[1] as u64)
    });
}

#[test]
fn quantiles_equal_the_references() {
    check("normal_ppf", |a| normal_quantile(a[0]).unwrap());
    check("t_ppf", |a| t_quantile(a[0], a[1]).unwrap());
    check("beta_ppf", |a| beta_quantile(a[0], a[1], a[2]).unwrap());
}

#[test]
fn a_normal_quantile_exists_down_to_the_smallest_double() {
    assert_close(normal_quantile(1e-300).unwrap(), -37.047_096_299_361_2);
    assert!(normal_quantile(5e-324).unwrap() < -38.0);
    assert_eq!(normal_quantile(0.0), None);
    assert_eq!(normal_quantile(1.0), None);
}
