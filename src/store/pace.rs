//! Whether the wall clock goes as fast as one that nobody sets.

use crate::engine::command::Clock;
use crate::units::{Micros, Time};

/// Two clocks, and what they last said.
#[derive(Debug, Default)]
pub(super) struct Pace {
    steady: Option<fn() -> Micros>,
    last: Option<(Time, Micros)>,
    /// By how much the wall clock was set, as far as no entry says so yet.
    pub(super) jumped: i64,
}

impl Pace {
    /// Compares with a clock that nobody sets from now on.
    pub(super) fn keep_by(&mut self, steady: fn() -> Micros) {
        self.steady = Some(steady);
    }

    /// Takes note of what the wall clock says now.
    pub(super) fn note(&mut self, wall: Time) {
        let Some(steady) = self.steady.map(|steady| steady()) else {
            return;
        };
        if let Some((wall_before, steady_before)) = self.last {
            let passed = i64::try_from(steady.0.saturating_sub(steady_before.0));
            let expected = wall_before.0.saturating_add(passed.unwrap_or(i64::MAX));
            let jumped = wall.0.saturating_sub(expected);
            if jumped.unsigned_abs() > Clock::WORTH.0 {
                self.jumped = self.jumped.saturating_add(jumped);
            }
        }
        self.last = Some((wall, steady));
    }
}

/// Returns how far a clock lies behind the time that an entry is given; nothing where it is hardly so.
pub(super) fn behind(wall: Time, at: Time) -> Micros {
    let behind = Micros(u64::try_from(at.0.saturating_sub(wall.0)).unwrap_or_default());
    if behind > Clock::WORTH {
        behind
    } else {
        Micros::default()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static STEADY: Cell<u64> = const { Cell::new(0) };
    }

    #[test]
    fn a_clock_that_is_set_is_told_from_one_that_goes() {
        let mut pace = Pace::default();
        pace.keep_by(|| Micros(STEADY.get()));
        let mut look = |steady: u64, wall: i64| {
            STEADY.set(steady * 1_000_000);
            pace.note(Time(wall * 1_000_000));
            std::mem::take(&mut pace.jumped) / 1_000_000
        };
        assert_eq!(look(5, 1000), 0);
        assert_eq!(look(3605, 4600), 0, "an hour passes");
        assert_eq!(look(3606, 4602), 0, "a second is how clocks are");
        assert_eq!(look(3607, 1003), -3600, "an hour back");
        assert_eq!(look(3608, 1004), 0, "told once");
        assert_eq!(look(3609, 87_405), 86_400, "a day forward");
    }

    #[test]
    fn a_clock_lies_behind_by_more_than_a_second() {
        for (wall, at, lies) in [(5, 5, 0), (9, 5, 0), (4, 5, 0), (3, 5, 2)] {
            let seconds = |count: i64| Time(count * 1_000_000);
            assert_eq!(
                behind(seconds(wall), seconds(at)),
                Micros::from_seconds(lies)
            );
        }
    }
}
