//! Records of how an attempt ended: their shapes as registered schemas, and how their parts agree as
//! registered expressions, each held to the record by the engine. The first that fails gives the code.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use prereg::engine::command::{Evidence, Judged};
use prereg::engine::rules::Rules;
use prereg::engine::scoring::{Verdict, verdict};
use prereg::engine::slice::Run;
use prereg::units::Digest;
use serde_json::{Map, Value, json};

use super::causes::{cause, state};
use super::shapes::Shape;
use super::shipped::{table, with_files};
use super::times::moment;

/// Why an attempt may have ended.
const REASONS: [&str; 9] = [
    "success",
    "timed_out",
    "cancelled",
    "caller_failed",
    "submit_failed",
    "idle_lost",
    "preparation_failed",
    "controller_lost",
    "recovered_stop",
];

/// What is wrong with a result by itself, in the order in which it is looked for.
const RESULT: &[(&str, &str)] = &[
    (
        "result_identity",
        "!(report.result.terminal_reason in REASONS)",
    ),
    (
        "outcome",
        "!report.result.cleanup_complete || report.result.process_group_alive || report.result.success != (report.result.terminal_reason == 'success')",
    ),
    (
        "success_unordered",
        "report.result.success && !report.result.finish_then_idle_then_quiet",
    ),
];

/// What is wrong between a journal and its result.
const JOURNAL: &[(&str, &str)] = &[
    (
        "journal",
        "report.header != {'record': 'header', 'journal_version': 1, 'spec_digest': report.result.spec_digest, 'submission_mode': report.result.submission_mode, 'completion_mode': report.result.completion_mode, 'started_at': report.result.started_at} || report.closing != {'record': 'terminal', 'terminal_reason': report.result.terminal_reason, 'success': report.result.success, 'cleanup_complete': report.result.cleanup_complete, 'process_group_alive': report.result.process_group_alive, 'ended_at': report.result.ended_at}",
    ),
    ("journal_events", "report.entries != report.result.events"),
];

/// What is wrong between the locator that was registered and the result's.
const LOCATOR: &[(&str, &str)] = &[(
    "registered_locator",
    "report.public != report.result.locator",
)];

/// What is wrong between a result, its events and its receipt.
const RECEIPT: &[(&str, &str)] = &[
    (
        "receipt",
        "!(report.receipt.reason in REASONS) || !report.receipt.cleanup_complete || report.receipt.process_group_alive",
    ),
    (
        "receipt_reason",
        "report.receipt.reason != report.result.terminal_reason",
    ),
    (
        "event_repeated",
        "report.kinds.filter(e, e == 'submitted').size() > 1 || report.kinds.filter(e, e == 'finish').size() > 1 || report.kinds.filter(e, e == 'idle').size() > 1 || report.kinds.filter(e, e == 'quiet').size() > 1",
    ),
    (
        "order_flag",
        "report.result.finish_then_idle_then_quiet != (report.kinds.filter(e, e in ['finish', 'idle', 'quiet']) == ['finish', 'idle', 'quiet'])",
    ),
    (
        "exit_differs",
        "report.result.exit_code != report.receipt.exit_code || report.result.signal != report.receipt.signal",
    ),
    (
        "not_launched",
        "report.result.submitted && !report.receipt.caller_launched",
    ),
    (
        "success_evidence",
        "report.result.success && (!report.result.submitted || !('submitted' in report.kinds) || report.kinds.filter(e, e in ['submitted', 'finish']) == ['finish', 'submitted'])",
    ),
    ("timestamp", "report.times.exists(t, t == null)"),
    (
        "chronology",
        "!outcomes.timestamp && (report.times[2] < report.times[0] || report.times[2] > report.times[1])",
    ),
];

/// Registers expressions as binary outcomes of the shipped matrix.
fn rules(slips: &[(&str, &str)]) -> Rules {
    let parts = [
        "result", "receipt", "kinds", "times", "header", "closing", "entries", "public",
    ];
    let any: Map<String, Value> = parts
        .map(|part| (part.to_owned(), json!({})))
        .into_iter()
        .collect();
    let schema = json!({ "type": "object", "properties": any }).to_string();
    let files = [("terminal.schema.json", schema.as_str())];
    let checked = with_files("matrix-attempts.toml", &["fixture"], &files, |protocol| {
        table(protocol, "judge").insert("schema".to_owned(), "terminal.schema.json".into());
        protocol.remove("controls");
        let outcome = |(code, holds): &(&str, &str)| {
            let holds = holds.replace("REASONS", &json!(REASONS).to_string());
            let outcome = [
                ("id", *code),
                ("kind", "binary"),
                ("value", &holds),
                ("better", "lower"),
            ];
            let outcome = outcome.map(|(name, text)| (name.to_owned(), text.into()));
            let missing = ("missing".to_owned(), 1.into());
            toml::Value::Table(outcome.into_iter().chain([missing]).collect())
        };
        let outcomes: Vec<toml::Value> = slips.iter().map(outcome).collect();
        protocol.insert("outcomes".to_owned(), outcomes.into());
    });
    Rules::new(checked.registration, checked.tasks).unwrap()
}

/// Returns the first outcome that the engine finds true of a report.
fn first(rules: &Rules, slips: &[(&'static str, &str)], report: &Value) -> Option<&'static str> {
    let run: Run = serde_json::from_value(json!({
        "run": 1, "task": "fixture", "arm": "cell", "executed": "here", "seed": null, "state": "ended",
        "started_at": 0, "ended_at": 0, "closed_at": null, "cause": null, "ending": null,
        "execution": null, "evidence": null, "outcomes": null,
    }))
    .unwrap();
    let judge = Judged {
        exit: Some(0),
        ..Judged::default()
    };
    let evidence = Evidence {
        judge: Some(judge),
        report: Some(report.to_string()),
        claim: None,
    };
    let Verdict::Scored(scores) = verdict(rules, None, &run, Some(&evidence)) else {
        panic!("{report}");
    };
    let slips = slips.iter().map(|(code, _)| *code);
    slips
        .into_iter()
        .find(|code| scores.outcomes[*code] == true)
}

macro_rules! slip {
    ($slips:ident, $report:expr) => {{
        static RULES: LazyLock<Rules> = LazyLock::new(|| rules($slips));
        first(&RULES, $slips, $report)
    }};
}

/// Times as whole numbers; other spellings than the one that is read are foreign.
fn times(result: &Value, receipt: &Value) -> Value {
    let read = |text: &Value| text.as_str().and_then(|text| moment(text.trim()));
    json!([
        read(&result["started_at"]),
        read(&result["ended_at"]),
        read(&receipt["completed_at"]),
    ])
}

fn told(slip: Option<&str>, result: &Value) -> Value {
    match slip {
        Some(code) => json!({ "accept": false, "code": code }),
        None => {
            let reason = result["terminal_reason"].as_str().unwrap();
            json!({ "accept": true, "state": state(cause(reason)) })
        }
    }
}

pub(super) fn terminal_coherence(case: &Value) -> Value {
    let (result, receipt) = (&case["result"], &case["receipt"]);
    let report = json!({
        "result": result, "receipt": receipt, "kinds": case["events"], "times": times(result, receipt),
    });
    let slip = slip!(RESULT, &report).or_else(|| slip!(RECEIPT, &report));
    told(slip, result)
}

/// The record that the cases change.
static BASE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../vectors/terminal_record_base.json")).unwrap()
});

/// What an object has: these fields and no other.
fn fields(names: &[&str]) -> Value {
    let any: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(true)))
        .collect();
    json!({ "type": "object", "properties": any, "required": names, "additionalProperties": false })
}

/// What is asked of a part of a record.
fn at(part: &str, schema: Value) -> Value {
    json!({ "properties": { part: schema } })
}

/// What is asked of some fields of a part.
fn typed(part: &str, properties: Value) -> Value {
    at(part, json!({ "properties": properties }))
}

type Shapes = Vec<(&'static str, Shape)>;

fn compiled(shapes: Vec<(&'static str, Value)>) -> Shapes {
    let compiled = shapes.into_iter();
    compiled
        .map(|(code, schema)| (code, Shape::of(schema)))
        .collect()
}

fn misfit(shapes: &Shapes, record: &Value) -> Option<&'static str> {
    let found = shapes.iter().find(|(_, shape)| !shape.fits(record));
    found.map(|(code, _)| *code)
}

/// The shapes of a result up to its digest, in the order in which they are looked at.
static NAMED: LazyLock<Shapes> = LazyLock::new(|| {
    let flag = json!({ "type": "boolean" });
    let object = json!({ "type": "object" });
    compiled(vec![
        (
            "not_object",
            json!({ "properties": { "result": object, "receipt": object } }),
        ),
        (
            "fields",
            at(
                "result",
                fields(&[
                    "record",
                    "success",
                    "terminal_reason",
                    "exit_code",
                    "signal",
                    "submitted",
                    "finish_then_idle_then_quiet",
                    "cleanup_complete",
                    "process_group_alive",
                    "submission_mode",
                    "completion_mode",
                    "spec_digest",
                    "locator",
                    "started_at",
                    "ended_at",
                    "duration_ns",
                    "stdout",
                    "stderr",
                    "events",
                ]),
            ),
        ),
        (
            "result_type",
            typed(
                "result",
                json!({
                    "record": { "const": "result" },
                    "success": flag,
                    "submitted": flag,
                    "finish_then_idle_then_quiet": flag,
                    "cleanup_complete": flag,
                    "process_group_alive": flag,
                }),
            ),
        ),
        (
            "result_identity",
            typed("result", json!({ "terminal_reason": { "enum": REASONS } })),
        ),
    ])
});

/// The shapes of the rest of a result.
static RESULT_SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    let whole = json!({ "type": "integer" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let status = json!({ "type": ["integer", "null"] });
    let mut shapes = vec![
        (
            "exit_type",
            typed("result", json!({ "exit_code": status, "signal": status })),
        ),
        (
            "mode",
            typed(
                "result",
                json!({
                    "submission_mode": { "enum": ["stdin", "socket"] },
                    "completion_mode": { "enum": ["process", "event"] },
                }),
            ),
        ),
        (
            "time_type",
            typed(
                "result",
                json!({ "started_at": text, "ended_at": text, "duration_ns": count }),
            ),
        ),
        (
            "locator",
            typed(
                "result",
                json!({ "locator": { "const": BASE["result"]["locator"] } }),
            ),
        ),
    ];
    for stream in ["stdout", "stderr"] {
        let has = fields(&["stream", "text", "line_count", "byte_count", "truncated"]);
        shapes.push(("fields", typed("result", json!({ stream: has }))));
        let captured = json!({
            "stream": { "const": stream },
            "text": text,
            "line_count": count,
            "byte_count": count,
            "truncated": { "type": "boolean" },
        });
        let captured = json!({ "properties": captured });
        shapes.push(("capture", typed("result", json!({ stream: captured }))));
    }
    let event = json!({
        "record": { "const": "event" },
        "kind": text,
        "source": text,
        "stream": text,
        "monotonic_ns": whole,
        "source_monotonic_ns": status,
        "observed_at": text,
        "detail": text,
    });
    let events = |schema: Value| typed("result", json!({ "events": schema }));
    shapes.push(("events_type", events(json!({ "type": "array" }))));
    shapes.push(("fields", events(json!({ "items": fields(EVENT) }))));
    shapes.push((
        "event_type",
        events(json!({ "items": { "properties": event } })),
    ));
    compiled(shapes)
});

/// What an event has.
const EVENT: &[&str] = &[
    "record",
    "kind",
    "source",
    "stream",
    "monotonic_ns",
    "source_monotonic_ns",
    "observed_at",
    "detail",
];

/// The shapes of a journal, whose first and last lines stand apart.
static JOURNAL_SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let header = fields(&[
        "record",
        "journal_version",
        "spec_digest",
        "submission_mode",
        "completion_mode",
        "started_at",
    ]);
    let closing = fields(&[
        "record",
        "terminal_reason",
        "success",
        "cleanup_complete",
        "process_group_alive",
        "ended_at",
    ]);
    compiled(vec![
        ("journal_short", at("journal", json!({ "minItems": 2 }))),
        ("fields", at("header", header)),
        ("fields", at("closing", closing)),
        ("fields", at("entries", json!({ "items": fields(EVENT) }))),
    ])
});

/// The shapes of a receipt.
static RECEIPT_SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let status = json!({ "type": ["integer", "null"] });
    let names: Vec<&str> = BASE["receipt"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    compiled(vec![
        ("fields", at("receipt", fields(&names))),
        (
            "receipt",
            typed(
                "receipt",
                json!({
                    "receipt_version": { "const": 1 },
                    "supervisor_pid": { "const": BASE["result"]["locator"]["supervisor_pid"] },
                    "challenge_digest": { "const": BASE["result"]["locator"]["challenge_digest"] },
                    "reason": { "enum": REASONS },
                    "exit_code": status,
                    "signal": status,
                    "caller_launched": { "type": "boolean" },
                    "cleanup_complete": { "const": true },
                    "process_group_alive": { "const": false },
                    "completed_at": { "type": "string" },
                }),
            ),
        ),
    ])
});

pub(super) fn terminal_record(case: &Value) -> Value {
    let mut record = BASE.clone();
    for patch in case["patches"].as_array().unwrap() {
        apply(&mut record, patch);
    }
    told(record_slip(&record), &record["result"])
}

fn record_slip(record: &Value) -> Option<&'static str> {
    let expected = json!({ "spec_digest": { "const": record["expected_digest"] } });
    let registered = || vec![("result_identity", Shape::of(typed("result", expected)))];
    let parts = parts(record);
    misfit(&NAMED, record)
        .or_else(|| misfit(&registered(), record))
        .or_else(|| misfit(&RESULT_SHAPES, record))
        .or_else(|| slip!(RESULT, &parts))
        .or_else(|| misfit(&JOURNAL_SHAPES, &parts))
        .or_else(|| slip!(JOURNAL, &parts))
        .or_else(|| slip!(LOCATOR, &parts))
        .or_else(|| misfit(&RECEIPT_SHAPES, record))
        .or_else(|| slip!(RECEIPT, &parts))
}

/// Names the parts of a record that expressions and schemas speak of; a challenge is named by its digest.
fn parts(record: &Value) -> Value {
    let (result, receipt) = (&record["result"], &record["receipt"]);
    let events = result["events"].as_array().into_iter().flatten();
    let kinds: Vec<&Value> = events.map(|event| &event["kind"]).collect();
    let journal = record["journal"].as_array().cloned().unwrap_or_default();
    let between = journal.len().saturating_sub(1).max(1);
    let mut public = record["registered_locator"].clone();
    if let Some(public) = public.as_object_mut() {
        let challenge = public.remove("challenge");
        let digest = |text: &str| HEXLOWER.encode(&Digest::of(&[text.as_bytes()]).0);
        let digest = challenge.as_ref().and_then(Value::as_str).map(digest);
        public.insert("challenge_digest".to_owned(), json!(digest));
    }
    json!({
        "result": result,
        "receipt": receipt,
        "kinds": kinds,
        "times": times(result, receipt),
        "journal": record["journal"],
        "header": journal.first(),
        "closing": journal.last(),
        "entries": journal.get(1..between).unwrap_or_default(),
        "public": public,
    })
}

/// Changes a record as a case says.
fn apply(record: &mut Value, patch: &Value) {
    let path = patch["path"].as_array().unwrap();
    let (last, way) = path.split_last().unwrap();
    let mut place = record;
    for step in way {
        place = match step.as_u64() {
            Some(at) => &mut place[at as usize],
            None => &mut place[step.as_str().unwrap()],
        };
    }
    match (patch["do"].as_str().unwrap(), last.as_u64()) {
        ("set", Some(at)) => place[at as usize] = patch["value"].clone(),
        ("set", None) => place[last.as_str().unwrap()] = patch["value"].clone(),
        ("insert", Some(at)) => place
            .as_array_mut()
            .unwrap()
            .insert(at as usize, patch["value"].clone()),
        ("remove", Some(at)) => drop(place.as_array_mut().unwrap().remove(at as usize)),
        ("remove", None) => drop(
            place
                .as_object_mut()
                .unwrap()
                .remove(last.as_str().unwrap()),
        ),
        other => panic!("{other:?}"),
    }
}
