//! Stops, holds and openings: what they make of what the world reports.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod engine_common;

use std::collections::BTreeMap;

use engine_common::design::Design;
use prereg::engine::apart::Apart;
use prereg::engine::conditions::{Conditions, Fired, Whom, World, read};
use prereg::protocol::model::{
    FieldKind, Hold, Protocol, Reading, ReadingFrom, Stage, Stop, StopAt, StopScope, UnknownStop,
};
use prereg::units::Time;
use serde_json::{Map, Value, json};

const NOW: &str = "2026-12-01T12:00:00.25Z";

fn quota(unknown_when: Option<&str>) -> Reading {
    let fields = [
        ("used", FieldKind::Number),
        ("left", FieldKind::Integer),
        ("status", FieldKind::String),
        ("full", FieldKind::Boolean),
        ("resets_at", FieldKind::Time),
    ];
    Reading {
        id: "quota".to_owned(),
        fields: fields
            .map(|(name, kind)| (name.to_owned(), kind))
            .into_iter()
            .collect(),
        from: ReadingFrom::Operator,
        command: None,
        unknown_when: unknown_when.map(str::to_owned),
    }
}

fn stop(id: &str, when: &str, unknown: UnknownStop) -> Stop {
    Stop {
        id: id.to_owned(),
        when: when.to_owned(),
        shows: None,
        scope: StopScope::Study,
        at: StopAt::Start,
        unknown,
    }
}

fn hold(id: &str, when: &str, unknown: UnknownStop) -> Hold {
    Hold {
        id: id.to_owned(),
        when: when.to_owned(),
        until: Some("readings.quota.resets_at".to_owned()),
        shows: Some("readings.quota.used".to_owned()),
        unknown,
    }
}

fn stage(id: &str, opens: Option<&str>) -> Stage {
    Stage {
        id: id.to_owned(),
        repeats: 1,
        opens: opens.map(str::to_owned),
        fits: None,
    }
}

fn protocol() -> Protocol {
    let mut protocol = Design::default().registration().protocol;
    protocol.readings = vec![quota(None)];
    protocol
}

/// The world in which the quota was reported so, or never; no stage is complete.
struct Reported {
    readings: BTreeMap<String, Map<String, Value>>,
    apart: Apart,
    complete: BTreeMap<String, bool>,
}

impl Reported {
    fn new(fields: Option<Value>) -> Self {
        let taken = fields.map(|fields| read(&quota(None), &fields).unwrap());
        Self {
            readings: taken
                .map(|taken| ("quota".to_owned(), taken))
                .into_iter()
                .collect(),
            apart: Apart::default(),
            complete: ["one", "two"].map(|id| (id.to_owned(), false)).into(),
        }
    }

    fn world(&self) -> World<'_> {
        World {
            readings: &self.readings,
            apart: &self.apart,
            complete: &self.complete,
            now: NOW.parse().unwrap(),
        }
    }
}

/// Whether a condition is met (`yes`), is not (`no`), or cannot be told (`unknown`).
fn told(reading: Reading, when: &str, fields: Option<Value>) -> &'static str {
    let mut protocol = protocol();
    protocol.readings = vec![reading];
    protocol.stops = vec![stop("rule", when, UnknownStop::Stop)];
    let conditions = Conditions::new(&protocol).unwrap();
    match conditions.stop(&Reported::new(fields).world(), Whom::default(), |_| true) {
        None => "no",
        Some(fired) if fired.unknown => "unknown",
        Some(_) => "yes",
    }
}

#[test]
fn a_condition_needs_what_it_reads_to_be_known() {
    let some = || json!({ "used": 0.5, "status": "allowed" });
    for (when, fields, expected) in [
        ("readings.quota.used >= 0.5", Some(some()), "yes"),
        ("readings.quota.used > 0.5", Some(some()), "no"),
        // A number is one with a fraction, however it is spelled.
        (
            "readings.quota.used / 2.0 >= 0.5",
            Some(json!({ "used": 1 })),
            "yes",
        ),
        (
            "readings.quota.used >= 0.5",
            Some(json!({ "used": null })),
            "unknown",
        ),
        ("readings.quota.used >= 0.5", Some(json!({})), "unknown"),
        ("readings.quota.used >= 0.5", None, "unknown"),
        ("readings.quota.left < 3", Some(some()), "unknown"),
        (
            "readings.quota.left < 3 && readings.quota.used > 0.9",
            Some(some()),
            "no",
        ),
        (
            "readings.quota.left < 3 || readings.quota.used > 0.1",
            Some(some()),
            "yes",
        ),
        ("has(readings.quota.left)", Some(some()), "no"),
        ("has(readings.quota.left)", None, "no"),
        // Nothing is reported: that is not an empty reading.
        ("size(readings.quota) == 0", None, "unknown"),
        // What fails is not known either.
        ("1 / 0 == 1", Some(some()), "unknown"),
        ("readings.quota.used", Some(some()), "unknown"),
        ("stages['one'].complete", None, "no"),
        ("stages['three'].complete", None, "unknown"),
    ] {
        assert_eq!(
            told(quota(None), when, fields.clone()),
            expected,
            "{when} of {fields:?}"
        );
    }
}

#[test]
fn a_reading_says_nothing_unless_it_is_surely_not_out_of_date() {
    let when = "readings.quota.used >= 0.5";
    let until = |resets_at: Value| Some(json!({ "used": 0.9, "resets_at": resets_at }));
    for (unknown_when, fields, expected) in [
        (
            "reading.resets_at < now",
            until(json!("2026-12-01T12:00:00.3Z")),
            "yes",
        ),
        (
            "reading.resets_at < now",
            until(json!("2026-12-01T12:00:00.25Z")),
            "yes",
        ),
        (
            "reading.resets_at < now",
            until(json!("2026-12-01T12:00:00.2Z")),
            "unknown",
        ),
        (
            "reading.resets_at < now",
            until(json!("2026-12-01T12:00:00Z")),
            "unknown",
        ),
        ("reading.resets_at < now", until(json!(0)), "unknown"),
        ("reading.resets_at < now", until(Value::Null), "unknown"),
        (
            "has(reading.resets_at) && reading.resets_at < now",
            until(Value::Null),
            "yes",
        ),
        ("1 / 0 == 1", until(Value::Null), "unknown"),
        ("false", None, "unknown"),
        // A reading that says nothing has no fields.
        ("true", until(Value::Null), "unknown"),
    ] {
        let found = told(quota(Some(unknown_when)), when, fields.clone());
        assert_eq!(found, expected, "{unknown_when} of {fields:?}");
    }
    let has = "has(readings.quota.used)";
    assert_eq!(told(quota(Some("true")), has, until(Value::Null)), "no");
}

#[test]
fn times_compare_as_moments_however_they_are_spelled() {
    let fields =
        || Some(json!({ "resets_at": "2026-12-01T12:00:00Z", "status": "2026-12-01T12:00:00Z" }));
    for (when, expected) in [
        ("now > readings.quota.resets_at", "yes"),
        ("now >= '2026-12-01T12:00:00Z'", "yes"),
        ("now < '2026-12-01T12:00:00Z'", "no"),
        ("'2026-12-01T12:00:00.3Z' > now", "yes"),
        ("now == '2026-12-01T13:00:00.250+01:00'", "yes"),
        ("now > '2026-12-01T12:00:00.25Z'", "no"),
        ("now > '2026-12-01'", "yes"),
        ("readings.quota.resets_at == '2026-12-01T12:00:00Z'", "yes"),
        (
            "readings['quota']['resets_at'] != '2026-12-01T12:00:00.000Z'",
            "no",
        ),
        (
            "(has(readings.quota.resets_at) ? readings.quota.resets_at : now) == '2026-12-01T12:00:00Z'",
            "yes",
        ),
        // A text is a text.
        ("readings.quota.status == '2026-12-01T12:00:00Z'", "yes"),
        ("readings.quota.status == '2026-12-01T12:00:00.0Z'", "no"),
    ] {
        assert_eq!(told(quota(None), when, fields()), expected, "{when}");
    }
}

#[test]
fn a_rule_whose_reading_is_unknown_does_what_its_word_says() {
    let fires = "readings.quota.used > 0.5";
    let waits = |fired: &Fired| (fired.holds, fired.unknown);
    for (unknown, of_stop, of_hold) in [
        (UnknownStop::Go, None, None),
        (UnknownStop::Hold, Some((true, true)), Some((true, true))),
        (UnknownStop::Stop, Some((false, true)), Some((false, true))),
    ] {
        let mut protocol = protocol();
        protocol.stops = vec![stop("rule", fires, unknown)];
        protocol.holds = vec![hold("wait", fires, unknown)];
        let conditions = Conditions::new(&protocol).unwrap();
        for fields in [None, Some(json!({ "resets_at": 0 }))] {
            let reported = Reported::new(fields);
            let world = reported.world();
            assert_eq!(
                conditions
                    .stop(&world, Whom::default(), |_| true)
                    .as_ref()
                    .map(waits),
                of_stop
            );
            assert_eq!(conditions.hold(&world).as_ref().map(waits), of_hold);
            assert_eq!(conditions.go(&world, &[]), unknown == UnknownStop::Go);
        }
        // A known reading is not asked for the word.
        let reported = Reported::new(Some(json!({ "used": 0.6 })));
        let world = reported.world();
        let stopped = conditions.stop(&world, Whom::default(), |_| true);
        assert_eq!(stopped.as_ref().map(waits), Some((false, false)));
        assert_eq!(
            conditions.hold(&world).as_ref().map(waits),
            Some((true, false))
        );
        let reported = Reported::new(Some(json!({ "used": 0.5 })));
        assert!(conditions.go(&reported.world(), &[]));
    }
}

#[test]
fn what_fires_says_which_rule_until_when_and_the_figure() {
    let mut protocol = protocol();
    protocol.holds = vec![
        hold("never", "false", UnknownStop::Go),
        hold("full", "readings.quota.full", UnknownStop::Hold),
    ];
    let conditions = Conditions::new(&protocol).unwrap();
    let held = |fields: Value| {
        conditions
            .hold(&Reported::new(Some(fields)).world())
            .unwrap()
    };
    let full = Fired {
        of: None,
        id: "full".to_owned(),
        rule: 1,
        until: Some(Time(1_792_639_394_500_000)),
        shows: Some("0.950".to_owned()),
        unknown: false,
        holds: true,
    };
    let reported = json!({ "full": true, "used": 0.95, "resets_at": 1_792_639_394.5 });
    assert_eq!(held(reported), full);
    // A time in the past is a time all the same.
    assert_eq!(
        held(json!({ "full": true, "resets_at": 0 })).until,
        Some(Time(0))
    );
    let bare = held(json!({ "full": true }));
    assert_eq!((bare.until, bare.shows), (None, None));
    let unknown = held(json!({ "used": 2, "resets_at": 0 }));
    assert_eq!(
        (unknown.until, unknown.shows.as_deref()),
        (Some(Time(0)), Some("2.000"))
    );
}

#[test]
fn a_figure_has_three_decimals() {
    for (used, shown) in [
        (json!(1), "1.000"),
        (json!(0.9499), "0.950"),
        (json!(0.0625), "0.062"),
        (json!(-0.25), "-0.250"),
        (json!(1e-9), "0.000"),
        (json!(1234.5), "1234.500"),
    ] {
        let mut protocol = protocol();
        protocol.holds = vec![hold("wait", "true", UnknownStop::Go)];
        let conditions = Conditions::new(&protocol).unwrap();
        let reported = Reported::new(Some(json!({ "used": used })));
        let held = conditions.hold(&reported.world()).unwrap();
        assert_eq!(held.shows.as_deref(), Some(shown), "{used}");
    }
}

#[test]
fn what_an_unknown_hold_ends_says_no_time() {
    let mut protocol = protocol();
    protocol.holds = vec![hold("wait", "readings.quota.full", UnknownStop::Stop)];
    let conditions = Conditions::new(&protocol).unwrap();
    let reported = Reported::new(Some(json!({ "resets_at": 0 })));
    let ended = conditions.hold(&reported.world()).unwrap();
    assert_eq!((ended.holds, ended.until), (false, None));
}

#[test]
fn the_first_stop_that_is_asked_and_fires_answers() {
    let mut protocol = protocol();
    let arm = |id: &str| Stop {
        scope: StopScope::Arm,
        ..stop(id, "true", UnknownStop::Go)
    };
    let session = |id: &str| Stop {
        at: StopAt::Session,
        ..stop(id, "true", UnknownStop::Go)
    };
    protocol.stops = vec![
        stop("never", "false", UnknownStop::Go),
        session("second"),
        arm("third"),
        stop("fourth", "true", UnknownStop::Go),
    ];
    let conditions = Conditions::new(&protocol).unwrap();
    let reported = Reported::new(None);
    let whom = Whom {
        arms: &["a"],
        stages: &[],
    };
    let asked = |applies: fn(&Stop) -> bool| {
        let fired = conditions.stop(&reported.world(), whom, applies);
        fired.map(|fired| (fired.id, fired.rule))
    };
    assert_eq!(asked(|_| true), Some(("second".to_owned(), 1)));
    assert_eq!(
        asked(|stop| stop.at == StopAt::Start),
        Some(("third".to_owned(), 2))
    );
    assert_eq!(
        asked(|stop| stop.at == StopAt::Start && stop.scope == StopScope::Study),
        Some(("fourth".to_owned(), 3))
    );
    assert_eq!(asked(|stop| stop.id == "never"), None);
    assert_eq!(asked(|_| false), None);
}

#[test]
fn a_stage_opens_on_its_condition_alone() {
    let mut protocol = protocol();
    protocol.stages = vec![
        stage("one", None),
        stage("two", Some("stages['one'].complete && gates.go")),
        stage("three", Some("stages['nowhere'].complete")),
        stage("four", Some("1 / 0 == 1")),
        stage("five", Some("!gates.go")),
        stage("six", Some("readings.quota.used < 0.5")),
    ];
    // Neither scope nor time matter to the gates.
    protocol.stops = vec![Stop {
        scope: StopScope::Arm,
        at: StopAt::Session,
        ..stop("used", "readings.quota.used > 0.9", UnknownStop::Go)
    }];
    protocol.holds = vec![hold("wait", "readings.quota.full", UnknownStop::Go)];
    let conditions = Conditions::new(&protocol).unwrap();
    for (fields, complete, open) in [
        (json!({}), false, [true, false, false, false, false, false]),
        (json!({}), true, [true, true, false, false, false, false]),
        (
            json!({ "used": 0.1 }),
            true,
            [true, true, false, false, false, true],
        ),
        (
            json!({ "used": 0.95 }),
            true,
            [true, false, false, false, true, false],
        ),
        (
            json!({ "full": true }),
            true,
            [true, false, false, false, true, false],
        ),
    ] {
        let mut reported = Reported::new(Some(fields.clone()));
        reported.complete.insert("one".to_owned(), complete);
        let world = reported.world();
        let found: Vec<bool> = (0..6)
            .map(|stage| conditions.opens(stage, &world))
            .collect();
        assert_eq!(found, open, "{fields}, {complete}");
        assert!(!conditions.opens(6, &world), "there is no such stage");
    }
}

#[test]
fn a_reading_is_taken_as_its_fields_are_declared() {
    let time = |text: &str| json!({ "resets_at": text });
    for (fields, taken) in [
        (json!({}), json!({})),
        (json!({ "used": null, "resets_at": null }), json!({})),
        (
            json!({ "used": 0.25, "left": -3 }),
            json!({ "used": 0.25, "left": -3 }),
        ),
        // The record would spell them so.
        (
            json!({ "used": 1.0, "left": 2.0 }),
            json!({ "used": 1, "left": 2 }),
        ),
        (
            json!({ "status": "", "full": false }),
            json!({ "status": "", "full": false }),
        ),
        (
            json!({ "resets_at": 0 }),
            time("1970-01-01T00:00:00.000000Z"),
        ),
        (
            json!({ "resets_at": 1_792_639_394.5 }),
            time("2026-10-22T03:23:14.500000Z"),
        ),
        (
            time("2026-10-22T05:23:14.5+02:00"),
            time("2026-10-22T03:23:14.500000Z"),
        ),
        (
            time("2026-10-22T03:23:14.500000Z"),
            time("2026-10-22T03:23:14.500000Z"),
        ),
    ] {
        let found = read(&quota(None), &fields).map(Value::Object);
        assert_eq!(found, Ok(taken), "{fields}");
        let again = read(&quota(None), found.as_ref().unwrap()).map(Value::Object);
        assert_eq!(again, found, "what was taken is taken as it is");
    }
}

#[test]
fn a_reading_with_another_field_or_type_is_refused() {
    for (fields, says) in [
        (
            json!(null),
            "the reading `quota` is not a JSON object; report one with its fields",
        ),
        (json!([]), "is not a JSON object"),
        (
            json!({ "usd": 1 }),
            "the reading `quota` has no field `usd`; did you mean `used`?",
        ),
        (
            json!({ "elsewhere": null }),
            "its fields are full, left, resets_at, status, used",
        ),
        (
            json!({ "used": "0.5" }),
            "the field `used` of the reading `quota` is of another type; report a number",
        ),
        (json!({ "used": 1e17 }), "report a number within 2^53 - 1"),
        (json!({ "left": 0.5 }), "report a whole number"),
        (
            json!({ "left": 9_007_199_254_740_993_u64 }),
            "report a whole number within 2^53 - 1",
        ),
        (json!({ "status": 1 }), "report a text"),
        (json!({ "full": "true" }), "report true or false"),
        (json!({ "resets_at": true }), "report a time"),
        (
            json!({ "resets_at": "tomorrow" }),
            "report a time from 1970 on: \"2026-12-24T00:00:00Z\", or seconds since 1970",
        ),
        (json!({ "resets_at": -1 }), "report a time"),
        // Milliseconds, by mistake.
        (
            json!({ "resets_at": 1_792_639_394_500_u64 }),
            "report a time",
        ),
    ] {
        let refused = read(&quota(None), &fields).unwrap_err();
        assert!(refused.contains(says), "{fields}: {refused}");
    }
}
