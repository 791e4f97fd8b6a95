//! How long starts wait, and when nothing starts any more.

use prereg::engine::rules::Rules;
use prereg::engine::slice::Slice;
use prereg::engine::{backoff, fits, guards};
use prereg::protocol::model::Backoff;
use prereg::units::{Micros, Time};
use serde_json::Value;

use super::shipped::staged;

/// Millionths of a number; none where there is no number.
pub(super) fn micros(value: &Value) -> Option<i64> {
    value.as_f64().map(|number| (number * 1e6).round() as i64)
}

fn time(value: &Value) -> Option<Time> {
    micros(value).map(Time)
}

fn duration(value: &Value) -> Option<Micros> {
    micros(value).map(|us| Micros(u64::try_from(us).unwrap()))
}

/// Answers are in seconds, and attempts before the first wait like the first.
fn waited(backoff: &Backoff, case: &Value, until: Option<Time>, now: Time) -> Value {
    let attempt = u32::try_from(case["attempt"].as_i64().unwrap().max(0)).unwrap();
    Value::from(backoff::wait(backoff, attempt, until, now).0 as f64 / 1e6)
}

/// The shipped back-off with other durations.
fn with_durations(durations: &[(&str, Micros)]) -> Backoff {
    let values = durations
        .iter()
        .map(|(key, duration)| (*key, duration.to_string().into()));
    let checked = staged(&values.collect::<Vec<_>>());
    checked.registration.protocol.backoff.clone().unwrap()
}

/// Whether a protocol may name a duration, and in a spelling that says all of it.
fn is_nameable(duration: Micros) -> bool {
    let range = Micros(1)..=Micros::MAX;
    range.contains(&duration) && duration.to_string().parse() == Ok(duration)
}

pub(super) fn backoff_seconds(case: &Value) -> Value {
    let initial = duration(&case["base"]).unwrap();
    let max = duration(&case["cap"]).unwrap();
    let backoff = if initial <= max && is_nameable(initial) && is_nameable(max) {
        with_durations(&[("backoff.initial", initial), ("backoff.max", max)])
    } else {
        // No protocol may say that the first wait is longer than the longest.
        Backoff {
            initial,
            max,
            ..with_durations(&[])
        }
    };
    waited(&backoff, case, None, Time(0))
}

pub(super) fn wait_seconds(case: &Value) -> Value {
    let wait_max = duration(&case["max_wait"]).unwrap();
    let backoff = with_durations(&[("backoff.wait_max", wait_max)]);
    let now = time(&case["now"]).unwrap();
    waited(&backoff, case, time(&case["reset_epoch"]), now)
}

/// The shipped rules with another cut-off.
fn with_cutoff(cutoff: Option<Time>) -> Rules {
    let writable = cutoff.filter(|cutoff| *cutoff >= Time(0));
    let at = writable.map(|cutoff| {
        jiff::Timestamp::from_microsecond(cutoff.0)
            .unwrap()
            .to_string()
    });
    let values = at.map(|at| ("cutoff.at", at.into()));
    let checked = staged(values.as_slice());
    let mut registration = checked.registration.clone();
    if writable.is_none() {
        // No protocol names a time before 1970, and the shipped one cannot do without a cut-off.
        registration.protocol.cutoff = cutoff;
    }
    assert_eq!(registration.protocol.cutoff, cutoff);
    Rules::new(registration, checked.tasks.clone()).unwrap()
}

pub(super) fn past_cutoff(case: &Value) -> Value {
    let rules = with_cutoff(time(&case["cutoff_epoch"]));
    let stopped = guards::stopped_by(&rules, &Slice::whole(), time(&case["now"]).unwrap());
    Value::from(stopped.is_some_and(|rule| rule.code() == "past-cutoff"))
}

pub(super) fn block_fits(case: &Value) -> Value {
    let margin = case["margin"].as_f64().unwrap().to_string();
    let checked = staged(&[("stages.1.fits.margin", margin.into())]);
    let rule = checked.registration.protocol.stages[1].fits.as_ref();
    Value::from(fits::fits(
        rule.unwrap(),
        duration(&case["est_block_s"]),
        time(&case["cutoff_epoch"]),
        time(&case["now"]).unwrap(),
    ))
}
