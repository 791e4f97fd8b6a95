//! Versions: what a writer saw, and whether it still stands when the write comes.
//!
//! The version of a run is the number of the newest entry that changed it; that of everything else
//! is the number of the newest entry that changed anything. A time stamp is never compared.

use super::entry::{Answer, Body};
use crate::engine::command::Action;
use crate::engine::event::Event;
use crate::engine::refusal::Refusal;
use crate::units::RunId;

/// Returns whether an entry changed what an action is about; a refusal changes nothing.
pub fn changes(action: &Action, entry: &Body) -> bool {
    let Answer::Granted(events) = &entry.ruling else {
        return false;
    };
    let Some(run) = action.run() else {
        return true;
    };
    entry.command.action.run() == Some(run)
        || events.iter().any(|event| touched(event) == Some(run))
}

/// Refuses a write whose writer saw another version than the one that stands now.
pub fn guard(seen: u64, stands: u64) -> Result<(), Refusal> {
    if seen == stands {
        return Ok(());
    }
    Err(Refusal::ChangedSinceRead { seen, stands })
}

/// Returns the run that an event is about, if it is about one.
fn touched(event: &Event) -> Option<RunId> {
    match event {
        Event::Started { run, .. }
        | Event::Ended { run, .. }
        | Event::Scored { run, .. }
        | Event::Unjudged { run, .. }
        | Event::Voided { run }
        | Event::Tallied { run, .. }
        | Event::Checked { run, .. } => Some(*run),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::command::{Cause, Clock, Command};
    use crate::units::Time;
    use std::collections::BTreeMap;

    const FIRST: RunId = RunId(1);
    const SECOND: RunId = RunId(2);

    fn expire(run: RunId) -> Action {
        Action::Expire { run }
    }

    fn entry(action: Action, ruling: Answer) -> Body {
        Body {
            command: Command {
                at: Time(0),
                clock: Clock::default(),
                actor: "user".to_owned(),
                key: "key".to_owned(),
                action,
            },
            ruling,
            sealed: BTreeMap::new(),
        }
    }

    #[test]
    fn a_run_is_changed_by_entries_about_it_and_all_else_by_any() {
        let refused = || Answer::Refused(Refusal::NotOpened {});
        let unjudged = |run| Event::Unjudged {
            run,
            cause: Cause::Stale,
        };
        let voided = Event::Voided { run: SECOND };
        let ended = || Answer::Granted(vec![unjudged(FIRST), voided.clone()]);
        let alone = || Answer::Granted(vec![unjudged(FIRST)]);
        let breaker = || Action::Breaker { open: false };
        for (about, action, ruling, changed) in [
            (expire(FIRST), expire(FIRST), alone(), true),
            (expire(FIRST), expire(FIRST), refused(), false),
            (expire(SECOND), expire(FIRST), alone(), false),
            (expire(SECOND), expire(FIRST), ended(), true),
            (expire(FIRST), breaker(), Answer::Granted(vec![]), false),
            (breaker(), expire(FIRST), alone(), true),
            (breaker(), expire(FIRST), refused(), false),
        ] {
            let entry = entry(action, ruling);
            assert_eq!(changes(&about, &entry), changed, "{about:?} {entry:?}");
        }
    }

    #[test]
    fn only_the_version_that_was_seen_lets_a_write_through() {
        assert_eq!(guard(7, 7), Ok(()));
        for (seen, stands) in [(7, 8), (8, 7), (0, 1)] {
            let refused = Err(Refusal::ChangedSinceRead { seen, stands });
            assert_eq!(guard(seen, stands), refused);
        }
    }
}
