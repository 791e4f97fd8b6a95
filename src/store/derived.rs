//! The derived rows as of the newest entry, some of them perhaps not saved yet.
//!
//! Entries are the record; rows follow from them. A session saves rows only now and then, which
//! spares each commit most of its pages. Whoever opens a record whose rows lag folds the entries
//! that are missing, so nobody ever sees them lag, and a killed session loses nothing.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::{Fault, Result, rows};
use crate::engine::command::{Action, Command};
use crate::engine::event::{Event, LaneId};
use crate::engine::evolve;
use crate::engine::rules::Rules;
use crate::engine::slice::{Loaded, Slice};
use crate::record::entry::{self, Answer, Head};
use crate::units::RunId;

/// The part of the derived rows that is in memory.
#[derive(Debug)]
pub(super) struct Derived {
    /// The newest entry that is folded in.
    pub(super) head: Head,
    /// The standing, and the rows that were loaded or changed.
    pub(super) slice: Slice,
    /// Runs that changed and are not saved.
    runs: BTreeSet<RunId>,
    /// Lanes that changed and are not saved.
    lanes: BTreeSet<LaneId>,
}

impl Derived {
    /// Reads the standing as it was saved, and folds the entries that came after.
    pub(super) fn read(connection: &Connection) -> Result<Self> {
        let (standing, applied) = rows::standing(connection)?;
        let head = Head {
            seq: applied,
            ..Head::EMPTY
        };
        let slice = Slice {
            standing,
            ..Slice::default()
        };
        let mut derived = Self {
            head,
            slice,
            runs: BTreeSet::new(),
            lanes: BTreeSet::new(),
        };
        let head = rows::head(connection)?;
        for seq in applied + 1..=head.seq {
            derived.catch_up(connection, seq)?;
        }
        derived.head = head;
        Ok(derived)
    }

    /// Folds an entry that was recorded and not saved.
    fn catch_up(&mut self, connection: &Connection, seq: u64) -> Result<()> {
        let broken = |message| Fault::Row {
            row: format!("entry {seq}"),
            message,
        };
        let entry =
            rows::entry(connection, seq)?.ok_or_else(|| broken("it is missing".to_owned()))?;
        let (command, ruling) = entry::unseal(&entry).map_err(broken)?;
        match ruling {
            Answer::Refused(_) => self.slice.standing.at = command.at,
            Answer::Granted(events) => {
                self.load(connection, None, &command)?;
                for lane in events.iter().filter_map(lane_of) {
                    self.load_lane(connection, lane)?;
                }
                self.fold(&command, &events);
            }
        }
        Ok(())
    }

    /// Loads what a command needs, until nothing is missing.
    pub(super) fn load(
        &mut self,
        connection: &Connection,
        rules: Option<&Rules>,
        command: &Command,
    ) -> Result<()> {
        self.slice.loaded = Loaded::Part;
        loop {
            let missing = self.slice.missing(rules, command);
            if missing.is_empty() {
                return Ok(());
            }
            for run in missing.runs {
                let row = rows::run(connection, run)?;
                self.slice.runs.insert(run, row);
            }
            for id in missing.lanes {
                self.load_lane(connection, id)?;
            }
            if missing.ready {
                rows::load_ready(connection, &mut self.slice)?;
                self.slice.loaded = Loaded::PartWithReady;
            }
        }
    }

    fn load_lane(&mut self, connection: &Connection, id: LaneId) -> Result<()> {
        if self.slice.lanes.contains_key(&id) {
            return Ok(());
        }
        match rows::lane(connection, id)? {
            Some(lane) => self.slice.set_lane(id, lane),
            None => drop(self.slice.lanes.insert(id, None)),
        }
        Ok(())
    }

    /// Folds a command that was granted, and notes what it changed.
    pub(super) fn fold(&mut self, command: &Command, events: &[Event]) {
        evolve::apply(&mut self.slice, command, events);
        self.runs.extend(command.action.run());
        self.lanes.extend(events.iter().filter_map(lane_of));
        let started = events.iter().filter_map(|event| match event {
            Event::Started { run, .. } => Some(*run),
            _ => None,
        });
        self.runs.extend(started);
    }

    /// Returns whether a run changed since it was saved.
    pub(super) fn is_changed(&self, run: RunId) -> bool {
        self.runs.contains(&run)
    }

    /// Returns how many runs changed since they were saved.
    pub(super) fn lag(&self) -> usize {
        self.runs.len()
    }

    /// Returns the runs that changed since they were saved, in order.
    pub(super) fn changed_runs(&self) -> impl Iterator<Item = RunId> {
        self.runs.iter().copied()
    }

    /// Saves what changed, and the standing.
    pub(super) fn save(&mut self, connection: &Connection) -> Result<()> {
        for run in std::mem::take(&mut self.runs) {
            if let Some(run) = self.slice.run(run) {
                rows::save_run(connection, run)?;
            }
        }
        for id in std::mem::take(&mut self.lanes) {
            if let Some(lane) = self.slice.lane(id) {
                rows::save_lane(connection, id, lane)?;
            }
        }
        self.slice.runs.clear();
        self.slice.lanes.clear();
        self.slice.ready.clear();
        rows::save_standing(connection, &self.slice.standing, self.head.seq)
    }
}

/// Returns the lane that an event changes.
fn lane_of(event: &Event) -> Option<LaneId> {
    match event {
        Event::Started { place, .. } => place.map(|place| place.lane),
        Event::SlotEnded { lane, .. } | Event::SlotWaits { lane } => Some(*lane),
        _ => None,
    }
}

/// Returns the draft that an event opens.
pub(super) fn draft_of(action: &Action, events: &[Event]) -> Option<u64> {
    match (action, events) {
        (Action::Open { .. }, [Event::Opened { draft, .. }]) => Some(*draft),
        _ => None,
    }
}
