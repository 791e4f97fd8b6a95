//! The references of published tables, whose inputs are the tables.
use std::num::{NonZeroU64, NonZeroUsize};

use prereg::analysis::multiplicity::Multiplicity;
use prereg::analysis::results::resampling::Resampling;
use prereg::analysis::results::{Results, Settings};
use prereg::analysis::tables::table::{Reading, Table};
use serde_json::Value;

use super::documents::{Computed, in_case, is_preamble, keep_inputs, value};

/// The number of resamples, by default or by the variable `PREREG_RESAMPLES`.
fn resamples() -> Option<NonZeroU64> {
    let given = std::env::var("PREREG_RESAMPLES").unwrap_or_else(|_| "9999".into());
    given.parse().ok()
}

/// What a reference was computed with, as far as it says so.
fn settings<'a>(reference: &Value, lambdas: &'a [f64]) -> Result<Settings<'a>, String> {
    Ok(Settings {
        alpha: reference["alpha"].as_f64().ok_or("no alpha")?,
        margins: &[0.05, 0.1],
        lambdas,
        time_limit_s: reference["results"]["time_to_success"]["limit"].as_f64(),
        resampling: Resampling {
            registration_hash: "ac0e9632d59e12a74d94a2d93aea3803c815f0db2cbe672dc125fa21b9c6cba3",
            resamples: resamples().ok_or("no number of resamples")?,
            threads: NonZeroUsize::MIN.saturating_add(1),
            begin: |_| {},
        },
    })
}

fn text<'a>(reference: &'a Value, key: &str) -> Result<&'a str, String> {
    reference[key].as_str().ok_or_else(|| format!("no {key}"))
}

fn compute(reference: &Value, treatment: &str) -> Result<Results, String> {
    let path = crate::stats::folder("PREREG_DATA", "tests/data").join(text(reference, "dataset")?);
    let table = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let repeats = reference["k"].as_u64().and_then(|k| u32::try_from(k).ok());
    let reading = Reading {
        cluster: Some("cluster"),
        repeats,
    };
    let table = Table::read(&table, reading).map_err(|defects| format!("{defects:?}"))?;
    let comparison = table.compare(text(reference, "reference")?, treatment);
    let comparison = comparison.map_err(|defect| format!("{defect:?}"))?;
    let worths = reference["results"]["cost_effectiveness"]["inb"].as_object();
    let lambdas: Vec<f64> = worths
        .into_iter()
        .flatten()
        .filter_map(|(lambda, _)| lambda.parse().ok())
        .collect();
    Results::new(&comparison, &settings(reference, &lambdas)?)
        .map_err(|defect| format!("{defect:?}"))
}

/// The results of one comparison.
pub(crate) fn results(_name: &str, reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| path.first().is_some_and(|first| first != "results");
    let mut document = keep_inputs(reference, inputs);
    document["results"] = value(&compute(reference, text(reference, "treatment")?)?)?;
    Ok(Computed { document, inputs })
}

/// Several comparisons of one table, adjusted together.
///
/// The file names its treatments only. Its table and reference are those of the files beside it
/// whose name begins the same, up to the first point.
pub(crate) fn comparisons(name: &str, reference: &Value) -> Result<Computed, String> {
    let inputs =
        |path: &[String]| is_preamble(path) || in_case(path, "comparisons", &["treatment"]);
    let family = name.split('.').next().unwrap_or_default();
    let beside = crate::stats::references()
        .into_iter()
        .find(|(other, document)| {
            other.split('.').next() == Some(family) && document.get("results").is_some()
        })
        .ok_or(format!("no reference beside {name} names its table"))?
        .1;
    let mut document = keep_inputs(reference, inputs);
    let mut tests = [Vec::new(), Vec::new()];
    for (place, comparison) in reference["comparisons"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let results = compute(&beside, text(comparison, "treatment")?)?;
        let effect = results.resolved.as_drawn.drawn.row.effect;
        let sign_flip = effect.sign_flip_task.and_then(|test| test.p_two_sided);
        let cr2 = effect.diff.clustered.and_then(|blocks| blocks.cr2.p);
        document["comparisons"][place]["sign_flip_task"] = value(&sign_flip)?;
        document["comparisons"][place]["cr2"] = value(&cr2)?;
        tests[0].push(sign_flip);
        tests[1].push(cr2);
    }
    document["holm"] = serde_json::json!({
        "sign_flip_task": Multiplicity::Holm.adjust(&tests[0]),
        "cr2": Multiplicity::Holm.adjust(&tests[1]),
    });
    Ok(Computed { document, inputs })
}
