//! The clocks: the wall's, and one that nobody sets.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::units::{Micros, Time};

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

/// Returns how long the machine has been up, also while it was asleep.
pub fn steady() -> Micros {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let since = rustix::time::clock_gettime(clock);
    let micros = |part| u64::try_from(part).unwrap_or_default();
    Micros(micros(since.tv_sec).saturating_mul(1_000_000) + micros(since.tv_nsec) / 1_000)
}
