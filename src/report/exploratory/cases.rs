//! The pages of values that are given without a table of runs.

use super::shown::{
    Row, Rows, differing, estimands, interval, number, pairs, points, rate, shown_p, within,
};
use super::{MORE, STAMP};
use crate::analysis::paired::proportion::ProportionIntervals;
use crate::analysis::results::cases::{CountResults, PairResults, TaskResults, TaskRow};
use crate::analysis::tables::given::{Case, Cases};
use crate::report::answer::level_at;
use crate::report::layout::{heading, line, wrapped};

/// Returns the page of a table of pairs.
pub fn counts(results: &CountResults, alpha: f64) -> String {
    let mut page = STAMP.to_owned();
    let (table, difference) = (&results.table, &results.table.difference);
    let level = level_at(alpha);
    let text = format!(
        "treatment has {}, reference has {}: {} points ({level} {}, Tango; {}, exact McNemar; {} pairs).",
        rate(difference.rate_b),
        rate(difference.rate_a),
        points(difference.rd),
        within(difference.ci_tango),
        shown_p(table.mcnemar.p_exact, table.flag),
        table.n
    );
    wrapped(&mut page, "answer", &text);
    heading(&mut page, "pairs", &pairs(table.counts));
    heading(
        &mut page,
        "difference",
        &format!("{level} intervals, in points"),
    );
    for (name, ends) in [
        ("Tango", difference.ci_tango),
        ("Newcombe", difference.ci_newcombe),
        ("Agresti and Min", difference.ci_agresti_min),
        ("Bonett and Price", difference.ci_bonett_price),
        ("Wald, too short", difference.ci_wald),
    ] {
        line(&mut page, name, &within(ends));
    }
    heading(
        &mut page,
        "McNemar",
        "tests of the discordant pairs, two-sided",
    );
    for (name, p) in [
        ("exact", table.mcnemar.p_exact),
        ("mid-p", table.mcnemar.p_mid),
        ("asymptotic", table.mcnemar.p_asymptotic),
    ] {
        line(&mut page, name, &shown_p(p, table.flag));
    }
    if let Some(discordant) = &table.discordant_pairs {
        let [low, high] = discordant.cond_or_ci;
        let high = high.map_or_else(|| "infinity".to_owned(), |high| number(Some(high)));
        let text = format!(
            "{} ({level} {} to {high})",
            number(discordant.cond_or),
            number(low)
        );
        line(&mut page, "odds ratio", &text);
    }
    heading(
        &mut page,
        "rates",
        &format!("{level} intervals, in per cent"),
    );
    for (name, rate) in [
        ("reference", &results.rate_ci.a),
        ("treatment", &results.rate_ci.b),
    ] {
        line(&mut page, name, &limits(rate));
    }
    page.push_str(MORE);
    page
}

fn limits(found: &ProportionIntervals) -> String {
    format!(
        "{} of {}: {} (Wilson), {} (Clopper and Pearson)",
        found.x,
        found.n,
        within(found.wilson),
        within(found.clopper_pearson)
    )
}

/// Returns the page of slots of tasks.
pub fn tasks(cases: &Cases<TaskResults>, alpha: f64) -> String {
    each(cases, |page, results| {
        let drawn = &results.as_drawn.row;
        let rows = Rows {
            as_drawn: row_of(drawn),
            available: row_of(&results.available),
            complete_blocks: row_of(&results.complete_blocks),
            bound_low: row_of(&results.bound_low),
            bound_high: row_of(&results.bound_high),
        };
        let text = format!(
            "treatment has {}, reference has {}: {}.",
            rate(drawn.rate_b),
            rate(drawn.rate_a),
            rows.as_drawn.sentence(alpha)
        );
        wrapped(page, "answer", &text);
        estimands(page, "successes", &rows, alpha, true);
        heading(page, "tasks", "as drawn; treatment against reference");
        differing(page, &results.mcnemar, results.pass_k.as_ref());
    })
}

fn row_of(row: &TaskRow) -> Row<'_> {
    Row {
        reference: row.rate_a,
        treatment: row.rate_b,
        effect: &row.effect,
        tasks: row.n_tasks,
    }
}

/// Returns the page of paired numbers.
pub fn numbers(cases: &Cases<PairResults>, alpha: f64) -> String {
    let level = level_at(alpha);
    each(cases, |page, results| {
        let effect = &results.effect;
        let error = effect.diff.deciding();
        let test = match &effect.diff.clustered {
            Some(errors) => format!("t with CR2, {} clusters", errors.clusters),
            None => "paired t".to_owned(),
        };
        let text = format!(
            "treatment has {}, reference has {}: {} ({level} {}; {}, {test}; {} tasks).",
            number(effect.b.mean),
            number(effect.a.mean),
            number(effect.diff.mean),
            interval(error.ci),
            shown_p(error.p, error.flag),
            effect.diff.n
        );
        wrapped(page, "answer", &text);
        let ratio = &effect.ratio;
        // These intervals know no clusters.
        let single = effect.diff.clustered.is_none();
        let ends = ratio.intervals.as_ref().filter(|_| single);
        let ends = ends.map(|ends| format!(" ({}, Fieller)", interval(ends.fieller)));
        let typical = ratio.typical.as_ref();
        let logarithm = typical.and_then(|typical| typical.logarithm.as_ref());
        heading(
            page,
            "ratios",
            &format!("treatment over reference, {level} intervals"),
        );
        line(
            page,
            "of the means",
            &format!("{}{}", number(ratio.ratio), ends.unwrap_or_default()),
        );
        let logarithm = logarithm.filter(|_| single);
        let ends = logarithm.map(|logarithm| format!(" ({})", interval(logarithm.geo_ratio_ci)));
        let text = format!(
            "{}{}",
            number(typical.and_then(|typical| typical.geo_ratio)),
            ends.unwrap_or_default()
        );
        line(page, "of a typical task", &text);
        heading(page, "tasks", "quartiles");
        for (name, found) in [
            ("reference", &effect.a),
            ("treatment", &effect.b),
            ("difference", &effect.d),
        ] {
            let text = format!(
                "{}, {}, {}",
                number(found.q25),
                number(found.median),
                number(found.q75)
            );
            line(page, name, &text);
        }
        let ranks = &results.wilcoxon;
        let p = ranks.p_exact.or(ranks.p_normal);
        line(
            page,
            "signed ranks",
            &format!("{}, a shift and not the mean", shown_p(p, ranks.flag)),
        );
    })
}

/// Writes one case, or each of a list under its name.
fn each<T>(cases: &Cases<T>, write: impl Fn(&mut String, &T)) -> String {
    let mut page = STAMP.to_owned();
    let all: &[Case<T>] = match cases {
        Cases::One(case) => std::slice::from_ref(case),
        Cases::Many { cases } => cases,
    };
    for (place, case) in all.iter().enumerate() {
        if place > 0 {
            page.push('\n');
        }
        if all.len() > 1 || case.name.is_some() {
            let name = case.name.as_deref().unwrap_or_default();
            let text = format!("{:<11} {} {name}", "case", place + 1);
            page.push_str(&format!("{}\n", text.trim_end()));
        }
        write(&mut page, &case.expect);
    }
    page.push_str(MORE);
    page
}
