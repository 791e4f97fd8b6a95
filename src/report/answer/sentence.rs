//! The answer in one sentence of fixed grammar a treatment, and what stands against it.

use super::numbers::{Scale, level, p_value};
use crate::analysis::described::controls::Gate;
use crate::analysis::registered::PRIMARY;
use crate::analysis::registered::answer::{Answer, AnsweredComparison, Row, Verdict};
use crate::protocol::model::{Better, Effect, Estimand, Objective, OutcomeKind, Test};
use crate::report::explain::decimal;

/// Returns the answer as one paragraph.
pub fn sentence(answer: &Answer) -> String {
    let mut said: Vec<String> = Vec::new();
    said.extend(against(answer));
    for compared in &answer.primary {
        said.push(format!("{}.", effect(answer, compared)));
        said.extend(conclusion(answer, compared));
    }
    said.extend(controls(answer));
    said.push(missing(answer));
    said.join(" ")
}

/// Says why nothing is concluded, where that is so.
fn against(answer: &Answer) -> Option<String> {
    match answer.verdict {
        Verdict::ControlFailed => {
            Some("Control failed: what follows is not to be relied on.".to_owned())
        }
        Verdict::Incomplete => Some(format!(
            "Incomplete: more than {} of the compared slots have no value, and nothing is concluded.",
            answer.flow.missing_share_max
        )),
        Verdict::Descriptive => {
            Some("Descriptive: the registration lets nothing be concluded from this.".to_owned())
        }
        Verdict::Shown | Verdict::ShownForSome | Verdict::NotShown => None,
    }
}

/// Says the effect with its interval and its p.
pub(super) fn effect(answer: &Answer, compared: &AnsweredComparison) -> String {
    let scale = Scale::of(compared);
    let mean = |value: Option<f64>| match value {
        Some(value) => scale.mean(compared.kind, value),
        None => "no value".to_owned(),
    };
    let what = match compared.result.estimate {
        Some(value) => scale.effect(value),
        None => "not defined".to_owned(),
    };
    format!(
        "{}: {} has {}, {} has {}: {what} ({}{})",
        compared.outcome,
        compared.treatment,
        mean(compared.treatment_mean),
        compared.reference,
        mean(compared.reference_mean),
        numbers(compared, scale),
        sample(answer, compared),
    )
}

/// Says the interval and the p.
fn numbers(compared: &AnsweredComparison, scale: Scale) -> String {
    let level = level(compared.result.ci_level);
    let interval = match compared.result.ci {
        Some([low, high]) => format!("{level} {} to {}", scale.end(low), scale.end(high)),
        None => "no interval".to_owned(),
    };
    let p = compared.p.map_or_else(|| "no p".to_owned(), p_value);
    let adjusted = compared
        .p_adjusted
        .filter(|_| compared.p_adjusted != compared.p);
    let adjusted = adjusted.map_or(String::new(), |p| format!(", adjusted {}", p_value(p)));
    format!("{interval}; {p}{adjusted}, {}", test(compared))
}

fn test(compared: &AnsweredComparison) -> &'static str {
    match (compared.test, compared.clusters) {
        (Test::TCr2, Some(_)) => "t with CR2",
        (Test::TCr2, None) => "paired t",
        (Test::SignFlip, Some(_)) => "sign flip of clusters",
        (Test::SignFlip, None) => "sign flip",
        (Test::McnemarExact, _) => "exact McNemar",
        (Test::McnemarMid, _) => "McNemar mid-p",
        (Test::Wilcoxon, _) => "signed ranks",
    }
}

/// Says over what.
fn sample(answer: &Answer, compared: &AnsweredComparison) -> String {
    let clusters = match (&answer.cluster, compared.clusters) {
        (Some(field), Some(count)) => format!(", {count} clusters by {field}"),
        _ => String::new(),
    };
    let repeats = match answer.repeats {
        1 => String::new(),
        repeats => format!(", {repeats} repeats"),
    };
    let estimand = match compared.estimand {
        Estimand::AsDrawn if compared.kind == OutcomeKind::Binary => "as drawn",
        Estimand::AsDrawn | Estimand::Available => "of available values",
        Estimand::CompleteBlocks => "of complete tasks",
    };
    format!("{clusters}; {} tasks{repeats}, {estimand}", compared.tasks)
}

/// Says what a comparison shows, where it may show anything.
pub(super) fn conclusion(answer: &Answer, compared: &AnsweredComparison) -> Option<String> {
    let shows = compared.rejects;
    let (treatment, reference) = (&compared.treatment, &compared.reference);
    if !compared.confirmatory {
        return None;
    }
    let margin = compared.margin;
    let margin = margin.map(|margin| decimal(margin.num, margin.den));
    let margin = margin.unwrap_or_default();
    let said = match (compared.objective, shows) {
        (Objective::Superiority, true) => superior(answer, compared),
        (Objective::Superiority, false) => "No difference is shown.".to_owned(),
        (Objective::NonInferiority, true) => {
            format!("{treatment} is not worse than {reference} by {margin} or more.")
        }
        (Objective::NonInferiority, false) => {
            format!("It is not shown that {treatment} is not worse than {reference} by {margin}.")
        }
        (Objective::Equivalence, true) => {
            format!("{treatment} and {reference} differ by less than {margin}.")
        }
        (Objective::Equivalence, false) => {
            format!(
                "It is not shown that {treatment} and {reference} differ by less than {margin}."
            )
        }
    };
    let disagrees = compared.interval_agrees == Some(false) && answer.looks.is_empty();
    Some(match disagrees {
        true => format!("{said} The interval says otherwise; the registered test decides."),
        false => said,
    })
}

/// Says which arm is better: with looks by the first one that rejects, which may not be the last.
fn superior(answer: &Answer, compared: &AnsweredComparison) -> String {
    let looks = answer.looks.iter();
    let mut looks = looks.flat_map(|table| &table.looks);
    let look = looks.find(|look| look.rejects && compared.id == PRIMARY);
    let estimate = look.map_or(compared.result.estimate, |look| look.result.estimate);
    let by = look.map_or(String::new(), |look| {
        let p = look.p.map_or_else(|| "no p".to_owned(), p_value);
        format!(", by the look at the first {} tasks ({p})", look.tasks)
    });
    match estimate.and_then(|estimate| favoured(compared, estimate)) {
        Some(arm) => format!("{arm} is better{by}."),
        None => format!("A difference is shown{by}."),
    }
}

/// Returns the arm that an effect favours.
fn favoured(compared: &AnsweredComparison, estimate: f64) -> Option<&str> {
    let null = match compared.effect {
        Effect::PairedDiff => 0.0,
        Effect::RatioOfMeans | Effect::GeometricRatio => 1.0,
    };
    let more = estimate.partial_cmp(&null)?;
    let treatment_has_more = match more {
        std::cmp::Ordering::Equal => return None,
        more => more == std::cmp::Ordering::Greater,
    };
    Some(
        match treatment_has_more == (compared.better == Better::Higher) {
            true => &compared.treatment,
            false => &compared.reference,
        },
    )
}

/// Says what the controls showed, where there are any.
fn controls(answer: &Answer) -> Option<String> {
    let failed: Vec<String> = answer
        .controls
        .iter()
        .filter(|control| control.result.gate != Gate::Pass)
        .map(|control| match control.result.gate {
            Gate::NotRun => format!("the control {} has no verdict", control.id),
            _ => format!(
                "the control {} went wrong on {} of {} tasks",
                control.id, control.result.violations, control.result.n
            ),
        })
        .collect();
    if answer.controls.is_empty() {
        return None;
    }
    Some(match failed.is_empty() {
        true => "Controls passed.".to_owned(),
        false => {
            let said = failed.join("; ");
            let mut chars = said.chars();
            let first = chars.next().map(|c| c.to_ascii_uppercase());
            format!("{}{}.", first.unwrap_or_default(), chars.as_str())
        }
    })
}

/// Says how much is missing, and between what it could move the first effect.
fn missing(answer: &Answer) -> String {
    let flow = &answer.flow;
    let count = match flow.missing {
        0 => return format!("None of {} compared slots is missing.", flow.compared),
        1 => "1 of".to_owned(),
        many => format!("{many} of"),
    };
    let verb = if flow.missing == 1 { "is" } else { "are" };
    let only = match answer.primary.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let bounds = only.and_then(|compared| {
        let bound = |name| -> Option<&Row> {
            let mut rows = compared.sensitivity.iter();
            rows.find(|row| row.estimand == name)
        };
        let scale = Scale::of(compared);
        let low = bound("bound_low")?.result.estimate?;
        let high = bound("bound_high")?.result.estimate?;
        Some(format!(
            ": between {} and {} if they all went one way",
            scale.effect(low),
            scale.effect(high)
        ))
    });
    format!(
        "{count} {} compared slots {verb} missing{}.",
        flow.compared,
        bounds.unwrap_or_default()
    )
}
