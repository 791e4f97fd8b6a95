//! Laws of the special functions: symmetry, inverse, recurrence, closed forms, brute force.
#![expect(clippy::float_arithmetic, reason = "the numbers under test are floats")]

use prereg::analysis::numerics::special::{
    beta_cdf, beta_quantile, beta_upper_quantile, binomial_half_tail, ln_beta, normal_cdf,
    normal_quantile, normal_sf, t_quantile, t_sf, t_two_sided,
};
use proptest::prelude::*;

fn close(found: f64, expected: f64, relative: f64) -> bool {
    (found - expected).abs() <= relative * expected.abs()
}

/// A number whose logarithm is uniform.
fn across(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from..to).prop_map(libm::exp10)
}

/// Returns P(X <= x) for n fair coins, with no rounding before the last step.
fn counted_tail(x: u64, n: u64) -> f64 {
    let mut row: Vec<u128> = vec![1];
    for _ in 0..n {
        let shifted = [vec![0], row.clone()].concat();
        row.push(0);
        row.iter_mut()
            .zip(shifted)
            .for_each(|(ways, left)| *ways += left);
    }
    let ways: u128 = row.iter().take(x as usize + 1).sum();
    ways as f64 / (1_u128 << n) as f64
}

#[test]
fn the_binomial_tail_counts_outcomes() {
    for n in 0..=100 {
        for x in 0..=n {
            assert_eq!(binomial_half_tail(x, n), counted_tail(x, n), "{x} of {n}");
        }
    }
}

#[test]
fn huge_counts_have_a_binomial_tail() {
    let half = 1_u64 << 61;
    assert!(close(binomial_half_tail(half, 2 * half), 0.5, 1e-9));
    assert!(close(
        binomial_half_tail(half - 1, 2 * half - 1),
        0.5,
        1e-15
    ));
    // Two standard deviations (2^30 heads each) below the mean, to the normal's accuracy there.
    let two_below = binomial_half_tail(half - (1 << 31), 2 * half);
    assert!(close(two_below, normal_cdf(-2.0), 1e-8));
    assert_eq!(binomial_half_tail(0, u64::MAX), 0.0);
    assert_eq!(binomial_half_tail(u64::MAX - 1, u64::MAX), 1.0);
    assert_eq!(binomial_half_tail(u64::MAX, 3), 1.0);
}

#[test]
fn no_argument_panics_or_hangs() {
    let odd = [
        0.0,
        -0.0,
        5e-324,
        1e-300,
        1e-17,
        0.3,
        0.5,
        1.0,
        2.5,
        999.0,
        1001.0,
        1e17,
        1e300,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -1.0,
        -1e300,
    ];
    for p in odd {
        let z = normal_quantile(p);
        assert!(z.is_none_or(f64::is_finite), "normal {p:e}");
        for a in odd {
            let t = t_quantile(p, a);
            assert!(t.is_none_or(f64::is_finite), "t {p:e} {a:e}");
            let tail = t_sf(p, a);
            let defined = a >= 1e-5 && !p.is_nan();
            assert_eq!((0.0..=1.0).contains(&tail), defined, "t {p:e} {a:e} {tail}");
            for b in odd {
                let x = beta_quantile(p, a, b);
                assert!(
                    x.is_none_or(|x| (0.0..=1.0).contains(&x)),
                    "beta {p:e} {a:e} {b:e}"
                );
                let defined = [a, b].iter().all(|v| (1e-6..=1e20).contains(v)) && !p.is_nan();
                let cdf = beta_cdf(p, a, b);
                assert_eq!(
                    (0.0..=1.0).contains(&cdf),
                    defined,
                    "beta {p:e} {a:e} {b:e} {cdf}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn the_normal_quantile_inverts_the_tail(p in across(-300.0, 0.0)) {
        prop_assume!(p < 1.0);
        prop_assert!(close(normal_cdf(normal_quantile(p).unwrap()), p, 1e-12));
    }

    #[test]
    fn normal_tails_mirror(z in -40.0..40.0_f64) {
        prop_assert_eq!(normal_cdf(z), normal_sf(-z));
        prop_assert!(close(normal_cdf(z) + normal_sf(z), 1.0, 1e-15));
    }

    #[test]
    fn t_tails_mirror_and_fall(t in across(-6.0, 6.0), df in across(-1.0, 8.0)) {
        prop_assert_eq!(t_two_sided(t, df), t_two_sided(-t, df));
        prop_assert!(close(t_sf(t, df) + t_sf(-t, df), 1.0, 1e-15));
        prop_assert!(t_sf(t * 1.001, df) <= t_sf(t, df));
        prop_assert!(t_sf(t, df * 1.001) <= t_sf(t, df) * (1.0 + 1e-12));
    }

    #[test]
    fn t_has_its_closed_forms(t in across(-6.0, 6.0)) {
        let cauchy = libm::atan(1.0 / t) / core::f64::consts::PI;
        prop_assert!(close(t_sf(t, 1.0), cauchy, 1e-12));
        let root = (2.0 + t * t).sqrt();
        prop_assert!(close(t_sf(t, 2.0), 1.0 / (root * (root + t)), 1e-12));
        // The excess over the normal tail is of order (t^4 + 1)/df.
        prop_assert!(t >= 5.0 || close(t_sf(t, 1e18), normal_sf(t), 1e-12));
    }

    #[test]
    fn the_t_quantile_inverts_the_tail(p in across(-200.0, 0.0), df in across(-0.1, 8.0)) {
        prop_assume!(p < 1.0);
        let t = t_quantile(p, df).unwrap();
        prop_assert!(close(t_sf(-t, df), p, 1e-10));
    }

    #[test]
    fn beta_sides_mirror(x in 0.0..1.0_f64, a in across(-1.0, 6.0), b in across(-1.0, 6.0)) {
        // Both x and 1 - x are exact, so the two sides are the same point.
        let x = (x * 1_048_576.0).floor() / 1_048_576.0;
        let sum = beta_cdf(x, a, b) + beta_cdf(1.0 - x, b, a);
        prop_assert!(close(sum, 1.0, 1e-13));
    }

    #[test]
    fn the_beta_law_recurs(x in 0.001..0.999_f64, a in across(-0.5, 4.0), b in across(-0.5, 4.0)) {
        // I(a, b) - I(a + 1, b) = x^a (1 - x)^b / (a B(a, b)).
        let log_step = a * libm::log(x) + b * libm::log1p(-x) - libm::log(a) - ln_beta(a, b);
        let (first, second) = (beta_cdf(x, a, b), beta_cdf(x, a + 1.0, b));
        prop_assert!(first < 1e-290 || (first - second - libm::exp(log_step)).abs() <= 1e-10 * first);
    }

    #[test]
    fn beta_quantiles_invert_both_tails(
        p in across(-200.0, 0.0), a in across(-0.5, 9.0), b in across(-0.5, 9.0),
    ) {
        prop_assume!(p < 1.0);
        let lower = beta_quantile(p, a, b).unwrap();
        let upper = beta_upper_quantile(p, b, a).unwrap();
        prop_assert!((lower + upper - 1.0).abs() <= 1e-12);
        // A rounding of x moves the probability by the relative slope of the law there.
        let rounding = 1e-10 + 1e-14 * ((a + b).sqrt() + (-libm::log(p)).sqrt() * a.max(b).sqrt());
        let settled = !(1e-300..0.999).contains(&lower);
        prop_assert!(settled || close(beta_cdf(lower, a, b), p, rounding));
    }

    #[test]
    fn fair_coins_follow_pascal(n in 101..3000_u64, share in 0.0..1.0_f64) {
        let x = (share * n as f64) as u64;
        prop_assume!(x > 0 && x < n);
        let parents = binomial_half_tail(x, n - 1) + binomial_half_tail(x - 1, n - 1);
        prop_assert!(parents < 1e-290 || close(binomial_half_tail(x, n), 0.5 * parents, 1e-11));
    }
}
