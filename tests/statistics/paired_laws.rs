//! Laws of paired tables, proportions, controls and multiplicity.
#![expect(clippy::float_arithmetic, reason = "the numbers under test are floats")]

use prereg::analysis::Flag;
use prereg::analysis::described::controls::{ControlResult, Demand, Gate};
use prereg::analysis::multiplicity::{Multiplicity, rejects};
use prereg::analysis::numerics::special::normal_quantile;
use prereg::analysis::paired::paired_table::{PairedCounts, PairedTable, Reduction};
use prereg::analysis::paired::proportion::{
    clopper_pearson, proportion_intervals, upper_limit, wilson,
};
use proptest::prelude::*;

const METHODS: [Multiplicity; 3] = [
    Multiplicity::Holm,
    Multiplicity::Hochberg,
    Multiplicity::Bonferroni,
];

fn close(found: f64, expected: f64, relative: f64) -> bool {
    (found - expected).abs() <= relative * expected.abs() + 1e-15
}

/// The five intervals of a table, Tango's last.
fn intervals(table: &PairedTable) -> [[f64; 2]; 5] {
    let d = &table.difference;
    [
        d.ci_wald,
        d.ci_agresti_min,
        d.ci_bonett_price,
        d.ci_newcombe,
        d.ci_tango,
    ]
    .map(Option::unwrap)
}

fn table([a, b, c, d]: [u64; 4], alpha: f64) -> PairedTable {
    PairedTable::new(PairedCounts::new(a, b, c, d).unwrap(), alpha)
}

/// Four counts of up to fifteen digits each, at least one task.
fn counts() -> impl Strategy<Value = [u64; 4]> {
    let count = prop_oneof![0..5_u64, 0..100_u64, 0..1_000_000_000_000_000_u64];
    [count.clone(), count.clone(), count.clone(), count]
        .prop_filter("a table needs a task", |counts| {
            counts.iter().any(|&count| count > 0)
        })
}

/// Returns P(X = x) for n tasks of success probability p.
fn point_probability(x: u64, n: u64, p: f64) -> f64 {
    let ways = (0..x).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
    ways * libm::pow(p, x as f64) * libm::pow(1.0 - p, (n - x) as f64)
}

/// Returns every two-sided sign pattern at least as unbalanced, out of 2^m.
fn counted_exact_p(b: u64, c: u64) -> f64 {
    let extreme = |heads: u64| (2 * heads).abs_diff(b + c) >= b.abs_diff(c);
    let total = 1_u64 << (b + c);
    let patterns = (0..total).filter(|bits| extreme(u64::from(bits.count_ones())));
    patterns.count() as f64 / total as f64
}

/// Returns Tango's score statistic, the discordant probability maximised by golden section
/// instead of in closed form.
fn score(b: f64, c: f64, n: f64, delta: f64) -> f64 {
    let log_likelihood = |q: f64| {
        let term = |count: f64, p: f64| {
            if count > 0.0 {
                count * libm::log(p)
            } else {
                0.0
            }
        };
        term(b, q) + term(c, q + delta) + term(n - b - c, 1.0 - 2.0 * q - delta)
    };
    let (mut low, mut high) = ((-delta).max(0.0), 0.5 * (1.0 - delta));
    for _ in 0..200 {
        let (left, right) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if log_likelihood(left) < log_likelihood(right) {
            low = left;
        } else {
            high = right;
        }
    }
    let q = 0.5 * (low + high);
    (c - b - n * delta) / (n * (2.0 * q + delta * (1.0 - delta))).sqrt()
}

#[test]
fn the_exact_p_counts_sign_patterns() {
    for (b, c) in (0..=7).flat_map(|b| (0..=7).map(move |c| (b, c))) {
        let found = table([3, b, c, 1], 0.05).mcnemar.p_exact;
        assert_eq!(found, Some(counted_exact_p(b, c)), "{b} {c}");
    }
}

#[test]
fn tango_limits_are_where_the_score_test_rejects() {
    let z = -normal_quantile(0.025).unwrap();
    for (b, c, rest) in [(1, 4, 9), (7, 1, 13), (0, 3, 20), (12, 9, 0), (2, 25, 457)] {
        let [lower, upper] = table([rest, b, c, 0], 0.05).difference.ci_tango.unwrap();
        let n = (b + c + rest) as f64;
        assert!(
            close(score(b as f64, c as f64, n, lower), z, 1e-6),
            "{b} {c} {rest}"
        );
        assert!(
            close(score(b as f64, c as f64, n, upper), -z, 1e-6),
            "{b} {c} {rest}"
        );
    }
}

#[test]
fn without_a_task_nothing_is_defined() {
    let empty = table([0; 4], 0.05);
    assert_eq!(empty.flag, Some(Flag::NoTask));
    assert_eq!((empty.mcnemar.p_exact, empty.difference.rd), (None, None));
    assert_eq!(proportion_intervals(0, 0, 0.05).flag, Some(Flag::NoTask));
    assert_eq!(proportion_intervals(3, 2, 0.05).wilson, None);
    assert_eq!(
        ControlResult::from_verdicts(Demand::MustFail, []).gate,
        Gate::NotRun
    );
}

#[test]
fn without_discordant_tasks_tango_has_its_closed_form() {
    let z = -normal_quantile(0.025).unwrap();
    for n in [1, 12, 1_000_000, 1_000_000_000_000] {
        let [lower, upper] = table([0, 0, 0, n], 0.05).difference.ci_tango.unwrap();
        let limit = z * z / (n as f64 + z * z);
        assert!((lower + limit).abs() <= 1e-12 * limit && (upper - limit).abs() <= 1e-12 * limit);
    }
}

#[test]
fn huge_tables_have_finite_numbers() {
    let huge = 1_u64 << 61;
    assert_eq!(PairedCounts::new(2 * huge, 2 * huge, 0, 0), None);
    assert_eq!(PairedCounts::new(u64::MAX, u64::MAX, 1, 1), None);
    for cells in [
        [huge; 4],
        [0, huge, 0, 0],
        [huge, 1, 0, huge],
        [0, huge, huge, 0],
    ] {
        let cells = cells.map(|count| count - count / 2);
        let [lower, upper] = table(cells, 0.05).difference.ci_tango.unwrap();
        assert!(lower <= upper && (-1.0..=1.0).contains(&lower), "{cells:?}");
        let exact = table(cells, 0.05).mcnemar.p_exact;
        let certain = cells[1] > 1 && cells[2] == 0;
        assert_eq!(exact.is_none(), certain, "{cells:?}");
    }
}

#[test]
fn levels_outside_the_open_unit_interval_give_no_interval() {
    for alpha in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        let table = table([1, 2, 3, 4], alpha);
        assert_eq!(table.difference.ci_tango, None);
        assert_eq!(table.difference.ci_newcombe, None);
        assert_eq!(table.flag, Some(Flag::LevelOutOfRange));
        assert_eq!(clopper_pearson(1, 3, alpha), None);
        assert_eq!(clopper_pearson(0, 3, alpha), None);
    }
}

#[test]
fn an_undefined_p_stays_in_the_family() {
    let adjusted = Multiplicity::Holm.adjust(&[Some(0.01), None, Some(f64::NAN), Some(2.0)]);
    assert_eq!(adjusted, vec![Some(0.04), None, None, None]);
    assert!(rejects(Some(0.05), 0.05) && !rejects(None, 0.05) && !rejects(Some(0.051), 0.05));
}

proptest! {
    #[test]
    fn swapping_arms_mirrors_a_table(counts in counts(), alpha in 0.001..0.5_f64) {
        let [a, b, c, d] = counts;
        let (forth, back) = (table(counts, alpha), table([a, c, b, d], alpha));
        prop_assert_eq!(&forth.mcnemar, &back.mcnemar);
        prop_assert_eq!(forth.difference.rd.map(|rd| -rd), back.difference.rd);
        for ([lower, upper], [low, high]) in intervals(&forth).into_iter().zip(intervals(&back)) {
            prop_assert_eq!([lower, upper], [-high, -low]);
        }
        if let (Some(f), Some(r)) = (&forth.discordant_pairs, &back.discordant_pairs) {
            prop_assert_eq!((f.p_exact_greater, f.p_exact_less), (r.p_exact_less, r.p_exact_greater));
            let ([lower, upper], [low, high]) = (f.cond_or_ci, r.cond_or_ci);
            prop_assert!(high.is_none_or(|high| close(lower.unwrap(), 1.0 / high, 1e-12)));
            prop_assert!(upper.is_none_or(|upper| close(low.unwrap(), 1.0 / upper, 1e-12)));
        }
    }

    #[test]
    fn limits_are_ordered_and_inside(counts in counts(), alpha in 0.001..0.5_f64) {
        let table = table(counts, alpha);
        let rd = table.difference.rd.unwrap();
        for [lower, upper] in intervals(&table) {
            prop_assert!(-1.0 <= lower && lower <= upper && upper <= 1.0);
        }
        let [lower, upper] = table.difference.ci_tango.unwrap();
        prop_assert!(lower <= rd && rd <= upper);
    }

    #[test]
    fn concordant_tasks_narrow_the_interval_and_keep_the_p(
        counts in counts(), more in 1..1000_u64, both: bool,
    ) {
        // Where nearly every task goes one way, a concordant one is news, and widens it.
        let counts = [counts[0] + 2 * (counts[1] + counts[2]), counts[1], counts[2], counts[3]];
        let [a, b, c, d] = counts;
        let larger = if both { [a + more, b, c, d] } else { [a, b, c, d + more] };
        let (small, large) = (table(counts, 0.05), table(larger, 0.05));
        prop_assert_eq!(&small.mcnemar, &large.mcnemar);
        let width = |table: &PairedTable| {
            let [lower, upper] = table.difference.ci_tango.unwrap();
            upper - lower
        };
        prop_assert!(width(&large) <= width(&small) + 1e-15);
    }

    #[test]
    fn p_values_are_probabilities_and_agree(counts in counts()) {
        let table = table(counts, 0.05);
        let tests = &table.mcnemar;
        let all = [tests.p_exact, tests.p_mid, tests.p_asymptotic, tests.p_cc];
        prop_assert!(all.iter().flatten().all(|p| *p > 0.0 && *p <= 1.0));
        prop_assert!(!all.contains(&None) || table.flag == Some(Flag::BelowRange));
        // `None` sorts below every number, as the p it stands for does.
        prop_assert!(tests.p_mid <= tests.p_exact);
        prop_assert!(tests.p_asymptotic <= tests.p_cc);
        if let Some(pairs) = table.discordant_pairs.filter(|_| table.flag.is_none()) {
            let smaller = pairs.p_exact_greater.unwrap().min(pairs.p_exact_less.unwrap());
            prop_assert_eq!(tests.p_exact, Some((2.0 * smaller).min(1.0)));
        }
    }

    #[test]
    fn no_number_is_infinite(counts in counts(), alpha in 0.0..1.0_f64) {
        let json = serde_json::to_value(table(counts, alpha)).unwrap();
        let undefined = json.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
        let names: Vec<&str> = undefined.map(|(name, _)| name.as_str()).collect();
        let below_range = json["flag"] == "below_range";
        let allowed = ["chi2", "chi2_cc", "p_mid_fagerland", "cond_or"];
        prop_assert!(names.iter().all(|name| {
            allowed.contains(name) || (below_range && name.starts_with("p_"))
        }), "{names:?}");
    }

    #[test]
    fn outcomes_and_counts_are_one_table(outcomes: Vec<(bool, bool)>) {
        let count = |pair| outcomes.iter().filter(|outcome| **outcome == pair).count() as u64;
        let counted = PairedCounts::new(
            count((true, true)), count((true, false)), count((false, true)), count((false, false)),
        );
        prop_assert_eq!(Some(PairedCounts::from_outcomes(outcomes)), counted);
    }

    #[test]
    fn reductions_are_nested(successes in 0..20_u64, more in 0..20_u64) {
        let holds = |reduction: Reduction| reduction.holds(successes, successes + more + 1);
        prop_assert!(holds(Reduction::Any) || !holds(Reduction::Majority));
        prop_assert!(holds(Reduction::Majority) == (successes > more + 1));
        prop_assert!(!holds(Reduction::All));
        prop_assert!(Reduction::All.holds(more, more));
    }

    #[test]
    fn proportions_mirror(x in 0..1_000_000_u64, more in 0..1_000_000_u64, alpha in 0.001..0.5_f64) {
        let n = x + more;
        prop_assume!(n > 0);
        for interval in [wilson, clopper_pearson] {
            let ([lower, upper], [low, high]) =
                (interval(x, n, alpha).unwrap(), interval(more, n, alpha).unwrap());
            prop_assert!((lower + high - 1.0).abs() < 1e-13 && (upper + low - 1.0).abs() < 1e-13);
            let rate = x as f64 / n as f64;
            prop_assert!(0.0 <= lower && lower <= rate && rate <= upper && upper <= 1.0);
        }
    }

    #[test]
    fn exact_limits_leave_half_alpha(x in 1..40_u64, more in 1..40_u64, alpha in 0.001..0.5_f64) {
        let n = x + more;
        let [lower, upper] = clopper_pearson(x, n, alpha).unwrap();
        let above: f64 = (x..=n).map(|k| point_probability(k, n, lower)).sum();
        let below: f64 = (0..=x).map(|k| point_probability(k, n, upper)).sum();
        prop_assert!(close(above, 0.5 * alpha, 1e-10) && close(below, 0.5 * alpha, 1e-10));
    }

    #[test]
    fn an_unviolated_control_has_its_closed_form(n in 1..100_000_usize) {
        let control = ControlResult::from_verdicts(Demand::MustPass, vec![true; n]);
        prop_assert_eq!((control.gate, control.violations), (Gate::Pass, 0));
        let limit = -libm::expm1(libm::log(0.05) / n as f64);
        prop_assert!(close(control.error_rate_upper95.unwrap(), limit, 1e-12));
        prop_assert!(upper_limit(1, n as u64, 0.05).unwrap() > limit);
    }

    #[test]
    fn adjusted_p_values_are_ordered(p_values in prop::collection::vec(0.0..=1.0_f64, 0..12)) {
        let raw: Vec<Option<f64>> = p_values.iter().copied().map(Some).collect();
        let [holm, hochberg, bonferroni] = METHODS.map(|method| method.adjust(&raw));
        for (place, p) in raw.iter().enumerate() {
            prop_assert!(*p <= hochberg[place] && hochberg[place] <= holm[place]);
            prop_assert!(holm[place] <= bonferroni[place] && bonferroni[place] <= Some(1.0));
            for (other, q) in raw.iter().enumerate().filter(|(_, q)| *p <= **q) {
                prop_assert!(q >= p && holm[place] <= holm[other]);
                prop_assert!(hochberg[place] <= hochberg[other]);
            }
        }
    }

    #[test]
    fn the_order_of_a_family_is_nothing(
        p_values in prop::collection::vec(prop::option::of(0.0..=1.0_f64), 1..12), turn: usize,
    ) {
        let turn = turn % p_values.len();
        let mut turned = p_values.clone();
        turned.rotate_left(turn);
        for method in METHODS {
            let mut adjusted = method.adjust(&p_values);
            adjusted.rotate_left(turn);
            prop_assert_eq!(adjusted, method.adjust(&turned));
        }
    }
}
