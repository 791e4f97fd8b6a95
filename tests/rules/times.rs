//! Times in other spellings than the one that is read.

use prereg::units::Time;
use serde_json::{Value, json};

pub(super) fn parse_utc(case: &Value) -> Value {
    match moment(case["text"].as_str().unwrap().trim()) {
        Some(us) => json!(us as f64 / 1e6),
        None => Value::Null,
    }
}

/// Brings a date, a clock and a zone into the one spelling, each by itself.
pub(super) fn moment(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let clock = match rest.strip_prefix(['T', ' ']) {
        Some(clock) => clock,
        None if rest.is_empty() => "00:00",
        None => return None,
    };
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    let seconds = if clock.len() == 5 { ":00" } else { "" };
    let local: Time = format!("{date}T{clock}{seconds}Z").parse().ok()?;
    Some(local.0 - offset(zone)?)
}

/// Reads an offset as the time that a clock shows so long after midnight.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z") {
        return Some(0);
    }
    let (sign, clock) = zone.split_at_checked(1)?;
    let after: Time = format!("1970-01-01T{clock}:00Z").parse().ok()?;
    Some(if sign == "-" { -after.0 } else { after.0 })
}
