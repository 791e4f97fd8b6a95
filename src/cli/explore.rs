//! `analyze` of what people bring: a table of runs, counts, tasks or numbers. Nobody registered it.

use std::num::NonZeroU64;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::analyze::{import_first, is_export, threads};
use super::args::{Analyze, Explored};
use super::input;
use super::progress::Step;
use super::reply::{Failure, Reply};
use crate::analysis::results::cases::CountResults;
use crate::analysis::results::resampling::Resampling;
use crate::analysis::results::{Results, Settings};
use crate::analysis::tables::defect::{self, Defects};
use crate::analysis::tables::given;
use crate::analysis::tables::table::{Reading, Table};
use crate::protocol::defect::{Code, Defect, Place};
use crate::report::exploratory;
use crate::units::Digest;

/// The most bytes of a table or of cases.
const TABLE_MAX: usize = 1 << 30;
/// The form of what `--json` prints.
const SCHEMA: &str = "prereg-exploratory/1";
/// What every answer here is stamped with.
const STAMP: &str = "exploratory, not registered";
/// The level where none was registered.
const ALPHA: f64 = 0.05;
/// The margins at which equivalence of shares is looked at.
const MARGINS: &[f64] = &[0.05, 0.1];
/// What a success may be worth in USD, where nobody says.
const WORTHS: &[f64] = &[1.0, 10.0, 50.0, 200.0];
/// How many resamples are drawn where nobody says.
const RESAMPLES: NonZeroU64 = NonZeroU64::new(9_999).unwrap();

/// Computes what the arguments name.
pub(super) fn explore(args: &Analyze, what: &Explored<'_>) -> Result<Reply, Failure> {
    match what {
        Explored::Table(path) => table(args, path),
        Explored::Counts(counts) => {
            let found = CountResults::new(**counts, ALPHA).ok_or_else(|| Failure::Usage {
                code: "counts",
                message: "the counts add up to more than 2^63 - 1 tasks".to_owned(),
            })?;
            let text = exploratory::counts(&found, ALPHA);
            let results =
                json!({ "expect": value(&found.table)?, "rate_ci": value(&found.rate_ci)? });
            Ok(said(&text, results))
        }
        Explored::Tasks(path) => {
            let found = given::tasks(&read(path)?, ALPHA);
            let found = found.map_err(|defect| refused(path, defect))?;
            Ok(said(&exploratory::tasks(&found, ALPHA), value(&found)?))
        }
        Explored::Numbers(path) => {
            let found = given::numbers(&read(path)?, ALPHA);
            let found = found.map_err(|defect| refused(path, defect))?;
            Ok(said(&exploratory::numbers(&found, ALPHA), value(&found)?))
        }
    }
}

/// Makes the failure of one fault of a file.
fn refused(path: &Path, defect: defect::Defect) -> Failure {
    Failure::Table {
        file: path.display().to_string(),
        defects: Defects {
            listed: vec![defect],
            unlisted: 0,
        },
    }
}

/// Compares two arms of a table of runs.
fn table(args: &Analyze, path: &Path) -> Result<Reply, Failure> {
    let step = Step::shown(args.quiet);
    step("reading the table");
    let text = read(path)?;
    if is_export(text.as_bytes()) {
        return Err(import_first(path));
    }
    let file = path.display().to_string();
    let one = |defect| refused(path, defect);
    let cluster = match args.cluster.as_deref() {
        Some("none") => None,
        None => has_clusters(&text).then_some("cluster"),
        named => named,
    };
    let reading = Reading {
        cluster,
        repeats: args.repeats,
    };
    let table = Table::read(&text, reading).map_err(|defects| Failure::Table {
        file: file.clone(),
        defects,
    })?;
    let (reference, treatment) = (said_arm(&args.reference), said_arm(&args.treatment));
    let comparison = table.compare(reference, treatment).map_err(one)?;
    let digest = Digest::of(&[text.as_bytes()]);
    let worths = if args.worth.is_empty() {
        WORTHS
    } else {
        &args.worth
    };
    let settings = Settings {
        alpha: ALPHA,
        margins: MARGINS,
        lambdas: worths,
        time_limit_s: args.limit,
        resampling: Resampling {
            registration_hash: &digest.to_string(),
            resamples: args.resamples.unwrap_or(RESAMPLES),
            threads: threads(),
            begin: step,
        },
    };
    step("comparing");
    let results = Results::new(&comparison, &settings);
    step("");
    let results = results.map_err(one)?;
    let text = exploratory::page(&exploratory::ComparedTable {
        file: &file,
        digest,
        cluster,
        unread: table.unread(),
        alpha: ALPHA,
        comparison: &comparison,
        results: &results,
    });
    let json = json!({
        "schema": SCHEMA,
        "stamp": STAMP,
        "dataset": path.file_name().map(|name| name.to_string_lossy()),
        "sha256": digest,
        "reference": reference,
        "treatment": treatment,
        "k": table.repeats(),
        "alpha": ALPHA,
        "cluster": cluster,
        "order": table.order(),
        "unread_columns": table.unread(),
        "direction": "treatment minus reference",
        "results": value(&results)?,
        "acceptability": results.cost_effectiveness.as_ref().map(|costs| &costs.acceptability),
    });
    Ok(Reply::done(text, json))
}

/// Returns an arm; the command line has seen that it was named.
fn said_arm(arm: &Option<String>) -> &str {
    arm.as_deref().unwrap_or_default()
}

/// Says whether a table has a column of clusters in which anything stands.
fn has_clusters(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let mut table = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let place = table.headers().ok().and_then(|header| {
        let mut names = header.iter();
        names.position(|name| name == "cluster")
    });
    let Some(place) = place else { return false };
    let mut rows = table.records().flatten();
    rows.any(|row| row.get(place).is_some_and(|cell| !cell.is_empty()))
}

fn read(path: &Path) -> Result<String, Failure> {
    if let Some(message) = no_table(path) {
        let slip = Defect::new(Code::NotFile, Place::File, message);
        return Err(input::defect(path, "", slip));
    }
    let bytes = input::bytes(path, TABLE_MAX).map_err(|slip| input::defect(path, "", slip))?;
    input::text_of(path, bytes)
}

/// Says what stands at a path, where that is no file with a table.
fn no_table(path: &Path) -> Option<&'static str> {
    if input::is_standard_input(path) {
        return None;
    }
    let found = std::fs::symlink_metadata(path).ok()?.file_type();
    if found.is_symlink() {
        Some("this is a link; name the file that it leads to")
    } else if found.is_dir() {
        Some("this is a folder; name the table in it")
    } else if !found.is_file() {
        Some(
            "this is a pipe, socket or device; write what it gives to a file, or to the standard input and name `-`",
        )
    } else {
        None
    }
}

/// Says results as a page and as data.
fn said(text: &str, results: Value) -> Reply {
    let mut json = json!({ "schema": SCHEMA, "stamp": STAMP, "alpha": ALPHA });
    if let (Some(json), Value::Object(results)) = (json.as_object_mut(), results) {
        json.extend(results);
    }
    Reply::done(text, json)
}

fn value(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|error| Failure::Fault {
        code: "output",
        message: error.to_string(),
    })
}
