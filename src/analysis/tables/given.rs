//! The results of task values that are given without a table: of one case, or of each of a list.
//!
//! A list is `{"cases": [...]}`; a case is what `direct` reads, and may have a `name`.

use serde::Serialize;
use serde_json::Value;

use crate::analysis::results::cases::{PairResults, TaskResults};
use crate::analysis::tables::defect::Defect;
use crate::analysis::tables::direct::{read_numbers, read_tasks};

/// The margin of equivalence beside shares that come without one.
const MARGIN: f64 = 0.1;

/// The results of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case<T> {
    /// How the case is called, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its results.
    pub expect: T,
}

/// The results of one case, or of each of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cases<T> {
    /// The case that was given.
    One(Case<T>),
    /// The list that was given.
    Many {
        /// The cases, in their order.
        cases: Vec<Case<T>>,
    },
}

/// Computes the results of slots of tasks. Refuses as [`read_tasks`] does.
pub fn tasks(text: &str, alpha: f64) -> Result<Cases<TaskResults>, Defect> {
    each(text, |case| {
        Ok(TaskResults::new(&read_tasks(case)?, &[MARGIN], alpha))
    })
}

/// Computes the results of paired numbers. Refuses as [`read_numbers`] does.
pub fn numbers(text: &str, alpha: f64) -> Result<Cases<PairResults>, Defect> {
    each(text, |case| {
        Ok(PairResults::new(&read_numbers(case)?.paired(), alpha))
    })
}

/// Computes the one case that a text holds, or each of a list.
fn each<T>(text: &str, compute: impl Fn(&str) -> Result<T, Defect>) -> Result<Cases<T>, Defect> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let name = |case: &Value| case["name"].as_str().map(str::to_owned);
    let Some(list) = value["cases"].as_array() else {
        return Ok(Cases::One(Case {
            name: name(&value),
            expect: compute(text)?,
        }));
    };
    let cases = list.iter().enumerate().map(|(place, case)| {
        let expect = compute(&case.to_string()).map_err(|defect| within(place + 1, defect))?;
        Ok(Case {
            name: name(case),
            expect,
        })
    });
    Ok(Cases::Many {
        cases: cases.collect::<Result<_, _>>()?,
    })
}

/// Says in which case of a list a fault lies; its line is one of the case alone.
fn within(place: usize, defect: Defect) -> Defect {
    Defect {
        message: format!("case {place}: {}", defect.message),
        line: None,
        ..defect
    }
}
