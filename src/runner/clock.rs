//! The only wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::units::Time;

/// Returns the time.
pub fn now() -> Time {
    let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
        }
    };
    Time(micros)
}
