//! How long a start that is held waits before it asks again.

use crate::protocol::model::Backoff;
use crate::units::{Micros, Time};

/// How long a protocol without `[backoff]` lets a session wait that is asked to.
pub const DEFAULT: Backoff = Backoff {
    initial: Micros::from_seconds(60),
    max: Micros::from_seconds(15 * 60),
    reset_margin: Micros::from_seconds(30),
    wait_max: Micros::from_seconds(3 * 3600),
};

/// Returns how long to wait: until a known reset that lies ahead, else twice as long each time.
///
/// `attempt` counts the waits in a row from 0. A reset at `now` or before says nothing.
pub fn wait(backoff: &Backoff, attempt: u32, until: Option<Time>, now: Time) -> Micros {
    let ahead = until.filter(|until| *until > now);
    let (wait, longest) = match ahead {
        Some(until) => (
            until
                .0
                .abs_diff(now.0)
                .saturating_add(backoff.reset_margin.0),
            backoff.wait_max,
        ),
        None => (
            backoff
                .initial
                .0
                .saturating_mul(2_u64.saturating_pow(attempt)),
            backoff.max,
        ),
    };
    Micros(wait).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff() -> Backoff {
        Backoff {
            initial: Micros(60),
            max: Micros(900),
            reset_margin: Micros(30),
            wait_max: Micros(10_800),
        }
    }

    #[test]
    fn without_a_reset_the_wait_doubles_up_to_the_longest() {
        for (attempt, waits) in [
            (0, 60),
            (1, 120),
            (3, 480),
            (4, 900),
            (63, 900),
            (64, 900),
            (u32::MAX, 900),
        ] {
            let found = wait(&backoff(), attempt, None, Time(0));
            assert_eq!(found, Micros(waits), "attempt {attempt}");
        }
    }

    #[test]
    fn a_wait_without_a_limit_to_speak_of_does_not_wrap() {
        let endless = Backoff {
            initial: Micros(3),
            max: Micros(u64::MAX),
            reset_margin: Micros(u64::MAX),
            wait_max: Micros(u64::MAX),
        };
        assert_eq!(wait(&endless, 63, None, Time(0)), Micros(u64::MAX));
        let (first, last) = (Time(i64::MIN), Time(i64::MAX));
        assert_eq!(wait(&endless, 0, Some(last), first), Micros(u64::MAX));
    }

    #[test]
    fn a_reset_counts_only_while_it_lies_ahead() {
        for (until, attempt, waits) in [
            (1_001, 0, 31),
            (1_000, 0, 60),
            (999, 2, 240),
            (0, 1, 120),
            (11_769, 0, 10_799),
            (11_770, 0, 10_800),
            (11_771, 9, 10_800),
        ] {
            let found = wait(&backoff(), attempt, Some(Time(until)), Time(1_000));
            assert_eq!(found, Micros(waits), "until {until}");
        }
    }
}
