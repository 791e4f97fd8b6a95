//! What is described without a test: tasks, then cost and time.

use super::numbers::{Scale, level, percent, rounded};
use crate::analysis::registered::answer::{
    Answer, ArmDescribed, CostDescribed, Effected, Exposure, OutcomeDescribed, PairDescribed,
    Stratum,
};
use crate::protocol::model::OutcomeKind;
use crate::report::layout::{heading, line};
use crate::units::{Micros, Money};

/// Writes what is described of tasks: what the arms have, by turns and subgroups, and how they compare.
pub(super) fn tasks(page: &mut String, answer: &Answer) {
    heading(page, "tasks", "described, without a test");
    for arm in &answer.arms {
        for outcome in arm.outcomes.iter().filter(|one| !is_spent(one)) {
            let name = format!("{} {}", arm.arm, outcome.outcome);
            line(page, &name, &of_outcome(outcome));
        }
        strata(page, arm);
    }
    for pair in &answer.described {
        let against = against(answer, pair);
        for (name, text) in passes(pair).into_iter().chain(claims(pair)) {
            line(page, &name, &format!("{text} ({against})"));
        }
    }
}

/// Writes for how long and at what price runs were executed, and what a success took.
pub(super) fn cost_and_time(page: &mut String, answer: &Answer) {
    heading(page, "cost, time", "described, without a test");
    for arm in &answer.flow.arms {
        line(page, &arm.arm, &exposure(&arm.exposure));
    }
    for arm in &answer.arms {
        for outcome in arm.outcomes.iter().filter(|one| is_spent(one)) {
            let name = format!("{} {}", arm.arm, outcome.outcome);
            line(page, &name, &of_outcome(outcome));
        }
    }
    for pair in &answer.described {
        let against = against(answer, pair);
        if let Some(times) = &pair.time_to_success {
            let text = format!(
                "{} against {} of {} slots within {} s ({against})",
                times.b.solved_within_limit,
                times.a.solved_within_limit,
                times.b.slots,
                times.limit
            );
            line(page, "solved in time", &text);
        }
        if let Some(costs) = &pair.cost_effectiveness {
            costs_of(page, costs, &against);
        }
    }
}

fn is_spent(outcome: &OutcomeDescribed) -> bool {
    matches!(outcome.kind, OutcomeKind::Money | OutcomeKind::Duration)
}

fn against(answer: &Answer, pair: &PairDescribed) -> String {
    let reference = answer.primary.first().map_or("", |one| &one.reference);
    format!("{} against {reference}", pair.treatment)
}

/// Writes a number, or that there is none.
fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| rounded(value, digits))
}

fn of_outcome(outcome: &OutcomeDescribed) -> String {
    match (&outcome.count, &outcome.quantiles) {
        (Some(count), _) => format!("{count} of {} known", outcome.known),
        (None, Some(quantiles)) => format!(
            "median {} (quarters {} and {}) of {} known",
            shown(quantiles.median, 4),
            shown(quantiles.q25, 4),
            shown(quantiles.q75, 4),
            outcome.known
        ),
        (None, None) => "no value".to_owned(),
    }
}

fn strata(page: &mut String, arm: &ArmDescribed) {
    let mut told = |name: &str, stratum: &Stratum| {
        let mean = shown(stratum.mean, 3);
        let text = format!("mean {mean} in {} slots", stratum.known);
        line(page, &format!("{} {name}", arm.arm), &text);
    };
    for stratum in &arm.by_turn {
        told(&format!("started as {}", stratum.stratum), stratum);
    }
    for stratum in &arm.subgroups {
        let field = stratum.field.as_deref().unwrap_or_default();
        told(&format!("{field} {}", stratum.stratum), stratum);
    }
}

fn passes(pair: &PairDescribed) -> Vec<(String, String)> {
    let Some(passes) = &pair.pass_k else {
        return Vec::new();
    };
    let both = passes.a.passes.0.iter().zip(&passes.b.passes.0);
    let told = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
    both.map(|((key, a), (_, b))| (key.clone(), format!("{} against {}", told(b), told(a))))
        .collect()
}

fn claims(pair: &PairDescribed) -> Vec<(String, String)> {
    let Some([a, b]) = &pair.claims else {
        return Vec::new();
    };
    let told = |what: &str, b: u64, a: u64| (what.to_owned(), format!("{b} against {a}"));
    vec![
        told("false claims", b.claimed_unresolved, a.claimed_unresolved),
        told("honest failures", b.honest_failures, a.honest_failures),
    ]
}

fn exposure(exposure: &Exposure) -> String {
    let time = exposure.milliseconds.map(|time| {
        let time = Micros(time.saturating_mul(1000));
        format!("; {time} in {} of them", exposure.timed)
    });
    let cost = exposure
        .micro_dollars
        .map(|cost| format!("; {} in {} of them", Money(cost), exposure.priced));
    format!(
        "{} runs{}{}",
        exposure.runs,
        time.unwrap_or_default(),
        cost.unwrap_or_default()
    )
}

fn costs_of(page: &mut String, costs: &CostDescribed, against: &str) {
    let found = &costs.effectiveness;
    let text = format!(
        "{} against {} USD: {} ({against})",
        shown(found.cost_per_resolved_b, 3),
        shown(found.cost_per_resolved_a, 3),
        ratio(&costs.cost_per_resolved_ratio),
    );
    line(page, "cost a success", &text);
    for (worth, benefit) in &found.inb.0 {
        let points = costs.acceptability.points.iter();
        let mut here = points.filter(|point| point.lambda.to_string() == *worth);
        let share = here.next().and_then(|point| point.p_positive);
        let share = share.map_or_else(|| "-".to_owned(), percent);
        let mean = benefit.mean.mean;
        let mean = mean.map_or_else(|| "-".to_owned(), |mean| Scale::Unit(" USD").effect(mean));
        let text = format!("net benefit {mean}, above 0 in {share} of resamples");
        line(page, &format!("at {worth} USD a success"), &text);
    }
}

fn ratio(ratio: &Effected) -> String {
    let Some(estimate) = ratio.estimate else {
        return "no ratio".to_owned();
    };
    let interval = ratio.ci.map_or_else(
        || "no interval".to_owned(),
        |[low, high]| {
            let level = level(ratio.ci_level);
            format!("{level} {} to {}", rounded(low, 3), rounded(high, 3))
        },
    );
    format!("{} times, {interval}", rounded(estimate, 3))
}
