//! The edge references, whose inputs stand in the files.
use prereg::analysis::described::controls::{ControlResult, Demand};
use prereg::analysis::multiplicity::Multiplicity;
use prereg::analysis::numerics::special;
use prereg::analysis::results::cases::{CountResults, PairResults, TaskResults};
use prereg::analysis::sequential::{SequentialDesign, Sided, Spending, UnderRun, operation};
use prereg::analysis::tables::direct::{read_numbers, read_tasks};
use serde_json::{Value, json};

use super::documents::{Computed, in_case, is_preamble, keep_inputs, numbers, value, with_cases};

fn alpha(reference: &Value) -> Result<f64, String> {
    reference["alpha"].as_f64().ok_or_else(|| "no alpha".into())
}

/// Group sequential designs.
pub(crate) fn sequential(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| {
        is_preamble(path)
            || in_case(
                path,
                "cases",
                &["fractions", "spending", "rho", "alpha", "sided"],
            )
    };
    let document = with_cases(reference, "cases", inputs, |case| {
        let spending = match (case["spending"].as_str(), case["rho"].as_f64()) {
            (Some("obf"), _) => Spending::Obf,
            (Some("pocock"), _) => Spending::Pocock,
            (Some("power"), Some(rho)) => Spending::Power(rho),
            other => return Err(format!("no spending {other:?}")),
        };
        let design = SequentialDesign {
            fractions: numbers(&case["fractions"]),
            spending,
            alpha: alpha(case)?,
            sided: if case["sided"] == 1 {
                Sided::One
            } else {
                Sided::Two
            },
            under_run: UnderRun::SpendToT,
        };
        value(&operation(&design).map_err(|flag| format!("{flag:?}"))?)
    })?;
    Ok(Computed { document, inputs })
}

/// Returns a value of a special function.
///
/// One row of the references ends in null, being out of their own reach. There the value is held
/// against its inverse, and counts as null when it agrees.
fn computed_value(name: &str, value: Option<f64>, arguments: &[f64], stated: &Value) -> Value {
    let inverse = value.map(special::normal_cdf);
    let agrees = |p: f64| (inverse.unwrap_or(0.0) - p).abs() <= 1e-9 * p;
    if name == "normal_ppf" && stated.is_null() && arguments.iter().all(|&p| agrees(p)) {
        return Value::Null;
    }
    json!(value)
}

/// A function of the arguments of a row.
type Function = fn(&[f64]) -> Option<f64>;

/// Special functions: rows of arguments and a value.
pub(crate) fn special(reference: &Value) -> Result<Computed, String> {
    let inputs = is_preamble;
    let mut document = keep_inputs(reference, inputs);
    let functions: [(&str, Function); 6] = [
        ("normal_cdf", |x| Some(special::normal_cdf(*x.first()?))),
        ("normal_ppf", |x| special::normal_quantile(*x.first()?)),
        ("t_sf", |x| Some(special::t_sf(*x.first()?, *x.get(1)?))),
        ("t_ppf", |x| special::t_quantile(*x.first()?, *x.get(1)?)),
        ("beta_ppf", |x| {
            special::beta_quantile(*x.first()?, *x.get(1)?, *x.get(2)?)
        }),
        ("binom_half_tail", |x| {
            Some(special::binomial_half_tail(
                *x.first()? as u64,
                *x.get(1)? as u64,
            ))
        }),
    ];
    for (name, function) in functions {
        let rows = reference[name].as_array().ok_or("no rows")?;
        let computed = rows.iter().map(|row| {
            let row = row.as_array().map(Vec::as_slice).unwrap_or_default();
            let (last, arguments) = row.split_last()?;
            let plain: Vec<f64> = arguments.iter().filter_map(Value::as_f64).collect();
            let mut row = arguments.to_vec();
            row.push(computed_value(name, function(&plain), &plain, last));
            Some(Value::Array(row))
        });
        document[name] = computed
            .collect::<Option<Vec<_>>>()
            .ok_or("an empty row")?
            .into();
    }
    Ok(Computed { document, inputs })
}

/// Slots of tasks.
pub(crate) fn tasks(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| {
        is_preamble(path) || in_case(path, "cases", &["name", "k", "note", "tasks"])
    };
    let alpha = alpha(reference)?;
    let document = with_cases(reference, "cases", inputs, |case| {
        let outcome = read_tasks(&case.to_string()).map_err(|defect| format!("{defect:?}"))?;
        Ok(json!({ "expect": value(&TaskResults::new(&outcome, &[0.1], alpha))? }))
    })?;
    Ok(Computed { document, inputs })
}

/// Paired numbers.
pub(crate) fn numeric(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| {
        is_preamble(path) || in_case(path, "cases", &["name", "note", "a", "b", "clusters"])
    };
    let alpha = alpha(reference)?;
    let document = with_cases(reference, "cases", inputs, |case| {
        let outcome = read_numbers(&case.to_string()).map_err(|defect| format!("{defect:?}"))?;
        Ok(json!({ "expect": value(&PairResults::new(&outcome.paired(), alpha))? }))
    })?;
    Ok(Computed { document, inputs })
}

/// Paired tables given by their counts.
pub(crate) fn tables(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| is_preamble(path) || in_case(path, "cases", &["name", "counts"]);
    let alpha = alpha(reference)?;
    let document = with_cases(reference, "cases", inputs, |case| {
        let count = |key: &str| {
            case["counts"][key]
                .as_u64()
                .ok_or(format!("no count {key}"))
        };
        let counts = [count("a")?, count("b")?, count("c")?, count("d")?];
        let results = CountResults::new(counts, alpha).ok_or("too many tasks")?;
        Ok(json!({ "expect": value(&results.table)?, "rate_ci": value(&results.rate_ci)? }))
    })?;
    Ok(Computed { document, inputs })
}

/// Adjusted p-values.
pub(crate) fn multiplicity(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| is_preamble(path) || in_case(path, "cases", &["p"]);
    let document = with_cases(reference, "cases", inputs, |case| {
        let p: Vec<Option<f64>> = numbers(&case["p"]).into_iter().map(Some).collect();
        Ok(json!({
            "holm": Multiplicity::Holm.adjust(&p),
            "hochberg": Multiplicity::Hochberg.adjust(&p),
            "bonferroni": Multiplicity::Bonferroni.adjust(&p),
        }))
    })?;
    Ok(Computed { document, inputs })
}

/// Control arms.
pub(crate) fn controls(reference: &Value) -> Result<Computed, String> {
    let inputs = |path: &[String]| {
        is_preamble(path) || in_case(path, "cases", &["control", "n", "resolved"])
    };
    let document = with_cases(reference, "cases", inputs, |case| {
        let control = match case["control"].as_str() {
            Some("must_pass") => Demand::MustPass,
            Some("must_fail") => Demand::MustFail,
            other => return Err(format!("no control {other:?}")),
        };
        let count = |key: &str| case[key].as_u64().ok_or(format!("no {key}"));
        let (n, resolved) = (count("n")?, count("resolved")?);
        value(&ControlResult::from_verdicts(
            control,
            (0..n).map(|slot| slot < resolved),
        ))
    })?;
    Ok(Computed { document, inputs })
}
