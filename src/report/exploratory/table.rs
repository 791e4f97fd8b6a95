//! The page of two arms of a table of runs.

use super::shown::{
    Row, Rows, differing, estimands, interval, number, points, rate, shown_p, within,
};
use super::{MORE, STAMP};
use crate::analysis::results::Results;
use crate::analysis::results::cost::CostResults;
use crate::analysis::results::measure::MeasureResults;
use crate::analysis::results::outcome::{BinaryResults, EstimandRow};
use crate::analysis::values::comparison::Comparison;
use crate::analysis::values::flow::ArmFlow;
use crate::report::answer::{level_at, percent};
use crate::report::layout::{heading, line, wrapped};
use crate::units::Digest;

/// What was compared, and what came of it.
pub struct ComparedTable<'a> {
    /// The table's file, as it was named.
    pub file: &'a str,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The column of clusters.
    pub cluster: Option<&'a str>,
    /// The columns that were not read.
    pub unread: &'a [String],
    /// The level is 1 less this.
    pub alpha: f64,
    /// The runs of the two arms.
    pub comparison: &'a Comparison,
    /// What was computed of them.
    pub results: &'a Results,
}

/// Returns the page: the verdicts under every estimand, then what else was recorded.
pub fn page(explored: &ComparedTable<'_>) -> String {
    let ComparedTable { alpha, results, .. } = *explored;
    let mut page = STAMP.to_owned();
    let resolved = rows(&results.resolved, &results.resolved.as_drawn.drawn.row);
    wrapped(&mut page, "answer", &sentence(explored, &resolved.as_drawn));
    flow(&mut page, explored);
    estimands(&mut page, "resolved", &resolved, alpha, true);
    if let Some(claims) = &results.claims {
        let found = &claims.false_claim;
        let found = rows(found, &found.as_drawn.row);
        estimands(&mut page, "false claim", &found, alpha, false);
    }
    tasks(&mut page, results);
    cost_and_time(&mut page, results, alpha);
    methods(&mut page, explored);
    page.push_str(MORE);
    page
}

fn sentence(explored: &ComparedTable<'_>, drawn: &Row<'_>) -> String {
    let results = explored.results;
    let flow = &results.flow;
    let slots = flow.slots_per_arm.saturating_mul(2);
    let missing = slots.saturating_sub(flow.a.scored + flow.b.scored);
    let bounds = &results.resolved.bounds;
    let missing = match missing {
        0 => format!("None of {slots} slots is missing."),
        _ => format!(
            "{missing} of {slots} slots {} missing: between {} and {} points if they all went one way.",
            if missing == 1 { "is" } else { "are" },
            points(bounds.lower),
            points(bounds.upper)
        ),
    };
    format!(
        "resolved: {} has {}, {} has {}: {}. {missing}",
        flow.b.arm,
        rate(drawn.treatment),
        flow.a.arm,
        rate(drawn.reference),
        drawn.sentence(explored.alpha),
    )
}

fn flow(page: &mut String, explored: &ComparedTable<'_>) {
    let flow = &explored.results.flow;
    let text = format!(
        "{} tasks, {} slots a task and arm; {} tasks with every slot scored",
        flow.tasks_drawn, explored.comparison.repeats, flow.complete_blocks
    );
    heading(page, "flow", &text);
    for (role, arm) in [("reference", &flow.a), ("treatment", &flow.b)] {
        line(page, &format!("{role} {}", arm.arm), &runs(arm));
    }
}

fn runs(arm: &ArmFlow) -> String {
    let reasons = arm.unjudged_by_reason.iter();
    let reasons: Vec<String> = reasons
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join(", ")),
    };
    format!(
        "{} runs: {} scored, {} unjudged{reasons}, {} resolved",
        arm.runs, arm.scored, arm.unjudged, arm.resolved
    )
}

fn rows<'a, D>(results: &'a BinaryResults<D>, drawn: &'a EstimandRow) -> Rows<'a> {
    let row = |row: &'a EstimandRow| Row {
        reference: row.rate_a.mean,
        treatment: row.rate_b.mean,
        effect: &row.effect,
        tasks: row.n_tasks,
    };
    Rows {
        as_drawn: row(drawn),
        available: row(&results.available),
        complete_blocks: row(&results.complete_blocks),
        bound_low: row(&results.bound_low),
        bound_high: row(&results.bound_high),
    }
}

fn tasks(page: &mut String, results: &Results) {
    heading(page, "tasks", "as drawn; treatment against reference");
    let drawn = &results.resolved.as_drawn.drawn.row;
    let text = format!(
        "{} up, {} down, {} the same",
        drawn.n_pos, drawn.n_neg, drawn.n_zero
    );
    line(page, "treatment", &text);
    differing(page, &results.mcnemar, results.pass_k.as_ref());
    if let Some(claims) = &results.claims {
        let rates = &claims.false_claim_conditional.rates;
        let text = format!(
            "{} of {} against {} of {}",
            rates.b.false_claims, rates.b.claims, rates.a.false_claims, rates.a.claims
        );
        line(page, "false claims of claims", &text);
    }
}

fn cost_and_time(page: &mut String, results: &Results, alpha: f64) {
    let measures = [
        ("cost (USD)", &results.cost_usd),
        ("duration (s)", &results.duration_s),
        ("input tokens", &results.input_tokens),
        ("output tokens", &results.output_tokens),
    ];
    if measures.iter().all(|(_, measure)| measure.is_none()) {
        return;
    }
    let interval = format!("{} interval", level_at(alpha));
    let head = format!(
        "{:>15} {:>10} {:>10}   {interval:<20} {:>6}",
        "reference", "treatment", "difference", "tasks"
    );
    heading(page, "cost, time", &head);
    for (name, measure) in measures {
        if let Some(measure) = measure {
            numeric(page, name, measure);
        }
    }
    if let Some(times) = &results.time_to_success {
        let text = format!(
            "{} against {} of {} slots within {} s",
            times.b.solved_within_limit, times.a.solved_within_limit, times.b.slots, times.limit
        );
        line(page, "solved in time", &text);
    }
    if let Some(costs) = &results.cost_effectiveness {
        effectiveness(page, costs);
    }
}

fn numeric(page: &mut String, name: &str, measure: &MeasureResults) {
    let effect = &measure.all.effect;
    page.push_str(&format!(
        "  {name:<14} {:>10} {:>10} {:>10}   {:<20} {:>6}\n",
        number(effect.a.mean),
        number(effect.b.mean),
        number(effect.diff.mean),
        interval(effect.diff.deciding().ci),
        measure.all.n_tasks
    ));
    let typical = effect.ratio.typical.as_ref();
    let typical = typical.and_then(|typical| typical.geo_ratio);
    // Fieller's interval knows no clusters.
    let fieller = effect.ratio.intervals.as_ref();
    let fieller = fieller.filter(|_| effect.diff.clustered.is_none());
    let fieller = fieller.map(|ends| format!(" ({})", interval(ends.fieller)));
    let text = format!(
        "medians {} and {}; ratio of means {}{}, of a typical task {}",
        number(effect.a.median),
        number(effect.b.median),
        number(effect.ratio.ratio),
        fieller.unwrap_or_default(),
        number(typical),
    );
    page.push_str(&format!("    {text}\n"));
}

fn effectiveness(page: &mut String, costs: &CostResults) {
    let found = &costs.effectiveness;
    let text = format!(
        "{} against {} USD",
        number(found.cost_per_resolved_b),
        number(found.cost_per_resolved_a)
    );
    line(page, "cost a success", &text);
    for (worth, benefit) in &found.inb.0 {
        let points = costs.acceptability.points.iter();
        let mut here = points.filter(|point| point.lambda.to_string() == *worth);
        let share = here.next().and_then(|point| point.p_positive);
        let text = format!(
            "net benefit {} USD ({}), above 0 in {} of resamples",
            number(benefit.mean.mean),
            interval(benefit.mean.deciding().ci),
            share.map_or_else(|| "-".to_owned(), percent)
        );
        line(page, &format!("at {worth} USD a success"), &text);
    }
}

fn methods(page: &mut String, explored: &ComparedTable<'_>) {
    heading(page, "methods", "one value a task and arm");
    let text = format!("{}   sha256 {}", explored.file, explored.digest);
    line(page, "table", &text);
    let clusters = match explored.cluster {
        Some(column) => format!("by {column}: intervals and the test are t with CR2"),
        None => {
            "none, tasks are taken for unrelated: intervals are t, the test is the exact sign flip"
                .to_owned()
        }
    };
    line(page, "clusters", &clusters);
    let drawn = &explored.results.resolved.as_drawn.drawn.row.effect;
    if let Some(table) = &explored.results.mcnemar.single {
        let text = format!("{} points (Tango)", within(table.difference.ci_tango));
        line(page, "score interval", &text);
    }
    if let (Some(_), Some(flip)) = (&drawn.diff.clustered, &drawn.sign_flip_cluster) {
        let p = shown_p(flip.p_two_sided, flip.flag);
        line(
            page,
            "beside the test",
            &format!("{p}, sign flip of clusters"),
        );
    }
    if !explored.unread.is_empty() {
        line(page, "columns not read", &explored.unread.join(", "));
    }
}
