//! A slice that holds a part of a record, loaded by need and kept for a transaction, as the store
//! does it.

use prereg::engine::command::{Action, Command};
use prereg::engine::decide::{self, Ruling};
use prereg::engine::evolve;
use prereg::engine::rules::Rules;
use prereg::engine::slice::{Loaded, Slice};

use crate::engine_common::{Given, Move, World};

/// What is on the disk, and what the transaction under way holds.
#[derive(Default)]
pub(crate) struct Part {
    disk: Slice,
    held: Slice,
}

impl Part {
    /// Ends the transaction; the next one begins with the standing alone.
    pub(crate) fn commit(&mut self, whole: &Slice) {
        self.disk = whole.clone();
        self.held = Slice {
            standing: whole.standing.clone(),
            ..Slice::default()
        };
    }

    /// Answers a move by what is loaded for it.
    pub(crate) fn give(&mut self, world: &World<'_>, wanted: &Move) -> Given {
        let (rules, command) = (world.rules(), world.command(wanted.action(world.drafts)));
        self.load(rules, &command);
        let due = decide::due(rules, &self.held, &command);
        let mut expired = Vec::new();
        for run in due {
            let expiry = world.command(Action::Expire { run });
            self.load(rules, &expiry);
            let events = self.answer(rules, &expiry).unwrap_or_default();
            expired.push((run, events));
        }
        self.load(rules, &command);
        let ruling = self.answer(rules, &command);
        Given { expired, ruling }
    }

    fn answer(&mut self, rules: Option<&Rules>, command: &Command) -> Ruling {
        let ruling = decide::decide(rules, &self.held, command);
        match &ruling {
            Ok(events) if events.is_empty() => {}
            Err(refusal) if !refusal.is_recorded() => {}
            Ok(events) => evolve::apply(&mut self.held, command, events),
            Err(_) => self.held.standing.at = command.at,
        }
        ruling
    }

    fn load(&mut self, rules: Option<&Rules>, command: &Command) {
        self.held.loaded = Loaded::Part;
        loop {
            let missing = self.held.missing(rules, command);
            if missing.is_empty() {
                return;
            }
            for run in missing.runs {
                self.held.runs.insert(run, self.disk.run(run).cloned());
            }
            for id in missing.lanes {
                match self.disk.lane(id) {
                    Some(lane) => self.held.set_lane(id, lane),
                    None => {
                        self.held.lanes.insert(id, None);
                    }
                }
            }
            if missing.ready {
                self.load_ready();
                self.held.loaded = Loaded::PartWithReady;
            }
        }
    }

    /// Loads the earliest lane that may start and that the transaction has not touched.
    fn load_ready(&mut self) {
        let mut ready = self.disk.ready.values();
        let id = ready.find(|id| !self.held.lanes.contains_key(id)).copied();
        if let Some((id, lane)) = id.and_then(|id| Some((id, self.disk.lane(id)?))) {
            self.held.set_lane(id, lane);
        }
    }

    /// Asserts that whatever is held is what the whole says.
    pub(crate) fn agrees(&self, whole: &Slice) {
        assert_eq!(self.held.standing, whole.standing);
        for (run, held) in &self.held.runs {
            assert_eq!(held.as_ref(), whole.run(*run));
        }
        for (id, held) in &self.held.lanes {
            assert_eq!(*held, whole.lane(*id));
        }
        for (position, id) in &self.held.ready {
            assert_eq!(whole.ready.get(position), Some(id));
        }
    }
}
