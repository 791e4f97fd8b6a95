//! The page of a comparison that nobody registered.

use serde_json::Value;

use super::answer::{hundredths, p_value, rounded};
use crate::analysis::Flag;
use crate::analysis::comparison::Comparison;
use crate::analysis::mean::Mean;
use crate::analysis::results::Results;
use crate::analysis::results::measure::MeasureResults;
use crate::analysis::results::outcome::{BinaryResults, EstimandRow};
use crate::units::Digest;

/// What was compared, and what came of it.
pub struct Explored<'a> {
    /// The table's file, as it was named.
    pub file: &'a str,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The column of clusters.
    pub cluster: Option<&'a str>,
    /// The runs of the two arms.
    pub comparison: &'a Comparison,
    /// What was computed of them.
    pub results: &'a Results,
}

/// Returns the page: the verdicts under every estimand, then what else was recorded.
pub fn page(explored: &Explored<'_>) -> String {
    let results = explored.results;
    let comparison = explored.comparison;
    let (a, b) = (&comparison.reference.name, &comparison.treatment.name);
    let mut page = format!(
        "exploratory, not registered: nothing is confirmed by this\n\n{:<11} {}   sha256 {}\n{:<11} {b} against {a}, {} tasks, {} slots a task and arm\n",
        "table",
        explored.file,
        explored.digest.short(),
        "compared",
        results.flow.tasks_drawn,
        comparison.repeats,
    );
    let clusters = match explored.cluster {
        Some(column) => format!("by {column}; errors are CR2"),
        None => "none: tasks are taken for unrelated".to_owned(),
    };
    page.push_str(&format!("{:<11} {clusters}\n", "clusters"));
    for arm in [&results.flow.a, &results.flow.b] {
        page.push_str(&format!(
            "  {:<24} {} runs: {} scored, {} unjudged, {} resolved\n",
            arm.arm, arm.runs, arm.scored, arm.unjudged, arm.resolved
        ));
    }
    binary(&mut page, "resolved", &results.resolved, |row| {
        &row.drawn.row
    });
    if let Some(claims) = &results.claims {
        binary(&mut page, "false claims", &claims.false_claim, |row| {
            &row.row
        });
    }
    for (name, measure) in [
        ("cost (USD)", &results.cost_usd),
        ("duration (s)", &results.duration_s),
        ("input tokens", &results.input_tokens),
        ("output tokens", &results.output_tokens),
    ] {
        if let Some(measure) = measure {
            numeric(&mut page, name, measure);
        }
    }
    page.push_str("\n--json has every number, with its definition's name\n");
    page
}

fn binary<D>(
    page: &mut String,
    name: &str,
    results: &BinaryResults<D>,
    drawn: impl Fn(&D) -> &EstimandRow,
) {
    page.push_str(&format!("\n{name:<11}\n"));
    for (estimand, row) in [
        ("as drawn", drawn(&results.as_drawn)),
        ("available", &results.available),
        ("complete blocks", &results.complete_blocks),
        ("bound low", &results.bound_low),
        ("bound high", &results.bound_high),
    ] {
        let flips = row.effect.sign_flip_cluster.as_ref();
        let flip = flips.or(row.effect.sign_flip_task.as_ref());
        let flip = flip.map_or(String::new(), |flip| {
            format!(", sign flip {}", shown_p(flip.p_two_sided, flip.flag))
        });
        page.push_str(&format!(
            "  {estimand:<16} {:>6} {:>6}  {}{flip}   {} tasks\n",
            share(&row.rate_a),
            share(&row.rate_b),
            points(&row.effect.diff),
            row.n_tasks
        ));
    }
}

fn share(mean: &Mean) -> String {
    mean.mean
        .map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"))
}

/// Writes a difference of shares in points, with what decides its error.
fn points(mean: &Mean) -> String {
    let error = mean.deciding();
    let Some(value) = mean.mean else {
        return "not defined".to_owned();
    };
    let interval = error.ci.map_or_else(
        || "no interval".to_owned(),
        |ends| {
            // Two shares differ by no more than 1.
            let [low, high] = ends.map(|end| hundredths(end.clamp(-1.0, 1.0)));
            format!("{low} to {high}")
        },
    );
    let p = shown_p(error.p, error.flag);
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{} points ({interval}; {p})", hundredths(value))
}

/// Writes a p; one below the range of a double is small, and not unknown.
fn shown_p(p: Option<f64>, flag: Option<Flag>) -> String {
    match (p, flag) {
        (Some(p), _) => p_value(p),
        (None, Some(Flag::BelowRange)) => p_value(f64::MIN_POSITIVE),
        (None, _) => "no p".to_owned(),
    }
}

fn numeric(page: &mut String, name: &str, measure: &MeasureResults) {
    let numbers = &measure.all;
    let effect = &numbers.effect;
    let shown =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| rounded(value, 4));
    let error = effect.diff.deciding();
    let p = error.p.map_or_else(|| "no p".to_owned(), p_value);
    page.push_str(&format!(
        "\n{name:<11}\n  mean {} and {}, median {} and {}; {} tasks\n",
        shown(effect.a.mean),
        shown(effect.b.mean),
        shown(effect.a.median),
        shown(effect.b.median),
        numbers.n_tasks
    ));
    let interval = error.ci.map_or_else(
        || "no interval".to_owned(),
        |[low, high]| format!("{} to {}", rounded(low, 4), rounded(high, 4)),
    );
    page.push_str(&format!(
        "  difference {} ({interval}; {p}); ratio of means {}\n",
        shown(effect.diff.mean),
        shown(effect.ratio.ratio)
    ));
}

/// Writes every value below a value as a line: where it stands, and what it is.
pub fn lines(value: &Value, place: &mut String, lines: &mut Vec<String>) {
    let length = place.len();
    let mut below = |key: &str, value: &Value, place: &mut String| {
        if !place.is_empty() {
            place.push('.');
        }
        place.push_str(key);
        self::lines(value, place, lines);
        place.truncate(length);
    };
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                below(key, value, place);
            }
        }
        Value::Array(list) if list.iter().any(|one| one.is_object() || one.is_array()) => {
            for (index, value) in list.iter().enumerate() {
                below(&(index + 1).to_string(), value, place);
            }
        }
        other => lines.push(format!("  {place:<44} {other}\n")),
    }
}
