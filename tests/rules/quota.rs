//! Quotas: what stops a run or makes it wait, and what lets a session begin.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use prereg::engine::apart::Apart;
use prereg::engine::conditions::{self, Conditions, Fired, Whom, World};
use prereg::protocol::model::{FieldKind, Protocol, Reading, StopAt};
use prereg::units::Time;
use serde_json::{Map, Value, json};

use super::shipped::with;

/// What a reading reported, by its fields.
type Fields = Map<String, Value>;

/// The shipped protocol in stages with another limit of its quota.
struct Study {
    protocol: Protocol,
    conditions: Conditions,
}

impl Study {
    /// Checks the protocol once for each limit.
    fn with_limit(limit: &Value) -> Arc<Self> {
        static CHECKED: Mutex<BTreeMap<String, Arc<Study>>> = Mutex::new(BTreeMap::new());
        // A limit is a share, and has a fraction however it is spelled.
        let limit = format!("{:?}", limit.as_f64().unwrap());
        let mut checked = CHECKED.lock().unwrap();
        let study = checked.entry(limit.clone()).or_insert_with(|| {
            let checked = with("block-stages.toml", &["MB-1", "MB-2", "MB-3"], |protocol| {
                for stop in protocol["stops"].as_array_mut().unwrap() {
                    let when = stop["when"].as_str().unwrap().replace("0.95", &limit);
                    stop["when"] = when.into();
                }
            });
            let protocol = checked.registration.protocol;
            let conditions = Conditions::new(&protocol).unwrap();
            Arc::new(Self {
                protocol,
                conditions,
            })
        });
        Arc::clone(study)
    }

    fn reading(&self, id: &str) -> &Reading {
        let mut readings = self.protocol.readings.iter();
        readings.find(|reading| reading.id == id).unwrap()
    }

    fn read(&self, id: &str, fields: &Value) -> Fields {
        conditions::read(self.reading(id), fields).unwrap()
    }
}

/// Asks for what fires in the world in which one reading was made, or none.
fn ask<T>(id: &str, newest: Option<&Fields>, now: Time, asked: impl FnOnce(&World<'_>) -> T) -> T {
    let newest = newest.map(|fields| (id.to_owned(), fields.clone()));
    asked(&World {
        readings: &newest.into_iter().collect(),
        apart: &Apart::default(),
        complete: &BTreeMap::new(),
        now,
    })
}

/// The code of a rule as the cases spell it.
fn code(fired: &Fired) -> String {
    fired.id.replace('-', "_")
}

fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e6
}

/// The rule knows no clock: it is asked at a moment before every window's end.
pub(super) fn quota_gate(case: &Value) -> Value {
    let study = Study::with_limit(&case["seven_day_stop"]);
    let quota = &case["quota"];
    let said = (!quota.is_null()).then(|| study.read("quota", quota));
    let fired = ask("quota", said.as_ref(), Time(0), |world| {
        let stop = study
            .conditions
            .stop(world, Whom::default(), |stop| stop.at == StopAt::Start);
        stop.or_else(|| study.conditions.hold(world))
    });
    match fired {
        None if quota.is_null() || *quota == json!({}) => {
            json!({ "action": "go", "code": "no_data" })
        }
        None => json!({ "action": "go", "code": "ok" }),
        Some(fired) => json!({
            "action": if fired.holds { "wait" } else { "stop" },
            "code": code(&fired),
            "shown": fired.shows,
            "wait_until": fired.until.map(seconds),
        }),
    }
}

pub(super) fn gate_decision(case: &Value) -> Value {
    let study = Study::with_limit(&case["stop"]);
    let latest = &case["latest"];
    let latest = (!latest.is_null()).then(|| study.read("launch", latest));
    gate(&study, latest.as_ref(), &case["now"])
}

pub(super) fn launch_gate(case: &Value) -> Value {
    let study = Study::with_limit(&case["stop"]);
    let latest = newest(&study, case);
    gate(&study, latest.as_ref(), &case["now"])
}

/// Whether a session may begin after a reading; what was read is told beside the answer.
fn gate(study: &Study, latest: Option<&Fields>, now: &Value) -> Value {
    let now = Time::from_seconds(&now.to_string()).unwrap();
    let fired = ask("launch", latest, now, |world| {
        study
            .conditions
            .stop(world, Whom::default(), |stop| stop.at == StopAt::Session)
    });
    let nothing = Fields::new();
    let latest = latest.unwrap_or(&nothing);
    let at = |name: &str| latest.get(name).cloned().unwrap_or(Value::Null);
    let share = latest.get("seven_day").and_then(Value::as_f64);
    let shown = share.map(|share| format!("{share:.3}"));
    match fired {
        None => json!({
            "action": "go", "code": "below_stop", "shown": shown,
            "seven_day": share, "as_of": at("ts"),
        }),
        Some(fired) if fired.unknown => json!({
            "action": "unknown", "shown": shown,
            "code": if share.is_some() { "window_over" } else { "no_reading" },
        }),
        Some(fired) => json!({
            "action": "gated", "code": code(&fired), "shown": fired.shows,
            "seven_day": share, "as_of": at("ts"), "window_resets": window_resets(latest),
        }),
    }
}

/// The end of the window as a person reads it, to the minute.
fn window_resets(latest: &Fields) -> String {
    let resets = ["seven_day_resets_at", "resets_at"].into_iter();
    let mut resets = resets.filter_map(|name| latest.get(name)?.as_str());
    let known = resets.find(|time| *time != Time(0).precise());
    known.map_or("unknown".to_owned(), |time| {
        format!("{}+00:00", &time[..16])
    })
}

pub(super) fn latest_known_quota(case: &Value) -> Value {
    let study = Study::with_limit(&json!(0.95));
    let Some(newest) = newest(&study, case) else {
        return Value::Null;
    };
    let kinds = &study.reading("launch").fields;
    let as_reported = |(name, value): (String, Value)| match (kinds[&name], value.as_str()) {
        (FieldKind::Time, Some(time)) => (name, json!(seconds(time.parse().unwrap()))),
        _ => (name, value),
    };
    Value::Object(newest.into_iter().map(as_reported).collect())
}

/// Reads the texts of a file and of a ledger, neither of them ours, as readings in the order of
/// their time; the newest stands, whole.
fn newest(study: &Study, case: &Value) -> Option<Fields> {
    let file = case["latest_text"].as_str().and_then(from_file);
    let ledger = case["ledger_text"].as_str().unwrap_or_default();
    let mut reported: Vec<Value> = file
        .into_iter()
        .chain(ledger.lines().filter_map(from_ledger))
        .collect();
    // Of equals the first stands, so it comes last.
    reported.reverse();
    reported.sort_by_key(|fields| fields["ts"].as_str().unwrap_or_default().to_owned());
    reported.last().map(|fields| study.read("launch", fields))
}

fn from_file(text: &str) -> Option<Value> {
    let fields: Value = serde_json::from_str(text).ok()?;
    (!fields["seven_day"].is_null()).then_some(fields)
}

fn from_ledger(line: &str) -> Option<Value> {
    let line: Value = serde_json::from_str(line).ok()?;
    let share = &line["seven_day_after"];
    let purpose = line["purpose"].as_str().unwrap_or_default();
    let purpose: String = purpose.chars().take(40).collect();
    (!share.is_null()).then(
        || json!({ "ts": line["ts"], "seven_day": share, "source": format!("ledger:{purpose}") }),
    )
}
